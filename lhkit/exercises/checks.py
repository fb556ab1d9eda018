"""Looking at an answer: a function for each test that a check can name; each says what it saw."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from lhkit.analysis.comparing import compare_results
from lhkit.analysis.handle_history import display_names, payload_in_words, states_at_end
from lhkit.analysis.printed_ir import PrintedIr, PrintedOp, read_printed
from lhkit.analysis.ranking import ratio_interval
from lhkit.analysis.statistics import paired_ratios
from lhkit.exercises.attempt import YOURS, Attempt
from lhkit.exercises.task import Check, Test
from lhkit.exercises.truths import TRUTHS, allowed_points
from lhkit.exercises.verdict import Finding
from lhkit.model.errors import LhkitError
from lhkit.model.trace import HandleChange

Look = Callable[[Attempt, Check], Finding]
_MOST_LINES = 4
# What is looked at whether or not the schedule applies.
_ANY: frozenset[Test] = frozenset(("passes", "written", "guess", "computes", "same-numbers", "points"))
# What needs a kernel, and so a schedule that passes.
_COMPILED: frozenset[Test] = frozenset(("numbers", "faster", "memory"))


def look_at(attempt: Attempt) -> tuple[Finding, ...]:
    """Return what is found by each check of the attempt's exercise, in their order."""
    found: list[Finding] = []
    for check in attempt.exercise.task.checks:
        found += _guesses(attempt, check) if check.test == "guess" else [_look(attempt, check)]
    return tuple(found)


def _look(attempt: Attempt, check: Check) -> Finding:
    """Return what one check finds; an error of the compiler is something that was seen."""
    if check.test not in _ANY and attempt.unloaded is not None:
        return Finding(check.says, False, "The schedule cannot be applied.")
    if check.test in _COMPILED and not attempt.passes:
        return Finding(check.says, False, "Nothing was run: the schedule fails.")
    try:
        found = _LOOKS[check.test](attempt, check)
    except LhkitError as error:
        found = Finding(check.says, False, str(error))
    if found.is_right or not check.advice:
        return found
    return Finding(found.says, False, f"{found.seen}\n{check.advice}".strip())


def _passes(attempt: Attempt, check: Check) -> Finding:
    if attempt.unloaded is not None:
        return Finding(check.says, False, str(attempt.unloaded))
    if attempt.passes:
        return Finding(check.says, True)
    return Finding(check.says, False, attempt.trace.why().describe())


def _quiet(attempt: Attempt, check: Check) -> Finding:
    """No step is suspicious; or none but of the kinds that the check's pattern does not match."""
    said = [
        f"step {step.index} ({step.op}): {warning.kind}: {warning.message}"
        for step in attempt.trace.step_records
        for warning in step.warnings
        if check.pattern is None or re.search(check.pattern, warning.kind)
    ]
    return Finding(check.says, not said, "\n".join(said[:_MOST_LINES]))


def _ops(attempt: Attempt, check: Check) -> Finding:
    printed = read_printed(attempt.trace.last_snapshot_text())
    found = [op for op in printed.ops if op.name == check.op]
    fitting = [op for op in found if _lies_right(printed, op, check)]
    seen = f"{len(found)} {check.op} in the payload"
    if found and (check.inside or check.outside):
        inside = sum(check.inside in _around(printed, op) for op in found if check.inside)
        seen += f", {inside} inside of {check.inside}" if check.inside else ""
        seen += f", {len(fitting)} outside of {check.outside}" if check.outside else ""
    return Finding(check.says, _is_within(len(fitting), check), f"{seen}.")


def _lies_right(printed: PrintedIr, op: PrintedOp, check: Check) -> bool:
    around = _around(printed, op)
    return (check.inside is None or check.inside in around) and (
        check.outside is None or check.outside not in around
    )


def _around(printed: PrintedIr, op: PrintedOp) -> set[str]:
    """Return the names of the ops around an op."""
    names, at = set(), op.parent
    while at >= 0:
        names.add(printed.ops[at].name)
        at = printed.ops[at].parent
    return names


def _is_within(count: float, check: Check) -> bool:
    least = 0.0 if check.least is None else check.least
    return least <= count and (check.most is None or count <= check.most)


def _text(attempt: Attempt, check: Check) -> Finding:
    return _count_lines(attempt.trace.last_snapshot_text(), check, "the payload")


def _written(attempt: Attempt, check: Check) -> Finding:
    try:
        text = attempt.schedule.text
    except LhkitError as error:
        return Finding(check.says, False, error.failure.message)
    return _count_lines(text, check, "your schedule")


def _count_lines(text: str, check: Check, what: str) -> Finding:
    pattern = re.compile(check.pattern or "")
    lines = [line.strip() for line in text.splitlines() if pattern.search(line)]
    count = sum(len(pattern.findall(line)) for line in lines)
    more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    seen = "\n".join([*lines[:_MOST_LINES], *more]) or f"There is no such line in {what}."
    is_right = _is_within(count, check)
    return Finding(check.says, is_right, "" if is_right else seen)


def _handle(attempt: Attempt, check: Check) -> Finding:
    """A handle of this name is live at the end and points to so many ops of this name, and to nothing else."""
    trace, names = attempt.trace, display_names(attempt.trace)
    states = [
        change
        for handle, change in states_at_end(trace).items()
        if names[handle].partition(" ")[0] == check.handle
    ]
    if not states:
        known = ", ".join(dict.fromkeys(names.values()))
        return Finding(check.says, False, f"No step defined {check.handle}. There are {known}.")
    change = states[-1]
    if change.state != "live":
        return Finding(check.says, False, trace.why(check.handle).sentence)
    return Finding(check.says, _points_to(attempt, change, check), _says(attempt, check, change))


