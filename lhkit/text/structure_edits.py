"""Structural edits: wrap steps in a foreach, outline them as a sequence, inline an include."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.text.handle_scopes import Definition
from lhkit.text.op_tree import Name, OpSyntax, Use
from lhkit.text.script import (
    SEQUENCE,
    STEP_INDENT,
    Edited,
    Replacement,
    Script,
    StepRef,
    extent_of,
    fresh_name,
    indent_of,
    indented,
    is_terminator,
    line_end,
    lines_of,
    names_in,
)

# Several steps in a row: what they read from outside, what others read of them, and the types of both.


@dataclass(frozen=True, slots=True)
class StepRange:
    """Steps in a row of one block.

    Attributes:
        captured: Every use inside of a handle from outside, with the op that uses it and the definition.
        handed_on: The definitions inside that are used outside, in order.
    """

    ops: tuple[OpSyntax, ...]
    captured: tuple[tuple[Use, OpSyntax, Definition], ...]
    handed_on: tuple[Definition, ...]

    @property
    def first(self) -> OpSyntax:
        """The first step."""
        return self.ops[0]

    @property
    def last(self) -> OpSyntax:
        """The last step."""
        return self.ops[-1]


def find_range(script: Script, first: StepRef, last: StepRef | None = None) -> StepRange:
    """Return the steps from one to another, both included."""
    head = script.find(first)
    tail = head if last is None else script.find(last)
    _, _, block, i = script.home_of(head)
    if tail not in block.ops[i:]:
        message = f"{script.describe(tail)} does not follow {script.describe(head)} in the same block"
        raise script.refusal(message, tail)
    ops = block.ops[i : block.ops.index(tail) + 1]
    for op in ops:
        if op not in script.steps or is_terminator(op) or op.name == SEQUENCE:
            raise script.refusal(f"{script.describe(op)} is not a step that can be wrapped or extracted", op)
    span = range(head.start, tail.end)
    captured, handed_on = [], []
    for definition in script.handles.definitions:
        is_inside = definition.name.start in span
        if not is_inside:
            captured += [(u, o, definition) for u, o in definition.uses if u.start in span]
        elif any(u.start not in span for u, _ in definition.uses):
            handed_on.append(definition)
    captured.sort(key=lambda c: c[0].start)
    return StepRange(ops, tuple(captured), tuple(handed_on))


def type_of(script: Script, definition: Definition, value: str) -> str:
    """Return the type of a handle, ``%loops#1`` for one of several."""
    if definition.is_argument:
        span = definition.name.type_span
        if span is None:
            raise script.refusal(f"the type of {value} is not written", definition.name.start)
        return script.text[span[0] : span[1]]
    if not script.outline:
        raise script.refusal(f"the type of {value} is only known once the schedule is parsed", definition.op)
    parsed = script.outline[script.number_of(definition.op)]
    return parsed.result_types[definition.op.values.index(value)]


def is_consumed(script: Script, use: Use, op: OpSyntax) -> bool:
    """Return True if an op consumes what it reads by a use, as far as the outline knows."""
    parsed = script.outline[script.number_of(op)] if script.outline else None
    if parsed is None or len(parsed.consumed) != len(op.operands):
        return False
    return parsed.consumed[op.operands.index(use)]


def wrap_in_foreach(
    script: Script, first: StepRef, last: StepRef | None = None, *, handle: str | None = None
) -> Edited:
    """Put steps into a ``transform.foreach``: they then run once for each payload op of a handle.

    Inside, ``%each`` replaces the handle. What later steps read of the wrapped ones is yielded, and the
    foreach has results of the same names.
    """
    steps = find_range(script, first, last)
    wanted = handle or next((u.text for u in steps.first.operands), None)
    reads = [(u, d) for u, _, d in steps.captured if u.text == wanted]
    if not reads:
        raise script.refusal(
            f"{script.describe(steps.first)} does not read {wanted or 'any handle'}", steps.first
        )
    type_ = type_of(script, reads[0][1], reads[0][1].value_of(reads[0][0]))
    taken = names_in(script.text)
    each = fresh_name("%each", taken)
    replaced = [Replacement(u.start, u.end, each) for u, _ in reads]
    body = lines_of(script.text, steps.first, steps.last, replaced)
    values = [(v, type_of(script, d, v)) for d in steps.handed_on for v in d.name.values]
    left, arrow, yielded = "", "", ""
    if values:
        types = ", ".join(t for _, t in values)
        left = ", ".join(_written(d.name) for d in steps.handed_on)
        left, arrow = f"{left} = ", f" -> {types}"
        yielded = f"transform.yield {', '.join(v for v, _ in values)} : {types}\n"
    lines = f"{left}transform.foreach {wanted} : {type_}{arrow} {{\n^bb0({each}: {type_}):\n"
    lines += indented(body, STEP_INDENT) + (STEP_INDENT + yielded if yielded else "") + "}"
    title = f"wrap {script.describe(steps.first)} in a foreach over {wanted}"
    return script.edited([_replaced(script, steps.first, steps.last, lines)], title)


def _replaced(script: Script, first: OpSyntax, last: OpSyntax, lines: str) -> Replacement:
    """Return the replacement of ops and their comments by lines."""
    extent, indent = extent_of(script.text, first, last), indent_of(script.text, first.start)
    text = indented(lines, indent)
    if not extent.has_lines:
        text = text.removeprefix(indent).removesuffix("\n")
        after = script.text[extent.end : line_end(script.text, extent.end)].strip()
        text += f"\n{indent}" if after else ""
    return Replacement(extent.start, extent.end, text)


def _written(name: Name) -> str:
    return name.text if name.count == 1 else f"{name.text}:{name.count}"


# Edits of handles: rename one wherever it is meant, let a step read another one.


def find_definition(script: Script, name: str, *, at: StepRef | None = None) -> Definition:
    """Return the definition of a handle."""
    found = [d for d in script.handles.definitions if d.name.text == name]
    if at is not None:
        step = script.find(at)
        found = [d for d in found if d.op.start == step.start]
    if len(found) == 1:
        return found[0]
    if not found:
        raise script.refusal(f"{script.source} defines no handle {name}" + (" there" if at is not None else ""))
    lines = ", ".join(str(script.syntax.place(d.name.start).line) for d in found)
    message = f"several handles are called {name}, at lines {lines}"
    raise script.refusal(message, advice="Say which step defines it, at=…, or pass its definition.")
