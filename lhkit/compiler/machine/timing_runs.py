"""Timing in the worker: calls with everything in place, calibrated, warmed up, sampled one batch at a time."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lhkit.compiler.machine.compiled_kernel import CompiledKernel
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.python_references import load_function
from lhkit.compiler.machine.timing_loops import CoreProbe, empty_call, repeated
from lhkit.worker.kernel_requests import CallSetup, PrepareTiming
from lhkit.worker.shared_arrays import Array, dtype_named, lay_out, placed_empty
from lhkit.worker.timing_conditions import (
    Eviction,
    first_core,
    last_level_cache_bytes,
    pinned_to,
    quietest_core,
)

Call = Callable[[], Any]
Batches = Callable[[int], Call]

_LEAD_IN_NS = 100_000_000
_WARM_UP_NS = 500_000_000
_MOST_WARM_UP_BATCHES = 12
_STABLE = 0.02
_MOST_CALLS = 1 << 24
# A batch lasts at least this many ticks of the clock, so that reading it errs by less than 0.1 %.
_TICKS = 1000


class TimedCall:
    """A call without arguments that is timed in batches; ``restore`` runs before every sample, untimed."""

    def __init__(self, call: Call, batches: Batches, restore: Call) -> None:
        self._call, self._batches, self._restore = call, batches, restore
        self._calls = 1
        self._batch = call
        self._once_ns = 0.0

    def warm_up(self, batch_ns: int) -> tuple[int, bool]:
        """Find how many calls make a batch, then repeat batches until two in a row agree within 2 %.

        Returns:
            The calls in a batch, and whether times became stable within half a second.
        """
        least_ns = max(batch_ns, _TICKS * clock_resolution_ns())
        self._restore()
        self._call()  # first touch of pages, lazy binding
        taken = self._resize(1)
        while taken < least_ns and self._calls < _MOST_CALLS:
            wanted = self._calls * least_ns / max(taken, 1)
            taken = self._resize(int(min(max(wanted * 1.05, self._calls + 1), 16 * self._calls)))
        return self._calls, self._settle(taken)

    def adopt(self, other: TimedCall) -> None:
        """Take the batch size of the same call on other arguments, and make one call to warm up."""
        self._calls, self._once_ns = other._calls, other._once_ns
        self._batch = self._batches(self._calls)
        self._restore()
        self._call()

    def _resize(self, calls: int) -> int:
        self._calls = min(calls, _MOST_CALLS)
        self._batch = self._batches(self._calls)
        self._restore()
        taken = time_call(self._batch)
        self._once_ns = taken / self._calls
        return taken

    def _settle(self, before: int) -> bool:
        if before > _WARM_UP_NS:  # so long a call warms up by itself
            return True
        spent = 0
        for _ in range(_MOST_WARM_UP_BATCHES):
            if spent > _WARM_UP_NS:
                return False
            self._restore()
            taken = time_call(self._batch)
            if abs(taken - before) <= _STABLE * before:
                return True
            before, spent = taken, spent + taken
        return False

    def sample_warm_ns(self) -> float:
        """Return the time of one call in ns, as the mean of a batch, right after another call."""
        self._restore()
        if self._once_ns < _LEAD_IN_NS:
            self._call()
        return time_call(self._batch) / self._calls

    def sample_cold_ns(self, eviction: Eviction, nothing: Call) -> float:
        """Return the time of a single call in ns with nothing of its data in the caches.

        Evicting also forgets how to make a call, so an empty one goes first: what is timed besides the
        kernel is about half a microsecond.
        """
        self._restore()
        eviction.evict()
        time_call(nothing)
        return float(time_call(self._call))


def python_batches(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Call, Batches]:
    """Return one call of a Python function with these arguments, and batches of it."""
    call = functools.partial(function, *arguments) if arguments else function

    def batches(count: int) -> Call:
        def batch() -> None:
            for _ in itertools.repeat(None, count):
                call()

        return batch

    return call, batches


def native_batches(call: PreparedCall, *, from_python: bool = False) -> Batches:
    """Return batches of a compiled call, in machine code unless results have to be freed between two calls.

    With ``from_python`` a loop in Python repeats it, as it does other programs.
    """
    if from_python or call.returns_memory:
        return python_batches(call.bare(), ())[1]
    return functools.partial(repeated, call)


def time_call(call: Call) -> int:
    """Return how long a call took, in nanoseconds."""
    started = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - started


@functools.cache
def clock_resolution_ns() -> int:
    """Return the smallest step of the clock that was seen."""
    steps = []
    for _ in range(20):
        started = now = time.perf_counter_ns()
        while now == started:
            now = time.perf_counter_ns()
        steps.append(now - started)
    return min(steps)


@contextlib.contextmanager
def without_garbage_collector() -> Iterator[None]:
    """Keep Python's garbage collector from running."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# Requests about timing: sets of calls on shared arguments, prepared, warmed up, and sampled in rounds.


