"""What one core can do: multiply-adds and copied bytes a second, sampled beside the kernels."""

from __future__ import annotations

import functools
import time

import numpy as np

from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.timing_loops import (
    COPY_BLOCK_BYTES,
    FMA_UNROLL,
    LoopLibrary,
    call_loop,
    copy_text,
    fma_text,
    system_copy_text,
)

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

    Args:
        vector_bits: The widest vectors of the CPU.
        copy_bytes: Size of each of the two buffers of the copy; larger than the last-level cache together.
        has_fma: Whether a multiply-add is one instruction.
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
        call = call_loop(address, self._data.ctypes.data, count)
        return count * flops / _time_ns(call)


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
