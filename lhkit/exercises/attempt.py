"""Exercise files, and attempts: what a reader handed in, traced and compiled when asked for, and its verdict.

A file is ``tasks/NN_name.toml``; NN is the number of the notebook that it belongs to, if that has one. It holds
statement, stub, hints, solution, checks, and planted wrong answers. The stub is a cell of that notebook.
Solution and wrong answers are edits of it.
"""

from __future__ import annotations

import difflib
import functools
import html
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

import lhkit.payloads
from lhkit.bench.side_by_side import fastest_ns
from lhkit.compose.builder.schedule_builder import ScheduleBuilder
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import escaped
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.kernels.verification import as_tuple, verify
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.codec import from_json
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Verification
from lhkit.model.payload import Payload
from lhkit.model.printable import printable
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Showable
from lhkit.model.trace_record import STATE_WORDS, Cause, HandleChange, Trace
from lhkit.show import diff, timeline
from lhkit.sweeps.space import space_of
from lhkit.traces.record.handle_history import deaths, display_names, states_at_end
from lhkit.traces.record.trace_run import trace_schedule

FOLDER = Path(__file__).parent / "tasks"

AnswerKind = Literal["schedule", "guess", "function", "payload", "constraints"]
# Tests of a trace, of a compiled kernel, and those that need no schedule that applies.
TraceTest = Literal["quiet", "ops", "text", "handle"]
KernelTest = Literal["numbers", "faster", "memory", "hot-loop"]
OtherTest = Literal["passes", "written", "guess", "computes", "same-numbers", "iterators", "points"]
Test = Literal[TraceTest, KernelTest, OtherTest]
Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A payload or a schedule: a function ``maker`` of `lhkit.payloads` with sizes, a shipped file, or text."""

    maker: str | None = None
    sizes: tuple[int, ...] = ()
    file: str | None = None
    text: str | None = None

    def payload(self) -> Payload:
        """Return it as a payload."""
        if self.maker is not None:
            made: Payload = getattr(lhkit.payloads, self.maker)(*self.sizes)
            return made
        return load_payload(self._given(), name="<exercise>")

    def schedule(self) -> Schedule:
        """Return it as a schedule."""
        return load_schedule(self._given(), name="<exercise>")

    def _given(self) -> str:
        return self.file or self.text or ""


@dataclass(frozen=True, slots=True)
class Check:
    """A requirement on an answer.

    Attributes:
        op: Payload ops of this name are counted (``ops``), or what a handle points to (``handle``), or what is
            counted in the hottest loop (``hot-loop``); for ``text``, its lines are shown if none is right.
        pattern: A regular expression; its places in the payload, or in the schedule (``written``), are counted.
        least: How many there have to be at least; for ``faster`` the ratio, far below the solution's.
        most: How many there may be at most; bytes for ``memory``.
        than: The schedule to be faster than; without one, the unscheduled payload.
        truth: The truth for a guess; `lhkit.exercises.attempt` has a function for each.
    """

    says: str
    test: Test
    op: str | None = None
    inside: str | None = None
    outside: str | None = None
    pattern: str | None = None
    handle: str | None = None
    least: float | None = None
    most: float | None = None
    stack: int | None = None
    than: Source | None = None
    truth: str | None = None
    advice: str = ""

    def allows(self, count: float) -> bool:
        """Return whether a count is between ``least`` and ``most``."""
        least = 0.0 if self.least is None else self.least
        return least <= count and (self.most is None or count <= self.most)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A planted wrong answer.

    Attributes:
        seen: A part of the verdict.
    """

    name: str
    changes: Changes
    fails: tuple[str, ...]
    seen: str


@dataclass(frozen=True, slots=True)
class Task:
    """The content of an exercise file.

    Attributes:
        teaches: A part of the verdict on the unchanged stub.
        schedule: The given schedule, or None if it is the answer.
    """

    title: str
    notebook: str
    statement: str
    answer: AnswerKind
    stub: str
    teaches: str
    hints: tuple[str, ...]
    solution: Changes
    checks: tuple[Check, ...]
    wrong: tuple[Wrong, ...]
    payload: Source
    schedule: Source | None = None

    def cell(self, changes: Changes) -> str:
        """Return the stub with changes; a `ValueError` unless each matches exactly once."""
        text = self.stub
        for before, after in changes:
            if text.count(before) != 1:
                raise ValueError(f"{before!r} occurs {text.count(before)} times in the stub of {self.title!r}")
            text = text.replace(before, after)
        return text


@functools.cache
def _files() -> dict[str, Path]:
    return {path.stem.partition("_")[2]: path for path in sorted(FOLDER.glob("*.toml"))}


def names() -> tuple[str, ...]:
    """Return the names of all exercises, in the order of their notebooks."""
    return tuple(_files())


@functools.cache
def read_task(name: str) -> Task:
    """Read an exercise; a usage error for an unknown name suggests similar ones."""
    path = _files().get(name)
    if path is None:
        near = difflib.get_close_matches(name, names(), 3) or names()
        raise usage_error(f"there is no exercise {name!r}", f"Did you mean one of these? {', '.join(near)}.")
    return from_json(Task, tomllib.loads(path.read_text(encoding="utf-8")))


