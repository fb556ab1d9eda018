"""Exercises for the reader: statement, hints, verdicts, the record of solved ones, and the tests of answers."""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from lhkit.exercises.attempt import (
    CHOICES,
    TRUTHS,
    Attempt,
    Check,
    Finding,
    KernelTest,
    Note,
    OtherTest,
    Problem,
    Test,
    Verdict,
    allowed_points,
    names,
    picture_of,
    read_task,
)
from lhkit.kernels.verification import compare_results
from lhkit.lessons.lesson_list import SOLVED_SCHEMA, solved_exercises
from lhkit.load.old_spellings import with_named_ops
from lhkit.load.target_choice import code_has_fma
from lhkit.model.errors import LhkitError
from lhkit.model.fatal_attributes import ELEMENTWISE, KINDS
from lhkit.model.file_io import write_whole
from lhkit.model.showable import Showable
from lhkit.model.trace_record import HandleChange
from lhkit.traces.record.handle_history import display_names, payload_in_words, states_at_end
from lhkit.traces.record.placed_ops import PrintedIr, PrintedOp, read_printed
from lhkit.worker.folders import state_folder

if TYPE_CHECKING:
    import pandas as pd


_ROUNDING = 2.0**-23 * 8  # Sums of 64 terms in f32
_MOST_LINES = 4


def look_whether_it_passes(attempt: Attempt, check: Check) -> Finding:
    """The schedule loads, and every step succeeds."""
    if attempt.unloaded is not None:
        return Finding(check.says, False, str(attempt.unloaded))
    if attempt.passes:
        return Finding(check.says, True)
    # The header of a shipped schedule names the payload that it is for.
    header = re.search(r"\A// Payload: (data/(\w+)\.mlir)", attempt.schedule.text)
    is_other = header is not None and header[2] != attempt.exercise.task.payload.maker
    says = f"\nThe schedule is for {header[1]}, as its first line says." if header and is_other else ""
    return Finding(check.says, False, attempt.trace.why().describe() + says)


def look_for_warnings(attempt: Attempt, check: Check) -> Finding:
    """No step has a warning of a kind that the pattern matches."""
    said = [
        f"step {step.index} ({step.op}): {warning.kind}: {warning.message}"
        for step in attempt.trace.step_records
        for warning in step.warnings
        if check.pattern is None or re.search(check.pattern, warning.kind)
    ]
    return Finding(check.says, not said, "\n".join(said[:_MOST_LINES]))


def count_ops(attempt: Attempt, check: Check) -> Finding:
    """The final payload has a number of ops of a name, optionally inside or outside of others."""
    printed = read_printed(with_named_ops(attempt.trace.last_snapshot_text()))
    found = [op for op in printed.ops if op.name == check.op]
    around = [_around(printed, op) for op in found]
    inside = [names for names in around if check.inside is None or check.inside in names]
    fitting = [names for names in inside if check.outside is None or check.outside not in names]
    seen = f"{len(found)} {check.op} in the payload"
    if found:
        seen += f", {len(inside)} inside of {check.inside}" if check.inside else ""
        seen += f", {len(fitting)} outside of {check.outside}" if check.outside else ""
    return Finding(check.says, check.allows(len(fitting)), f"{seen}.")


def _around(printed: PrintedIr, op: PrintedOp) -> set[str]:
    if op.parent < 0:
        return set()
    parent = printed.ops[op.parent]
    return {parent.name, *_around(printed, parent)}


def count_lines_of_payload(attempt: Attempt, check: Check) -> Finding:
    """A pattern has a number of matches in the final payload."""
    return _count_lines(with_named_ops(attempt.trace.last_snapshot_text()), check, "the payload")


def count_lines_of_schedule(attempt: Attempt, check: Check) -> Finding:
    """A pattern has a number of matches in the text of the schedule, comments left out."""
    try:
        text = with_named_ops(attempt.schedule.text)
    except LhkitError as error:
        return Finding(check.says, False, error.failure.message)
    return _count_lines(re.sub(r"//.*", "", text), check, "your schedule")


def _count_lines(text: str, check: Check, what: str) -> Finding:
    pattern = re.compile(check.pattern or "")
    is_whole = bool(pattern.flags & re.DOTALL)  # (?s): in the whole text, over lines
    lines = [line.strip() for line in text.splitlines() if not is_whole and pattern.search(line)]
    if check.allows(sum(len(pattern.findall(part)) for part in ([text] if is_whole else lines))):
        return Finding(check.says, True)
    if lines:
        return Finding(check.says, False, "\n".join(_first(lines)))
    near = [line.strip() for line in text.splitlines() if check.op and f"{check.op} " in line]
    shown = [f"With {check.op} there is:", *_first(near)] if near else []
    return Finding(check.says, False, "\n".join([f"There is no such line in {what}.", *shown]))


