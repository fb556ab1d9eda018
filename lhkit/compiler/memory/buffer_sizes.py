"""Sizes of buffers as LLVM lays them out, and refusal of those that exceed the worker's memory limit."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import failure_in, span_of, walk
from lhkit.model.errors import Diagnostic, error_for
from lhkit.worker.requests import Source

_BITS = {"f8": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "f80": 128, "f128": 128, "index": 64}
_DESCRIPTOR_BYTES = 8
# What aligned allocations have at least, if nothing else is asked for.
_LEAST_ALIGNMENT = 16
# Ops whose body may not run.
_CONDITIONAL = ("scf.if", "scf.index_switch", "scf.while")


def refuse_huge_buffers(module: Any, sources: Sequence[Source]) -> None:
    """Refuse a buffer that a run is sure to ask for and that no process under this one's limit can have.

    Native code that is refused memory does not say so: it crashes.
    """
    most = _most_bytes()
    for op in _certain_allocations(module):
        type_ = op.results[0].type
        if (needed := static_bytes(type_)) > most:
            what = f"a buffer of type {type_} needs {needed / 2**30:,.1f} GiB"
            message = f"{sources[0].name}: {what}, and a worker may have {most / 2**30:,.1f} GiB"
            advice = (
                "Make the tensor or memref smaller, tile and fuse so that it is never there as a whole, or give"
                " the worker more memory (--memory BYTES, or limits=lhkit.Limits(bytes=…))."
            )
            here = (Diagnostic("error", what, span_of(op.location)),)
            raise error_for(failure_in(sources, "memory", message, here, stage="lower", advice=advice))


def _most_bytes() -> float:
    """Return how much memory this process may have at most; infinity where the system does not say."""
    with contextlib.suppress(ImportError):  # there is none on Windows
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        if soft != resource.RLIM_INFINITY:
            return soft
    return math.inf


def _certain_allocations(module: Any) -> Iterator[Any]:
    """Yield the allocations that are made whenever their function runs, but for loops without iterations."""
    for op in walk(module.operation):
        if op.name == "memref.alloc":
            around, parent = [], op.parent
            while parent is not None:
                around.append(parent)
                parent = parent.parent
            blocks = (len(list(region.blocks)) for each in around for region in each.regions)
            if not any(each.name in _CONDITIONAL for each in around) and all(n == 1 for n in blocks):
                yield op


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