Argument = Array | np.generic

_PLACES_BYTES = 96 << 20
_MOST_PLACES = 8


class Timing:
    """Calls that share their arguments and results, so that only their code differs.

    The arguments lie in several places in turn: which pages a buffer gets decides how it collides in the
    caches, by several per cent, and differs from run to run. So what one run reports covers that.
    """

    def __init__(
        self, request: PrepareTiming, arguments: Sequence[Argument], kernels: Mapping[int, CompiledKernel]
    ) -> None:
        # On one core, threads would wait for one another.
        is_pinned = request.pin and all(kernel.threads == 1 for kernel in kernels.values())
        self.core = quietest_core() if is_pinned else None
        # The threads of a kernel are on other cores than the first.
        self._own_core = first_core() if any(kernel.threads > 1 for kernel in kernels.values()) else self.core
        self._nothing = empty_call()
        nbytes = sum(a.nbytes for a in arguments)
        places = min(max(_PLACES_BYTES // max(nbytes, 1), 1), _MOST_PLACES)
        self._placements = [
            Placement(request.setup, request.entries, arguments, kernels, from_python=request.from_python)
            for _ in range(places)
        ]
        with pinned_to(self._own_core):
            self._eviction = Eviction() if request.cache == "cold" else None
            self._probe = CoreProbe(request.vector_bits, last_level_cache_bytes(), has_fma=request.has_fma)

    def warm_up(self, index: int, batch_ns: int) -> tuple[int, bool]:
        """Calibrate and warm up one entry; see `TimedCall.warm_up`."""
        first, *others = (placement.calls[index] for placement in self._placements)
        with pinned_to(self._own_core), without_garbage_collector():
            answer = first.warm_up(batch_ns)
            for call in others:
                call.adopt(first)
        return answer

    def sample(self, index: int, number: int) -> float:
        """Return the time of one call of an entry in ns, in the round of that number."""
        call = self._placements[number % len(self._placements)].calls[index]
        with pinned_to(self._own_core), without_garbage_collector():
            if self._eviction is not None:
                return call.sample_cold_ns(self._eviction, self._nothing)
            return call.sample_warm_ns()

    def sample_limits(self) -> dict[str, float]:
        """Return the limits of the core now; see `CoreProbe.sample`."""
        with pinned_to(self._own_core), without_garbage_collector():
            return self._probe.sample()


class Placement:
    """One copy of arguments and results (a dtype for one of dynamic shape), and the calls of the entries."""

    def __init__(
        self,
        setup: CallSetup,
        entries: Sequence[int | str],
        arguments: Sequence[Argument],
        kernels: Mapping[int, CompiledKernel],
        *,
        from_python: bool = False,
    ) -> None:
        self._from_python = from_python
        self._place(arguments, setup)
        self._written = [
            (array, array.copy())
            for array, is_written in zip(self.arguments, setup.written, strict=True)
            if is_written and isinstance(array, np.ndarray)
        ]
        self.calls = [self._timed(entry, kernels) for entry in entries]

    def _place(self, arguments: Sequence[Argument], setup: CallSetup) -> None:
        """Copy the arguments to new places, those with gaps in their own layout, and make the results."""
        plain = [
            isinstance(a, np.ndarray) and p.layout is None
            for a, p in zip(arguments, setup.arguments, strict=True)
        ]
        shapes = [(a.shape, a.dtype) for a, is_plain in zip(arguments, plain, strict=True) if is_plain]
        fixed = [(r.extents, dtype_named(r.dtype)) for r in setup.results if not r.is_dynamic]
        places = iter(placed_empty([*shapes, *fixed], setup.alignment_bytes))
        self.arguments: list[Argument] = []
        for argument, place, is_plain in zip(arguments, setup.arguments, plain, strict=True):
            placed = next(places) if is_plain else lay_out(argument, place.layout)
            if is_plain:
                placed[...] = argument
            self.arguments.append(placed)
        self.results = [dtype_named(r.dtype) if r.is_dynamic else next(places) for r in setup.results]

    def _timed(self, entry: int | str, kernels: Mapping[int, CompiledKernel]) -> TimedCall:
        if isinstance(entry, str):
            call, batches = python_batches(load_function(entry), self.arguments)
            return TimedCall(call, batches, self.restore)
        prepared = kernels[entry].prepare(self.arguments, self.results)
        return TimedCall(prepared, native_batches(prepared, from_python=self._from_python), self.restore)

    def restore(self) -> None:
        """Put back the arguments that calls write to."""
        for array, pristine in self._written:
            array[...] = pristine
