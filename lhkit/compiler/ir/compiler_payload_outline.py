"""A payload's IR as an outline: plain data for those who draw what flows where."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import parse_module
from lhkit.compiler.ir.sources import Source
from lhkit.model.payload_outline import OutlinedBlock, OutlinedOp, OutlinedValue, PayloadOutline


def outline_payload(source: Source) -> PayloadOutline:
    """Return the outline of a payload.

    Raises:
        PayloadError: It does not parse or does not verify.
    """
    with new_context():
        module = parse_module(source)
        return _Outliner(Names((source,)), ir.AsmState(module.operation)).outline(module.operation)


class _Outliner:
    def __init__(self, names: Names, printer: Any) -> None:
        self._names, self._printer = names, printer
        self._numbers: dict[Any, int] = {}
        self._values: list[OutlinedValue] = []
        self._ops: list[tuple[Any, OutlinedOp]] = []

    def outline(self, root: Any) -> PayloadOutline:
        self._define(root, None, 0, 0)
        # A value may be used in a block that stands before its own, so operands come last.
        ops = tuple(
            [
                OutlinedOp(
                    o.name,
                    o.symbol,
                    o.parent,
                    o.region,
                    o.block,
                    tuple([self._numbers[v] for v in op.operands]),
                    o.results,
                    o.blocks,
                    o.line,
                )
                for op, o in self._ops
            ]
        )
        return PayloadOutline(tuple(self._values), ops)

    def _define(self, op: Any, parent: int | None, region: int, block: int) -> None:
        here = len(self._ops)
        results = tuple([self._add(v, n) for v, n in zip(op.results, self._result_names(op), strict=True)])
        symbol = symbol_name(op) if "sym_name" in op.attributes else None
        place = self._names.place(op.location)
        line = place.line if place else None
        # Its blocks are known when what is inside of it has a place in the list.
        self._ops.append((op, OutlinedOp(op.name, "", parent, region, block, (), results, (), line)))
        blocks = []
        for i, inner in enumerate(op.regions):
            for j, each in enumerate(inner.blocks):
                arguments = tuple([self._add(a, self._argument_name(a)) for a in each.arguments])
                blocks.append(OutlinedBlock(i, j, arguments))
                for child in each.operations:
                    self._define(child.operation, here, i, j)
        shown = f"@{symbol}" if symbol else ""
        known = OutlinedOp(op.name, shown, parent, region, block, (), results, tuple(blocks), line)
        self._ops[here] = (op, known)

    def _result_names(self, op: Any) -> tuple[str, ...]:
        if not len(op.results):
            return ()
        if self._names.is_inside(op.location):
            return self._names.results(op)
        # In bodies of named ops, which no text has; without a printer of many names each would number all.
        return tuple([v.get_name(self._printer) for v in op.results])

    def _argument_name(self, argument: Any) -> str:
        if self._names.is_inside(argument.location):
            return self._names.argument(argument)
        return str(argument.get_name(self._printer))

    def _add(self, value: Any, name: str) -> int:
        self._numbers[value] = number = len(self._values)
        self._values.append(OutlinedValue(name, str(value.type)))
        return number
