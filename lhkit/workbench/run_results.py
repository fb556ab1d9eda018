"""What came of runs, measurements and sweeps of a session, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule

RunKind = Literal["run", "measure", "sweep"]
RunStatus = Literal["ok", "wrong", "failed", "stopped"]
Knobs = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class ResultBar:
    """A speed of one result, in multiples of its anchor's.

    Attributes:
        label: What was timed; empty for the schedule of the result itself.
        value: The speed.
        low: The lower end of its interval.
        high: The upper end.
        text: What stands at the end of the bar.
        is_anchor: Whether the others are multiples of this one.
        knobs: The knobs that it was timed with, where it is a variant of the schedule.
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
    """What came of one run, measurement or sweep.

    Attributes:
        number: Which one of the session, from 1.
        kind: What was asked for.
        status: ``ok``; ``wrong``: its numbers are not those of the reference; ``failed``; ``stopped``.
        schedule: The version of the schedule, its knobs set.
        knobs: The value of every knob.
        title: What led to that version, in a few words.
        said: What came of it, in a sentence.
        anchor: What speeds are multiples of; empty where nothing was timed.
        bars: The speeds.
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
    """How far something that runs has come.

    Attributes:
        kind: What runs; empty if nothing does.
        said: What it is at, in a few words.
        done: How much is done.
        total: Of how much, None where nobody knows.
    """

    kind: RunKind | Literal[""] = ""
    said: str = ""
    done: int = 0
    total: int | None = None


def knob_words(knobs: Knobs) -> str:
    """Return knobs and their values in a line."""
    return ", ".join(f"{name} = {value}" for name, value in knobs)


def text_letters(results: Iterable[Result]) -> dict[str, str]:
    """Return a letter for each text of the schedule that results are of; none where there is only one."""
    texts = dict.fromkeys(result.schedule.text for result in results)
    if len(texts) < 2:
        return {}
    return {text: _letters(number) for number, text in enumerate(texts)}


def _letters(number: int) -> str:
    """Return A, B, … Z, AA, AB and so on."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
