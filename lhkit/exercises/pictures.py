"""What an answer did, as a picture beside the verdict."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.draw.live_view import Drawing
from lhkit.exercises.attempt import Attempt
from lhkit.exercises.truths import allowed_points
from lhkit.exercises.verdict import Bundle, Finding
from lhkit.model.trace_record import Trace
from lhkit.show import diff, timeline

_MOST_SHOWN = 6


def picture_of(attempt: Attempt, findings: Sequence[Finding]) -> Callable[[], Bundle] | None:
    """Return what makes the picture of an attempt, or None where there is nothing to draw.

    A schedule: the lives of its handles if it failed, else what it did to the payload. A guess: the lives of
    the handles, once it is right. Numbers: those asked for beside those that came. Constraints: the grid of
    variants.
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
    """Return a corner of the first result beside that which was asked for."""
    expected, given = _corner(attempt.expected[0]), _corner(attempt.given[0])
    text = f"asked for:\n{expected}\nyours:\n{given}"
    return {"text/html": f"<pre>{html.escape(text)}</pre>", "text/plain": text}


def _corner(array: NDArray[Any]) -> str:
    corner = array[tuple(slice(_MOST_SHOWN) for _ in array.shape)]
    whole = "" if corner.shape == array.shape else f"  (a corner of {array.shape})"
    return np.array2string(corner, precision=2, suppress_small=True, max_line_width=96) + whole


def _grid(attempt: Attempt) -> Bundle:
    """Return the variants of the first two knobs as a grid: which are let through, and which should be."""
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