def _first(lines: list[str]) -> list[str]:
    more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return [*lines[:_MOST_LINES], *more]


def look_at_handle(attempt: Attempt, check: Check) -> Finding:
    """A handle is live at the end and points to a number of ops of one name only."""
    trace, names = attempt.trace, display_names(attempt.trace)
    states = [c for h, c in states_at_end(trace).items() if names[h].partition(" ")[0] == check.handle]
    if not states:
        known = ", ".join(dict.fromkeys(names.values()))
        return Finding(check.says, False, f"No step defined {check.handle}. There are {known}.")
    change = states[-1]
    if change.state != "live":
        return Finding(check.says, False, trace.why(check.handle).sentence)
    seen = f"{check.handle} points to {payload_in_words(trace, change)}."
    return Finding(check.says, _points_to(attempt, change, check), seen)


def _points_to(attempt: Attempt, change: HandleChange, check: Check) -> bool:
    kinds = Counter(attempt.trace.op(r).name for r in change.payload if isinstance(r, str))
    if check.op in KINDS and ELEMENTWISE in kinds:  # bindings without named ops; records of ops have no kinds
        kinds = Counter({check.op: kinds.pop(ELEMENTWISE), **kinds})
    return set(kinds) == {check.op} and check.allows(kinds[check.op or ""])


_MOST_POINTS = 8


def compare_numbers(attempt: Attempt, check: Check) -> Finding:
    """The kernel agrees with the reference."""
    verification = attempt.verification
    if verification.ok:
        seen = f"The largest error is {verification.max_abs_error:.1e}, against {verification.against}."
        return Finding(check.says, True, seen)
    return Finding(check.says, False, verification.difference or f"It differs from {verification.against}.")


def compare_speed(attempt: Attempt, check: Check) -> Finding:
    """The kernel has a least speedup over another one in the same run."""
    if not attempt.verification.ok:
        return Finding(check.says, False, "A kernel with wrong numbers is not timed.")
    asked = check.least or 1.0
    name, speed = attempt.speed_against(check.than)
    seen = f"It is {speed:.1f} times as fast as {name}; asked for are {asked:g}."
    return Finding(check.says, speed >= asked, seen)


def look_at_memory(attempt: Attempt, check: Check) -> Finding:
    """A call stays within bounds of heap and stack."""
    footprint = attempt.kernel.footprint()
    counted = footprint.counted
    peak = counted.peak_bytes if counted is not None else footprint.predicted.peak_bytes.high
    stack = footprint.predicted.stack_bytes.high
    on_stack = "any number of" if stack is None else f"{stack:,}"
    seen = f"The heap peaks at {peak:,} bytes; the stack has {on_stack}."
    is_right = peak is not None and check.allows(peak)
    is_right &= check.stack is None or (stack is not None and stack <= check.stack)
    return Finding(check.says, is_right, seen)


def look_at_hot_loop(attempt: Attempt, check: Check) -> Finding:
    """The hottest loop has a number of instructions of a kind, for AVX2 if the target has no multiply-adds."""
    kernel = attempt.kernel
    hottest = kernel.hot_loops(None if code_has_fma(kernel.target) else "avx2").loops[0]
    counts = {
        "multiply-adds": hottest.fmas,
        "other arithmetic": hottest.arithmetic,
        "stores and spills": hottest.stores + hottest.spills,
    }
    seen = ", ".join(f"{count} {what}" for what, count in counts.items())
    return Finding(check.says, check.allows(counts[check.op or ""]), f"The hottest loop has {seen}.")


def call_function(attempt: Attempt, check: Check) -> Finding:
    """A function of NumPy arrays agrees with the payload."""
    try:
        given = attempt.given
    except LhkitError:
        raise
    except Exception as error:  # noqa: BLE001  the function is the reader's own
        return Finding(check.says, False, f"It raises {type(error).__name__}: {error}")
    return _compare(attempt, check, given)


def run_payload(attempt: Attempt, check: Check) -> Finding:
    """An answered payload has the same signature and results."""
    wanted = [(t.shape, t.dtype) for t in attempt.exercise.payload.function().arguments]
    taken = [(t.shape, t.dtype) for t in attempt.kernel.function.arguments]
    if taken != wanted:
        return Finding(check.says, False, f"It takes {attempt.kernel.function.describe()}.")
    return _compare(attempt, check, attempt.given)


