"""All ops of a payload as words of memory: addresses, parents and hashes, by machine code if there are many."""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir, new_context

# The machine code takes some 10 ms to make, once in a process: as long as it takes to walk so many ops without.
MOST_WITHOUT = 10_000
WORDS = 3  # of an op: its address, that of the op around it or 0, its hash
_MASK = (1 << 64) - 1
_FACTOR = 1099511628211
# Functions of MLIR's C API, whose values are single pointers.
_CALLS = (
    "mlirOperationHashValue", "mlirOperationGetNumSuccessors", "mlirOperationGetSuccessor",
    "mlirOperationGetFirstRegion", "mlirRegionGetFirstBlock", "mlirBlockGetFirstOperation",
    "mlirOperationGetNextInBlock", "mlirBlockGetNextInRegion", "mlirRegionGetNextInOperation")  # fmt: skip
_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = [ctypes.py_object]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_name_of_capsules: list[bytes] = []


def addresses(ops: Sequence[Any]) -> list[int]:
    """Return the address of each operation."""
    if not ops:
        return []
    if not _name_of_capsules:
        _name_of_capsules.append(_python.PyCapsule_GetName(ops[0]._CAPIPtr))
    return list(map(_python.PyCapsule_GetPointer, [op._CAPIPtr for op in ops], repeat(_name_of_capsules[0])))


def address(op: Any) -> int:
    """Return the address of an operation."""
    return addresses((op,))[0]


def op_at(at: int) -> Any:
    """Return the operation at an address, one that was asked for since `addresses` was first called."""
    return ir.Operation._CAPICreate(_python.PyCapsule_New(at, _name_of_capsules[0], None))


def ops_under(roots: Sequence[Any]) -> list[Any]:
    """Return the roots and all ops in them, outer before inner, in order."""
    ops: list[Any] = []
    keep, go_on = ops.append, ir.WalkResult.ADVANCE

    def visit(op: Any) -> Any:
        keep(op)
        return go_on

    for root in roots:
        root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return ops


class BoundWalk:
    """The walk by the bindings; every op becomes an object of Python."""

    def words(self, roots: Sequence[Any]) -> array[int]:
        """Return the words of the roots and of all ops in them, outer before inner."""
        ops = ops_under(roots)
        around = [op.parent for op in ops]
        there = iter(addresses([p for p in around if p is not None]))
        parents = [0 if p is None else next(there) for p in around]
        rows = zip(addresses(ops), parents, map(self.hash_of, ops), strict=True)
        return array("Q", chain.from_iterable(rows))

    @staticmethod
    def hash_of(op: Any) -> int:
        """Return the hash of an op, successors included."""
        return _mixed(hash(op), [hash(block) for block in op.successors] if len(op.successors) else ())


class NativeWalk:
    """The walk by machine code, which calls MLIR's C API; where that is missing: OSError or AttributeError."""

    def __init__(self) -> None:
        folder = Path(host_module("_mlir_libs").__path__[0])
        names = sorted(path for path in folder.iterdir() if "CAPI" in path.name and path.suffix != ".lib")
        if not names:
            raise OSError("the bindings have no library of the C API")
        library = ctypes.CDLL(str(names[0]))  # it is loaded already
        calls = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _CALLS]
        text = Path(__file__).with_name("payload_walk.mlir").read_text(encoding="utf-8")
        with new_context():
            module = ir.Module.parse(text)
            self._engine = host_module("execution_engine").ExecutionEngine(module, opt_level=2)
        self._look = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(int(self._engine.raw_lookup("look")))
        function = ctypes.PYFUNCTYPE
        pointer = ctypes.c_void_p
        self._hash = function(ctypes.c_uint64, pointer)(calls[0])
        self._successors = function(ctypes.c_int64, pointer)(calls[1])
        self._successor = function(pointer, pointer, ctypes.c_int64)(calls[2])
        self._calls = (ctypes.c_int64 * len(calls))(*calls)
        self._count = ctypes.c_int64()
        self._room = (ctypes.c_uint64 * (WORDS * 4096))()
        self._values = (ctypes.c_int64 * 5)()
        places = [ctypes.addressof(self._values) + 8 * i for i in range(5)]
        self._packed = (ctypes.c_void_p * 5)(*places)

    def words(self, roots: Sequence[Any]) -> array[int]:
        """Return the words of the roots and of all ops in them, outer before inner."""
        while True:
            most = len(self._room) // WORDS
            self._count.value = 0
            for root in addresses(roots):
                self._values[:] = [
                    ctypes.addressof(self._calls), root, ctypes.addressof(self._room),
                    ctypes.addressof(self._count), most]  # fmt: skip
                self._look(ctypes.addressof(self._packed))
            count = self._count.value
            if count <= most:
                found = array("Q")
                found.frombytes(memoryview(self._room).cast("B")[: 8 * WORDS * count])
                return found
            self._room = (ctypes.c_uint64 * (2 * WORDS * count))()

    def hash_of(self, op: Any) -> int:
        """Return the hash of an op, successors included."""
        at = address(op)
        successors = (int(self._successor(at, i) or 0) for i in range(self._successors(at)))
        return _mixed(self._hash(at), successors)


def _mixed(plain: int, successors: Any) -> int:
    mixed = plain
    for successor in successors:
        mixed = (mixed * _FACTOR) ^ successor
    return mixed & _MASK


@functools.cache
def native_walk() -> NativeWalk | None:
    """Return the walk by machine code, None where there is none; it lives as long as the process."""
    try:
        return NativeWalk()
    except (OSError, AttributeError, RuntimeError, ir.MLIRError):
        return None


def made_walk() -> NativeWalk | None:
    """Return the walk by machine code if it is made already."""
    return native_walk() if native_walk.cache_info().currsize else None
