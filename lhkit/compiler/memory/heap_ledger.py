"""What compiled code asks of the heap: the C library's functions, with a ledger beside them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from lhkit.model.memory_footprint import HeapCount

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
        malloc = self._library("malloc", _POINTER, _SIZE)
        calloc = self._library("calloc", _POINTER, _SIZE, _SIZE)
        aligned = self._library("aligned_alloc", _POINTER, _SIZE, _SIZE)
        free = self._library("free", None, _POINTER)
        self._offer("malloc", _POINTER, (_SIZE,), lambda n: self._add(malloc(n), n))
        self._offer("calloc", _POINTER, (_SIZE, _SIZE), lambda n, size: self._add(calloc(n, size), n * size))
        self._offer("aligned_alloc", _POINTER, (_SIZE, _SIZE), lambda to, n: self._add(aligned(to, n), n))
        self._offer("free", None, (_POINTER,), lambda address: self._remove(address, free))

    def count(self) -> HeapCount:
        """Return what was counted until now."""
        return HeapCount(self._allocations, self._frees, self._total, self._peak, self._live)

    def _library(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        function = getattr(_C, name)
        function.restype, function.argtypes = result, arguments
        return function

    def _offer(self, name: str, result: Any, arguments: tuple[Any, ...], function: Callable[..., Any]) -> None:
        callback = ctypes.CFUNCTYPE(result, *arguments)(function)
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

    def _remove(self, address: int | None, free: Callable[..., Any]) -> None:
        if address:
            self._frees += 1
            self._live -= self._sizes.pop(address, 0)
        free(address)