def look_at_iterators(attempt: Attempt, check: Check) -> Finding:
    """Each ``linalg.generic`` of a payload reduces the loops that the map of its result leaves out."""
    text = attempt.kernel.payload.text
    maps = dict(re.findall(r"^(#\w+)\s*=\s*(affine_map<.*>)", text, re.MULTILINE))
    generics = re.findall(
        r"indexing_maps\s*=\s*\[(.*?)\]\s*,\s*iterator_types\s*=\s*\[(.*?)\]", text, re.DOTALL
    )
    seen = []
    for written, types in generics:
        names = re.findall(r"#\w+|affine_map<.*?\)>", written, re.DOTALL)
        loops, _, result = maps.get(names[-1], names[-1]).partition("->")
        used = re.findall(r"\w+", result)
        for loop, kind in zip(re.findall(r"\w+", loops)[1:], re.findall(r"\w+", types), strict=False):
            if (kind == "parallel") != (loop in used):
                is_used = "in" if loop in used else "left out of"
                seen.append(f"Loop {loop} is {is_used} the result's map and called {kind}.")
    missing = "" if generics else "There is no linalg.generic, whose loops are asked for."
    return Finding(check.says, bool(generics) and not seen, "\n".join(seen) or missing)


def _compare(attempt: Attempt, check: Check, given: tuple[np.ndarray, ...]) -> Finding:
    expected = attempt.expected
    wanted, have = (", ".join(str(a.shape) for a in arrays) or "nothing" for arrays in (expected, given))
    if have != wanted:
        return Finding(check.says, False, f"It returns shape {have}; asked for is {wanted}.")
    converted = [g.astype(e.dtype) for g, e in zip(given, expected, strict=True)]
    verdict = compare_results(converted, expected, rounding=_ROUNDING, against="the payload")
    seen = verdict.difference or f"The largest error is {verdict.max_abs_error:.1e}."
    return Finding(check.says, verdict.ok, seen)


def look_at_points(attempt: Attempt, check: Check) -> Finding:
    """All points that the constraints allow meet the check's pattern, or the other way round."""
    kept = attempt.kept
    allowed = allowed_points(attempt.exercise.schedule, check.pattern or "")
    if check.truth == "none-else":
        what, wrong = "also lets through", [p for p in kept if p not in allowed]
    else:
        what, wrong = "leaves out", [p for p in allowed if p not in kept]
    if wrong:
        return Finding(check.says, False, f"It {what} {len(wrong)}: {_points(wrong)}")
    shown = f": {_points(kept)}" if len(kept) <= _MOST_POINTS else ""
    of = len(allowed_points(attempt.exercise.schedule))
    return Finding(check.says, True, f"{len(kept)} of {of} variants are let through{shown}.")


def _points(points: list[dict[str, Any]]) -> str:
    listed = "; ".join(", ".join(f"{k} = {v}" for k, v in p.items()) for p in points[:_MOST_POINTS])
    return f"{listed} …" if len(points) > _MOST_POINTS else listed


Look = Callable[[Attempt, Check], Finding]


def look_at(attempt: Attempt) -> tuple[Finding, ...]:
    """Return the findings of all checks of the exercise."""
    found: list[Finding] = []
    for check in attempt.exercise.task.checks:
        found += _guesses(attempt, check) if check.test == "guess" else [_look(attempt, check)]
    return tuple(found)


def _look(attempt: Attempt, check: Check) -> Finding:
    """Run one check; a compiler error becomes its finding."""
    if check.test not in get_args(OtherTest) and attempt.unloaded is not None:
        return Finding(check.says, False, "The schedule cannot be applied.")
    if check.test in get_args(KernelTest) and not attempt.passes:
        return Finding(check.says, False, "Nothing was run: the schedule fails.")
    try:
        found = _LOOKS[check.test](attempt, check)
    except LhkitError as error:
        found = Finding(check.says, False, str(error))
    if found.is_right or not check.advice:
        return found
    return Finding(found.says, False, f"{found.seen}\n{check.advice}".strip())


def _guesses(attempt: Attempt, check: Check) -> list[Finding]:
    """Compare a guess entry by entry, without disclosing the right values."""
    truth = TRUTHS[check.truth or ""](attempt.exercise)
    guess: Mapping[object, object] = attempt.answer
    choices = CHOICES.get(check.truth or "", ())
    found = []
    for key, value in truth.items():
        given = guess.get(key, "")
        word = str(given).strip().lower()
        is_right = word == str(value).lower()
        none = f", which is none of {', '.join(choices)}" if choices and word not in choices else ""
        said = "Nothing was guessed." if given == "" else f"Your guess is {given!r}{none}."
        seen = "" if is_right else f"{said} {check.advice}".strip()
        found.append(Finding(f"{check.says} {key}", is_right, seen))
    return found