Arrays = tuple[NDArray[Any], ...]

YOURS = "yours"
_TAKEN: Mapping[AnswerKind, tuple[str, tuple[Any, ...]]] = {
    "schedule": ("a schedule: loaded, built, or its text", (Schedule, ScheduleBuilder, str, os.PathLike)),
    "function": ("a function of NumPy arrays", (Callable,)),
    "guess": ("a dict", (Mapping,)),
    "payload": ("a payload, or its text", (Payload, str, os.PathLike)),
    "constraints": ("a list of constraints", (list, tuple)),
}


class Problem:
    """The task that answers are checked against: an exercise without its hints and verdicts."""

    def __init__(self, name: str, task: Task) -> None:
        self.name, self.task = name, task

    @functools.cached_property
    def payload(self) -> Payload:
        """The payload of the exercise."""
        return self.task.payload.payload()

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The schedule of the exercise."""
        if self.task.schedule is None:
            raise usage_error(f"{self.name} comes without a schedule", "Writing one is the exercise.")
        return self.task.schedule.schedule()

    @functools.cached_property
    def trace(self) -> Trace:
        """The trace of its schedule on its payload."""
        return trace_schedule(self.payload, self.schedule)


class Attempt:
    """An answer; derived values are computed on demand and cached."""

    def __init__(self, exercise: Problem, answer: Any) -> None:
        self.exercise, self.answer = exercise, answer
        words, types = _TAKEN[exercise.task.answer]
        if not isinstance(answer, types):
            message = f"{exercise.name}.check takes {words}; this is {type(answer).__name__}"
            raise usage_error(message, f"print({exercise.name}.stub) shows how the exercise begins.")

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The answer as a schedule."""
        if isinstance(self.answer, ScheduleBuilder):
            return self.answer.schedule(name="<yours>")
        return self.answer if isinstance(self.answer, Schedule) else load_schedule(self.answer, name="<yours>")

    @functools.cached_property
    def unloaded(self) -> LhkitError | None:
        """The error of loading or applying the schedule, or None."""
        try:
            _ = self.trace
        except LhkitError as error:
            return error
        return None

    @functools.cached_property
    def trace(self) -> Trace:
        """The trace of the answered schedule; for other answers that of the exercise's schedule."""
        if self.exercise.task.answer != "schedule":
            return self.exercise.trace
        return trace_schedule(self.exercise.payload, self.schedule)

    @property
    def passes(self) -> bool:
        """Whether the schedule loads and applies."""
        return self.unloaded is None and self.trace.outcome.status == "ok"

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The answered payload, or the exercise's payload with the answered schedule, compiled."""
        if self.exercise.task.answer == "payload":
            given = self.answer
            return compile_kernel(given if isinstance(given, Payload) else load_payload(given, name="<yours>"))
        return compile_kernel(self.exercise.payload, self.schedule)

    @functools.cached_property
    def plain(self) -> Kernel:
        """The exercise's payload compiled without a schedule."""
        return compile_kernel(self.exercise.payload)

    @functools.cached_property
    def verification(self) -> Verification:
        """The verification of the kernel against the reference."""
        return verify(self.kernel)

    @functools.cached_property
    def inputs(self) -> Sequence[NDArray[Any]]:
        """Arguments for the exercise's payload."""
        return generate_arguments(self.exercise.payload.function())

    @functools.cached_property
    def expected(self) -> Arrays:
        """The results of the exercise's payload for the inputs."""
        return as_tuple(self.plain(*self.inputs))

    @functools.cached_property
    def given(self) -> Arrays:
        """The results of the answered function or payload for the inputs."""
        function = self.kernel if self.exercise.task.answer == "payload" else self.answer
        results = as_tuple(function(*map(np.array, self.inputs)))
        return tuple(map(np.asarray, results))

    @functools.cached_property
    def kept(self) -> list[dict[str, KnobValue]]:
        """The variants of the exercise's schedule that the answered constraints let through."""
        return allowed_points(self.exercise.schedule, *self.answer)

    def speed_against(self, other: Source | None) -> tuple[str, float]:
        """Return the name of another kernel, default the unscheduled one, and the speedup over it."""
        name = other.file if other is not None and other.file else "unscheduled"
        reference = compile_kernel(self.exercise.payload, other.schedule()) if other else self.plain
        times = fastest_ns({name: reference, YOURS: self.kernel})
        return name, times[name] / times[YOURS]


# The truth for guesses, computed from the trace of the exercise's schedule.


Truth = Mapping[str, str]


def _by_handle(exercise: Problem, word: Callable[[str, HandleChange], str]) -> Truth:
    """Map the name of each handle that a step defines, so not the root, to a word on its final state."""
    trace, names = exercise.trace, display_names(exercise.trace)
    states = states_at_end(trace).items()
    return {names[h]: word(h, change) for h, change in states if trace.handle(h).defined_by >= 0}


