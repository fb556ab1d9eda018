"""The winner of a sweep: which one it is, and its schedule."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.model.errors import usage_error
from lhkit.model.sweep import SweepRecord, SweepResult, best_of
from lhkit.session.exporting import portable_text


def choose_winner(records: Sequence[SweepRecord]) -> SweepRecord | None:
    """Return the winner of a sweep that has ended, or None where no variant is ok."""
    return best_of(records)


def best_schedule(result: SweepResult) -> str:
    """Return the schedule of the best variant for other programs; see `SweepResult.best_schedule`."""
    if result.best is None:
        raise usage_error("the sweep has no best variant", "No variant is ok; look at its failures.")
    names = {knob.name for knob in result.schedule.knobs}
    values = {name: value for name, value in result.best.knobs if name in names}
    return portable_text(result.schedule.with_knobs(values))
