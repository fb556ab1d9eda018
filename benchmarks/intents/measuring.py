"""The outcome of one broken schedule: failure or not, warnings, each repair alone, and blind repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import lhkit
from benchmarks.intents.breakages import Broken
from benchmarks.intents.judge import Found, Judge, Verdict
from lhkit.model.errors import LhkitError, ScheduleError
from lhkit.model.explanation import Repair
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_trials import find_text_repairs

Status = Literal["does not load", "fails", "silent", "same"]
MOST_ROUNDS = 8
_REPAIR_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A repair, taken alone.

    Attributes:
        title: What it does.
        kind: Its kind.
        doubt: Its doubt.
        diff: What it changes.
        outcome: What the schedule comes to; where it fails at a later step, after the first repairs there.
        rounds: How many repairs were taken for that, this one counted.
        difference: What the payload has more and less of than was meant.
        one_undone: Whether one of two breakages is undone by it, so that only a silent one is left.
    """

    title: str
    kind: str
    doubt: int
    diff: str
    outcome: Verdict
    rounds: int
    difference: str
    one_undone: bool = False


@dataclass(slots=True)
class Measured:
    """A broken schedule and its outcome.

    Attributes:
        base: What was broken.
        kinds: The kinds of breakages.
        changes: Line and description of each.
        text: The broken schedule.
        status: Whether it fails.
        message: The failure.
        difference: What its payload has more and less of, where it applies.
        warnings: Kinds of warnings that the unbroken schedule does not have.
        repairs: The repairs offered, in order.
        idle: Kinds of breakages that, made alone, change nothing; the others count.
        blind: What it comes to when the first repair is taken again and again.
        blind_rounds: How many repairs that takes.
        blind_difference: What that has more and less of than was meant.
        blind_titles: The repairs that were taken.
        blind_one_undone: Whether only one of two breakages is left then, a silent one.
        error: An error of lhkit on the way.
    """

    base: str
    kinds: tuple[str, ...]
    changes: tuple[tuple[int, str], ...]
    text: str
    status: Status = "same"
    message: str = ""
    difference: str = ""
    warnings: tuple[str, ...] = ()
    repairs: list[Tried] = field(default_factory=list)
    idle: tuple[str, ...] = ()
    blind: Verdict = "does-not-apply"
    blind_rounds: int = 0
    blind_difference: str = ""
    blind_titles: list[str] = field(default_factory=list)
    blind_one_undone: bool = False
    error: str = ""

    @property
    def real_kinds(self) -> tuple[str, ...]:
        """The kinds of breakages that change something."""
        return tuple(kind for kind in self.kinds if kind not in self.idle) or self.kinds


