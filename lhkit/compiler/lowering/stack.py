"""What may live on the stack: little in all, and nothing in loops, where nothing gives it back."""

from __future__ import annotations

import math
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.ir.parsing import walk

_LOOPS = ("scf.for", "scf.while", "scf.parallel", "scf.forall", "affine.for", "affine.parallel")
_MOST_BYTES = 1 << 20
_WIDEST_ELEMENT_BYTES = 16


def keep_stack_small(module: Any) -> None:
    """Turn stack buffers that stand in loops, or exceed 1 MiB in a function, into heap buffers, in place.

    Deallocation has to run afterwards.
    """
    for function in function_ops(module):
        used = 0
        for op in [o for o in walk(function) if o.name == "memref.alloca"]:
            size = _bytes_of(op.results[0].type)
            if _is_in_loop(op) or used + size > _MOST_BYTES:
                _move_to_heap(op)
            else:
                used += size


def _bytes_of(type_: Any) -> int:
    if not type_.has_static_shape:
        return _MOST_BYTES + 1
    element = type_.element_type
    width = getattr(element, "width", 8 * _WIDEST_ELEMENT_BYTES)
    return int(math.prod(type_.shape) * max(width // 8, 1))


def _is_in_loop(op: Any) -> bool:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name in _LOOPS:
            return True
        parent = parent.parent
    return False


def _move_to_heap(op: Any) -> None:
    attributes = {name: op.attributes[name] for name in op.attributes}
    with ir.InsertionPoint(op), op.location:
        heap = ir.Operation.create("memref.alloc", [op.results[0].type], list(op.operands), attributes)
    op.results[0].replace_all_uses_with(heap.result)
    op.erase()
