"""A schedule's IR as an outline: plain data that can be reasoned about without MLIR."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compiler.interpreter.binding import bind_trailing_arguments
from lhkit.compiler.interpreter.effects import Effects, effects_of
from lhkit.compiler.interpreter.pass_checks import refused_passes
from lhkit.compiler.interpreter.plan import stepping_blocks, steps_in
from lhkit.compiler.interpreter.probes import kind_of
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.ir.schedule_modules import (
    find_entry,
    home_of,
    parse_schedule,
    referred_sequences,
    sequence_ops,
    sequence_path,
    set_knobs,
)
from lhkit.compiler.ir.sources import Source
from lhkit.model.ir_outline import Outline, OutlineBlock, OutlineHandle, OutlineOp, OutlineSequence
from lhkit.model.knob import KnobValue


def outline_schedule(
    sources: Sequence[Source],
    knobs: Mapping[str, KnobValue],
    entry: str,
    bind: Sequence[str],
    allowed_passes: Sequence[str] = (),
) -> Outline:
    """Return the outline of a schedule and its libraries.

    Args:
        sources: The schedule, and the libraries after it.
        knobs: Values of knobs; the others stay open.
        entry: The sequence whose trailing arguments are bound.
        bind: Op names to bind them to; empty leaves them arguments.
        allowed_passes: Passes that it may run besides those of `lhkit.model.pass_policy`.

    Raises:
        ScheduleError: It does not parse or does not verify.
        UsageError: More or fewer names than trailing arguments.
    """
    with new_context():
        module = parse_schedule(sources)
        refused = refused_passes(module, sources, allowed_passes)
        set_knobs(module, knobs)
        names = Names(sources)
        sequence = find_entry(module, entry)
        bound: dict[Any, str] = {}
        if bind:
            written = [names.argument(a) for a in sequence.regions[0].blocks[0].arguments][1:]
            values = bind_trailing_arguments(sequence, bind, sources[0])
            bound = dict(zip(values, written, strict=True))
        outline = _Outliner(home_of(sequence), names, bound).outline()
        return dataclasses.replace(outline, refused=refused)


class _Outliner:
    def __init__(self, home: Any, names: Names, bound: Mapping[Any, str]) -> None:
        self._names, self._bound = names, bound
        self._sequences = [op for op in sequence_ops(home) if len(op.regions[0].blocks)]
        ops = [op for sequence in self._sequences for op in steps_in(sequence)]
        self._effects: dict[Any, Effects] = dict(zip(ops, effects_of(home, ops), strict=True))
        self._matchers = {m for op in ops for m in referred_sequences(op, ("matchers", "matcher"))}
        self._numbers: dict[Any, int] = {}
        self._handles: list[OutlineHandle] = []

    def outline(self) -> Outline:
        sequences = []
        for op in self._sequences:
            block = self._block(0, op.regions[0].blocks[0])
            name = sequence_path(op)
            sequences.append(OutlineSequence(name, name in self._matchers, block))
        return Outline(tuple(self._handles), tuple(sequences))

    def _block(self, region: int, block: Any) -> OutlineBlock:
        arguments = tuple([self._define(a, self._names.argument(a)) for a in block.arguments])
        *ops, terminator = [o.operation for o in block.operations]
        steps = tuple([self._op(op) for op in ops])
        return OutlineBlock(region, arguments, steps, tuple([self._numbers[v] for v in terminator.operands]))

    def _op(self, op: Any) -> OutlineOp:
        operands = tuple([self._numbers[v] for v in op.operands])
        names = [self._bound.get(r, n) for r, n in zip(op.results, self._names.results(op), strict=True)]
        results = tuple([self._define(r, n) for r, n in zip(op.results, names, strict=True)])
        effects = self._effects[op]
        return OutlineOp(
            name=op.name,
            source=self._names.place(op.location),
            operands=operands,
            consumes=effects.consumed,
            results=results,
            only_reads=effects.only_reads,
            may_repeat="deduplicate" in op.attributes,
            callees=tuple(referred_sequences(op, ("target", "actions"))),
            matchers=tuple(referred_sequences(op, ("matchers", "matcher"))),
            attributes=tuple([(name, str(op.attributes[name])) for name in op.attributes]),
            blocks=tuple([self._block(i, block) for i, block in stepping_blocks(op)]),
        )

    def _define(self, value: Any, name: str) -> int:
        self._numbers[value] = len(self._handles)
        self._handles.append(OutlineHandle(name, kind_of(value.type), str(value.type)))
        return self._numbers[value]
