"""``lhkit.detensorize``: tensors without dimensions become the scalars that they hold."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_tensor: Any = host_module("dialects.tensor")
_scf: Any = host_module("dialects.scf")


@transform_op("lhkit.detensorize")
def detensorize(target: Ops, *, rewriter: Rewriter) -> None:
    """Compute with scalars what is computed with tensors of no dimension.

    ``linalg.generic`` and ``linalg.fill`` on such tensors become their bodies, and loops (``scf.for``) carry
    scalars::

        %r = linalg.generic ... ins(%x, %y : tensor<f32>, tensor<f32>) { arith.mulf } -> tensor<f32>
        // becomes
        %a = tensor.extract %x[] : tensor<f32>
        %b = tensor.extract %y[] : tensor<f32>
        %c = arith.mulf %a, %b : f32
        %r = tensor.from_elements %c : tensor<f32>

    Pairs of ``from_elements`` and ``extract`` go with the next canonicalization. After ``LinalgDetensorize``,
    which upstream and IREE had; ``scf.while`` and branches between blocks keep their tensors.

    Args:
        target: Where they are looked for: inside of these ops.
        rewriter: How the payload is changed.
    """
    inside = [op for root in target for op in walk(root.operation)]
    # Chosen before the first is replaced: an op that is gone may not even be asked for its name.
    scalars = [op for op in inside if op.name in {"linalg.generic", "linalg.fill"} and _is_scalar(op)]
    loops = [op for op in inside if op.name == "scf.for" and any(_has_no_dimension(r.type) for r in op.results)]
    for op in scalars:
        _inline(op, rewriter)
    for op in loops:
        _carry_scalars(op, rewriter)


def _has_no_dimension(type_: Any) -> bool:
    return isinstance(type_, ir.RankedTensorType) and type_.rank == 0


def _is_scalar(op: Any) -> bool:
    """Return True where all tensors of an op have no dimension, and it gives at least one."""
    tensors = [v.type for v in op.operands if isinstance(v.type, ir.ShapedType)]
    asks = any(o.operation.name == "linalg.index" for o in op.regions[0].blocks[0].operations)
    return bool(list(op.results)) and all(map(_has_no_dimension, tensors)) and not asks


def _scalar(value: Any) -> Any:
    return _tensor.extract(value, []) if _has_no_dimension(value.type) else value


def _tensor_of(value: Any, type_: Any) -> Any:
    return _tensor.from_elements(type_, [value])


def _inline(op: Any, rewriter: Rewriter) -> None:
    """Replace an op on scalars in disguise by its body."""
    block = op.regions[0].blocks[0]
    with rewriter.before(op):
        known = [(a, _scalar(v)) for a, v in zip(block.arguments, op.operands, strict=True)]
        *body, last = [o.operation for o in block.operations]
        for each in body:
            new = each.clone()
            for i, operand in enumerate(each.operands):
                new.operands[i] = _mapped(known, operand)
            known += zip(each.results, new.results, strict=True)
        types = [r.type for r in op.results]
        values = [_tensor_of(_mapped(known, v), t) for v, t in zip(last.operands, types, strict=True)]
    rewriter.replace(op, values)


def _mapped(known: list[tuple[Any, Any]], value: Any) -> Any:
    return next((new for old, new in known if old == value), value)


def _carry_scalars(loop: Any, rewriter: Rewriter) -> None:
    """Replace a loop that carries tensors without dimensions by one that carries scalars."""
    lower, upper, step, *inits = loop.operands
    old = loop.regions[0].blocks[0]
    with rewriter.before(loop):
        new = _scf.ForOp(lower, upper, step, [_scalar(v) for v in inits])
        with ir.InsertionPoint(new.body):
            carried = [
                _tensor_of(value, argument.type) if _has_no_dimension(argument.type) else value
                for value, argument in zip(new.inner_iter_args, list(old.arguments)[1:], strict=True)
            ]
        for argument, value in zip(old.arguments, [new.induction_variable, *carried], strict=True):
            argument.replace_all_uses_with(value)
        for op in list(old.operations):
            new.body.append(op)
        last = list(new.body.operations)[-1].operation
        with ir.InsertionPoint(last):
            for i, value in enumerate(list(last.operands)):
                last.operands[i] = _scalar(value)
        outside = [
            _tensor_of(value, result.type) if _has_no_dimension(result.type) else value
            for value, result in zip(new.results, loop.results, strict=True)
        ]
    rewriter.replace(loop, outside)
