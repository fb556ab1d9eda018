"""Verifying kernels: against the payload's NumPy reference, else against the unscheduled payload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.comparing import compare_results
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.kernels.session_work import payload_work
from lhkit.load.random_inputs import default_arguments
from lhkit.model.boundary import public
from lhkit.model.measurement import Verification
from lhkit.worker.shared_arrays import Packing, arrays_in

Array = NDArray[Any]


@public
def verify(kernel: Kernel, arguments: Sequence[Array] | None = None, *, seed: int = 0) -> Verification:
    """Run a kernel and compare what it returns, and what it leaves in memrefs, with the reference.

    Args:
        kernel: What to verify.
        arguments: What to run it on; drawn from the seed if not given. They are not changed.
        seed: What arguments are drawn from.

    Returns:
        The verdict; it is a value, not an exception.

    Raises:
        UsageError: The reference cannot be loaded, or raises an exception.
    """
    inputs = (
        list(arguments) if arguments is not None else default_arguments(kernel.payload, kernel.function, seed)
    )
    expected, against = expected_results(kernel, inputs)
    results = _results_of_call(kernel, inputs)
    shapes = [np.shape(a) for a in inputs]
    work = payload_work(kernel.payload, kernel.function.name, shapes, kernel.worker)
    names = [f"result {i}" for i in range(len(kernel.function.results))]
    names += [f"argument {i}" for i in _written(kernel)]
    return compare_results(
        results,
        expected,
        reduction_length=work.reduction_length,
        against=against,
        names=names if len(names) == len(results) == len(expected) else None,
    )


def expected_results(kernel: Kernel, arguments: Sequence[Array]) -> tuple[tuple[Array, ...], str]:
    """Return what a kernel's results and memrefs should be afterwards, and what says so."""
    if kernel.payload.reference is not None:
        return run_reference(kernel, arguments), "NumPy"
    unscheduled = compile_kernel(kernel.payload, function=kernel.function.name, worker=kernel.worker)
    return _results_of_call(unscheduled, arguments), "the unscheduled payload"


def _results_of_call(kernel: Kernel, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """Return the results of a call and then the memrefs that it may have written to."""
    written = _written(kernel)
    copies = [np.array(a) if i in written else a for i, a in enumerate(arguments)]
    results = as_tuple(kernel(*copies))
    return (*results, *(copies[i] for i in written))


def _written(kernel: Kernel) -> list[int]:
    return [i for i, t in enumerate(kernel.function.arguments) if t.kind == "memref"]


def run_reference(kernel: Kernel, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """Return what the NumPy reference returns, and then the memrefs it wrote to; it runs in the worker."""
    packing = Packing(kernel.worker.files)
    try:
        described = [packing.add(np.asarray(a)) for a in arguments]
        fields = {
            "function": kernel.payload.reference,
            "arguments": described,
            "written": _written(kernel),
        }
        answer = kernel.worker.request("reference", fields, packing.body)
    finally:
        packing.release()
    return tuple(arrays_in(answer.body, answer.header["results"]))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return what a kernel returned as a tuple of results."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
