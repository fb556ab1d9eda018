"""``lhkit propose``: a first schedule for a payload, verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lhkit.cli.positive_number import POSITIVE_NUMBER
from lhkit.cli.terminal import say, write_text
from lhkit.model.target import VECTORS
from lhkit.worker.client import shared_worker

if TYPE_CHECKING:
    from lhkit.sweeps.live_sweep import Sweep


@click.command("propose", epilog="Example: lhkit propose data/matmul.mlir -o first.mlir")
@click.argument("payload")
@click.option(
    "-o",
    "--out",
    "--output",
    "output",
    default="-",
    metavar="FILE",
    help="Where the schedule goes; - is standard output.",
)
@click.option(
    "--target",
    type=click.Choice((*VECTORS, "host")),
    help="Instruction set for the defaults of knobs (default: LHKIT_TARGET, else this CPU).",
)
@click.option(
    "--sweep", type=POSITIVE_NUMBER, metavar="SECONDS", help="Tune the knobs of the proposal for so long."
)
@click.option(
    "--kept", "use_kept", is_flag=True, help="Propose what a sweep found before for the same payload, if any."
)
def command(payload: str, output: str, target: str | None, sweep: float | None, use_kept: bool) -> None:
    """Write a first schedule for PAYLOAD, to be read, changed and swept.

    It is what schedules/cpu.mlir does with this payload, step by step, with plain matches and the knobs that
    matter. Before it is written it is verified against the unscheduled payload. What it says of that, and of
    the ops that it leaves alone, goes to standard error. What a sweep found for the same payload before is
    proposed instead, verified again (lhkit best PAYLOAD shows it). Ctrl-C ends a sweep; the best values so far
    are taken.
    """
    # The compiler starts while the rest is imported, which takes as long.
    shared_worker().start_early()
    from lhkit.proposals.proposal import propose

    run_sweep: Callable[[Sweep], None] | None = None
    if sweep is not None:
        from lhkit.cli.sweep_command import run_with_bars

        run_sweep = run_with_bars
    proposal = propose(
        payload,
        target,
        sweep=sweep,
        run_sweep=run_sweep,
        use_kept=use_kept,
        progress=lambda stage: say(f"lhkit: {stage} …", err=True),
    )
    write_text(output, proposal.text)
    for line in proposal.lines:
        say(f"lhkit: {line}", err=True)
