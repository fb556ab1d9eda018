"""Breakages by what is missing or in another place: steps moved, forgotten, in the wrong order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarks.intents.edits import (
    FUSE,
    TILES,
    VECTORIZE,
    Change,
    all_uses,
    change,
    in_place_of,
    ops,
    passed_by,
    use_text,
    uses_of,
)
from lhkit.model.errors import LhkitError
from lhkit.text.script import Replacement, Script, cut
from lhkit.text.step_edits import move_step

_CONVERSIONS = tuple(
    f"transform.structured.{op}" for op in ("generalize", "interchange", "pad")
)  # their first result stands for their operand


def moved_too_early(script: Script, payload: str) -> Iterator[Change]:
    """Move a step up to where its operands are just there, before steps that prepare it. Loud or silent."""
    del payload
    for op in ops(script):
        _, block, index = script.home_of(op)
        for target in block[max(index - 4, 0) : index]:
            try:
                moved = move_step(script, script.number_of(op), before=script.number_of(target))
            except LhkitError:
                continue
            yield Change(moved.text, script.line_of(op), f"{op.name} moved before {target.name}")
            break


def used_before_made(script: Script, payload: str) -> Iterator[Change]:
    """Exchange two steps of which the second needs the first. Loud: the text does not load."""
    del payload
    for op in ops(script):
        _, block, index = script.home_of(op)
        if index + 1 < len(block) and any(user == block[index + 1] for _, user in all_uses(script, op)):
            after = block[index + 1]
            swap = [
                Replacement(op.start, op.end, script.text[after.start : after.end]),
                Replacement(after.start, after.end, script.text[op.start : op.end]),
            ]
            yield change(script, op, swap, f"{after.name} written before the {op.name} that it needs")


def fused_in_wrong_order(script: Script, payload: str) -> Iterator[Change]:
    """Fuse a producer before its consumer, or after a consumer was vectorized. Usually loud."""
    del payload
    fuses = ops(script, FUSE)
    for first, second in itertools.pairwise(fuses):
        a, b = first.operands[0], second.operands[0]
        if script.home_of(first)[0] != script.home_of(second)[0] or b.text in first.values:
            continue
        x, y = first.results[0], second.results[0]
        swap = [in_place_of(a, b.text), in_place_of(b, a.text)]
        swap += [
            Replacement(x.start, x.start + len(x.text), y.text),
            Replacement(y.start, y.start + len(y.text), x.text),
        ]
        yield change(script, first, swap, f"{b.text} fused before {a.text}")
    for op in ops(script, VECTORIZE):
        _, block, index = script.home_of(op)
        target = next((o for o in block[:index] if o.name == FUSE), None)
        if target is not None:
            try:
                moved = move_step(script, script.number_of(op), before=script.number_of(target))
            except LhkitError:
                continue
            yield Change(moved.text, script.line_of(op), "vectorized before the producers are fused")


def forgotten_fuse(script: Script, payload: str) -> Iterator[Change]:
    """Leave out the fusion of one of several producers; its handle stands for the fused one. Usually silent."""
    del payload
    for op in ops(script, FUSE):
        stand_ins = {i: use_text(script, op.operands[i]) for i in range(2)}
        replacements = passed_by(script, op, stand_ins)
        if replacements is not None:
            yield change(script, op, replacements, f"{op.operands[0].text} is not fused")


def forgotten_conversion(script: Script, payload: str) -> Iterator[Change]:
    """Leave out a generalize, interchange or pad, and go on with the op before it. Loud or silent."""
    del payload
    for op in ops(script, *_CONVERSIONS):
        replacements = passed_by(script, op, {0: use_text(script, op.operands[0])})
        if replacements is not None:
            yield change(script, op, replacements, f"{op.name} is left out")


def forgotten_step(script: Script, payload: str) -> Iterator[Change]:
    """Leave out a step; what was made by it is written as what it was made from. Loud or silent."""
    del payload
    for op in ops(script):
        if not op.values:
            yield change(script, op, [cut(script.text, op, op)], f"{op.name} is left out")
        elif (
            op.name in TILES
            and op.operands
            and not any(uses_of(script, op, i) for i in range(1, len(op.values)))
        ):
            replacements = passed_by(script, op, {0: use_text(script, op.operands[0])})
            if replacements is not None:
                yield change(script, op, replacements, f"{op.name} is left out")


def deleted_definition(script: Script, payload: str) -> Iterator[Change]:
    """Delete a step whose result later steps need, and give them another handle nearby. Usually loud."""
    del payload
    for op in ops(script, "transform.structured.match", "transform.get_producer_of_operand"):
        if not op.operands:
            continue
        replacements = passed_by(script, op, {0: use_text(script, op.operands[-1])})
        if replacements is not None and len(replacements) > 1:
            yield change(
                script, op, replacements, f"{op.values[0]} is not looked for, {op.operands[-1].text} given"
            )
