"""How large buffers are, as the lowering to LLVM lays them out."""

from __future__ import annotations

import math
from typing import Any

from lhkit.compiler.bindings import ir

_BITS = {"f8": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "f80": 128, "f128": 128, "index": 64}
_DESCRIPTOR_BYTES = 8
# What aligned allocations have at least, if nothing else is asked for.
_LEAST_ALIGNMENT = 16


def element_bytes(type_: Any) -> int:
    """Return the distance of neighbours in memory, in bytes."""
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(type_.element_type)
    if isinstance(type_, ir.VectorType):
        # LLVM aligns vectors to powers of two.
        bytes_ = math.prod(type_.shape) * element_bytes(type_.element_type)
        return 1 << (bytes_ - 1).bit_length()
    if isinstance(type_, ir.MemRefType):
        return (3 + 2 * type_.rank) * _DESCRIPTOR_BYTES
    text = str(type_)
    bits = _BITS.get(text) or (8 if text.startswith("f8") else int(getattr(type_, "width", 64)))
    return 1 << max((-(-bits // 8) - 1).bit_length(), 0)


def extents_of(type_: Any) -> tuple[int | None, ...]:
    """Return the extents of a shaped type, None where they are dynamic."""
    return tuple(None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank))


def static_bytes(type_: Any) -> int:
    """Return the bytes of a memref whose dynamic extents are 1."""
    return math.prod(n for n in extents_of(type_) if n is not None) * element_bytes(type_.element_type)


def alignment_of(op: Any) -> int:
    """Return what the address of an allocation is a multiple of, in bytes; its size is rounded up to it."""
    if "alignment" in op.attributes:
        return max(int(ir.IntegerAttr(op.attributes["alignment"]).value), 1)
    if op.name == "memref.alloca":
        return 1
    return max(_LEAST_ALIGNMENT, 1 << (element_bytes(op.results[0].type.element_type) - 1).bit_length())