class Measurer:
    """Measures broken schedules of one base; what was traced once is kept."""

    def __init__(self, judge: Judge) -> None:
        """Take the judge of the base."""
        self.judge = judge
        self.errors: list[str] = []
        self._verdicts: dict[str, tuple[Verdict, Trace | None]] = {}
        self._repairs: dict[str, list[Repair]] = {}
        self._halves: list[Counter[Found] | None] = []

    def measure(self, broken: Broken) -> Measured:
        """Return the outcome of a broken schedule."""
        changes = tuple((change.line, change.what) for change in broken.changes)
        measured = Measured(broken.base.name, broken.kinds, changes, broken.text)
        self.errors = []
        verdict, trace = self._verdict(broken.text)
        if verdict == "right":
            return measured
        measured.status = status_of(verdict, trace)
        if trace is not None:
            measured.message = (trace.outcome.message or "").strip()
            measured.warnings = tuple(sorted(warning_kinds(trace) - warning_kinds(self.judge.trace)))
        else:
            measured.message = self.judge.load_errors.get(broken.text, "")
        measured.difference = self._difference(broken.text)
        alone = zip(broken.kinds, broken.singles, strict=False)
        measured.idle = tuple(kind for kind, text in alone if self._verdict(text)[0] == "right")
        self._halves = [self._structure(text) for text in broken.singles] if len(broken.kinds) > 1 else []
        measured.repairs = [self._tried(repair) for repair in self._repairs_of(broken.text)]
        taken, text = self._follow(broken.text, while_failing=False)
        measured.blind, measured.blind_rounds = self._verdict(text)[0], len(taken)
        measured.blind_titles = [repair.title for repair in taken]
        measured.blind_difference = self._difference(text)
        measured.blind_one_undone = self._is_half(text)
        measured.error = "; ".join(self.errors)
        return measured

    def _tried(self, repair: Repair) -> Tried:
        taken, text = self._follow(repair.text, while_failing=True)
        outcome, difference = self._verdict(text)[0], self._difference(text)
        rounds = 1 + len(taken)
        half = self._is_half(text)
        return Tried(repair.title, repair.kind, repair.doubt, repair.diff, outcome, rounds, difference, half)

    def _follow(self, text: str, *, while_failing: bool) -> tuple[list[Repair], str]:
        """Take the first repair again and again; with ``while_failing``, only until the schedule applies."""
        taken: list[Repair] = []
        seen = {text}
        while len(taken) < MOST_ROUNDS:
            if while_failing and self._verdict(text)[0] != "does-not-apply":
                break
            repairs = self._repairs_of(text)
            if not repairs or repairs[0].text in seen:
                break
            taken.append(repairs[0])
            text = repairs[0].text
            seen.add(text)
        return taken, text

    def _verdict(self, text: str) -> tuple[Verdict, Trace | None]:
        if text not in self._verdicts:
            try:
                self._verdicts[text] = self.judge.verdict(text)
            except LhkitError as error:
                self._note(error)
                self._verdicts[text] = ("does-not-apply", None)
        return self._verdicts[text]

    def _repairs_of(self, text: str) -> list[Repair]:
        if text not in self._repairs:
            trace = self._verdict(text)[1]
            try:
                offered = self._of_text(text) if trace is None else trace.repairs(seconds=_REPAIR_SECONDS)
                self._repairs[text] = list(offered)
            except LhkitError as error:
                self._note(error)
                self._repairs[text] = []
        return self._repairs[text]

    def _of_text(self, text: str) -> Sequence[Repair]:
        """Return the repairs of a text that does not load, as the command line offers them."""
        try:
            lhkit.load_schedule(text)
        except ScheduleError as error:
            return find_text_repairs(self.judge.payload, error, seconds=_REPAIR_SECONDS)
        return ()

    def _structure(self, text: str) -> Counter[Found] | None:
        verdict, trace = self._verdict(text)
        if trace is None or verdict == "does-not-apply":
            return None
        try:
            return self.judge.structure_of(trace.last_snapshot_text())
        except LhkitError as error:
            self._note(error)
            return None

    def _is_half(self, text: str) -> bool:
        """Return True if a schedule comes to what it does with one of its two breakages alone."""
        if not self._halves or self._verdict(text)[0] != "applies-but-wrong":
            return False
        return (found := self._structure(text)) is not None and found in self._halves

    def _difference(self, text: str) -> str:
        verdict, trace = self._verdict(text)
        if trace is None or verdict == "right":
            return ""
        if verdict == "does-not-apply":
            return (trace.outcome.message or "").strip()
        try:
            return self.judge.difference(trace.last_snapshot_text())
        except LhkitError as error:
            self._note(error)
            return f"the payload does not load: {_first_line(error)}"

    def _note(self, error: LhkitError) -> None:
        self.errors.append(f"{type(error).__name__}: {_first_line(error)}")


def status_of(verdict: Verdict, trace: Trace | None) -> Status:
    """Return whether a schedule fails, and where."""
    if trace is None:
        return "does not load"
    return "fails" if verdict == "does-not-apply" else "silent"


def warning_kinds(trace: Trace) -> set[str]:
    """Return the kinds of warnings in a trace."""
    return {warning.kind for step in trace.step_records for warning in step.warnings}


def _first_line(error: LhkitError) -> str:
    return (str(error).splitlines() or [""])[0]
