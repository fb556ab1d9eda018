"""``lhkit.widen_accumulators``: sums of products of 16-bit floats are kept in f32, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import producer_of
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")


@transform_op("lhkit.widen_accumulators", consumes=["target"])
def widen_accumulators(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Let contractions of bf16 or f16 multiply and add in f32, and round once at the end.

    ::

        %r = linalg.matmul ins(%a, %b : tensor<4x5xbf16>, tensor<5x6xbf16>) outs(%c : tensor<4x6xbf16>)
        // becomes, with linalg.generic for the extf and the truncf of each element
        %start = arith.extf %c : tensor<4x6xf32>
        %sum = linalg.generic {arith.extf, arith.mulf, arith.addf} ins(%a, %b) outs(%start : tensor<4x6xf32>)
        %r = arith.truncf %sum : tensor<4x6xbf16>

    Results are closer to the exact ones than those of the payload, which rounds after every step. A
    ``linalg.fill`` that a contraction starts from is made again in f32.

    Args:
        target: ``linalg.generic`` on tensors, contractions with one result of bf16 or f16; consumed.
        rewriter: How the payload is changed.

    Returns:
        The contractions in f32.

    Raises:
        SilenceableError: Another op; another type of results.
    """
    for op in target:
        types = [result.type for result in op.operation.results]
        is_generic = op.operation.name == "linalg.generic" and len(types) == 1
        if not is_generic or not _linalg.isa_contraction_op(op.operation):
            raise SilenceableError("this is no contraction of tensors in a linalg.generic", at=op)
        if not isinstance(types[0].element_type, ir.BF16Type | ir.F16Type):
            raise SilenceableError(f"its result is of {types[0].element_type}, and not of 16-bit floats", at=op)
    return [_rewrite(op.operation, rewriter) for op in target]


def _rewrite(op: Any, rewriter: Rewriter) -> Any:
    *inputs, start = op.operands
    narrow, wide, shape = start.type, ir.F32Type.get(), list(start.type.shape)
    loops = list(range(len(shape)))
    fill = producer_of(start)
    with rewriter.before(op):
        sizes = [
            _tensor.dim(start, _arith.constant(ir.IndexType.get(), d)) if narrow.is_dynamic_dim(d) else shape[d]
            for d in loops
        ]
        type_, out = ir.RankedTensorType.get(shape, wide), _tensor.empty(sizes, wide)
        if fill is not None and fill.name == "linalg.fill":
            out = _linalg.fill(_arith.extf(wide, fill.operands[0]), outs=[out])
        else:
            out = map_elements([start], out, [loops, loops], type_, lambda element: _arith.extf(wide, element))
        attributes = {each: op.attributes[each] for each in op.attributes}
        total = ir.Operation.create(
            "linalg.generic", results=[type_], operands=[*inputs, out], attributes=attributes, regions=1
        )
        types = [*(each.type.element_type for each in inputs), wide]
        _copy_body(op.regions[0].blocks[0], total.regions[0].blocks.append(*types), wide)
        rounded = map_elements(
            [total.results[0]],
            _tensor.empty(sizes, narrow.element_type),
            [loops, loops],
            narrow,
            lambda element: _arith.truncf(narrow.element_type, element),
        )
    rewriter.replace(op, [rounded])
    return total


def _copy_body(body: Any, block: Any, wide: Any) -> None:
    """Copy a contraction's body with products and sums of f32."""
    copies = dict(zip(body.arguments, block.arguments, strict=True))

    def widened(value: Any) -> Any:
        return copies[value] if copies[value].type == wide else _arith.extf(wide, copies[value])

    with ir.InsertionPoint(block):
        for op in (each.operation for each in body.operations):
            if op.name in {"arith.mulf", "arith.addf"}:
                compute = _arith.mulf if op.name == "arith.mulf" else _arith.addf
                copies[op.results[0]] = compute(*map(widened, op.operands))
            elif op.name == "linalg.yield":
                _linalg.YieldOp([copies[op.operands[0]]])
            else:
                copy = op.clone()
                for i, value in enumerate(op.operands):
                    copy.operation.operands[i] = copies[value]
                copies[op.results[0]] = copy.operation.results[0]


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
