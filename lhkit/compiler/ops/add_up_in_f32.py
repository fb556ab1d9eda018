"""``lhkit.add_up_in_f32``: products of 16-bit floats and of small integers are added up in f32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

# Up to this magnitude f32 has every integer.
_LAST_INTEGER = 2**24
_IN_F32 = {
    "arith.mulf": _arith.mulf,
    "arith.muli": _arith.mulf,
    "arith.addf": _arith.addf,
    "arith.addi": _arith.addf,
}

# Element types of the operands and the result, and the casts of the operands, of what dot products multiply.
_IN_DOT_PRODUCTS = {
    ("bf16", "bf16", "f32", "arith.extf", "arith.extf"),
    ("i8", "i8", "i32", "arith.extsi", "arith.extsi"),
}
# The value of ``i8_dots`` by which integers are multiplied as pairs of i16, those of 8 bits extended to them.
_AS_PAIRS = 3
_IN_PAIRS = _IN_DOT_PRODUCTS | {
    ("i8", "i8", "i32", "arith.extsi", "arith.extui"),
    ("i8", "i8", "i32", "arith.extui", "arith.extui"),
    ("i16", "i16", "i32", "arith.extsi", "arith.extsi"),
}
# Rows, columns and steps from which these are faster than products in f32.
_LEAST = (16, 16, 32)


@transform_op("lhkit.add_up_in_f32", consumes=["target"])
def add_up_in_f32(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Let contractions of bf16, f16 or small integers multiply and add in f32, and convert the sum at the end.

    ::

        %r = linalg.matmul ins(%a, %b : tensor<4x5xbf16>, tensor<5x6xbf16>) outs(%c : tensor<4x6xbf16>)
        // becomes, with linalg.generic for the extf and the truncf of each element
        %start = arith.extf %c : tensor<4x6xf32>
        %sum = linalg.generic {arith.extf, arith.mulf, arith.addf} ins(%a, %b) outs(%start : tensor<4x6xf32>)
        %r = arith.truncf %sum : tensor<4x6xbf16>

    Results of 16-bit floats are closer to the exact ones than those of the payload, which rounds after every
    step. Integers, which are added to %c at the end, stay exact: where extents, types and extensions of the
    operands say that no sum is above 2**24, as with up to 1024 steps of i8. Multiplications of 32-bit integers
    are several times as slow. A ``linalg.fill`` that a contraction of floats starts from is made again in f32.

    Args:
        target: ``linalg.generic`` on tensors, contractions with one result; consumed. Integers with the
            attribute ``i8_dots`` stay as they are where dot products add them up: see
            `contraction_to_matmul`.
        rewriter: How the payload is changed.

    Returns:
        The contractions in f32.

    Raises:
        SilenceableError: Another op; another type of results; integers whose sum may be too large for f32.
    """
    for op in target:
        types = [result.type for result in op.operation.results]
        is_generic = op.operation.name == "linalg.generic" and len(types) == 1
        if not is_generic or not _linalg.isa_contraction_op(op.operation):
            raise SilenceableError("this is no contraction of tensors in a linalg.generic", at=op)
        element = types[0].element_type
        if isinstance(element, ir.IntegerType):
            if narrow_factors(op.operation) is not None:
                raise SilenceableError("dot products add it up as it is", at=op)
            if _is_of_one_row(op.operation):
                raise SilenceableError("it has one row or column, where f32 takes as many steps", at=op)
            if _largest_sum(op.operation) > _LAST_INTEGER:
                raise SilenceableError("its sums may be too large for f32", at=op)
        elif not isinstance(element, ir.BF16Type | ir.F16Type):
            raise SilenceableError(f"its result is of {element}, and not of 16-bit floats or integers", at=op)
    return [_rewrite(op.operation, rewriter) for op in target]


def narrow_factors(op: Any) -> str | None:
    """Return the type by which dot products are to multiply the operands of a contraction, else None."""
    types = tuple(str(value.type.element_type) for value in op.operands)
    casts = sorted(o.operation.name for o in op.regions[0].blocks[0].operations if ".ext" in o.operation.name)
    knob = "bf16_dots" if types[0] == "bf16" else "i8_dots"
    way = ir.IntegerAttr(op.attributes[knob]).value if knob in op.attributes else 0
    in_pairs = knob == "i8_dots" and way == _AS_PAIRS
    known = _IN_PAIRS if in_pairs else _IN_DOT_PRODUCTS
    is_static = all(value.type.has_static_shape for value in op.operands)
    if not way or (*types, *casts) not in known or not is_static:
        return None
    sizes = _sizes(op)
    fits = all(n >= least for n, least in zip(sizes, _LEAST, strict=True))
    return ("i16" if in_pairs else types[0]) if fits else None


def _sizes(op: Any) -> list[int]:
    """Return the rows, columns and steps of a contraction; dynamic extents are negative."""
    kinds = _linalg.infer_contraction_dimensions(op)
    extents: dict[int, int] = {}
    for map_, value in zip(_linalg.get_indexing_maps(op), op.operands, strict=True):
        dims = [ir.AffineDimExpr(e).position for e in map_.value.results]
        extents |= dict(zip(dims, value.type.shape, strict=True))
    return [math.prod(extents[int(d)] for d in found) for found in (kinds.m, kinds.n, kinds.k)]


