"""Results against references, with a tolerance that follows from element type and reduction length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.measurement import Verification

Array = NDArray[Any]

# A sum of n products in any order errs by about sqrt(n) rounding errors; this factor makes false alarms
# rare and still is far below what a wrong element does.
_SAFETY = 8.0
# Element types that NumPy does not know as floats, with the distance from 1 to the next number.
_SMALL_FLOATS = {
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float8_e5m2fnuz": 2.0**-2,
}


def compare_results(
    results: Sequence[Array],
    expected: Sequence[Array],
    *,
    reduction_length: int,
    against: str,
    names: Sequence[str] | None = None,
) -> Verification:
    """Return how results compare with what was expected, all of them together.

    Integers and truth values have to be equal. Floats may differ by ``8 eps sqrt(n)`` of the expected value, n
    the reduction length, or of the median magnitude of the expected values where the value is smaller than
    that (sums that cancel). NaN equals NaN, and an infinity equals one of the same sign.

    Args:
        results: What a kernel returned.
        expected: What the reference returned, in the same order.
        reduction_length: How many terms are summed for one element, at most.
        against: What the reference is.
        names: What to call each result in words; default ``result 0``, ….
    """
    if len(results) != len(expected):
        return _mismatch(f"{len(results)} results, {len(expected)} expected", against)
    names = names or [f"result {i}" for i in range(len(results))]
    verdicts = [
        _compare(name, np.asarray(r), np.asarray(e), reduction_length, against)
        for name, r, e in zip(names, results, expected, strict=True)
    ]
    wrong = [v for v in verdicts if not v.ok]
    if wrong:
        return wrong[0]
    worst = max(verdicts, key=lambda v: v.max_abs_error, default=None)
    return worst or Verification(ok=True, max_abs_error=0.0, tolerance=0.0, against=against)


def allowed_errors(expected: Array, reduction_length: int) -> Array | None:
    """Return by how much a result may differ from an expected one at each element; None where not at all."""
    epsilon = _epsilon(expected.dtype)
    return None if epsilon is None else _tolerances(epsilon, _wide(expected), reduction_length)


def _mismatch(difference: str, against: str) -> Verification:
    return Verification(False, math.inf, 0.0, against, difference)


def _compare(name: str, result: Array, expected: Array, terms: int, against: str) -> Verification:
    if result.shape != expected.shape:
        return _mismatch(f"{name} has shape {result.shape}, expected {expected.shape}", against)
    if result.size == 0:
        return Verification(True, 0.0, 0.0, against)
    epsilon = _epsilon(result.dtype)
    error = _errors(result, expected, is_exact=epsilon is None)
    allowed = np.zeros(result.shape) if epsilon is None else _tolerances(epsilon, _wide(expected), terms)
    wrong = np.flatnonzero(error > allowed)
    shown = wrong if wrong.size else np.arange(error.size)
    worst = int(shown[np.argmax(error.ravel()[shown])])
    difference = None
    if wrong.size:
        at = tuple(int(i) for i in np.unravel_index(int(wrong[0]), result.shape))
        place = f"{name} at {list(at)}" if at else name
        limit = f"tolerance {allowed[at]:.2g}" if epsilon is not None else "exact"
        difference = f"{place} is {result[at]!s}, expected {expected[at]!s}"
        difference += f" ({limit}; {wrong.size} of {result.size} elements differ)"
    return Verification(
        not wrong.size, float(error.flat[worst]), float(allowed.flat[worst]), against, difference
    )


def _epsilon(dtype: np.dtype[Any]) -> float | None:
    """Return the distance from 1 to the next number of a float or complex type, None for exact types."""
    if dtype.name in _SMALL_FLOATS:
        return _SMALL_FLOATS[dtype.name]
    return float(np.finfo(dtype).eps) if np.issubdtype(dtype, np.inexact) else None


def _errors(result: Array, expected: Array, *, is_exact: bool) -> Array:
    """Return absolute differences in float64: 0 where both are the same, infinite where only one is finite."""
    got, want = _wide(result), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - want)
    if is_exact:  # large integers that differ can be equal as floats
        return np.where(result == expected, 0.0, np.maximum(error, 1.0))
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))


def _wide(array: Array) -> Array:
    is_complex = np.issubdtype(array.dtype, np.complexfloating)
    return array.astype(np.complex128 if is_complex else np.float64)


def _tolerances(epsilon: float, expected: Array, terms: int) -> Array:
    """Return what is allowed at each element."""
    magnitude = np.abs(np.where(np.isfinite(expected), expected, 0.0))
    nonzero = magnitude[magnitude > 0]
    typical = float(np.median(nonzero)) if nonzero.size else 1.0
    return np.asarray(_SAFETY * epsilon * math.sqrt(max(terms, 1)) * np.maximum(magnitude, typical))
