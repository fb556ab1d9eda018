"""The transform ops of a schedule in order, with names, places and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lhkit.compiler.interpreter.effects import effects_of
from lhkit.compiler.interpreter.plan import stepping_sequences, steps_in
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.parsing import parse_module
from lhkit.compiler.ir.schedule_modules import home_of, sequence_ops
from lhkit.compiler.ir.sources import Source
from lhkit.model.written import WrittenOp

_PREFIX = "transform."
_IMPLIED = "transform.yield"


def written_ops(source: Source) -> tuple[WrittenOp, ...]:
    """Return the transform ops that a schedule's author wrote, outer before inner, in order.

    Raises:
        ScheduleError: It does not parse or does not verify.
    """
    module = parse_module(source)
    names = Names([source])
    consumed: dict[Any, tuple[bool, ...]] = {}
    for home in _homes(module):
        steps = [op for sequence in stepping_sequences(home) for op in steps_in(sequence)]
        consumed |= {op: e.consumed for op, e in zip(steps, effects_of(home, steps), strict=True)}
    written = []
    for op in _transform_ops(module.operation):
        place = names.written_place(op)
        # The terminator that a parser adds has the place of the op around it.
        if place is None and op.name == _IMPLIED and names.is_inside(op.location):
            continue
        written.append(_written(op, place, names, consumed.get(op)))
    return tuple(written)


def _transform_ops(operation: Any, *, is_inside: bool = False) -> Iterator[Any]:
    """Yield the transform ops in an operation, and whatever is inside of one: ops of one's own may be."""
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                is_step = is_inside or op.operation.name.startswith(_PREFIX)
                if is_step:
                    yield op.operation
                yield from _transform_ops(op.operation, is_inside=is_step)


def _homes(module: Any) -> list[Any]:
    """Return the modules that hold the named sequences of a text; there may be several beside one another."""
    homes: list[Any] = []
    for sequence in sequence_ops(module):
        home = home_of(sequence)
        if home not in homes:
            homes.append(home)
    return homes


def _written(
    op: Any, place: tuple[int, int] | None, names: Names, consumed: tuple[bool, ...] | None
) -> WrittenOp:
    line, column = place or (0, 0)
    return WrittenOp(
        name=op.name,
        line=line,
        column=column,
        results=names.results(op),
        result_types=tuple(str(r.type) for r in op.results),
        operand_types=tuple(str(v.type) for v in op.operands),
        consumed=(False,) * len(op.operands) if consumed is None else consumed,
    )
