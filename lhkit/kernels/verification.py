"""Verification of kernels against the payload's NumPy reference, else against the unscheduled payload."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.bound_arguments import all_arguments
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.load.loader import payload_source
from lhkit.load.random_inputs import default_arguments
from lhkit.model.errors import PayloadError, UsageError, public, usage_error
from lhkit.model.measurement import Verification, Work
from lhkit.model.payload import Payload
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.kernel_requests import RunReference
from lhkit.worker.requests import CountWork
from lhkit.worker.shared_arrays import Packing, array_of_content

# Results against references, with a tolerance that follows from the types that values are rounded to.


Array = NDArray[Any]

# A sum of n products in any order errs by about sqrt(n) rounding errors; this factor makes false alarms
# rare and still is far below what a wrong element does.
_SAFETY = 8.0
# The magnitude of sums that did not cancel: the upper quartile, since half of what leaky ReLU returns is small.
_TYPICAL = 0.75
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
    rounding: float,
    against: str,
    names: Sequence[str] | None = None,
) -> Verification:
    """Return how results compare with what was expected, all of them together.

    Integers and truth values have to be equal. Floats may differ by ``8 rounding`` of the expected value, or of
    the upper quartile of their magnitudes where the value is smaller than that (sums that cancel). NaN
    equals NaN, and an infinity equals one of the same sign.

    Args:
        results: What is judged.
        expected: What it should be.
        rounding: What another order of the payload's ops may change, as a share of a result's magnitude
            (`Work.rounding`): it follows from the narrowest type on the way and from the type in which sums are
            added up. The distance from 1 to the next number of a result's own type is allowed in any case.
        against: What says what is expected.
        names: What the results are called in messages.
    """
    if len(results) != len(expected):
        return _mismatch(f"{len(results)} results, {len(expected)} expected", against)
    names = names or [f"result {i}" for i in range(len(results))]
    verdicts = [
        _compare(name, np.asarray(r), np.asarray(e), rounding, against)
        for name, r, e in zip(names, results, expected, strict=True)
    ]
    wrong = [v for v in verdicts if not v.ok]
    if wrong:
        return wrong[0]
    worst = max(verdicts, key=lambda v: v.max_abs_error, default=None)
    return worst or Verification(ok=True, max_abs_error=0.0, tolerance=0.0, against=against)


def allowed_errors(expected: Array, rounding: float) -> Array | None:
    """Return by how much a result may differ from an expected one at each element; None where not at all."""
    epsilon = _epsilon(expected.dtype)
    return None if epsilon is None else _tolerances(max(epsilon, rounding), _wide(expected))


def _mismatch(difference: str, against: str) -> Verification:
    return Verification(False, math.inf, 0.0, against, difference)


def _compare(name: str, result: Array, expected: Array, rounding: float, against: str) -> Verification:
    if result.shape != expected.shape:
        return _mismatch(f"{name} has shape {result.shape}, expected {expected.shape}", against)
    if result.size == 0:
        return Verification(True, 0.0, 0.0, against)
    tolerances = allowed_errors(expected, rounding)
    error = _errors(result, expected, is_exact=tolerances is None)
    allowed = np.zeros(result.shape) if tolerances is None else tolerances
    wrong = np.flatnonzero(error > allowed)
    shown = wrong if wrong.size else np.arange(error.size)
    worst = int(shown[np.argmax(error.ravel()[shown])])
    difference = None
    if wrong.size:
        at = tuple(int(i) for i in np.unravel_index(int(wrong[0]), result.shape))
        place = f"{name} at {list(at)}" if at else name
        limit = "exact" if tolerances is None else f"tolerance {allowed[at]:.2g}"
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


def _tolerances(rounding: float, expected: Array) -> Array:
    """Return what is allowed at each element."""
    magnitude = np.abs(np.where(np.isfinite(expected), expected, 0.0))
    nonzero = magnitude[magnitude > 0]
    typical = float(np.quantile(nonzero, _TYPICAL, method="lower")) if nonzero.size else 1.0
    return np.asarray(_SAFETY * rounding * np.maximum(magnitude, typical))


# The work of payloads: operations, bytes, and how results round.


def payload_work(
    payload: Payload,
    function: str | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
    worker: Worker | None = None,
) -> Work:
    """Return what one call of a payload's function has to do, as its ops say before they are scheduled."""
    signature = payload.function(function)
    if shapes is not None and (misfit := signature.misfit(shapes)):
        raise usage_error(misfit)
    given = None if shapes is None else tuple(tuple(int(n) for n in shape) for shape in shapes)
    request = CountWork(payload_source(payload), signature.name, given)
    return (worker or shared_worker()).ask(request).value