def _says(attempt: Attempt, check: Check, change: HandleChange) -> str:
    return f"{check.handle} points to {payload_in_words(attempt.trace, change)}."


def _points_to(attempt: Attempt, change: HandleChange, check: Check) -> bool:
    kinds = Counter(attempt.trace.op(r).name for r in change.payload if isinstance(r, str))
    return set(kinds) == {check.op} and _is_within(kinds[check.op or ""], check)


def _numbers(attempt: Attempt, check: Check) -> Finding:
    verification = attempt.verification
    if verification.ok:
        seen = f"The largest error is {verification.max_abs_error:.1e}, against {verification.against}."
        return Finding(check.says, True, seen)
    return Finding(check.says, False, verification.difference or f"It differs from {verification.against}.")


def _faster(attempt: Attempt, check: Check) -> Finding:
    """At least so many times as fast as another kernel of the same run; the middle of nine rounds decides."""
    if not attempt.verification.ok:
        return Finding(check.says, False, "A kernel with wrong numbers is not timed.")
    name, comparison = attempt.against(check.than)
    ratios = paired_ratios(comparison.measurement(YOURS), comparison.measurement(name))
    speed = ratio_interval(ratios, confidence=0.95)
    times = f"{speed.middle:.1f} times as fast as {name} ({speed.low:.1f} to {speed.high:.1f})"
    return Finding(
        check.says, _is_within(speed.middle, check), f"It is {times}; asked for are {check.least:g}."
    )


def _memory(attempt: Attempt, check: Check) -> Finding:
    footprint = attempt.kernel.footprint()
    counted = footprint.counted
    peak = counted.peak_bytes if counted is not None else footprint.predicted.peak_bytes.high
    stack = footprint.predicted.stack_bytes.high
    seen = (
        f"The heap peaks at {peak:,} bytes; the stack has {'any number of' if stack is None else f'{stack:,}'}."
    )
    is_right = peak is not None and _is_within(peak, check)
    is_right &= check.stack is None or (stack is not None and stack <= check.stack)
    return Finding(check.says, is_right, seen)


def _guesses(attempt: Attempt, check: Check) -> list[Finding]:
    """Compare a guess entry by entry; what is right stays unsaid where the guess is wrong."""
    truth = TRUTHS[check.truth or ""](attempt.exercise)
    guess: Mapping[object, object] = attempt.answer
    found = []
    for key, value in truth.items():
        given = guess.get(key, "")
        is_right = str(given).strip().lower() == str(value).lower()
        seen = "" if is_right else f"Your guess is {given!r}. {check.advice}".strip()
        if given == "" and not is_right:
            seen = f"Nothing was guessed. {check.advice}".strip()
        found.append(Finding(f"{check.says} {key}", is_right, seen))
    return found


def _computes(attempt: Attempt, check: Check) -> Finding:
    try:
        given = attempt.given
    except LhkitError:
        raise
    except Exception as error:  # noqa: BLE001  the function is the reader's own
        return Finding(check.says, False, f"It raises {type(error).__name__}: {error}")
    return _compare(attempt, check, given)


def _same_numbers(attempt: Attempt, check: Check) -> Finding:
    wanted = [(t.shape, t.dtype) for t in attempt.exercise.payload.function().arguments]
    taken = [(t.shape, t.dtype) for t in attempt.kernel.function.arguments]
    if taken != wanted:
        return Finding(check.says, False, f"It takes {attempt.kernel.function.describe()}.")
    return _compare(attempt, check, attempt.given)


def _compare(attempt: Attempt, check: Check, given: tuple[np.ndarray, ...]) -> Finding:
    expected = attempt.expected
    shapes = [e.shape for e in expected], [g.shape for g in given]
    if shapes[0] != shapes[1]:
        wanted, have = (", ".join(map(str, each)) or "nothing" for each in shapes)
        return Finding(check.says, False, f"It returns shape {have}; asked for is {wanted}.")
    verdict = compare_results(
        [g.astype(e.dtype) for g, e in zip(given, expected, strict=True)],
        expected,
        reduction_length=64,
        against="the payload",
    )
    return Finding(
        check.says, verdict.ok, verdict.difference or f"The largest error is {verdict.max_abs_error:.1e}."
    )


def _points(attempt: Attempt, check: Check) -> Finding:
    """All points let through meet the check's pattern; or all that meet it are let through."""
    from lhkit.sweeping.space import space_of

    schedule = attempt.exercise.schedule
    kept = [dict(point) for point in space_of(schedule, constraints=list(attempt.answer)).points()]
    allowed = allowed_points(schedule, check.pattern or "")
    wrong = (
        [p for p in kept if p not in allowed]
        if check.truth == "none-else"
        else [p for p in allowed if p not in kept]
    )
    listed = "; ".join(", ".join(f"{k} = {v}" for k, v in p.items()) for p in wrong[:_MOST_LINES])
    what = "also lets through" if check.truth == "none-else" else "leaves out"
    seen = f"It {what} {len(wrong)}: {listed}{' …' if len(wrong) > _MOST_LINES else ''}"
    return Finding(check.says, not wrong, seen if wrong else f"{len(kept)} variants are let through.")


_LOOKS: Mapping[Test, Look] = {
    "passes": _passes,
    "quiet": _quiet,
    "ops": _ops,
    "text": _text,
    "handle": _handle,
    "written": _written,
    "numbers": _numbers,
    "faster": _faster,
    "memory": _memory,
    "computes": _computes,
    "same-numbers": _same_numbers,
    "points": _points,
}
