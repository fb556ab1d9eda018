"""Rewrites that LLVM's lowering needs: strided copies, stack buffers, i1 vectors, short float conversions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.ir.parsing import failure_in, span_of, walk
from lhkit.model.errors import Diagnostic, LhkitError, error_for
from lhkit.worker.requests import Source

_MARK = "lhkit:copy"


def lowering_error(
    sources: Sequence[Source], reason: str, at: Any, stage: str, *, what: str = "", advice: str | None = None
) -> LhkitError:
    """Return the error of an op that has no lowering; ``what`` is said at its place if not the reason."""
    message = f"{sources[0].name} cannot be lowered: {reason} (stage: {stage})"
    diagnostics = (Diagnostic("error", what or reason, span_of(at.location)),)
    return error_for(failure_in(sources, "lowering", message, diagnostics, stage=stage, advice=advice))


def is_bufferization_copy(op: Any) -> bool:
    """Return True for an op that a ``memref.copy`` was written out as, at this stage or a later one."""
    return isinstance(op.location, ir.NameLoc) and op.location.name_str == _MARK


def expand_strided_copies(module: Any) -> None:
    """Turn every ``memref.copy`` whose sides are not both without gaps into a ``linalg.copy``, in place."""
    for op in [o for o in walk(module.operation) if o.name == "memref.copy"]:
        source, target = op.operands
        ranked = all(isinstance(v.type, ir.MemRefType) for v in (source, target))
        if ranked and not (_is_plain(source.type) and _is_plain(target.type)):
            _copy_elements(op, source, target)
            op.erase()


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
                _move_to_heap(op)
            else:
                used += size


def _bytes_of(type_: Any) -> int:
    if not type_.has_static_shape:
        return _MOST_BYTES + 1
    width = getattr(type_.element_type, "width", 8 * _WIDEST_ELEMENT_BYTES)
    return int(math.prod(type_.shape) * max(width // 8, 1))


def _is_in_loop(op: Any) -> bool:
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name in _LOOPS:
            return True
        parent = parent.parent
    return False


def _attributes(op: Any) -> dict[str, Any]:
    return {name: op.attributes[name] for name in op.attributes}


def _move_to_heap(op: Any) -> None:
    with ir.InsertionPoint(op), op.location:
        heap = ir.Operation.create("memref.alloc", [op.results[0].type], list(op.operands), _attributes(op))
    op.results[0].replace_all_uses_with(heap.result)
    op.erase()


_LOADS = ("llvm.load", "llvm.intr.masked.load")
_STORES = ("llvm.store", "llvm.intr.masked.store")
_MOVING = {*_LOADS, *_STORES, "llvm.alloca", "llvm.intr.masked.gather", "llvm.intr.masked.scatter"}


def widen_bool_vectors(module: Any, sources: Sequence[Source]) -> None:
    """Let loads and stores of i1 vectors move bytes, as memrefs hold them, in place; LLVM would move bits."""
    for op in [op for op in walk(module.operation) if op.name in _MOVING]:
        if op.name in _LOADS and _is_bits(op.results[0].type):
            _widen_load(op)
        elif op.name in _STORES and _is_bits(op.operands[0].type):
            _widen_store(op)
        elif "xi1>" in _type_in_memory(op):
            what = "vectors of i1 are not moved this way; vectorize in one dimension, or use i8"
            raise lowering_error(sources, f"{op.name}: {what}", op, "lower")


def _is_bits(type_: Any) -> bool:
    return re.fullmatch(r"vector<\d+xi1>", str(type_)) is not None


def _type_in_memory(op: Any) -> str:
    if op.name == "llvm.alloca":
        return str(op.attributes["elem_type"])
    return str(op.results[0].type if len(op.results) else op.operands[0].type)


def _as_bytes(type_: Any) -> Any:
    return ir.Type.parse(str(type_).replace("xi1>", "xi8>"))


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


# Rounding f64 to f32 and then again would round twice. Rounding to odd in between keeps the lost bits
# sticky: toward zero, with the last bit set if anything was lost.
_TO_ODD_F32 = """
  %near = llvm.fptrunc %wide : f64 to f32
  %back = llvm.fpext %near : f32 to f64
  %near_size = llvm.intr.fabs(%back) : (f64) -> f64
  %wide_size = llvm.intr.fabs(%wide) : (f64) -> f64
  %is_larger = llvm.fcmp "ogt" %near_size, %wide_size : f64
  %is_inexact = llvm.fcmp "one" %back, %wide : f64
  %near_bits = llvm.bitcast %near : f32 to i32
  %step = llvm.zext %is_larger : i1 to i32
  %down = llvm.sub %near_bits, %step : i32
  %sticky = llvm.zext %is_inexact : i1 to i32
  %odd_bits = llvm.or %down, %sticky : i32
"""

_F32_TO_BF16 = """
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %half = llvm.mlir.constant(0x7fff : i32) : i32
  %quiet = llvm.mlir.constant(0x40 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fffffff : i32) : i32
  %infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %size = llvm.and %bits, %no_sign : i32
  %is_nan = llvm.icmp "ugt" %size, %infinity : i32
  %high = llvm.lshr %bits, %c16 : i32
  %nan = llvm.or %high, %quiet : i32
  %last = llvm.and %high, %c1 : i32
  %up = llvm.add %bits, %half : i32
  %tie = llvm.add %up, %last : i32
  %rounded = llvm.lshr %tie, %c16 : i32
  %chosen = llvm.select %is_nan, %nan, %rounded : i1, i32
  %short = llvm.trunc %chosen : i32 to i16
  %result = llvm.bitcast %short : i16 to bf16
  llvm.return %result : bf16
