"""Timing in the worker: calls with everything in place, calibrated, warmed up, sampled one batch at a time.

Calls are repeated in machine code: a Python loop adds about half a microsecond a call, these loops add two
nanoseconds. Others reach the limits of the core: the FMA peak, and a large copy.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

import numpy as np

from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.machine.compiled_kernel import CompiledKernel
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.python_references import load_function
from lhkit.worker.kernel_requests import CallSetup, PrepareTiming
from lhkit.worker.shared_arrays import Array, dtype_named, lay_out, placed_empty
from lhkit.worker.timing_conditions import (
    Eviction,
    first_core,
    last_level_cache_bytes,
    pinned_to,
    quietest_core,
)

FMA_UNROLL = 4
COPY_BLOCK_BYTES = 512
_VECTOR_BYTES = 64
_ELEMENTS = {"float32": ("f32", 4), "float64": ("f64", 8)}

_TEXT = Path(__file__).with_name("timing_loops.mlir").read_text(encoding="utf-8")
# The first piece is the comment at the top.
_REPEAT, _FMA, _COPY, _SYSTEM_COPY, _READ = map(Template, _TEXT.split("\n\n")[1:])


class LoopLibrary:
    """Machine code of loops, made once: look up the address of each by its name."""

    def __init__(self, text: str) -> None:
        with new_context():
            module = ir.Module.parse(text)
            self._engine: Any = host_module("execution_engine").ExecutionEngine(module, opt_level=2)

    def address(self, name: str) -> int:
        """Return the address of the packed wrapper of a loop."""
        return int(self._engine.raw_lookup(name))


def call_loop(address: int, *words: int) -> PreparedCall:
    """Return the call of a loop with addresses and counts as its arguments."""
    return PreparedCall(address, [np.array([word], np.int64) for word in words])


@functools.cache
def _repeat_library() -> LoopLibrary:
    """Return the loop; it lives as long as the process, since calls do not keep its code alive."""
    return LoopLibrary(_REPEAT.template)


def repeated(call: PreparedCall, count: int) -> PreparedCall:
    """Return a call that makes ``call`` ``count`` times in machine code; ``call`` has to outlive it."""
    return call_loop(_repeat_library().address("repeat"), call.address, call.packed_address, count)


def empty_call() -> PreparedCall:
    """Return the call of a function that does nothing."""
    return PreparedCall(_repeat_library().address("nothing"), [])


def fma_text(name: str, dtype: str, bits: int, accumulators: int, *, is_fused: bool = True) -> str:
    """Return a loop of independent multiply-adds on registers, as a function of the LLVM dialect.

    The function takes the address of 192 bytes (a factor, a term, a place for the sum that keeps the
    optimizer from dropping the work) and a count. It makes ``count * FMA_UNROLL * accumulators``
    multiply-adds of vectors of ``bits``, in so many chains side by side that latency is hidden; each is one
    instruction if ``is_fused``, else a multiplication and an addition.
    """
    element, size = _ELEMENTS[dtype]
    vector = f"vector<{bits // 8 // size}x{element}>"
    values = [f"%a{i}" for i in range(accumulators)]
    arguments = ", ".join(f"{v}: {vector}" for v in values)
    body = []
    for step in range(FMA_UNROLL):
        for i, value in enumerate(values):
            if is_fused:
                operands = f"({value}, %factor, %term) : ({vector}, {vector}, {vector}) -> {vector}"
                body.append(f"  %v{step}_{i} = llvm.intr.fma{operands}")
            else:
                body.append(f"  %p{step}_{i} = llvm.fmul {value}, %factor : {vector}")
                body.append(f"  %v{step}_{i} = llvm.fadd %p{step}_{i}, %term : {vector}")
        values = [f"%v{step}_{i}" for i in range(accumulators)]
    total, sums = values[0], []
    for i, value in enumerate(values[1:]):
        sums.append(f"  %sum{i} = llvm.fadd {total}, {value} : {vector}")
        total = f"%sum{i}"
    return _FMA.substitute(
        name=name,
        vector=vector,
        starts=", ".join(["%term"] * accumulators),
        types=", ".join([vector] * accumulators),
        arguments=arguments,
        body="\n".join(body),
        ends=", ".join(values),
        sums="\n".join(sums),
        sum=total,
    )


def copy_text(name: str, *, nontemporal: bool) -> str:
    """Return a loop that copies blocks of 512 bytes, as a function of the LLVM dialect.

    The function takes the addresses of target and source, both multiples of 64, and the count of blocks.
    ``nontemporal`` stores go past the caches.
    """
    vector = f"vector<{_VECTOR_BYTES}xi8>"
    hint = ", nontemporal" if nontemporal else ""
    loads, stores = [], []
    for offset in range(0, COPY_BLOCK_BYTES, _VECTOR_BYTES):
        loads += [
            f"  %from{offset} = llvm.getelementptr %from[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"  %value{offset} = llvm.load %from{offset} {{alignment = 64 : i64}} : !llvm.ptr -> {vector}",
        ]
        stores += [
            f"  %to{offset} = llvm.getelementptr %to[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"  llvm.store %value{offset}, %to{offset} {{alignment = 64 : i64{hint}}} : {vector}, !llvm.ptr",
        ]
    return _COPY.substitute(name=name, block=COPY_BLOCK_BYTES, body="\n".join(loads + stores))


def system_copy_text(name: str) -> str:
    """Return the system's ``memcpy`` with the arguments of the loop of `copy_text`."""
    return _SYSTEM_COPY.substitute(name=name, block=COPY_BLOCK_BYTES)


