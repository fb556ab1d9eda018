"""``lhkit.demote_f64``: what is computed in f64 is computed in f32, and public functions keep their types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.resource_constants import resource_name
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

# f64 as a type or an element type, in the text of a type.
_F64 = re.compile(r"(?<![A-Za-wyz_\d])f64(?!\w)")
# They read the bits of a number, or count its bytes.
_BITS = {"arith.bitcast", "tensor.bitcast", "vector.bitcast", "vector.type_cast", "memref.view"}
_BITS |= {"builtin.unrealized_conversion_cast"}
_CASTS = ("arith.extf", "arith.truncf")


@transform_op("lhkit.demote_f64")
def demote_f64(target: Ops, *, rewriter: Rewriter) -> None:
    """Compute with f32 what a module computes with f64: half the memory, twice as many lanes, fewer digits.

    ::

        func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
          %y = arith.mulf %x, %x : tensor<4xf64>
          return %y : tensor<4xf64>
        // becomes
          %0 = arith.truncf %x : tensor<4xf64> to tensor<4xf32>
          %1 = arith.mulf %0, %0 : tensor<4xf32>
          %y = arith.extf %1 : tensor<4xf32> to tensor<4xf64>
          return %y : tensor<4xf64>

    Public functions keep their types, so that what calls them need not change; private ones, loops, globals and
    constants become f32. Constants are rounded, those beyond 3.4e38 to infinity. After ``DemoteF64ToF32`` of
    IREE, which changes public functions too.

    Args:
        target: Modules. Handles stay valid but for those to casts between f32 and f64, which have no effect.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Something else than a module; an op that depends on the bits of an f64; complex<f64>;
            f64 in a resource, in a memref of a public function, in a public global or in a declared function; a
            call of a public function with f64. Nothing was changed then.
    """
    for op in target:
        _check(op.operation)
    for op in target:
        kept = [o for o in walk(op.operation) if o.name == "func.func" and _keeps_type(o)]
        # A list, because an op that is changed has another hash.
        casts = [cast for function in kept for cast in _cast_at_boundary(function)]
        for each in list(walk(op.operation)):
            if each not in casts:
                _demote(each, is_kept=each in kept)
        for each in list(walk(op.operation)):
            if each.name in _CASTS and each.operands[0].type == each.results[0].type:
                rewriter.replace(each, [each.operands[0]])


def _has_f64(type_: Any) -> bool:
    return _F64.search(str(type_)) is not None


def _demoted(type_: Any) -> Any:
    return ir.Type.parse(_F64.sub("f32", str(type_))) if _has_f64(type_) else type_


def _is_private(op: Any) -> bool:
    visibility = "sym_visibility"
    return visibility in op.attributes and op.attributes[visibility] == ir.StringAttr.get("private")


def _keeps_type(function: Any) -> bool:
    return not _is_private(function) and _has_f64(function_type(function))


def _check(module: Any) -> None:
    if module.name != "builtin.module":
        raise SilenceableError("this is no module: functions call one another, and change together", at=module)
    ops = list(walk(module))
    kept = {symbol_name(f) for f in ops if f.name == "func.func" and _keeps_type(f)}
    for op in ops:
        if (why := _why_not(op, kept)) is not None:
            raise SilenceableError(f"{op.name} {why}", at=op)


def _why_not(op: Any, kept: set[str]) -> str | None:
    """Return why an op keeps its module in f64, None if it does not."""
    if op.name == "func.func":
        types = [*function_type(op).inputs, *function_type(op).results]
        if not op.regions[0].blocks and any(map(_has_f64, types)):
            return f"@{symbol_name(op)} is declared with f64"
        if _keeps_type(op) and any(_has_f64(t) and str(t).startswith("memref") for t in types):
            return f"@{symbol_name(op)} is public and has a memref of f64, which cannot be cast"
    if called_by(op) in kept:
        return f"calls @{called_by(op)}, which is public and keeps f64: make it private first"
    if op.name.endswith(".global") and not _is_private(op) and _has_f64(_global_type(op)):
        return "is public and holds f64"
    touches = any(_has_f64(v.type) for v in (*op.operands, *op.results))
    if any("complex<f64>" in str(v.type) for v in (*op.operands, *op.results)):
        return "has complex numbers of f64"
    if touches and (op.name in _BITS or op.name.startswith("llvm.")):
        return "depends on the bits of an f64"
    if touches and any(resource_name(op.attributes[n]) is not None for n in op.attributes):
        return "has f64 in a resource, whose data is not in the IR"
    return None


def _global_type(op: Any) -> Any:
    return ir.TypeAttr(op.attributes["type"]).value if "type" in op.attributes else ""


def _cast_at_boundary(function: Any) -> list[Any]:
    """Round a function's arguments where it begins, widen what it returns, and return these casts.

    Between them the body still has f64.
    """
    casts = []
    entry = function.regions[0].blocks[0]
    for argument in entry.arguments:
        if _has_f64(argument.type):
            uses = [(use.owner.operation, use.operand_number) for use in argument.uses]
            with ir.InsertionPoint.at_block_begin(entry), function.location:
                narrow = ir.Operation.create("arith.truncf", [_demoted(argument.type)], [argument])
            casts.append(narrow)
            for owner, number in uses:
                owner.operands[number] = narrow.result
    for block in function.regions[0].blocks:
        last = list(block.operations)[-1].operation
        if last.name == "func.return":
            with ir.InsertionPoint(last), last.location:
                for i, type_ in enumerate(function_type(function).results):
                    if _has_f64(type_):
                        casts.append(ir.Operation.create("arith.extf", [type_], [last.operands[i]]))
                        last.operands[i] = casts[-1].result
    return casts


def _demote(op: Any, *, is_kept: bool) -> None:
    """Give an op's results, attributes and blocks f32; where its type is kept, its blocks but for the first."""
    for result in op.results:
        if _has_f64(result.type):
            result.set_type(_demoted(result.type))
    for region in op.regions:
        for number, block in enumerate(region.blocks):
            for argument in block.arguments:
                if _has_f64(argument.type) and not (is_kept and number == 0):
                    argument.set_type(_demoted(argument.type))
    for name in [] if is_kept else list(op.attributes):
        if (rounded := _rounded(op.attributes[name])) != op.attributes[name]:
            op.attributes[name] = rounded


def _rounded(attribute: Any) -> Any:
    if isinstance(attribute, ir.TypeAttr):
        return ir.TypeAttr.get(_demoted(attribute.value))
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_rounded(each) for each in attribute])
    if isinstance(attribute, ir.FloatAttr) and _has_f64(attribute.type):
        return ir.FloatAttr.get(ir.F32Type.get(), attribute.value)
    if isinstance(attribute, ir.DenseElementsAttr) and _has_f64(attribute.type):
        type_ = _demoted(attribute.type)
        if attribute.is_splat:
            return ir.DenseElementsAttr.get_splat(type_, _rounded(attribute.get_splat_value()))
        with np.errstate(over="ignore"):
            return ir.DenseElementsAttr.get(np.array(attribute).astype(np.float32), type=type_)
    return attribute
