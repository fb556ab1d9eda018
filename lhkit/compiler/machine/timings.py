"""Requests about timing: sets of calls on shared arguments, prepared, warmed up, and sampled in rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lhkit.compiler.machine.compiled_kernel import CompiledKernel
from lhkit.compiler.machine.core_limits import CoreProbe
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.python_references import load_function
from lhkit.compiler.machine.timing_loops import Repeater
from lhkit.compiler.machine.timing_runs import Call, TimedCall, python_batches, without_garbage_collector
from lhkit.worker.pinning import pinned_to, quietest_core
from lhkit.worker.shared_arrays import Array, Descriptor, dtype_named, lay_out, placed_empty
from lhkit.worker.worker_caches import Eviction, last_level_cache_bytes

Argument = Array | np.generic

_PLACES_BYTES = 96 << 20
_MOST_PLACES = 8


class Timing:
    """Calls that share their arguments and results, so that only their code differs.

    The arguments lie in several places in turn: which pages a buffer gets decides how it collides in the
    caches, by several per cent, and differs from run to run. So what one run reports covers that.

    Args:
        fields: Of the request ``prepare_timing``.
        arguments: The arguments, to be copied into buffers with the alignment that was asked for.
        kernels: The kernel of each entry that has one.
    """

    def __init__(
        self, fields: Mapping[str, Any], arguments: Sequence[Argument], kernels: Mapping[int, CompiledKernel]
    ) -> None:
        # On one core, threads would wait for one another.
        is_pinned = fields["pin"] and all(kernel.threads == 1 for kernel in kernels.values())
        self.core = quietest_core() if is_pinned else None
        repeater = Repeater()
        self._nothing = repeater.nothing()
        nbytes = sum(a.nbytes for a in arguments)
        places = min(max(_PLACES_BYTES // max(nbytes, 1), 1), _MOST_PLACES)
        self._placements = [Placement(fields, arguments, kernels, repeater) for _ in range(places)]
        with pinned_to(self.core):
            self._eviction = Eviction() if fields["cache"] == "cold" else None
            self._probe = CoreProbe(fields["vector_bits"], last_level_cache_bytes(), has_fma=fields["has_fma"])

    def warm_up(self, index: int, batch_ns: int) -> dict[str, Any]:
        """Calibrate and warm up one entry; see `TimedCall.warm_up`."""
        first, *others = (placement.calls[index] for placement in self._placements)
        with pinned_to(self.core), without_garbage_collector():
            answer = first.warm_up(batch_ns)
            for call in others:
                call.adopt(first)
        return answer

    def sample(self, index: int, number: int) -> float:
        """Return the time of one call of an entry in ns, in the round of that number."""
        call = self._placements[number % len(self._placements)].calls[index]
        with pinned_to(self.core), without_garbage_collector():
            if self._eviction is not None:
                return call.sample_cold_ns(self._eviction, self._nothing)
            return call.sample_warm_ns()

    def sample_limits(self) -> dict[str, float]:
        """Return the limits of the core now; see `CoreProbe.sample`."""
        with pinned_to(self.core), without_garbage_collector():
            return self._probe.sample()


class Placement:
    """One copy of arguments and results, and the calls that use it.

    Attributes:
        calls: One an entry.
        arguments: The copies of the arguments.
        results: The places of the results, a dtype for one of dynamic shape.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        arguments: Sequence[Argument],
        kernels: Mapping[int, CompiledKernel],
        repeater: Repeater,
    ) -> None:
        self._repeater = repeater
        self._place(arguments, fields["arguments"], fields["results"], fields["alignment_bytes"])
        self._written = [
            (array, array.copy())
            for array, is_written in zip(self.arguments, fields["written"], strict=True)
            if is_written and isinstance(array, np.ndarray)
        ]
        self.calls = [self._timed(entry, kernels) for entry in fields["entries"]]

    def _place(
        self,
        arguments: Sequence[Argument],
        described: Sequence[Descriptor],
        results: Sequence[Descriptor],
        alignment: int,
    ) -> None:
        """Copy the arguments to new places, those with gaps in their own layout, and make the results."""
        plain = [
            isinstance(a, np.ndarray) and "layout" not in d for a, d in zip(arguments, described, strict=True)
        ]
        shapes = [(a.shape, a.dtype) for a, is_plain in zip(arguments, plain, strict=True) if is_plain]
        fixed = [(d["shape"], dtype_named(d["dtype"])) for d in results if None not in d["shape"]]
        places = iter(placed_empty([*shapes, *fixed], alignment))
        self.arguments: list[Argument] = []
        for argument, descriptor, is_plain in zip(arguments, described, plain, strict=True):
            placed = _copy_to(next(places), argument) if is_plain else lay_out(argument, descriptor)
            self.arguments.append(placed)
        self.results = [dtype_named(d["dtype"]) if None in d["shape"] else next(places) for d in results]

    def _timed(self, entry: Mapping[str, Any], kernels: Mapping[int, CompiledKernel]) -> TimedCall:
        if "kernel" not in entry:
            call, batches = python_batches(load_function(entry["function"]), self.arguments)
            return TimedCall(call, batches, self.restore)
        prepared = kernels[entry["kernel"]].prepare(self.arguments, self.results)
        if any(isinstance(r, np.dtype) for r in self.results):
            # What a call returns is freed before the next one, which a loop in machine code cannot do.
            return TimedCall(prepared, python_batches(prepared, ())[1], self.restore)
        return TimedCall(prepared, _native_batches(self._repeater, prepared), self.restore)

    def restore(self) -> None:
        """Put back the arguments that calls write to."""
        for array, pristine in self._written:
            array[...] = pristine


def _native_batches(repeater: Repeater, prepared: PreparedCall) -> Callable[[int], Call]:
    return lambda count: repeater.repeated(prepared, count)


def _copy_to(place: Array, array: Argument) -> Array:
    place[...] = array
    return place