def read_text(name: str) -> str:
    """Return a loop that adds up blocks of 512 bytes, as a function of the LLVM dialect.

    The function takes the addresses of the sums (512 bytes) and of the source, multiples of 64, and the count
    of blocks. The sums, integers of 32 bits, begin with the first 64 bytes that are there.
    """
    lanes = _VECTOR_BYTES // 4
    vector, places = f"vector<{lanes}xi32>", range(0, COPY_BLOCK_BYTES, _VECTOR_BYTES)
    body, stores = [], []
    for at in places:
        body += [
            f"  %from{at} = llvm.getelementptr %from[{at}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"  %value{at} = llvm.load %from{at} {{alignment = 64 : i64}} : !llvm.ptr -> {vector}",
            f"  %end{at} = llvm.add %sum{at}, %value{at} : {vector}",
        ]
        stores += [
            f"  %to{at} = llvm.getelementptr %sums[{at}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"  llvm.store %end{at}, %to{at} {{alignment = 64 : i64}} : {vector}, !llvm.ptr",
        ]
    return _READ.substitute(
        name=name,
        block=COPY_BLOCK_BYTES,
        vector=vector,
        starts=", ".join("%start" for _ in places),
        types=", ".join(vector for _ in places),
        arguments=", ".join(f"%sum{at}: {vector}" for at in places),
        body="\n".join(body),
        ends=", ".join(f"%end{at}" for at in places),
        stores="\n".join(stores),
    )


# What one core can do: multiply-adds, copied and read bytes a second, sampled beside the kernels.


_ACCUMULATORS = (8, 12, 24)
_DTYPES = ("float32", "float64")
_FMA_SAMPLE_NS = 500_000
_PAGE_BYTES = 4096
_COPIES = ("plain", "streamed", "system")


@functools.cache
def _library(bits: int, has_fma: bool = True) -> LoopLibrary:
    """Return the loops of all variants for vectors of at most ``bits``."""
    fma = [
        fma_text(_fma_name(dtype, width, n), dtype, width, n, is_fused=has_fma)
        for dtype in _DTYPES
        for width in _widths(bits)
        for n in _ACCUMULATORS
    ]
    copies = [copy_text("plain", nontemporal=False), copy_text("streamed", nontemporal=True)]
    return LoopLibrary("\n".join([*fma, *copies, system_copy_text("system"), read_text("read")]))


