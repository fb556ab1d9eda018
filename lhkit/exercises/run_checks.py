"""Looking at what comes out: numbers, speed in the same run, memory, the variants that constraints leave."""

from __future__ import annotations

import numpy as np

from lhkit.exercises.attempt import Attempt
from lhkit.exercises.task import Check
from lhkit.exercises.truths import allowed_points
from lhkit.exercises.verdict import Finding
from lhkit.kernels.comparing import compare_results
from lhkit.load.target_choice import code_has_fma
from lhkit.model.errors import LhkitError

_MOST_POINTS = 4


def compare_numbers(attempt: Attempt, check: Check) -> Finding:
    """The kernel computes what the reference does."""
    verification = attempt.verification
    if verification.ok:
        seen = f"The largest error is {verification.max_abs_error:.1e}, against {verification.against}."
        return Finding(check.says, True, seen)
    return Finding(check.says, False, verification.difference or f"It differs from {verification.against}.")


def compare_speed(attempt: Attempt, check: Check) -> Finding:
    """The kernel is at least so many times as fast as another one of the same run."""
    if not attempt.verification.ok:
        return Finding(check.says, False, "A kernel with wrong numbers is not timed.")
    asked = check.least or 1.0
    name, speed = attempt.speed_against(check.than)
    return Finding(
        check.says, speed >= asked, f"It is {speed:.1f} times as fast as {name}; asked for are {asked:g}."
    )


def look_at_memory(attempt: Attempt, check: Check) -> Finding:
    """A call asks for no more heap and stack than this."""
    footprint = attempt.kernel.footprint()
    counted = footprint.counted
    peak = counted.peak_bytes if counted is not None else footprint.predicted.peak_bytes.high
    stack = footprint.predicted.stack_bytes.high
    seen = (
        f"The heap peaks at {peak:,} bytes; the stack has {'any number of' if stack is None else f'{stack:,}'}."
    )
    is_right = peak is not None and check.allows(peak)
    is_right &= check.stack is None or (stack is not None and stack <= check.stack)
    return Finding(check.says, is_right, seen)


def look_at_hot_loop(attempt: Attempt, check: Check) -> Finding:
    """The hottest loop of the machine code has so many instructions of a kind.

    Where the target has no multiply-adds, the code that AVX2 would get is looked at instead.
    """
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
    """A function of NumPy arrays computes what the payload does."""
    try:
        given = attempt.given
    except LhkitError:
        raise
    except Exception as error:  # noqa: BLE001  the function is the reader's own
        return Finding(check.says, False, f"It raises {type(error).__name__}: {error}")
    return _compare(attempt, check, given)


def run_payload(attempt: Attempt, check: Check) -> Finding:
    """A payload that was written takes the same arguments and computes the same."""
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


def look_at_points(attempt: Attempt, check: Check) -> Finding:
    """All points let through meet the check's pattern; or all that meet it are let through."""
    kept = attempt.kept
    allowed = allowed_points(attempt.exercise.schedule, check.pattern or "")
    wrong = (
        [p for p in kept if p not in allowed]
        if check.truth == "none-else"
        else [p for p in allowed if p not in kept]
    )
    listed = "; ".join(", ".join(f"{k} = {v}" for k, v in p.items()) for p in wrong[:_MOST_POINTS])
    what = "also lets through" if check.truth == "none-else" else "leaves out"
    seen = f"It {what} {len(wrong)}: {listed}{' …' if len(wrong) > _MOST_POINTS else ''}"
    return Finding(check.says, not wrong, seen if wrong else f"{len(kept)} variants are let through.")
