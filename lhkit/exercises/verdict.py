"""Verdicts on answers: findings, the next step, and a picture of the effect of the answer."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.draw.live_view import Drawing
from lhkit.exercises.attempt import Attempt, allowed_points
from lhkit.model.printable import printable
from lhkit.model.showable import Showable
from lhkit.model.trace_record import Trace
from lhkit.show import diff, timeline

Bundle = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
        says: The requirement.
        is_right: Whether the answer meets it.
        seen: The observation; may have several lines.
    """

    says: str
    is_right: bool
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Verdict(Showable):
    """The verdict on an answer, shown with a picture of its effect.

    Attributes:
        exercise: Name of the exercise.
        findings: The outcomes of all checks.
        next_step: The next step, in a sentence.
        picture: Makes the MIME bundle of the picture; None if there is nothing to draw.
    """

    exercise: str
    findings: tuple[Finding, ...]
    next_step: str
    picture: Callable[[], Bundle] | None = field(default=None, repr=False, compare=False)

    @property
    def is_solved(self) -> bool:
        """Whether everything is right."""
        return all(finding.is_right for finding in self.findings)

    def describe(self) -> str:
        """Return the verdict as text: one line per finding with its observation, and the next step."""
        right = sum(finding.is_right for finding in self.findings)
        title = "solved" if self.is_solved else f"{right} of {len(self.findings)}"
        lines = [f"{self.exercise}: {title}"]
        for finding in self.findings:
            lines.append(f"  {'right  ' if finding.is_right else 'not yet'}  {finding.says}")
            lines += [f"             {line}".rstrip() for line in finding.seen.splitlines()]
        return "\n".join([*lines, self.next_step])

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.exercises.exercise import verdict_bundle

        return verdict_bundle(self)

    def __str__(self) -> str:
        return printable(self.describe())


@dataclass(frozen=True, slots=True)
class Note(Showable):
    """A Markdown text of an exercise: statement, hint or solution."""

    markdown: str

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.exercises.exercise import note_bundle

        return note_bundle(self)

    def __str__(self) -> str:
        return self.markdown


_MOST_SHOWN = 6


def picture_of(attempt: Attempt, findings: Sequence[Finding]) -> Callable[[], Bundle] | None:
    """Return the renderer of an attempt's picture; None if there is nothing to draw.

    A schedule: the handle timeline if it failed, else the payload diff. A correct guess: the timeline. Numbers:
    expected beside actual ones. Constraints: the grid of variants.
    """
    kind = attempt.exercise.task.answer
    if kind == "schedule":
        return None if attempt.unloaded is not None else lambda: _static(_of_trace(attempt.trace))
    if kind == "guess":
        if attempt.exercise.task.schedule is None or not all(f.is_right for f in findings):
            return None
        return lambda: _static(timeline(attempt.trace))
    if kind == "constraints":
        return (lambda: _grid(attempt)) if "kept" in vars(attempt) else None
    # The answer gave numbers if a check asked for them and met no error.
    return (lambda: _numbers(attempt)) if "given" in vars(attempt) else None


def _of_trace(trace: Trace) -> Drawing:
    if trace.outcome.status != "ok" or not trace.step_records:
        return timeline(trace)
    return diff(trace, trace.snapshots[-1].step, against=-1)


def _static(drawing: Drawing) -> Bundle:
    from lhkit.draw.viewer import view_html

    return {"text/html": view_html(drawing.view), "text/plain": drawing.text}


def _numbers(attempt: Attempt) -> Bundle:
    """Return a corner of the first result beside the expected one."""
    expected, given = _corner(attempt.expected[0]), _corner(attempt.given[0])
    text = f"asked for:\n{expected}\nyours:\n{given}"
    return {"text/html": f"<pre>{html.escape(text)}</pre>", "text/plain": text}


def _corner(array: NDArray[Any]) -> str:
    corner = array[tuple(slice(_MOST_SHOWN) for _ in array.shape)]
    whole = "" if corner.shape == array.shape else f"  (a corner of {array.shape})"
    return np.array2string(corner, precision=2, suppress_small=True, max_line_width=96) + whole


def _grid(attempt: Attempt) -> Bundle:
    """Return a grid of the first two knobs: variants that are allowed and that should be."""
    schedule = attempt.exercise.schedule
    rows, columns = schedule.knobs[:2]
    rule = attempt.exercise.task.checks[0].pattern or ""
    allowed = allowed_points(schedule, rule)
    kept = attempt.kept
    head = [f"{rows.name} \\ {columns.name}", *map(str, columns.options or ())]
    table = [head]
    for row in rows.options or ():
        points = [{rows.name: row, columns.name: column} for column in columns.options or ()]
        table.append([str(row), *(_mark(p in kept, p in allowed) for p in points)])
    width = max(len(cell) for line in table for cell in line)
    text = "\n".join("  ".join(cell.rjust(width) for cell in line) for line in table)
    text += "\nyes: let through; too many: should not be; missing: should be; ·: rightly left out"
    return {"text/html": f"<pre>{html.escape(text)}</pre>", "text/plain": text}


def _mark(is_kept: bool, is_allowed: bool) -> str:
    if is_kept:
        return "yes" if is_allowed else "too many"
    return "missing" if is_allowed else "·"