def _widths(bits: int) -> list[int]:
    return sorted({bits, max(bits // 2, 128)})


def _fma_name(dtype: str, width: int, accumulators: int) -> str:
    return f"fma_{dtype}_{width}_{accumulators}"


class CoreProbe:
    """Loops that reach the limits of a core; of each kind the best variant found here is sampled.

    The two buffers of the copy, of ``copy_bytes`` each, are to be larger than the last-level cache together.
    """

    def __init__(self, vector_bits: int, copy_bytes: int, *, has_fma: bool = True) -> None:
        self._copy = _CopyLoop(vector_bits, copy_bytes)
        self._fma = {dtype: _FmaLoop(vector_bits, dtype, has_fma) for dtype in _DTYPES}

    def sample(self) -> dict[str, float]:
        """Return the limits now, each in 10^9 a second.

        ``fma_gflops`` is of float32, ``fma_f64_gflops`` of float64; ``copy_gbytes`` counts bytes read and
        written, ``read_gbytes`` is of the same buffers read from end to end.
        """
        return {
            "fma_gflops": self._fma["float32"].sample(),
            "fma_f64_gflops": self._fma["float64"].sample(),
            "copy_gbytes": self._copy.sample(),
            "read_gbytes": self._copy.sample_reading(),
        }


class _FmaLoop:
    def __init__(self, vector_bits: int, dtype: str, has_fma: bool) -> None:
        self._data = _aligned_bytes(192)
        values = self._data.view(dtype)
        third = values.size // 3
        values[:third], values[third:] = 0.5, 1.0  # converges to 2: neither overflows nor gets subnormal
        lanes = {w: w // 8 // np.dtype(dtype).itemsize for w in _widths(vector_bits)}
        self._variants = [
            (_library(vector_bits, has_fma).address(_fma_name(dtype, w, n)), 2 * FMA_UNROLL * n * lanes[w])
            for w in lanes
            for n in _ACCUMULATORS
        ]
        self._chosen = max(self._variants, key=lambda v: max(self._run(v, 2000) for _ in range(3)))
        per_ns = max(self._run(self._chosen, 2000) for _ in range(3))
        self._count = max(int(_FMA_SAMPLE_NS * per_ns / self._chosen[1]), 1)

    def sample(self) -> float:
        """Return GFLOP/s: the best of three, since all that disturbs makes it slower."""
        return max(self._run(self._chosen, self._count) for _ in range(3))

    def _run(self, variant: tuple[int, int], count: int) -> float:
        address, flops = variant
        return count * flops / _time_ns(call_loop(address, self._data.ctypes.data, count))


class _CopyLoop:
    def __init__(self, vector_bits: int, copy_bytes: int) -> None:
        size = -(-copy_bytes // _PAGE_BYTES) * _PAGE_BYTES
        self._bytes = 2 * size
        self._room = _aligned_bytes(2 * size)
        self._room[:] = 1
        start = self._room.ctypes.data
        places = (start, start + size, size // COPY_BLOCK_BYTES)
        calls = [call_loop(_library(vector_bits).address(name), *places) for name in _COPIES]
        self._call = min(calls, key=lambda call: min(_time_ns(call) for _ in range(3)))
        self._sums = _aligned_bytes(COPY_BLOCK_BYTES)
        self._sums[:] = 0
        both = self._bytes // COPY_BLOCK_BYTES
        self._reading = call_loop(_library(vector_bits).address("read"), self._sums.ctypes.data, start, both)

    def sample(self) -> float:
        """Return GB/s, bytes read and written both counted."""
        return self._bytes / _time_ns(self._call)

    def sample_reading(self) -> float:
        """Return GB/s of reading both buffers."""
        return self._bytes / _time_ns(self._reading)


def _time_ns(call: PreparedCall) -> int:
    started = time.perf_counter_ns()
    call()
    return max(time.perf_counter_ns() - started, 1)


def _aligned_bytes(nbytes: int) -> np.ndarray:
    room = np.empty(nbytes + _PAGE_BYTES, dtype=np.uint8)
    start = -room.ctypes.data % _PAGE_BYTES
    return room[start : start + nbytes]


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
        """Take the batch size of the same call on other arguments; a short one is called once to warm up."""
        self._calls, self._once_ns = other._calls, other._once_ns
        self._batch = self._batches(self._calls)
        self._restore()
        if self._once_ns < _LEAD_IN_NS:
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


def time_call(call: Call, clock: Callable[[], int] = time.perf_counter_ns) -> int:
    """Return how long a call took, in nanoseconds."""
    started = clock()
    call()
    return clock() - started


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


Argument: TypeAlias = "Array | np.generic"

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
