"""Repairs of a step with an operand number, a factor or a kind of op that it does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.repairs.other_handles import wanted_by
from lhkit.repairs.repair_context import ANY_OP, Candidate, Located, RepairContext, candidate, op_at, type_span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, put_before
from lhkit.traces.record.op_names import is_product, is_target, means, words_of
from lhkit.traces.record.placed_ops import place_ops

_PRODUCER = "transform.get_producer_of_operand"
_MERGE, _FILL = "transform.merge_handles", "linalg.fill"
_GENERALIZE = "transform.structured.generalize"
# The attribute of a step that has to divide an extent.
_DIVIDING = {
    "transform.structured.split_reduction": "split_factor",
    "transform.structured.multitile_sizes": "divisor",
}
_HOIST = "transform.structured.hoist_pad"
_TILE_SIZES = re.compile(r"\btile_sizes\s*\[\s*([0-9]+(?:\s*,\s*[0-9]+)*)\s*\]")
_NUMBER = re.compile(r"\[\s*([0-9]+)\s*\]")
_MOST_OPERANDS = 4
# The ops that take linalg.generic alone.
_TAKE_GENERIC = ("transform.structured.interchange",)


def propose_operand_numbers(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that ask for the producer of another operand, in this step or one that it depends on.

    Two handles that ask for the same operand point to one op: what is fused or tiled through the first is dead
    for the second. Numbers that nothing asks for come first. A step that found a constant, an empty tensor or a
    fill asked for the wrong operand, if its result is tiled, fused or asked further.
    """
    if context.op.name == _PRODUCER:
        behind = [
            found for operand in context.step.operands for found in _asked_behind(context, operand.handle)
        ]
        is_astray = any(_is_astray(context, found) for found in behind)
        yield from _other_numbers(context, context.op, 1 if is_astray else 0)
        for found in behind:
            yield from _other_numbers(context, found.definition.op, 0 if _is_astray(context, found) else 1)
        return
    for operand in context.step.operands:
        behind = _asked_behind(context, operand.handle)
        for found in (found for found in behind if _is_astray(context, found)):
            yield from _other_numbers(context, found.definition.op, 0)
        for op in (found.definition.op for found in behind if found.record.id == operand.handle):
            same = [
                o
                for o in _asking(context, op)
                if o.start != op.start and _number(context, o) == _number(context, op)
            ]
            for each in (op, *same) if same else ():
                yield from _other_numbers(context, each, int(_finds_what_it_is_called(context, each)))


def _asked_behind(context: RepairContext, handle: str) -> list[Located]:
    """Return the results of steps that ask for a producer which a handle comes from, the nearest step first."""
    found: list[Located] = []
    waiting, seen = [handle], set[str]()
    while waiting:
        located = context.locate(handle := waiting.pop(0))
        if handle in seen or located is None or located.definition.is_argument:
            continue
        seen.add(handle)
        made = context.trace.step_records[located.record.defined_by]
        if made.op == _PRODUCER:
            found.append(located)
        waiting += [operand.handle for operand in made.operands]
    return found


def _is_astray(context: RepairContext, found: Located) -> bool:
    """Return whether a step that asks for a producer found what none of its users is for."""
    if context.op.name == _HOIST:
        return True  # it failed: what it found is no pad, or one of an output, which is not hoisted
    is_read = context.op.name == _PRODUCER
    return not any(is_target(name) and not (is_read and name == _FILL) for name in found.payload)


def _asking(context: RepairContext, op: OpSyntax) -> list[OpSyntax]:
    """Return the steps that ask for a producer of the same handle."""
    steps = (o for o in context.script.steps if o.name == _PRODUCER and o.operands)
    return [o for o in steps if o.operands[0].text == op.operands[0].text]


def _finds_what_it_is_called(context: RepairContext, op: OpSyntax) -> bool:
    """Return whether the name of a step's result names what the step found."""
    step = next((s for s in context.trace.step_records if s.results and op_at(context.script, s) is op), None)
    found = context.locate(step.results[0]) if step is not None else None
    ops = [context.trace.op(o) for o in found.ops] if found is not None else []
    return found is not None and means(words_of(found.value), context.trace, ops)


def _number(context: RepairContext, op: OpSyntax) -> str:
    found = _NUMBER.search(context.script.text, op.start, op.end)
    return found[1] if found else ""


def _other_numbers(context: RepairContext, op: OpSyntax, doubt: int) -> Iterator[Candidate]:
    found = _NUMBER.search(context.script.text, op.start, op.end)
    if found is None:
        return
    where = context.script.describe(op)
    asked = {_number(context, o) for o in _asking(context, op)}
    for number in map(str, sorted(range(_MOST_OPERANDS), key=lambda n: abs(n - int(found[1])))):
        if number != found[1]:
            title = f"Ask for the producer of operand {number} instead of {found[1]} in {where}"
            edit = Replacement(found.start(1), found.end(1), number)
            more = 2 if number in asked else 0
            yield candidate("operand-number", title, context.script, [edit], doubt + more)


