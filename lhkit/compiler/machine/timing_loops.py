"""Loops in machine code for timing: calls repeated without Python, the FMA peak, and a large copy.

A Python loop adds about half a microsecond a call; these add two nanoseconds.
"""

from __future__ import annotations

import functools
import time
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.machine.memref_arguments import PreparedCall

FMA_UNROLL = 4
COPY_BLOCK_BYTES = 512
_VECTOR_BYTES = 64
_ELEMENTS = {"float32": ("f32", 4), "float64": ("f64", 8)}

_TEXT = Path(__file__).with_name("timing_loops.mlir").read_text(encoding="utf-8")
# The first piece is the comment at the top.
_REPEAT, _FMA, _COPY, _SYSTEM_COPY = map(Template, _TEXT.split("\n\n")[1:])


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


# What one core can do: multiply-adds and copied bytes a second, sampled beside the kernels.


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
    return LoopLibrary("\n".join([*fma, *copies, system_copy_text("system")]))


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
        written.
        """
        return {
            "fma_gflops": self._fma["float32"].sample(),
            "fma_f64_gflops": self._fma["float64"].sample(),
            "copy_gbytes": self._copy.sample(),
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

    def sample(self) -> float:
        """Return GB/s, bytes read and written both counted."""
        return self._bytes / _time_ns(self._call)


def _time_ns(call: PreparedCall) -> int:
    started = time.perf_counter_ns()
    call()
    return max(time.perf_counter_ns() - started, 1)


def _aligned_bytes(nbytes: int) -> np.ndarray:
    room = np.empty(nbytes + _PAGE_BYTES, dtype=np.uint8)
    start = -room.ctypes.data % _PAGE_BYTES
    return room[start : start + nbytes]
