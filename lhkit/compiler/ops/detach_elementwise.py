"""``lhkit.detach_elementwise``: a product starts from zeros, and its sum is an op of its own."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.capabilities import elementwise_op
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")
_arith: Any = host_module("dialects.arith")

_KINDS = ("matmul", "batch_matmul", "matvec", "vecmat", "dot", "mmt4d", "conv_", "depthwise_conv_")


@transform_op("lhkit.detach_elementwise", consumes=["target"])
def detach_elementwise(target: Ops, *, rewriter: Rewriter) -> tuple[Ops, Ops]:
    """Let products and convolutions start from zeros, and add what they started from afterwards.

    ::

        %r = linalg.matmul ins(%a, %b) outs(%c)
        // becomes
        %z = linalg.fill ins(%zero) outs(%empty)
        %p = linalg.matmul ins(%a, %b) outs(%z)
        %r = linalg.add ins(%p, %c) outs(%empty)

    Then what computes ``%c`` is not tied to the product's buffer, and the sum can be fused with what follows.
    After ``DetachElementwiseFromNamedOps`` of IREE; ``apply_patterns.linalg.fold_add_into_dest`` is the
    inverse. Floating point sums may round differently. Ops that start from a fill are left as they are.

    Args:
        target: Named products and convolutions of linalg on tensors; consumed.
        rewriter: How the payload is changed.

    Returns:
        The products and convolutions, and the sums.

    Raises:
        SilenceableError: Another op.
    """
    for op in target:
        kind = op.operation.name.removeprefix("linalg.")
        if kind == op.operation.name or not kind.startswith(_KINDS):
            raise SilenceableError("this is no named product or convolution of linalg", at=op)
        if len(op.operation.results) != 1:
            raise SilenceableError("it works on buffers, and only tensors can be detached", at=op)
    changed, sums = [], []
    for op in target:
        start = op.operation.operands[len(op.operation.operands) - 1]
        owner = start.owner
        if isinstance(owner, ir.Operation | ir.OpView) and owner.operation.name == "linalg.fill":
            changed.append(op.operation)
            continue
        product, total = _detach(op.operation, start, rewriter)
        changed.append(product)
        sums.append(total)
    return changed, sums


def _detach(op: Any, start: Any, rewriter: Rewriter) -> tuple[Any, Any]:
    type_ = start.type
    with rewriter.before(op):
        extents = [
            _tensor.dim(start, _arith.constant(ir.IndexType.get(), i))
            if ir.ShapedType.is_dynamic_size(n)
            else n
            for i, n in enumerate(type_.shape)
        ]
        is_float = isinstance(type_.element_type, ir.FloatType)
        zero = _arith.constant(type_.element_type, 0.0 if is_float else 0)
        zeros = _linalg.fill(zero, outs=[_tensor.empty(extents, type_.element_type)])
        product = op.clone()
        product.operands[len(op.operands) - 1] = zeros
        out = _tensor.empty(extents, type_.element_type)
        total = elementwise_op("add", product.results[0], start, out=out)
    rewriter.replace(op, [total])
    return product.operation, total.owner
