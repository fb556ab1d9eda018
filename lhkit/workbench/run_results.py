"""Results of runs, measurements and sweeps, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lhkit.model.errors import UsageError
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule

RunKind = Literal["run", "measure", "sweep"]
RunStatus = Literal["ok", "wrong", "failed", "stopped"]
Knobs = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class ResultBar:
    """A speed of one result, in multiples of its anchor's.

    Attributes:
        label: Name of the contestant; empty for the schedule of the result itself.
        low: Lower end of the 95 % interval.
        high: Upper end.
        text: Label at the end of the bar.
        is_anchor: Whether it is the anchor itself.
        knobs: Knob values, if it is a variant of the schedule.
    """

    label: str
    value: float
    low: float
    high: float
    text: str
    is_anchor: bool = False
    knobs: Knobs | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one run, measurement or sweep.

    Attributes:
        number: Number in the session, from 1.
        status: ``ok``; ``wrong``: the numbers differ from the reference; ``failed``; ``stopped``.
        schedule: The version of the schedule, its knobs set.
        title: The edit that led to that version.
        said: The outcome in a sentence.
        anchor: What speeds are multiples of; empty if nothing was timed.
    """

    number: int
    kind: RunKind
    status: RunStatus
    schedule: Schedule
    knobs: Knobs
    title: str
    said: str
    anchor: str = ""
    bars: tuple[ResultBar, ...] = ()

    @property
    def own_bar(self) -> ResultBar | None:
        """The speed of the schedule itself, if it was measured."""
        return next((bar for bar in self.bars if not bar.label), None)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of the current run.

    Attributes:
        kind: Kind of run; empty if nothing is running.
        said: The current phase.
        done: Units done.
        total: Units in all, None if unknown.
    """

    kind: RunKind | Literal[""] = ""
    said: str = ""
    done: int = 0
    total: int | None = None


def knob_values(schedule: Schedule) -> dict[str, KnobValue]:
    """Return the value of every knob that has one."""
    try:
        return schedule.values
    except UsageError:  # a knob without a default is not set; it has to be on screen to be set
        given = {k.name: k.default for k in schedule.knobs if k.default is not None}
        return {**given, **dict(schedule.settings)}


def knob_words(knobs: Knobs) -> str:
    """Return knob values as one line."""
    return ", ".join(f"{name} = {value}" for name, value in knobs)


def text_letters(results: Iterable[Result]) -> dict[str, str]:
    """Return a letter for each distinct schedule text of the results; empty if there is only one text."""
    texts = dict.fromkeys(result.schedule.text for result in results)
    if len(texts) < 2:
        return {}
    return {text: _letters(number) for number, text in enumerate(texts)}


def _letters(number: int) -> str:
    """Return A, B, … Z, AA, AB and so on."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