_LOOKS: Mapping[Test, Look] = {
    "passes": look_whether_it_passes,
    "quiet": look_for_warnings,
    "ops": count_ops,
    "text": count_lines_of_payload,
    "handle": look_at_handle,
    "written": count_lines_of_schedule,
    "numbers": compare_numbers,
    "faster": compare_speed,
    "memory": look_at_memory,
    "hot-loop": look_at_hot_loop,
    "computes": call_function,
    "same-numbers": run_payload,
    "iterators": look_at_iterators,
    "points": look_at_points,
}


def progress_file() -> Path:
    """Return the file of solved exercises; an `OSError` if there is no state folder."""
    return state_folder() / "exercises.json"


def remember(name: str) -> str:
    """Record an exercise as solved; return the progress, or the reason of a failure, as a sentence."""
    days = dict(solved_exercises())
    days.setdefault(name, datetime.date.today().isoformat())
    try:
        write_whole(progress_file(), json.dumps({"schema": SOLVED_SCHEMA, "solved": days}, indent=1))
    except OSError as error:
        return f"Solved; that could not be remembered in {error.filename}: {error.strerror or error}."
    known = names()
    return f"Solved: {sum(n in days for n in known)} of {len(known)} exercises."


def progress() -> pd.DataFrame:
    """Return one row per exercise: name, notebook, title, and the day on which it was solved."""
    import pandas as pd

    days = solved_exercises()
    tasks = [(name, read_task(name)) for name in names()]
    rows = [(name, task.notebook, task.title, days.get(name, "")) for name, task in tasks]
    return pd.DataFrame(rows, columns=["exercise", "notebook", "title", "solved"]).set_index("exercise")


class Exercise(Problem, Showable):
    """An exercise: statement, stub, hints, solution and check.

    Attributes:
        name: What `load` calls it.
        task: The content of its file.
    """

    _opened = 0

    @property
    def statement(self) -> Note:
        """What is asked."""
        task = self.task
        day = solved_exercises().get(self.name)
        done = f"\n\nSolved on {day}." if day else ""
        return Note(f"### {task.title}\n\n{task.statement.strip()}\n\n{self._offer()}{done}")

    @property
    def stub(self) -> str:
        """The code to begin with."""
        return self.task.stub

    def hint(self) -> Note:
        """Return the next hint; after the last one, the last again."""
        hints = self.task.hints
        self._opened = min(self._opened + 1, len(hints))
        hint = hints[self._opened - 1].strip()
        return Note(f"**Hint {self._opened} of {len(hints)}.** {hint}\n\n{self._offer()}")

    def solution(self) -> Note:
        """Return one way to do it, as code for a cell."""
        return Note(f"```python\n{self.task.cell(self.task.solution).strip()}\n```")

    def check(self, answer: Any) -> Verdict:
        """Look at an answer: apply it, run it, time it, whatever the exercise asks.

        Args:
            answer: What the stub hands over: a schedule (loaded, built, or text), a guess (a dict), a function
                of NumPy arrays, a payload, or constraints.

        Returns:
            The verdict; a wrong answer, also one that does not parse or apply, is no exception.

        Raises:
            UsageError: The answer is of another kind than the exercise takes.
        """
        attempt = Attempt(self, answer)
        findings = look_at(attempt)
        is_solved = all(f.is_right for f in findings)
        next_step = remember(self.name) if is_solved else self._offer()
        return Verdict(self.name, findings, next_step, picture_of(attempt, findings))

    def _offer(self) -> str:
        left = len(self.task.hints) - self._opened
        if left == 0:
            return f"No hints are left: `{self.name}.solution()` shows one way to do it."
        return f"`{self.name}.hint()` opens hint {self._opened + 1} of {len(self.task.hints)}."

    def __repr__(self) -> str:
        return str(self.statement)

    def _mime_bundle(self) -> dict[str, Any]:
        return self.statement._mime_bundle()


def load(name: str) -> Exercise:
    """Return an exercise, with its hints closed.

    Args:
        name: Its name; `names` has all, in the order of the notebooks.

    Raises:
        UsageError: There is none of that name; the message has the nearest.
    """
    return Exercise(name, read_task(name))