@public
def verify(kernel: Kernel, arguments: Sequence[Array] | None = None, *, seed: int = 0) -> Verification:
    """Run a kernel and compare what it returns, and what it leaves in memrefs, with the reference.

    Floats may differ as another order of the payload's ops may make them: by ``8 eps`` of the value or of the
    upper quartile of magnitudes, eps being the distance from 1 to the next number of the narrowest type that
    any op on the way rounds to, or ``8 eps sqrt(n)`` where n terms are added up in a type of that eps,
    whichever is more; functions that cancel (``erf`` near 1) count four times. Operands that are narrow and
    extended exactly do not count. All else has to be equal.

    Floats are drawn from the normal distribution. A schedule that pads what takes a maximum, a minimum or a
    product over a loop is run on their absolute values and on the negative of these too: of a maximum of
    numbers of both signs, a padding of zeros changes nothing. Extents that are not known (``?``) are all 64,
    and where there is a schedule, all 61 after that, which tiles do not divide; payloads that refuse 61 are
    run at 64 alone.

    Args:
        kernel: What to verify.
        arguments: What to run it on; drawn from the seed if not given. They are not changed.
        seed: What arguments are drawn from.

    Returns:
        The verdict; it is a value, not an exception.

    Raises:
        UsageError: The reference cannot be loaded, or raises an exception; or this is no kernel.
    """
    if not isinstance(kernel, Kernel):
        what = f"a kernel is verified, not a {type(kernel).__name__}"
        raise usage_error(what, "Compile it first: lhkit.verify(lhkit.compile(payload, schedule)).")
    if arguments is not None:
        return _verdict(kernel, list(arguments))
    drawn = default_arguments(kernel.payload, kernel.function, seed)
    verdict = _verdict(kernel, drawn)
    for sign, what in ((1, "not negative"), (-1, "not positive")) if _pads_extremes(kernel) else ():
        if verdict.ok:
            weights = {w.argument for w in kernel.function.weights}
            signed = [a if i in weights else _of_one_sign(a, sign) for i, a in enumerate(drawn)]
            verdict = _verdict(kernel, signed)
            verdict = _where(verdict, f"all floats given are {what}")
    if verdict.ok and kernel.function.is_dynamic and kernel.schedule is not None and not kernel.bound:
        with contextlib.suppress(PayloadError, UsageError):  # The payload may take some extents only.
            odd = default_arguments(kernel.payload, kernel.function, seed, extent=_ODD_EXTENT)
            verdict = _where(_verdict(kernel, odd), f"each ? is {_ODD_EXTENT}")
    return verdict


def _where(verdict: Verification, what: str) -> Verification:
    """Add to what is said of wrong results when they are so."""
    if verdict.ok:
        return verdict
    return dataclasses.replace(verdict, difference=f"{verdict.difference}, where {what}")


def _verdict(kernel: Kernel, arguments: list[Array]) -> Verification:
    inputs = all_arguments(kernel.bound, arguments, len(kernel.function.arguments))
    return verify_against(kernel, inputs, *expected_results(kernel, inputs))


# A prime, which leaves each tile an end that is not whole.
_ODD_EXTENT = 61
_PADS = re.compile(r"transform\.structured\.pad\b")
_REDUCES = re.compile(r"\breduction\b|linalg\.reduce\b")
_EXTREME = re.compile(r"arith\.(max|min)|linalg\.reduce\s*\{\s*arith\.mul")


def _pads_extremes(kernel: Kernel) -> bool:
    """Return whether a schedule pads, and the payload may reduce by what zeros are not neutral for."""
    if kernel.schedule is None or not _PADS.search(kernel.schedule.text):
        return False
    text = kernel.payload.text
    return "linalg.pooling" in text or bool(_REDUCES.search(text) and _EXTREME.search(text))


def _of_one_sign(array: Array, sign: int) -> Array:
    """Return floats made positive or negative; of other types the array itself."""
    if not np.issubdtype(array.dtype, np.floating) and array.dtype.name not in _SMALL_FLOATS:
        return array
    return np.asarray(sign * np.abs(array), array.dtype)


def verify_against(
    kernel: Kernel, arguments: Sequence[Array], expected: Sequence[Array], against: str
) -> Verification:
    """Run a kernel on all its arguments and compare the results with those that ``against`` gives."""
    results = results_of_call(kernel, arguments)
    shapes = [np.shape(a) for a in arguments]
    work = payload_work(kernel.payload, kernel.function.name, shapes, kernel.worker)
    names = [f"result {i}" for i in range(len(kernel.function.results))]
    names += [f"argument {i}" for i in _written(kernel)]
    return compare_results(
        results,
        expected,
        rounding=work.rounding,
        against=against,
        names=names if len(names) == len(results) == len(expected) else None,
    )


def expected_results(kernel: Kernel, arguments: Sequence[Array]) -> tuple[tuple[Array, ...], str]:
    """Return what a kernel's results and memrefs should be afterwards, and what says so."""
    if kernel.payload.reference is not None:
        return run_reference(kernel, arguments), "NumPy"
    if (local := kernel.payload.local_reference) is not None:
        # What it was made of knows nothing of weights that became arguments later.
        weights = {weight.argument for weight in kernel.function.weights}
        given = [a for i, a in enumerate(arguments) if i not in weights]
        return local.call(*given), local.what
    unscheduled = compile_kernel(kernel.payload, function=kernel.function.name, worker=kernel.worker)
    return results_of_call(unscheduled, arguments), "the unscheduled payload"


def results_of_call(kernel: Kernel, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """Return the results of a call and then the memrefs that it may have written to."""
    written = _written(kernel)
    copies = [np.array(a) if i in written else a for i, a in enumerate(arguments)]
    results = as_tuple(kernel(*copies))
    return (*results, *(copies[i] for i in written))


def _written(kernel: Kernel) -> tuple[int, ...]:
    return tuple(i for i, t in enumerate(kernel.function.arguments) if t.kind == "memref")


def run_reference(kernel: Kernel, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """Return what the NumPy reference returns, and then the memrefs it wrote to; it runs in the worker."""
    packing = Packing(kernel.worker.files)
    try:
        places = tuple(packing.add(np.asarray(a)) for a in arguments)
        request = RunReference(kernel.payload.reference or "", places, _written(kernel))
        answer = kernel.worker.ask(request)
    finally:
        packing.release()
    return tuple(array_of_content(place) for place in answer.value)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return what a kernel returned as a tuple of results."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