def _is_of_one_row(op: Any) -> bool:
    rows, columns, _ = _sizes(op)
    return 1 in (rows, columns)


def _largest_sum(op: Any) -> float:
    """Return the largest magnitude of a sum of products of integers, infinite where it is not known."""
    block = op.regions[0].blocks[0]
    largest = 1.0
    for element in list(block.arguments)[:2]:
        readers = [use.owner.operation.name for use in element.uses]
        width = element.type.width if isinstance(element.type, ir.IntegerType) else math.inf
        known = {"arith.extsi": 2.0 ** (width - 1), "arith.extui": 2.0**width - 1}
        largest *= known.get(readers[0], math.inf) if len(readers) == 1 else math.inf
    # All that the result does not have is added up, also what only one operand has.
    maps = [
        [ir.AffineDimExpr(e).position for e in each.value.results] for each in _linalg.get_indexing_maps(op)
    ]
    extents = {
        d: math.inf if operand.type.is_dynamic_dim(i) else operand.type.shape[i]
        for operand, dims in zip(op.operands, maps, strict=True)
        for i, d in enumerate(dims)
    }
    return largest * math.prod(extents[d] for d in extents if d not in maps[-1])


def _rewrite(op: Any, rewriter: Rewriter) -> Any:
    *inputs, start = op.operands
    result, wide, shape = start.type, ir.F32Type.get(), list(start.type.shape)
    element, loops = result.element_type, list(range(len(shape)))
    fill = producer_of(start)
    filled = None if fill is None or fill.name != "linalg.fill" else fill.operands[0]
    with rewriter.before(op):
        sizes = [
            _tensor.dim(start, _arith.constant(ir.IndexType.get(), d)) if result.is_dynamic_dim(d) else shape[d]
            for d in loops
        ]
        type_, out = ir.RankedTensorType.get(shape, wide), _tensor.empty(sizes, wide)
        is_integer = isinstance(element, ir.IntegerType)
        if is_integer:
            out = named_op("FillOp", _arith.constant(wide, 0.0), out=out)
        elif filled is not None:
            out = named_op("FillOp", _arith.extf(wide, filled), out=out)
        else:
            out = map_elements([start], out, [loops, loops], type_, lambda x: _arith.extf(wide, x))
        attributes = {each: op.attributes[each] for each in op.attributes}
        total = ir.Operation.create(
            "linalg.generic", results=[type_], operands=[*inputs, out], attributes=attributes, regions=1
        )
        types = [*(each.type.element_type for each in inputs), wide]
        _copy_body(op.regions[0].blocks[0], total.regions[0].blocks.append(*types), wide)
        end = _tensor.empty(sizes, element)
        if is_integer:
            addend, read = (start, loops) if filled is None else (filled, [])
            value = map_elements(
                [total.results[0], addend],
                end,
                [loops, read, loops],
                result,
                lambda x, c: _arith.addi(_arith.fptosi(element, x), c),
            )
        else:
            value = map_elements(
                [total.results[0]], end, [loops, loops], result, lambda x: _arith.truncf(element, x)
            )
    rewriter.replace(op, [value])
    return total


def _copy_body(body: Any, block: Any, wide: Any) -> None:
    """Copy a contraction's body with products and sums of f32."""
    copies = dict(zip(body.arguments, block.arguments, strict=True))

    def widened(value: Any) -> Any:
        return copies[value] if copies[value].type == wide else _arith.extf(wide, copies[value])

    with ir.InsertionPoint(block):
        for op in (each.operation for each in body.operations):
            if op.name in _IN_F32:
                copies[op.results[0]] = _IN_F32[op.name](*map(widened, op.operands))
            elif op.name == "linalg.yield":
                _linalg.YieldOp([copies[op.operands[0]]])
            elif op.name in {"arith.extsi", "arith.extui"}:
                convert = _arith.sitofp if op.name == "arith.extsi" else _arith.uitofp
                copies[op.results[0]] = convert(wide, copies[op.operands[0]])
            else:
                copy = op.clone().operation
                for i, value in enumerate(op.operands):
                    copy.operands[i] = copies[value]
                copies[op.results[0]] = copy.results[0]


def map_elements(
    inputs: list[Any], out: Any, maps: list[list[int]], type_: Any, body: Callable[..., Any]
) -> Any:
    """Return the result of a ``linalg.generic`` without reductions.

    Args:
        inputs: Tensors, and scalars.
        out: The tensor into which it is computed, which the body does not read.
        maps: The loops that index each input, then those that index the result.
        type_: The type of the result.
        body: Returns what is computed from an element of each input.
    """
    rank = len(type_.shape)
    affine = [ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in dims]) for dims in maps]
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    op = ir.Operation.create(
        "linalg.generic",
        results=[type_],
        operands=[*inputs, out],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in affine]),
            "iterator_types": ir.ArrayAttr.get([parallel] * rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    elements = [getattr(each.type, "element_type", each.type) for each in [*inputs, out]]
    block = op.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        _linalg.YieldOp([body(*list(block.arguments)[: len(inputs)])])
    return op.results[0]
