"""``lhkit.outline_ops``: ops become calls of functions, out of the reach of passes over their function."""

from __future__ import annotations

import itertools
from typing import Any

from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import symbol_name
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_func: Any = host_module("dialects.func")


@transform_op("lhkit.outline_ops", consumes=["target"])
def outline_ops(target: Ops, *, name: str = "outlined", rewriter: Rewriter) -> Ops:
    """Move each op into a private function of its own and call it there.

    ::

        %r = linalg.matmul ins(%a, %b) outs(%c)
        // becomes
        %r = call @outlined_0(%a, %b, %c)

    A pass over the function around then leaves these ops as they are, such as ``linalg-fuse-elementwise-ops``,
    which would fuse what computes the operands into a product and pull reshapes through it. The pass
    ``inline`` brings them back. ``transform.loop.outline`` does the same for loops.

    Args:
        target: Ops without regions that refer to values around them; consumed.
        name: How the functions are called, with a number after it.
        rewriter: How the payload is changed.

    Returns:
        The calls.

    Raises:
        SilenceableError: An op whose regions use values from around it, or that ends a block.
    """
    for op in target:
        inside = [each for region in op.operation.regions for block in region for each in block.operations]
        given = [*op.operation.operands, *_defined(op.operation)]
        if any(value not in given for each in inside for value in each.operation.operands):
            raise SilenceableError("its region reads values from around it", at=op)
    taken = {
        symbol_name(each.operation)
        for op in target[:1]
        for each in module_around(op.operation).regions[0].blocks[0].operations
    }
    free = (f"{name}_{i}" for i in itertools.count() if f"{name}_{i}" not in taken)
    return [_outline(op.operation, function, rewriter) for op, function in zip(target, free, strict=False)]


def _defined(op: Any) -> list[Any]:
    blocks = [block for region in op.regions for block in region]
    return [
        value
        for block in blocks
        for value in [*block.arguments, *(r for each in block.operations for r in each.operation.results)]
    ]


def _outline(op: Any, name: str, rewriter: Rewriter) -> Any:
    operands, results = list(op.operands), [r.type for r in op.results]
    with ir.InsertionPoint(module_around(op).regions[0].blocks[0]), op.location:
        function = _func.FuncOp(name, ([value.type for value in operands], results), visibility="private")
        body = function.add_entry_block()
    with ir.InsertionPoint(body), op.location:
        copy = op.clone()
        for i, argument in enumerate(body.arguments):
            copy.operands[i] = argument
        _func.ReturnOp(list(copy.results))
    with rewriter.before(op):
        call = _func.CallOp(function, operands)
    rewriter.replace(op, call)
    return call.operation