def propose_generic(context: RepairContext) -> Iterator[Candidate]:
    """Yield the candidate that makes a linalg.generic of a named op before a step that takes no other."""
    if context.op.name not in _TAKE_GENERIC or not context.step.operands:
        return
    given = context.locate(context.step.operands[0].handle)
    if given is not None and given.payload and _are_named(given):
        new = context.fresh(given.value, "_generic")
        line = f"{new} = {_GENERALIZE} {given.value} : ({given.type}) -> {ANY_OP}"
        edits = context.replaced_uses(context.uses(given), new, given.type, ANY_OP)
        if edits:
            names = ", ".join(dict.fromkeys(given.payload))
            title = f"Make a linalg.generic of the {names} first: {context.op.name} takes no other"
            yield candidate("generalize", title, context.script, [context.inserted(line), *edits])


def propose_merged(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a handle that merges ops of a kind that the step does not take with others."""
    for position, operand in enumerate(context.step.operands):
        given, wanted = context.locate(operand.handle), wanted_by(context, position)
        if (
            given is None
            or wanted is None
            or given.definition.op.name != _MERGE
            or given.definition.is_argument
        ):
            continue
        merge = context.trace.step_records[given.record.defined_by]
        merging = RepairContext(context.trace, context.script, merge, given.definition.op)
        for use, each in zip(given.definition.op.operands, merge.operands, strict=False):
            merged = merging.locate(each.handle)
            if merged is None or wanted(merged.payload):
                continue
            for other in merging.live_in_sight():
                is_sibling = other.record.defined_by == merged.record.defined_by and wanted(other.payload)
                span = type_span(context.script, given.definition.op, use)
                if is_sibling and (other.type == merged.type or span is not None):
                    edits = [Replacement(use.start, use.end, other.value)]
                    if span is not None and other.type != merged.type:
                        edits.append(Replacement(*span, other.type))
                    instead = f"instead of {merged.value} in step {merge.index}"
                    title = f"Merge {other.value}, the other result of its step, {instead}"
                    yield candidate(
                        "other-handle", title, context.script, edits, 0 if merging.is_unused(other) else 1
                    )


_PADDED = re.compile(r"tensor<[^<>]*?(\w+)>")


def propose_padding(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that pad a tiled product to multiples of its tile, where hoist_pad finds no pad.

    Zeros change no sum of products; of other ops the neutral value is not known. Where the tile divides the
    extents, only a pad that is not folded is there to be hoisted.
    """
    given = context.locate(context.step.operands[0].handle) if context.op.name == _HOIST else None
    if given is None or given.definition.op.name != _PRODUCER or "tensor.pad" in given.payload:
        return
    asked = context.trace.step_records[given.record.defined_by]
    of = context.locate(asked.operands[0].handle)
    if of is None or len(of.ops) != 1 or not is_product(of.payload[0]):
        return
    sizes = _TILE_SIZES.search(context.script.text, of.definition.op.start, of.definition.op.end)
    placed = place_ops(context.trace, asked.index)
    if sizes is None or placed is None or of.ops[0] not in placed.ids:
        return
    printed = "".join(placed.ir.ops[placed.ids.index(of.ops[0])].shapes)
    types = [m[1].rpartition("x")[2] for m in _PADDED.finditer(printed.rpartition("->")[0])]
    zeros = ", ".join(f"{'0' if t.startswith('i') else '0.0'} : {t}" for t in types)
    tiled = {n: size for n, size in enumerate(sizes[1].replace(" ", "").split(",")) if size != "0"}
    multiples, dimensions = ", ".join(tiled.values()), ", ".join(map(str, tiled))
    new, pads, back = (context.fresh(of.value, suffix) for suffix in ("_padded", "_pads", "_back"))
    at = given.definition.op
    later = [(use, op) for use, op in of.definition.uses_of(of.value) if op.start >= at.start]
    edits = context.replaced_uses(later, new, of.type, ANY_OP)
    kept = ", ".join("1" if str(n) == _number(context, at) else "0" for n in range(len(types)))
    for doubt, flags in (1, ""), (2, f", nofold_flags = [{kept}]"):
        entries = f"padding_values = [{zeros}], padding_dimensions = [{dimensions}]{flags}"
        line = (
            f"{new}, {pads}, {back} = transform.structured.pad {of.value} pad_to_multiple_of [{multiples}]"
            f' {{{entries}, copy_back_op = "none"}} : ({of.type}) -> ({ANY_OP}, {ANY_OP}, {ANY_OP})'
        )
        if edits:
            title = f"Pad {of.value} to multiples of [{multiples}] first: {_HOIST} is for its tensor.pad"
            inserted = put_before(context.script.text, at, line)
            yield candidate("padding", title, context.script, [inserted, *edits], doubt)


def _are_named(given: Located) -> bool:
    return all(name.startswith("linalg.") and name != "linalg.generic" for name in given.payload)


def propose_split_factors(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates with a smaller power of two, where a split factor or a divisor divides no extent."""
    name = _DIVIDING.get(context.op.name)
    found = re.compile(rf"\b{name} = ([0-9]+)").search(context.script.text, context.op.start, context.op.end)
    if name is None or found is None:
        return
    given = int(found[1])
    for doubt, factor in enumerate(1 << n for n in range((given - 1).bit_length() - 1, 0, -1)):
        title = f"Take {name} {factor}, not {found[1]}, in {context.script.describe(context.op)}"
        edit = Replacement(found.start(1), found.end(1), str(factor))
        yield candidate("sizes", title, context.script, [edit], doubt, name)
