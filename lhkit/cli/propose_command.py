"""``lhkit propose``: a first schedule for a payload, verified."""

from __future__ import annotations

import contextlib
import threading

import click

from lhkit.cli.terminal import say, write_text
from lhkit.model.errors import LhkitError
from lhkit.model.target import VECTORS
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Ping


@click.command("propose", epilog="Example: lhkit propose data/matmul.mlir -o first.mlir")
@click.argument("payload")
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the schedule goes; - is standard output."
)
@click.option(
    "--target",
    type=click.Choice((*VECTORS, "host")),
    help="Instruction set for the defaults of knobs (default: LHKIT_TARGET, else this CPU).",
)
def command(payload: str, output: str, target: str | None) -> None:
    """Write a first schedule for PAYLOAD, to be read, changed and swept.

    It is what schedules/cpu.mlir does with this payload, step by step, with plain matches and the knobs that
    matter. Before it is written it is verified against the unscheduled payload. What it says of that, and of
    the ops that it leaves alone, goes to standard error.
    """
    # The compiler starts while the rest is imported, which takes as long.
    threading.Thread(target=_start, args=(shared_worker(),), daemon=True).start()
    from lhkit.proposals.proposal import propose

    proposal = propose(payload, target)
    write_text(output, proposal.text)
    for line in proposal.lines:
        say(f"lhkit: {line}", err=True)


def _start(worker: Worker) -> None:
    with contextlib.suppress(LhkitError):  # the first request says it again
        worker.ask(Ping())
