"""What commands that sweep share: progress bars, and what becomes of sweeps without a sound variant."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from lhkit.cli.terminal import say
from lhkit.draw.tables import format_ns
from lhkit.model.errors import error_for
from lhkit.model.failure import Failure, FailureKind
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.live_sweep import Sweep
from lhkit.sweeps.variant_record import SweepResult, SweepStatus

_CONFIRMING = "confirming"
# If no variant is ok, this is what became of the sweep.
_KINDS: dict[SweepStatus, FailureKind] = {
    "invalid-config": "usage",
    "schedule-failed": "definite",
    "compile-failed": "lowering",
    "wrong-result": "wrong-result",
    "crashed": "crash",
    "timeout": "timeout",
    "out-of-memory": "memory",
}


def run_with_bars(found: Sweep, **options: Any) -> None:
    """Run a sweep to its end; progress bars if somebody sees them, else a line where the second half begins."""
    if not sys.stderr.isatty():
        found.subscribe(_say_what_is_confirmed)
        return found.start(**options)
    length = found.total or int(found.space.count())
    bars = contextlib.ExitStack()
    with bars:
        bar = bars.enter_context(_bar(length, "sweeping"))

        def show(event: SweepEvent) -> None:
            nonlocal bar
            step = event.confirming
            if step is None:
                bar.update(event.record is not None, _best(event))
                return
            if bar.label != _CONFIRMING or bar.length != step.most:  # of each payload there is another
                bars.close()
                bar = bars.enter_context(_bar(step.most, _CONFIRMING))
            bar.update(step.processes - bar.pos, f"{len(step.contenders)} in the race")

        unsubscribe = found.subscribe(show)
        try:
            found.start(**options)
        finally:
            unsubscribe()


def _bar(length: int, label: str) -> Any:
    return click.progressbar(
        length=length,
        label=label,
        file=sys.stderr,
        item_show_func=lambda shown: shown or "",
        show_eta=label != _CONFIRMING,  # how many processes it takes is not known
    )


def _say_what_is_confirmed(event: SweepEvent) -> None:
    step = event.confirming
    if step is not None and step.processes == 0:
        count = len(step.contenders)
        who = "the best variant" if count == 1 else f"the best {count} variants"
        budget = "" if step.seconds is None else f", {step.seconds:.3g} s"
        words = f"timing {who} again in fresh processes (at most {step.most}{budget}; not with --no-confirm)"
        say(f"lhkit: {words}", err=True)


def _best(event: SweepEvent) -> str:
    time = event.best.time_ns if event.best else None
    return f"best {format_ns(time.median)}" if time else ""


def refuse_failed_sweep(result: SweepResult) -> None:
    """Raise if no variant is sound.

    Raises:
        LhkitError: None is; of the kind of the first failure.
    """
    for status, failed in result.failures.items() if result.best is None else ():
        what = f"no variant is ok; the first is {status}: {failed[0].message}"
        raise error_for(Failure(kind=_KINDS[status], message=what))
