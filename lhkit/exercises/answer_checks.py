"""Looking at an answer: a function for each test that a check can name; each says what it saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lhkit.exercises.attempt import Attempt
from lhkit.exercises.ir_checks import (
    count_lines_of_payload,
    count_lines_of_schedule,
    count_ops,
    look_at_handle,
    look_for_warnings,
    look_whether_it_passes,
)
from lhkit.exercises.run_checks import (
    call_function,
    compare_numbers,
    compare_speed,
    look_at_hot_loop,
    look_at_memory,
    look_at_points,
    run_payload,
)
from lhkit.exercises.task import Check, Test
from lhkit.exercises.truths import CHOICES, TRUTHS
from lhkit.exercises.verdict import Finding
from lhkit.model.errors import LhkitError

Look = Callable[[Attempt, Check], Finding]
# What is looked at whether or not the schedule applies.
_ANY: frozenset[Test] = frozenset(("passes", "written", "guess", "computes", "same-numbers", "points"))
# What needs a kernel, and so a schedule that passes.
_COMPILED: frozenset[Test] = frozenset(("numbers", "faster", "memory", "hot-loop"))


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


def _guesses(attempt: Attempt, check: Check) -> list[Finding]:
    """Compare a guess entry by entry; what is right stays unsaid where the guess is wrong."""
    truth = TRUTHS[check.truth or ""](attempt.exercise)
    guess: Mapping[object, object] = attempt.answer
    choices = CHOICES.get(check.truth or "", ())
    found = []
    for key, value in truth.items():
        given = guess.get(key, "")
        word = str(given).strip().lower()
        is_right = word == str(value).lower()
        said = "Nothing was guessed." if given == "" else f"Your guess is {given!r}."
        if choices and given != "" and word not in choices:
            said = f"Your guess is {given!r}, which is none of {', '.join(choices)}."
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
    "points": look_at_points,
}
