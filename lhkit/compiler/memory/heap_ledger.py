"""Memory programs of kernels, and the heap allocations of a call, counted in the C library's functions."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress, write_out_loops
from lhkit.compiler.machine.compiled_kernel import Recipe, build_kernel, lowered_module
from lhkit.compiler.memory.memory_slice import memory_program
from lhkit.model.errors import usage_error
from lhkit.model.memory_footprint import HeapCount, MemoryProgram

_C = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p


class HeapLedger:
    """Functions that stand in for ``malloc``, ``calloc``, ``aligned_alloc`` and ``free``, and count.

    Attributes:
        addresses: Address of each by its name, for the linker of a kernel; they live as long as the ledger.
    """

    def __init__(self) -> None:
        self._keep: list[Any] = []
        self._sizes: dict[int, int] = {}
        self.addresses: dict[str, int] = {}
        self._allocations = self._frees = self._total = self._live = self._peak = 0
        self._offer("malloc", _POINTER, (_SIZE,), lambda c, n: self._add(c(n), n))
        self._offer("calloc", _POINTER, (_SIZE, _SIZE), lambda c, n, size: self._add(c(n, size), n * size))
        self._offer("aligned_alloc", _POINTER, (_SIZE, _SIZE), lambda c, to, n: self._add(c(to, n), n))
        self._offer("free", None, (_POINTER,), self._remove)

    def count(self) -> HeapCount:
        """Return what was counted until now."""
        return HeapCount(self._allocations, self._frees, self._total, self._peak, self._live)

    def _offer(self, name: str, result: Any, arguments: tuple[Any, ...], count: Callable[..., Any]) -> None:
        """Put a function beside the C library's, which it is given and calls."""
        function = getattr(_C, name)
        function.restype, function.argtypes = result, arguments
        callback = ctypes.CFUNCTYPE(result, *arguments)(functools.partial(count, function))
        self._keep.append(callback)
        self.addresses[name] = int(ctypes.cast(callback, _POINTER).value or 0)

    def _add(self, address: int | None, size: int) -> int | None:
        if address:
            self._sizes[address] = size
            self._allocations += 1
            self._total += size
            self._live += size
            self._peak = max(self._peak, self._live)
        return address

    def _remove(self, free: Callable[..., Any], address: int | None) -> None:
        if address:
            self._frees += 1
            self._live -= self._sizes.pop(address, 0)
        free(address)


def scheduled_memory(recipe: Recipe, progress: Progress = ignore_progress) -> MemoryProgram:
    """Return the memory program of a payload as its schedule leaves it, before any lowering."""
    with new_context():
        module, _ = lowered_module(recipe, "scheduled", progress)
        for op in walk(module.operation):
            if any(isinstance(r.type, ir.RankedTensorType) for r in op.results):
                advice = (
                    "Bufferize in the schedule (transform.bufferization.one_shot_bufferize), or compile the"
                    " payload and ask the kernel: kernel.footprint()."
                )
                raise usage_error(f"{op.name} gives a tensor, which has no buffer yet", advice)
        write_out_loops(module, recipe.sources)
        return memory_program(module, recipe.function, recipe.sources)


def kernel_memory(
    recipe: Recipe,
    arguments: list[Any] | None = None,
    results: list[Any] | None = None,
    progress: Progress = ignore_progress,
) -> tuple[MemoryProgram, HeapCount | None]:
    """Return the memory program of a kernel and, given prepared arguments, the heap allocations of a call.

    The kernel that is counted is built for that alone, so that other kernels do not pay for counting.
    """
    if arguments is None or results is None:
        with new_context():
            module, _ = lowered_module(recipe, "loops", progress)
            return memory_program(module, KERNEL_NAME, recipe.sources), None
    programs: list[MemoryProgram] = []
    ledger = HeapLedger()
    kernel = build_kernel(
        recipe,
        progress,
        look=lambda module: programs.append(memory_program(module, KERNEL_NAME, recipe.sources)),
        symbols=ledger.addresses,
    )
    call = kernel.prepare(arguments, results)
    call()
    return programs[0], ledger.count()
