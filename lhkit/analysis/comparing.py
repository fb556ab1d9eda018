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


def compare_results(
    results: Sequence[Array], expected: Sequence[Array], *, reduction_length: int, against: str
) -> Verification:
    """Return how results compare with what was expected, all of them together.

    Args:
        results: What a kernel returned.
        expected: What the reference returned, in the same order.
        reduction_length: How many terms are summed for one element, at most.
        against: What the reference is.
    """
    if len(results) != len(expected):
        return _mismatch(f"{len(results)} results, {len(expected)} expected", against)
    verdicts = [
        _compare(i, np.asarray(r), np.asarray(e), reduction_length, against)
        for i, (r, e) in enumerate(zip(results, expected, strict=True))
    ]
    wrong = [v for v in verdicts if not v.ok]
    if wrong:
        return wrong[0]
    worst = max(verdicts, key=lambda v: v.max_abs_error, default=None)
    return worst or Verification(ok=True, max_abs_error=0.0, tolerance=0.0, against=against)


def _mismatch(difference: str, against: str) -> Verification:
    return Verification(False, math.inf, 0.0, against, difference)


def _compare(index: int, result: Array, expected: Array, terms: int, against: str) -> Verification:
    if result.shape != expected.shape:
        return _mismatch(f"result {index} has shape {result.shape}, expected {expected.shape}", against)
    if result.size == 0:
        return Verification(True, 0.0, 0.0, against)
    exact = not np.issubdtype(result.dtype, np.inexact) and result.dtype.name != "bfloat16"
    got, want = (result, expected) if exact else (_wide(result), _wide(expected))
    same = got == want
    if not exact:
        same |= np.isnan(got) & np.isnan(want)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(same, 0.0, np.abs(_wide(result) - _wide(expected)))
    error = np.where(np.isfinite(error), error, np.inf)
    tolerance = 0.0 if exact else _tolerance(result.dtype, want, terms)
    worst = float(error.max())
    wrong = np.flatnonzero(error.ravel() > tolerance)
    difference = None
    if wrong.size:
        at = tuple(int(i) for i in np.unravel_index(int(wrong[0]), result.shape))
        difference = f"result {index} at {list(at)} is {result[at]!s}, expected {expected[at]!s}"
        difference += f" ({wrong.size} of {result.size} elements differ)"
    return Verification(not wrong.size, worst, tolerance, against, difference)


def _wide(array: Array) -> Array:
    is_complex = np.issubdtype(array.dtype, np.complexfloating)
    return array.astype(np.complex128 if is_complex else np.float64)


def _tolerance(dtype: np.dtype[Any], expected: Array, terms: int) -> float:
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(float(finite.max()), 1.0) if finite.size else 1.0
    epsilon = 2.0**-8 if dtype.name == "bfloat16" else float(np.finfo(dtype).eps)
    return _SAFETY * epsilon * math.sqrt(max(terms, 1)) * scale
