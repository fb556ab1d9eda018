"""Rewrites that LLVM's lowering needs: strided copies, stack buffers, narrow integers, short floats."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.ir.parsing import failure_in, span_of, walk
from lhkit.model.errors import Diagnostic, LhkitError, error_for
from lhkit.worker.requests import Source

_MARK = "lhkit:copy"
# Copies of known size up to this are written out: a call of memcpy takes longer (4 KiB by 1.35, 16 KiB by
# 1.13), and this one reads the size from a descriptor.
_FEW_BYTES = 16 << 10
# Of so many LLVM unrolls all loops, and keeps what was stored before in registers if it sees the same indices.
_UNROLLED_BYTES = 512


def lowering_error(
    sources: Sequence[Source],
    reason: str,
    diagnostics: Sequence[Diagnostic],
    stage: str,
    advice: str | None = None,
) -> LhkitError:
    """Return the error of a payload that cannot be lowered."""
    message = f"{sources[0].name} cannot be lowered: {reason} (stage: {stage})"
    return error_for(failure_in(sources, "lowering", message, tuple(diagnostics), stage=stage, advice=advice))


def refused_op(
    sources: Sequence[Source], reason: str, at: Any, stage: str, *, advice: str | None = None
) -> LhkitError:
    """Return the error of an op that has no lowering, said again at its place."""
    diagnostics = [Diagnostic("error", reason, span_of(at.location))]
    return lowering_error(sources, reason, diagnostics, stage, advice)


def renamed(op: Any, name: str) -> None:
    """Replace an op of one result by one of another name with the same operands, attributes and type."""
    with ir.InsertionPoint(op), op.location:
        new = ir.Operation.create(name, [op.results[0].type], list(op.operands), _attributes(op))
    op.results[0].replace_all_uses_with(new.result)
    op.erase()


def is_bufferization_copy(op: Any) -> bool:
    """Return True for an op that a ``memref.copy`` was written out as, at this stage or a later one."""
    location = op.location
    while isinstance(location, ir.NameLoc):  # others name ops in their locations, too
        if location.name_str == _MARK:
            return True
        location = location.child_loc
    return False


def expand_strided_copies(module: Any) -> None:
    """Turn each ``memref.copy`` with gaps on a side, or of up to 16 KiB, into a ``linalg.copy``.

    Where there are no gaps it has one loop, from 512 bytes on.
    """
    for op in [o for o in walk(module.operation) if o.name == "memref.copy"]:
        source, target = op.operands
        if not all(isinstance(v.type, ir.MemRefType) for v in (source, target)):
            continue
        is_plain = _is_plain(source.type) and _is_plain(target.type)
        if is_plain and _bytes_of(target.type) > _FEW_BYTES:
            continue
        if is_plain and target.type.rank > 1 and _bytes_of(target.type) > _UNROLLED_BYTES:
            source, target = _as_row(op, source), _as_row(op, target)
        _copy_elements(op, source, target)
        op.erase()


def _as_row(op: Any, buffer: Any) -> Any:
    """Return a buffer without gaps as one of one dimension."""
    type_, size = buffer.type, math.prod(buffer.type.shape)
    lists = {"static_offsets": [0], "static_sizes": [size], "static_strides": [1]}
    known = {name: ir.DenseI64ArrayAttr.get(value) for name, value in lists.items()}
    # Not a collapsed shape: passes would give each access the indices of the shape that it was.
    known["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0])
    with ir.InsertionPoint(op), op.location:
        row = ir.MemRefType.get([size], type_.element_type, memory_space=type_.memory_space)
        return ir.Operation.create("memref.reinterpret_cast", [row], [buffer], known).result


def _is_plain(type_: Any) -> bool:
    return bool(type_.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank)))


def _copy_elements(op: Any, source: Any, target: Any) -> None:
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])}
    # The mark stays on the loops that come of it.
    with ir.InsertionPoint(op), ir.Location.name(_MARK, childLoc=op.location):
        copy = ir.Operation.create("linalg.copy", [], [source, target], segments, regions=1)
        elements = [source.type.element_type, target.type.element_type]
        block = copy.regions[0].blocks.append(*elements, arg_locs=[op.location] * 2)
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", operands=[block.arguments[0]])


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
                renamed(op, "memref.alloc")
            else:
                used += size


def _bytes_of(type_: Any) -> int:
    if not type_.has_static_shape:
        return _MOST_BYTES + 1
    width = getattr(type_.element_type, "width", 8 * _WIDEST_ELEMENT_BYTES)
    return int(math.prod(type_.shape) * max(width // 8, 1))


def _is_in_loop(op: Any) -> bool:
    parent = op.parent
    while parent is not None and parent.name not in ("func.func", *_LOOPS):
        parent = parent.parent
    return parent is not None and parent.name in _LOOPS


def _attributes(op: Any) -> dict[str, Any]:
    return {name: op.attributes[name] for name in op.attributes}


_LOADS = ("llvm.load", "llvm.intr.masked.load")
_STORES = ("llvm.store", "llvm.intr.masked.store")
_MOVING = {*_LOADS, *_STORES, "llvm.alloca", "llvm.intr.masked.gather", "llvm.intr.masked.scatter"}


def widen_narrow_integers(module: Any, sources: Sequence[Source]) -> None:
    """Let loads and stores of i4 and of i1 and i4 vectors move bytes, as memrefs hold them, in place.

    LLVM would move bits of a vector, and expects zeros beside those of an i4.
    """
    for op in [op for op in walk(module.operation) if op.name in _MOVING]:
        if op.name in _LOADS and _is_bits(op.results[0].type):
            _widen_load(op)
        elif op.name in _STORES and _is_bits(op.operands[0].type):
            _widen_store(op)
        elif found := re.search(r"x(i[14])>", _type_in_memory(op)):
            what = f"vectors of {found[1]} are not moved this way; vectorize in one dimension, or use i8"
            raise refused_op(sources, f"{op.name}: {what}", op, "lower")


def _is_bits(type_: Any) -> bool:
    return re.fullmatch(r"i4|vector<\d+xi[14]>", str(type_)) is not None


def _type_in_memory(op: Any) -> str:
    if op.name == "llvm.alloca":
        return str(op.attributes["elem_type"])
    return str(op.results[0].type if len(op.results) else op.operands[0].type)


def _as_bytes(type_: Any) -> Any:
    return ir.Type.parse(re.sub(r"i[14]\b", "i8", str(type_)))


def _widen_load(op: Any) -> None:
    bits = op.results[0].type
    operands = list(op.operands)
    with ir.InsertionPoint(op), op.location:
        if op.name == "llvm.intr.masked.load" and len(operands) > 2:
            operands[2] = _zero_extend(operands[2])
        load = ir.Operation.create(op.name, [_as_bytes(bits)], operands, _attributes(op))
        short = ir.Operation.create("llvm.trunc", [bits], [load.result])
    op.results[0].replace_all_uses_with(short.result)
    op.erase()


def _widen_store(op: Any) -> None:
    operands = list(op.operands)
    with ir.InsertionPoint(op), op.location:
        operands[0] = _zero_extend(operands[0])
        ir.Operation.create(op.name, [], operands, _attributes(op))
    op.erase()


def _zero_extend(bits: Any) -> Any:
    return ir.Operation.create("llvm.zext", [_as_bytes(bits.type)], [bits]).result


_RING = ("arith.addi", "arith.subi", "arith.muli")


def narrow_index_vectors(module: Any) -> None:
    """Compute vectors of indices that are only cast to narrower integers in those, in place.

    The low bits of sums and products follow from those of the operands. LLVM would add 64 bits, half as many
    at a time, and shuffle the low ones together.
    """
    for op in [o for o in walk(module.operation) if o.name == "arith.index_cast"]:
        type_ = op.results[0].type
        if not isinstance(type_, ir.VectorType) or getattr(type_.element_type, "width", 64) >= 64:
            continue
        with ir.InsertionPoint(op), op.location:
            narrow = _narrowed(op.operands[0], type_)
        if narrow is not None:
            op.results[0].replace_all_uses_with(narrow)
            op.erase()


def _narrowed(value: Any, type_: Any) -> Any:
    """Return a vector of indices as one of a narrower type; None if it is not known how it is computed."""
    op = None if isinstance(value, ir.BlockArgument) else value.owner
    if op is not None and op.name in _RING:
        operands = [_narrowed(operand, type_) for operand in op.operands]
        is_known = all(operand is not None for operand in operands)
        return ir.Operation.create(op.name, [type_], operands).result if is_known else None
    if op is not None and op.name == "vector.broadcast" and isinstance(op.operands[0].type, ir.IndexType):
        cast = ir.Operation.create("arith.index_cast", [type_.element_type], [op.operands[0]])
        return ir.Operation.create("vector.broadcast", [type_], [cast.result]).result
    if op is not None and op.name in ("vector.step", "arith.constant"):
        return ir.Operation.create("arith.index_cast", [type_], [value]).result
    return None


_MOVES = ("llvm.shufflevector", "llvm.intr.masked.load", "llvm.intr.masked.store")


def move_as_integers(module: Any) -> None:
    """Have vectors of bf16 shuffled, copied, and loaded and stored under a mask, in place, as integers.

    As bf16, LLVM shuffles element by element, takes apart what is copied in several iterations, and ends the
    process at masks for more than 32 elements.
    """
    for op in [o for o in walk(module.operation) if o.name in _MOVES or _is_copied(o)]:
        with ir.InsertionPoint(op), op.location:
            operands = [
                ir.Operation.create("llvm.bitcast", [_of_i16(o.type)], [o]).result if _is_bf16(o.type) else o
                for o in op.operands
            ]
            if operands == list(op.operands):
                continue
            types = [_of_i16(r.type) for r in op.results]
            moved = ir.Operation.create(op.name, types, operands, _attributes(op))
            for old, new in zip(op.results, moved.results, strict=True):
                result = ir.Operation.create("llvm.bitcast", [old.type], [new]).result
                old.replace_all_uses_with(result)
        op.erase()


def _is_copied(op: Any) -> bool:
    """Return whether an op stores a vector of bf16 as it was loaded."""
    if op.name != "llvm.store" or not _is_bf16(op.operands[0].type):
        return False
    owner = op.operands[0].owner
    return not isinstance(owner, ir.Block) and owner.name == "llvm.load"


EXTREMES = frozenset(f"llvm.intr.{name}" for name in ("maximum", "minimum", "maxnum", "minnum"))


def extend_by_shifts(module: Any) -> None:
    """Extend vectors of bf16 that a maximum or minimum takes by shifts of their bits, in place.

    Of extended numbers LLVM takes the maximum before it extends them, and has no instruction for that.
    """
    for op in [o for o in walk(module.operation) if o.name == "llvm.fpext" and _is_bf16(o.operands[0].type)]:
        if not any(use.owner.name in EXTREMES for use in op.results[0].uses):
            continue
        with ir.InsertionPoint(op), op.location:
            wide = ir.VectorType.get(op.operands[0].type.shape, ir.IntegerType.get_signless(32))
            by = ir.DenseElementsAttr.get_splat(wide, ir.IntegerAttr.get(wide.element_type, 16))
            bits = ir.Operation.create("llvm.bitcast", [_of_i16(op.operands[0].type)], [op.operands[0]]).result
            bits = ir.Operation.create("llvm.zext", [wide], [bits]).result
            places = ir.Operation.create("llvm.mlir.constant", [wide], attributes={"value": by}).result
            bits = ir.Operation.create("llvm.shl", [wide], [bits, places]).result
            extended = ir.Operation.create("llvm.bitcast", [op.results[0].type], [bits]).result
        op.results[0].replace_all_uses_with(extended)
        op.erase()


def _is_bf16(type_: Any) -> bool:
    return isinstance(type_, ir.VectorType) and isinstance(type_.element_type, ir.BF16Type)


def _of_i16(type_: Any) -> Any:
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(16))


@functools.cache
def _conversions() -> list[str]:
    text = Path(__file__).with_name("short_floats.mlir").read_text(encoding="utf-8")
    return re.findall(r"^llvm\.func.*?^}", text, re.MULTILINE | re.DOTALL)


def add_conversions(module: Any, types: frozenset[str]) -> None:
    """Add to a module in the LLVM dialect, in place, the conversions to the short floats among these types."""
    short_float = r"(?<![a-wyz])b?f16\b"
    found = {word for type_ in types for word in re.findall(short_float, type_)}
    for function in _conversions() if found else []:
        if found.intersection(re.findall(short_float, function.partition("{")[0])):
            module.body.append(ir.Operation.parse(function))
