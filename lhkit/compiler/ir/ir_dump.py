"""A schedule's IR as an outline: plain data that can be reasoned about without MLIR."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from lhkit.compiler.interpreter.application import bind_trailing_arguments, refused_passes
from lhkit.compiler.interpreter.effects import Effects, effects_of
from lhkit.compiler.interpreter.probes import kind_of, stepping_blocks, stepping_sequences, steps_in
from lhkit.compiler.ir import schedule_modules
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import parse_module
from lhkit.model import ir_outline
from lhkit.model.step_form import TypedName
from lhkit.worker.requests import Application, Source


def outline_schedule(application: Application) -> ir_outline.Outline:
    """Return the outline of a schedule and its libraries.

    Knobs without values stay open; without names to bind, arguments of the entry stay arguments.
    """
    sources = application.sources
    with reused_context():
        module = schedule_modules.parse_schedule(sources)
        refused = refused_passes(module, sources, application.allowed_passes)
        schedule_modules.set_knobs(module, application.knobs)
        names = Names(sources)
        sequence = schedule_modules.find_entry(module, application.entry)
        bound: dict[Any, str] = {}
        if bind := application.bind:
            written = [names.argument(a) for a in sequence.regions[0].blocks[0].arguments][1:]
            values = bind_trailing_arguments(sequence, bind, sources[0])
            bound = dict(zip(values, written, strict=True))
        outline = _Outliner(schedule_modules.home_of(sequence), names, bound).outline()
        return dataclasses.replace(outline, refused=refused)


class _Outliner:
    def __init__(self, home: Any, names: Names, bound: Mapping[Any, str]) -> None:
        self._names, self._bound = names, bound
        self._sequences = [op for op in schedule_modules.sequence_ops(home) if len(op.regions[0].blocks)]
        ops = [op for sequence in self._sequences for op in steps_in(sequence)]
        self._effects: dict[Any, Effects] = dict(zip(ops, effects_of(home, ops), strict=True))
        self._numbers: dict[Any, int] = {}
        self._handles: list[ir_outline.OutlineHandle] = []

    def outline(self) -> ir_outline.Outline:
        sequences = []
        for op in self._sequences:
            block = self._block(0, op.regions[0].blocks[0])
            name = schedule_modules.sequence_path(op)
            sequences.append(ir_outline.OutlineSequence(name, block))
        return ir_outline.Outline(tuple(self._handles), tuple(sequences))

    def _block(self, region: int, block: Any) -> ir_outline.OutlineBlock:
        arguments = tuple([self._define(a, self._names.argument(a)) for a in block.arguments])
        *ops, terminator = [o.operation for o in block.operations]
        steps = tuple([self._op(op) for op in ops])
        return ir_outline.OutlineBlock(
            region, arguments, steps, tuple([self._numbers[v] for v in terminator.operands])
        )

    def _op(self, op: Any) -> ir_outline.OutlineOp:
        operands = tuple([self._numbers[v] for v in op.operands])
        names = [self._bound.get(r, n) for r, n in zip(op.results, self._names.results(op), strict=True)]
        results = tuple([self._define(r, n) for r, n in zip(op.results, names, strict=True)])
        effects = self._effects[op]
        return ir_outline.OutlineOp(
            name=op.name,
            source=self._names.place(op.location),
            operands=operands,
            consumes=effects.consumed,
            results=results,
            only_reads=effects.only_reads,
            may_repeat="deduplicate" in op.attributes,
            callees=tuple(schedule_modules.referred_sequences(op, ("target", "actions"))),
            matchers=tuple(schedule_modules.referred_sequences(op, ("matchers", "matcher"))),
            attributes=tuple([(name, str(op.attributes[name])) for name in op.attributes]),
            blocks=tuple([self._block(i, block) for i, block in stepping_blocks(op)]),
        )

    def _define(self, value: Any, name: str) -> int:
        self._numbers[value] = len(self._handles)
        self._handles.append(ir_outline.OutlineHandle(name, kind_of(value.type), str(value.type)))
        return self._numbers[value]


# A payload's IR as an outline: plain data for those who draw what flows where.


def outline_payload(source: Source) -> ir_outline.PayloadOutline:
    """Return the outline of a payload.

    Raises:
        PayloadError: It does not parse or does not verify.
    """
    with reused_context():
        module = parse_module(source)
        return _PayloadOutliner(Names((source,)), ir.AsmState(module.operation)).outline(module.operation)


class _PayloadOutliner:
    def __init__(self, names: Names, printer: Any) -> None:
        self._names, self._printer = names, printer
        self._numbers: dict[Any, int] = {}
        self._values: list[TypedName] = []
        self._ops: list[Any] = []

    def outline(self, root: Any) -> ir_outline.PayloadOutline:
        self._define(root, None, 0, 0)
        # A value may be used in a block before its own in the text, so operands come last.
        ops = [
            dataclasses.replace(outlined, operands=tuple([self._numbers[v] for v in op.operands]))
            for op, outlined in self._ops
        ]
        return ir_outline.PayloadOutline(tuple(self._values), tuple(ops))

    def _define(self, op: Any, parent: int | None, region: int, block: int) -> None:
        here = len(self._ops)
        results = tuple([self._add(v, n) for v, n in zip(op.results, self._result_names(op), strict=True)])
        symbol = symbol_name(op) if "sym_name" in op.attributes else ""
        place = self._names.place(op.location)
        self._ops.append(None)  # its blocks are known when what is inside of it has a place in the list
        blocks = []
        for i, inner in enumerate(op.regions):
            for j, each in enumerate(inner.blocks):
                arguments = tuple([self._add(a, self._argument_name(a)) for a in each.arguments])
                blocks.append(ir_outline.OutlinedBlock(i, j, arguments))
                for child in each.operations:
                    self._define(child.operation, here, i, j)
        line = place.line if place else None
        shown = f"@{symbol}" if symbol else ""
        known = ir_outline.OutlinedOp(op.name, shown, parent, region, block, (), results, tuple(blocks), line)
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
        self._values.append(TypedName(name, str(value.type)))
        return number


# The transform ops of a schedule in order, with names, places and types.


_PREFIX = "transform."
_IMPLIED = "transform.yield"


def written_ops(source: Source) -> tuple[ir_outline.WrittenOp, ...]:
    """Return the transform ops that a schedule's author wrote, outer before inner, in order.

    Raises:
        ScheduleError: It does not parse or does not verify.
    """
    module = parse_module(source)
    names = Names([source])
    consumed: dict[Any, tuple[bool, ...]] = {}
    for home in dict.fromkeys(
        map(schedule_modules.home_of, schedule_modules.sequence_ops(module))
    ):  # several modules may hold sequences
        steps = [op for sequence in stepping_sequences(home) for op in steps_in(sequence)]
        consumed |= {op: e.consumed for op, e in zip(steps, effects_of(home, steps), strict=True)}
    written = []
    for op in _transform_ops(module.operation):
        place = names.written_place(op)
        # The terminator that a parser adds has the place of the op around it.
        if place is None and op.name == _IMPLIED and names.is_inside(op.location):
            continue
        line, column = place or (0, 0)
        written.append(
            ir_outline.WrittenOp(
                name=op.name,
                line=line,
                column=column,
                results=names.results(op),
                result_types=tuple(str(r.type) for r in op.results),
                consumed=consumed.get(op, (False,) * len(op.operands)),
            )
        )
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
