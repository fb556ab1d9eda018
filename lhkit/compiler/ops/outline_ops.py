"""``lhkit.outline_ops``: ops become calls of functions, out of the reach of passes over their function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import symbol_name
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_func: Any = host_module("dialects.func")

_UNNAMED = "outlined"  # Until it is known that no equal function is there


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

    Values from around an op that its region reads, such as scalars, are further arguments. Ops that are equal
    but for their operands become one function, which is then scheduled once.

    Args:
        target: Ops; consumed.
        name: How the functions are called, with a number after it.
        rewriter: How the payload is changed.

    Returns:
        The calls.

    Raises:
        SilenceableError: An op that ends a block.
    """
    taken = {
        symbol_name(each.operation)
        for op in target[:1]
        for each in module_around(op.operation).regions[0].blocks[0].operations
    }
    free = (f"{name}_{i}" for i in itertools.count() if f"{name}_{i}" not in taken)
    written: dict[str, Any] = {}
    return [_outline(op.operation, free, written, rewriter) for op in target]


def _captured(op: Any) -> list[Any]:
    """Return the values from around an op that its regions use, each once."""
    inside = [each.operation for region in op.regions for block in region for each in _ops_in(block)]
    defined = [r for each in inside for r in each.results]
    blocks = [b for each in (op, *inside) for region in each.regions for b in region]
    defined += [argument for block in blocks for argument in block.arguments]
    found: list[Any] = []
    for value in (value for each in inside for value in each.operands):
        if value not in defined and value not in found:
            found.append(value)
    return found


def _ops_in(block: Any) -> Iterator[Any]:
    """Yield the ops of a block and those nested in them."""
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for nested in region:
                yield from _ops_in(nested)


def _outline(op: Any, names: Iterator[str], written: dict[str, Any], rewriter: Rewriter) -> Any:
    captured = _captured(op)
    given, results = [*op.operands, *captured], [r.type for r in op.results]
    with ir.InsertionPoint(module_around(op).regions[0].blocks[0]), op.location:
        function = _func.FuncOp(_UNNAMED, ([value.type for value in given], results), visibility="private")
        body = function.add_entry_block()
    with ir.InsertionPoint(body), op.location:
        copy = op.clone()
        for i, argument in enumerate(list(body.arguments)[: len(op.operands)]):
            copy.operands[i] = argument
        for value, argument in zip(captured, list(body.arguments)[len(op.operands) :], strict=True):
            for each in (e for region in copy.regions for block in region for e in _ops_in(block)):
                for i, operand in enumerate(each.operands):
                    if operand == value:
                        each.operands[i] = argument
        _func.ReturnOp(list(copy.results))
    text = str(function)
    if text in written:
        function.erase()
        function = written[text]
    else:
        function.attributes["sym_name"] = ir.StringAttr.get(next(names))
        written[text] = function
    with rewriter.before(op):
        call = _func.CallOp(function, given)
    rewriter.replace(op, call)
    return call.operation