def _cause_of_deaths(exercise: Problem) -> Truth:
    died = deaths(exercise.trace)
    return _by_handle(exercise, lambda h, _: died[h].invalidation.cause if h in died else "live")


def _names_of_weights(exercise: Problem) -> Truth:
    weights = exercise.payload.constants_to_arguments().function().weights
    return {w.resource: w.name for w in sorted(weights, key=lambda w: w.resource)}


def allowed_points(schedule: Schedule, *rules: Any) -> list[dict[str, KnobValue]]:
    """Return the variants of a schedule's knobs that meet rules, in the order of a grid."""
    return [dict(point) for point in space_of(schedule, constraints=list(rules)).points()]


# The words among which a guess chooses.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "states": tuple(STATE_WORDS.values()),
    "deaths": (*get_args(Cause), "live"),
}
# Handle → final state, cause of its invalidation, number of payload ops; constant → argument made from it.
TRUTHS: Mapping[str, Callable[[Problem], Truth]] = {
    "states": lambda exercise: _by_handle(exercise, lambda _, change: STATE_WORDS[change.state]),
    "deaths": _cause_of_deaths,
    "counts": lambda exercise: _by_handle(exercise, lambda _, change: str(len(change.payload))),
    "weights": _names_of_weights,
}


Bundle = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
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
        picture = self.picture() if self.picture is not None else {"text/html": "", "text/plain": ""}
        rows = "".join(map(_row, self.findings))
        title = f"<b>{escaped(self.exercise)}: {'solved' if self.is_solved else 'not yet'}</b>"
        table = f'<table style="text-align:left">{rows}</table>'
        shown = f"<p>{title}</p>{table}<p>{escaped(self.next_step)}</p>"
        return {
            "text/html": f'<div class="lhkit-verdict">{shown}</div>{picture["text/html"]}',
            "text/plain": "\n\n".join(filter(None, (self.describe(), picture["text/plain"]))),
        }

    def __str__(self) -> str:
        return printable(self.describe())


@dataclass(frozen=True, slots=True)
class Note(Showable):
    """A Markdown text of an exercise: statement, hint or solution."""

    markdown: str

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/markdown": self.markdown, "text/plain": self.markdown}

    def __str__(self) -> str:
        return self.markdown


_MOST_SHOWN = 6
_GREEN, _RED = "var(--jp-success-color0, #087a56)", "var(--jp-warn-color0, #b04a00)"


def _row(finding: Finding) -> str:
    mark, color = ("✓ right", _GREEN) if finding.is_right else ("✗ not yet", _RED)
    seen = f'<pre style="margin:0;white-space:pre-wrap">{escaped(finding.seen)}</pre>' if finding.seen else ""
    return (
        f'<tr><td style="color:{color};white-space:nowrap"><b>{mark}</b></td>'
        f'<td style="text-align:left;vertical-align:top">{escaped(finding.says)}{seen}</td></tr>'
    )


def picture_of(attempt: Attempt, findings: Sequence[Finding]) -> Callable[[], Bundle] | None:
    """Return the renderer of an attempt's picture; None if there is nothing to draw.

    A schedule: the handle timeline if it failed, else the payload diff. A correct guess: the timeline. Numbers:
    expected beside actual ones. Constraints: the grid of variants.
    """
    kind = attempt.exercise.task.answer
    if kind == "schedule":
        return None if attempt.unloaded else lambda: _static(_of_trace(attempt.trace))
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
    return _text(f"asked for:\n{_corner(attempt.expected[0])}\nyours:\n{_corner(attempt.given[0])}")


def _text(text: str) -> Bundle:
    return {"text/html": f"<pre>{html.escape(text)}</pre>", "text/plain": text}


def _corner(array: NDArray[Any]) -> str:
    corner = array[tuple(slice(_MOST_SHOWN) for _ in array.shape)]
    whole = "" if corner.shape == array.shape else f"  (a corner of {array.shape})"
    return np.array2string(corner, precision=2, suppress_small=True, max_line_width=96) + whole


# By whether a variant is let through, and whether it is allowed.
_MARKS = {(True, True): "yes", (True, False): "too many", (False, True): "missing", (False, False): "·"}


def _grid(attempt: Attempt) -> Bundle:
    """Return a grid of the first two knobs: variants that are allowed and that should be."""
    schedule = attempt.exercise.schedule
    rows, columns = schedule.knobs[:2]
    allowed = allowed_points(schedule, attempt.exercise.task.checks[0].pattern or "")
    table = [[f"{rows.name} \\ {columns.name}", *map(str, columns.options or ())]]
    for row in rows.options or ():
        points = [{rows.name: row, columns.name: column} for column in columns.options or ()]
        table.append([str(row), *(_MARKS[p in attempt.kept, p in allowed] for p in points)])
    width = max(len(cell) for line in table for cell in line)
    text = "\n".join("  ".join(cell.rjust(width) for cell in line) for line in table)
    return _text(text + "\nyes: let through; too many: should not be; missing: should be; ·: rightly left out")
