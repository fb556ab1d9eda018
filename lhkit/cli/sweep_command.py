"""``lhkit sweep``: try the variants of a schedule's knobs."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import click

from lhkit.cli.options import (
    SCHEDULING,
    SEED,
    function_option,
    json_option,
    limit_options,
    load_scheduled,
    microkernel_option,
    schedule_options,
)
from lhkit.cli.positive_number import POSITIVE_NUMBER
from lhkit.cli.terminal import say, write_json, write_text
from lhkit.draw.tables import format_ns
from lhkit.load.loader import load_payload
from lhkit.model.errors import Failure, FailureKind, error_for, usage_error
from lhkit.model.payload import Payload
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.live_sweep import Sweep, sweep
from lhkit.sweeps.space import split_narrowings
from lhkit.sweeps.strategies import STRATEGIES
from lhkit.sweeps.sweep_files import check_table
from lhkit.sweeps.sweep_page import PageWriter
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import sweep_text
from lhkit.sweeps.sweep_task import CONFIRM_SECONDS, VARIANT_LIMITS
from lhkit.sweeps.variant_record import SweepStatus, record_to_json
from lhkit.worker.client import Worker
from lhkit.worker.folders import homeless_note
from lhkit.worker.limits import Limits

_CONFIRMING = "confirming"
# Failure kind of a sweep without a variant that is ok.
_KINDS: dict[SweepStatus, FailureKind] = {
    "invalid-config": "usage",
    "schedule-failed": "definite",
    "unmet-expectation": "unmet-expectation",
    "compile-failed": "lowering",
    "wrong-result": "wrong-result",
    "crashed": "crash",
    "timeout": "timeout",
    "out-of-memory": "memory",
}


def run_with_bars(found: Sweep, advice: str = "") -> None:
    """Run a sweep with progress bars on a terminal, else with one line when the confirmation starts."""
    if not sys.stderr.isatty():
        found.subscribe(functools.partial(_report_confirmation, advice=advice))
        found.start()
        return
    length = found.total or int(found.space.count())
    with contextlib.ExitStack() as bars:
        bar = bars.enter_context(_bar(length, "sweeping"))

        def show(event: SweepEvent) -> None:
            nonlocal bar
            step = event.confirming
            if step is None:
                time = event.best.time_ns if event.best else None
                bar.update(event.record is not None, f"best {format_ns(time.median)}" if time else "")
                return
            if bar.label != _CONFIRMING or bar.length != step.most:  # one per payload
                bars.close()
                bar = bars.enter_context(_bar(step.most, _CONFIRMING))
            bar.update(step.processes - bar.pos, f"{len(step.contenders)} in the race")

        found.subscribe(show)
        found.start()


def _bar(length: int, label: str) -> Any:
    return click.progressbar(
        length=length,
        label=label,
        file=sys.stderr,
        item_show_func=lambda shown: shown or "",
        show_eta=label != _CONFIRMING,  # the number of processes is not known
    )


def _report_confirmation(event: SweepEvent, advice: str) -> None:
    step = event.confirming
    if step is not None and step.processes == 0:
        count = len(step.contenders)
        who = "the best variant" if count == 1 else f"the best {count} variants"
        budget = "" if step.seconds is None else f", {step.seconds:.3g} s"
        words = f"timing {who} again in fresh processes (at most {step.most}{budget}{advice})"
        say(f"lhkit: {words}", err=True)


def refuse_failed_sweep(result: SweepResult) -> None:
    """Raise the first failure if no variant is ok."""
    for status, failed in result.failures.items() if result.best is None else ():
        what = f"no variant is ok; the first is {status}: {failed[0].message}"
        raise error_for(Failure(kind=_KINDS[status], message=what))


_EXAMPLE = "lhkit sweep data/matmul.mlir schedules/matmul_tile_fuse_vectorize.mlir --knob tile_m=2,4,8"


@click.command("sweep", epilog=f"Example: {_EXAMPLE}")
@click.argument("payload")
@click.argument("schedule")
@click.option(
    "--knob",
    "narrowed",
    multiple=True,
    metavar="NAME=V1,V2,…",
    help="Try these values of a knob alone (also 1..64, 8..256*2), otherwise all that the schedule lists. "
    "Given twice for a knob, the values of both are tried.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="PAYLOAD",
    help="Sweep this payload too: best knobs for each, and one choice for all with its regret.",
)
@click.option("--where", "constraints", multiple=True, metavar="EXPR", help="Skip variants that violate this.")
@click.option("--strategy", type=click.Choice(sorted(STRATEGIES)), default="grid")
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="Limit on the variants, known ones included."
)
@click.option("--seconds", type=POSITIVE_NUMBER, help="Time limit for trying variants, without preparation.")
@click.option("--store", metavar="FILE", help="File of the records (default: in the state folder).")
@click.option("--known", multiple=True, metavar="STORE", help="Import the records of this store first.")
@click.option("--fresh", is_flag=True, help="Measure variants again that the store has already.")
@click.option(
    "--executor",
    metavar="WHERE",
    default="local",
    help="Executor: local, dask (a cluster on this machine) or dask:ADDRESS (of a scheduler).",
)
@click.option("--seed", type=SEED, default=0, help="Seed of the order and the arguments.")
@function_option
@click.option("--pin/--no-pin", default=True, help="Stay on one core.")
@click.option(
    "--confirm/--no-confirm",
    "confirm",
    default=True,
    help="Time the best few again, side by side in fresh processes, until one wins or there is no difference.",
)
@click.option(
    "--confirm-seconds", type=POSITIVE_NUMBER, default=CONFIRM_SECONDS, help="Time limit of the confirmation."
)
@click.option("--best", "best_file", metavar="FILE", help="Save the best schedule, knobs folded in.")
@click.option(
    "--table",
    metavar="FILE",
    help="Save one row per variant: .csv, .parquet (needs pyarrow), "
    "or .db for optuna-dashboard (needs optuna).",
)
@click.option("--html", "html_file", metavar="FILE", help="Save a page; written anew while it runs.")
@click.option(
    "--by-payload", metavar="FILE", help="With --also: save the table from payload to knobs, .csv or .json."
)
@json_option("all records")
@schedule_options
@microkernel_option
@limit_options
def command(
    payload: str,
    schedule: str,
    narrowed: tuple[str, ...],
    also: tuple[str, ...],
    fresh: bool,
    best_file: str | None,
    table: str | None,
    html_file: str | None,
    by_payload: str | None,
    json_file: str | None,
    limits: Limits,
    **options: Any,
) -> None:
    """Try the variants of SCHEDULE's knobs on PAYLOAD: verify and time each, and show the best.

    Every variant is kept in the store as soon as it is done: an interrupted sweep resumes where it
    left off. In the end the best few are timed again beside the default, until one wins or they
    are declared equal. --timeout and --memory are for one variant.
    """
    if table is not None:
        check_table(table)
    scheduling = {name: options.pop(name) for name in SCHEDULING}
    knobs = split_narrowings(narrowed)
    with contextlib.closing(Worker(limits)) as worker:
        loaded = _load_payloads((payload, *also), worker, by_payload)
        scheduled = load_scheduled(schedule, worker=worker, limits=limits, **scheduling)
        most = Limits(min(limits.seconds, VARIANT_LIMITS.seconds), limits.bytes)
        asked: dict[str, Any] = {"knobs": knobs, "worker": worker, "limits": most, "resume": not fresh}
        found = sweep(loaded, scheduled, start=False, **asked, **options)
        say(f"lhkit: records are kept in {found.store_path}", err=True)
        if options["store"] is None and (note := homeless_note()):
            say(f"lhkit: {note}", err=True)
        if html_file is not None:
            found.subscribe(PageWriter(found, functools.partial(write_text, html_file)))
        try:
            run_with_bars(found, "; not with --no-confirm")
        except KeyboardInterrupt:
            say(sweep_text(found.result()))
            raise
        finally:
            if json_file is not None:
                write_json(json_file, [record_to_json(record) for record in found.result().records])
    result = found.result()
    if json_file != "-":
        say(sweep_text(result))
    if best_file is not None and result.best is not None:
        write_text(best_file, result.best_schedule())
        say(f"lhkit: {best_file} has {_choice(result)}", err=True)
    if table is not None:
        result.save(table)
    if by_payload is not None and result.best is not None:
        result.save_by_payload(by_payload)
    refuse_failed_sweep(result)


def _choice(result: SweepResult) -> str:
    """Return the knobs of the best variant, and what they were chosen by."""
    values = ", ".join(f"{name} = {value}" for name, value in result.best.knobs) if result.best else ""
    found = result.confirmation
    if found is None:
        return f"{values}: the fastest when timed alone"
    return f"{values}: ahead when timed side by side{'' if found.is_settled else ', undecided so far'}"


def _load_payloads(
    paths: Sequence[str], worker: Worker, by_payload: str | None
) -> Payload | dict[str, Payload]:
    if by_payload is not None and (len(paths) == 1 or PurePath(by_payload).suffix not in (".csv", ".json")):
        raise usage_error(
            f"--by-payload {by_payload}", "It needs --also, and a name that ends in .csv or .json."
        )
    loaded = {PurePath(path).stem: load_payload(Path(path), worker=worker) for path in paths}
    if len(loaded) < len(paths):
        raise usage_error("--also: payloads are named after their files, and two have the same name")
    return loaded if len(paths) > 1 else next(iter(loaded.values()))