"""

# Without F16C. Numbers below 2^-14 are multiples of 2^-24: converted as such, and made such by adding 0.5.
_F16_TO_F32 = """
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x8000 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fff : i32) : i32
  %infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %least = llvm.mlir.constant(0x400 : i32) : i32
  %rebias = llvm.mlir.constant(0x38000000 : i32) : i32
  %quiet = llvm.mlir.constant(0x400000 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %unit = llvm.mlir.constant(0x33800000 : i32) : i32
  %short = llvm.bitcast %narrow : f16 to i16
  %bits = llvm.zext %short : i16 to i32
  %signed = llvm.and %bits, %sign_bit : i32
  %sign = llvm.shl %signed, %c16 : i32
  %size = llvm.and %bits, %no_sign : i32
  %wide = llvm.shl %size, %c13 : i32
  %normal = llvm.add %wide, %rebias : i32
  %special = llvm.add %normal, %rebias : i32
  %is_nan = llvm.icmp "ugt" %size, %infinity : i32
  %nan_bit = llvm.select %is_nan, %quiet, %zero : i1, i32
  %not_finite = llvm.or %special, %nan_bit : i32
  %count = llvm.uitofp %size : i32 to f32
  %step = llvm.bitcast %unit : i32 to f32
  %tiny = llvm.fmul %count, %step : f32
  %tiny_bits = llvm.bitcast %tiny : f32 to i32
  %is_tiny = llvm.icmp "ult" %size, %least : i32
  %is_special = llvm.icmp "uge" %size, %infinity : i32
  %finite = llvm.select %is_tiny, %tiny_bits, %normal : i1, i32
  %magnitude = llvm.select %is_special, %not_finite, %finite : i1, i32
  %all = llvm.or %sign, %magnitude : i32
  %result = llvm.bitcast %all : i32 to f32
  llvm.return %result : f32
"""

_F32_TO_F16 = """
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x8000 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fffffff : i32) : i32
  %wide_infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %quiet = llvm.mlir.constant(0x7e00 : i32) : i32
  %payload = llvm.mlir.constant(0x3ff : i32) : i32
  %too_large = llvm.mlir.constant(0x477ff000 : i32) : i32
  %least = llvm.mlir.constant(0x38800000 : i32) : i32
  %rebias = llvm.mlir.constant(0x38000000 : i32) : i32
  %below_half = llvm.mlir.constant(0xfff : i32) : i32
  %half_bits = llvm.mlir.constant(0x3f000000 : i32) : i32
  %bits = llvm.bitcast %narrow : f32 to i32
  %high = llvm.lshr %bits, %c16 : i32
  %sign = llvm.and %high, %sign_bit : i32
  %size = llvm.and %bits, %no_sign : i32
  %kept = llvm.lshr %size, %c13 : i32
  %last = llvm.and %kept, %c1 : i32
  %based = llvm.sub %size, %rebias : i32
  %up = llvm.add %based, %below_half : i32
  %tie = llvm.add %up, %last : i32
  %normal = llvm.lshr %tie, %c13 : i32
  %number = llvm.bitcast %size : i32 to f32
  %half = llvm.bitcast %half_bits : i32 to f32
  %sum = llvm.fadd %number, %half : f32
  %sum_bits = llvm.bitcast %sum : f32 to i32
  %tiny = llvm.sub %sum_bits, %half_bits : i32
  %is_tiny = llvm.icmp "ult" %size, %least : i32
  %finite = llvm.select %is_tiny, %tiny, %normal : i1, i32
  %is_large = llvm.icmp "uge" %size, %too_large : i32
  %limited = llvm.select %is_large, %infinity, %finite : i1, i32
  %tail = llvm.and %kept, %payload : i32
  %nan = llvm.or %quiet, %tail : i32
  %is_nan = llvm.icmp "ugt" %size, %wide_infinity : i32
  %magnitude = llvm.select %is_nan, %nan, %limited : i1, i32
  %all = llvm.or %sign, %magnitude : i32
  %short = llvm.trunc %all : i32 to i16
  %result = llvm.bitcast %short : i16 to f16
  llvm.return %result : f16
"""

_FUNCTIONS = {
    "bf16": (
        f"llvm.func @__truncsfbf2(%narrow: f32) -> bf16 {{\n"
        f"  %bits = llvm.bitcast %narrow : f32 to i32{_F32_TO_BF16}}}",
        f"llvm.func @__truncdfbf2(%wide: f64) -> bf16 {{"
        f"{_TO_ODD_F32}{_F32_TO_BF16.replace('%bits', '%odd_bits')}}}",
    ),
    "f16": (
        f"llvm.func @__extendhfsf2(%narrow: f16) -> f32 {{{_F16_TO_F32}}}",
        f"llvm.func @__truncsfhf2(%narrow: f32) -> f16 {{{_F32_TO_F16}}}",
        f"llvm.func @__truncdfhf2(%wide: f64) -> f16 {{{_TO_ODD_F32}"
        "  %odd = llvm.bitcast %odd_bits : i32 to f32\n"
        "  %result = llvm.fptrunc %odd : f32 to f16\n"
        "  llvm.return %result : f16\n}",
    ),
}


def add_conversions(module: Any, types: frozenset[str]) -> None:
    """Add to a module in the LLVM dialect, in place, the conversions to the short floats among these types."""
    found = {word for type_ in types for word in re.findall(r"(?<![a-wyz])b?f16\b", type_)}
    for name in _FUNCTIONS.keys() & found:
        for function in _FUNCTIONS[name]:
            module.body.append(ir.Operation.parse(function))
