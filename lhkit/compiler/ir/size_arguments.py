"""Arguments that decide how large an allocation is, so that generated ones can be sizes."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk

_ALLOCATIONS = frozenset(
    (
        "bufferization.alloc_tensor",
        "memref.alloc",
        "memref.alloca",
        "memref.realloc",
        "tensor.empty",
        "tensor.generate",
        "tensor.splat",
    )
)


def size_arguments(function: Any) -> tuple[int, ...]:
    """Return the positions of the integer arguments from which the extent of an allocation is computed.

    Args:
        function: A ``func.func``; followed are operands within it, not calls.
    """
    if not function.regions[0].blocks:
        return ()
    entry = function.regions[0].blocks[0]
    if not any(_is_integer(a) for a in entry.arguments):
        return ()
    allocations = (op for op in walk(function) if op.name in _ALLOCATIONS)
    pending = [v for op in allocations for v in op.operands if _is_integer(v)]
    seen = set()
    found = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, ir.OpResult):
            pending += [v for v in value.owner.operands if _is_integer(v)]
        elif ir.BlockArgument(value).owner == entry:
            found.add(int(ir.BlockArgument(value).arg_number))
    return tuple(sorted(found))


def _is_integer(value: Any) -> bool:
    return isinstance(value.type, ir.IndexType | ir.IntegerType)
