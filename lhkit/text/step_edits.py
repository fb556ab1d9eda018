"""Edits of steps: insert, replace, remove, move, switch off, and wrap in a foreach."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from lhkit.text.lexer import matching_comments
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.parser import OFF_MARK, read_syntax
from lhkit.text.script import (
    SEQUENCE,
    STEP_INDENT,
    Definition,
    Edited,
    Replacement,
    Script,
    StepRef,
    cut,
    extent_of,
    fresh_name,
    indent_of,
    indented,
    is_terminator,
    line_end,
    line_start,
    lines_of,
    names_in,
    put_after,
    put_before,
    renamed,
    with_names,
    with_replacements,
)


def insert_step(
    script: Script,
    lines: str,
    *,
    before: StepRef | None = None,
    after: StepRef | None = None,
    inside: StepRef | None = None,
) -> Edited:
    """Insert steps as text, at the indentation of where they go; handles whose names are taken are numbered."""
    if sum(place is not None for place in (before, after, inside)) != 1:
        raise script.refusal("say where to insert: exactly one of before, after and inside")
    lines = textwrap.dedent(lines).strip("\n")
    if not read_syntax(lines).ops:
        raise script.refusal("the text to insert has no op in it")
    if inside is not None:
        owner = script.find(inside)
        inner = owner.regions[-1].start + 1 if owner.regions else owner.start
        lines, notes = _with_fresh_names(script, lines, inner)
        place = _end_of_block(script, owner, lines)
    else:
        target = script.find(before if before is not None else after)  # type: ignore[arg-type]
        if before is None and is_terminator(target):
            raise script.refusal(f"nothing can follow {script.describe(target)}: it ends its block", target)
        lines, notes = _with_fresh_names(script, lines, target.start)
        place = (put_after if before is None else put_before)(script.text, target, lines)
    names = ", ".join(op.name for op in read_syntax(lines).ops[:3])
    return script.edited([place], f"insert {names}", notes)


def replace_step(script: Script, step: StepRef, lines: str) -> Edited:
    """Write a step anew, from its results to its types; the comments around it stay."""
    op = script.find(step)
    lines = textwrap.dedent(lines).strip()
    new = read_syntax(lines).ops
    if not new or (new[0].start, new[0].end) != (0, len(lines)):
        raise script.refusal("the text to put there must be one op", op)
    indent = indent_of(script.text, op.start)
    text = textwrap.indent(lines, indent).removeprefix(indent)
    return script.edited([Replacement(op.start, op.end, text)], f"replace {script.describe(op)}")


def dependents_of(script: Script, step: StepRef) -> tuple[OpSyntax, ...]:
    """Return the steps that use a step's results, and so on; for a named sequence, those that name it."""
    op = script.find(step)
    found = {user.start: user for user in _users_of_symbol(script, op)}
    reached: set[int] = set()
    waiting = [op]
    while waiting:
        gone = waiting.pop()
        span = range(gone.start, gone.end)
        defined = [d for d in script.handles.definitions if d.op.start in span and not d.is_argument]
        users = {user.start: user for d in defined for _, user in d.uses if user.start not in span}
        waiting += [user for start, user in users.items() if start not in reached]
        reached |= users.keys()
        found |= users
    inside = range(op.start, op.end)
    return tuple(found[start] for start in sorted(found) if start not in inside)


def remove_step(script: Script, step: StepRef, *, with_dependents: bool = False) -> Edited:
    """Remove a step with the comments that belong to it."""
    op, gone, notes = _gone_with(script, step, allowed=with_dependents, done="removed")
    return script.edited([cut(script.text, o, o) for o in gone], f"remove {script.describe(op)}", notes)


def duplicate_step(script: Script, step: StepRef) -> Edited:
    """Put a copy of a step right behind it; the handles of the copy get fresh names."""
    op = script.find(step)
    _refuse_terminator(script, op, "duplicated")
    taken = names_in(script.text)
    names: dict[str, str] = {}
    for name in op.results:
        names[name.text] = fresh_name(name.text, {*taken, *names.values()})
    piece = Script(lines_of(script.text, op, op))
    own = [d for d in piece.handles.definitions if d.scope == 0]
    copy = with_replacements(piece.text, [r for d in own for r in _renamed_later(d, names[d.name.text])])
    if op.name == SEQUENCE:
        symbol = op.symbol
        names[symbol] = fresh_name(symbol, taken)
        copy = with_names(copy, {symbol: names[symbol]})
    notes = [f"{old} of the copy is called {new}" for old, new in names.items()]
    place = put_after(script.text, op, copy)
    return script.edited([place], f"duplicate {script.describe(op)}", notes)


def _refuse_terminator(script: Script, op: OpSyntax, done: str) -> None:
    if is_terminator(op):
        raise script.refusal(f"{script.describe(op)} cannot be {done}: it ends its block", op)


def _gone_with(
    script: Script, step: StepRef, *, allowed: bool, done: str
) -> tuple[OpSyntax, list[OpSyntax], list[str]]:
    """Return a step, the outermost of the ops that go with it, and notes on its dependents."""
    op = script.find(step)
    _refuse_terminator(script, op, done)
    dependents = dependents_of(script, script.number_of(op))
    if dependents and not allowed:
        listed = ", ".join(script.describe(d) for d in dependents)
        advice = "Pass with_dependents=True to take them along, or change them first."
        raise script.refusal(f"{script.describe(op)} cannot be {done}: {listed} depend on it", op, advice)
    for dependent in filter(is_terminator, dependents):
        message = f"{script.describe(op)} cannot be {done}: a terminator hands on its results"
        raise script.refusal(message, dependent)
    ops = [op, *dependents]
    outermost = [o for o in ops if not any(p.start < o.start and o.end <= p.end for p in ops)]
    return op, outermost, [f"{done} {script.describe(d)} too" for d in dependents]


def _users_of_symbol(script: Script, op: OpSyntax) -> list[OpSyntax]:
    if op.name != SEQUENCE or not op.symbol:
        return []
    places = [t.start for t in script.syntax.tokens if t.kind == "symbol" and t.text == op.symbol]
    around = [[s for s in script.steps if s.name_start < place < s.end] for place in places]
    return [steps[-1] for steps in around if steps and steps[-1].start != op.start]


def _with_fresh_names(script: Script, lines: str, at: int) -> tuple[str, list[str]]:
    """Return lines that define no handle whose name is taken where they go, and what was renamed."""
    around = [op for op in script.steps if op.name == SEQUENCE and op.start <= at < op.end]
    taken = names_in(script.text[around[-1].start : around[-1].end]) if around else set()
    seen = set(script.handles.in_sight(script.handles.scope_at(at)))
    piece = Script(lines)
    given: dict[str, str] = {}
    replacements: list[Replacement] = []
    for definition in piece.handles.definitions:
        # In a region of a step, only what that region sees is taken.
        name = definition.name.text
        if name in (taken if definition.scope == 0 else seen):
            new = given.setdefault(name, fresh_name(name, taken | names_in(lines) | set(given.values())))
            replacements += _renamed_later(definition, new)
    notes = [f"{old} is called {new} here, since the name is taken" for old, new in given.items()]
    return with_replacements(lines, replacements), notes


def _renamed_later(definition: Definition, new: str) -> list[Replacement]:
    """Return the replacements that rename a handle; a use before its definition means another one."""
    after = definition.name.end if definition.is_argument else definition.op.end
    kept = {u.start for u, _ in definition.uses if u.start < after}
    return [r for r in renamed(definition, new) if r.start not in kept]


def _end_of_block(script: Script, owner: OpSyntax, lines: str) -> Replacement:
    """Return the replacement that puts lines at the end of an op's last block."""
    if not owner.regions:
        raise script.refusal(f"{script.describe(owner)} has no steps inside", owner)
    region = owner.regions[-1]
    if region.ops and is_terminator(region.ops[-1]):
        return put_before(script.text, region.ops[-1], lines)
    if region.ops:
        return put_after(script.text, region.ops[-1], lines)
    closing = region.end - 1
    outer = indent_of(script.text, owner.start)
    head = script.text[region.start : closing]
    kept = len(head.rstrip()) + region.start
    return Replacement(kept, closing, "\n" + indented(lines, outer + STEP_INDENT) + outer)


def move_step(
    script: Script, step: StepRef, *, before: StepRef | None = None, after: StepRef | None = None
) -> Edited:
    """Move a step, with its comments, before or behind another one."""
    if (before is None) == (after is None):
        raise script.refusal("say where to move: exactly one of before and after")
    op = script.find(step)
    target = script.find(before if before is not None else after)  # type: ignore[arg-type]
    _refuse_terminator(script, op, "moved")
    if op.start <= target.start < op.end:
        raise script.refusal(f"{script.describe(op)} cannot move into itself", op)
    if before is None and is_terminator(target):
        raise script.refusal(f"nothing can follow {script.describe(target)}: it ends its block", target)
    if (op.name == SEQUENCE) != (target.name == SEQUENCE):
        raise script.refusal("a step must be inside a sequence, and a sequence beside another sequence", target)
    at = target.start if before is not None else target.end
    _check_order(script, op, target, at)
    replaced, notes = _names_free_at(script, op, script.handles.scope_at(target.start), at)
    own = [r for r in replaced if op.start <= r.start < op.end]
    others = [r for r in replaced if r not in own]
    lines = lines_of(script.text, op, op, own)
    place = (put_after if before is None else put_before)(script.text, target, lines)
    where = "before" if before is not None else "behind"
    title = f"move {script.describe(op)} {where} {script.describe(target)}"
    return script.edited([cut(script.text, op, op), place, *others], title, notes)


def _check_order(script: Script, op: OpSyntax, target: OpSyntax, place: int) -> None:
    """Refuse a move after which a handle is used before its definition, or out of its sight."""
    handles = script.handles
    scope = handles.scope_at(target.start)
    span = range(op.start, op.end)
    refused = f"{script.describe(op)} cannot move there:"
    for definition in handles.definitions:
        is_result = definition.op.start == op.start and not definition.is_argument
        if definition.name.start in span and not is_result:
            continue
        for use, user in definition.uses:
            if is_result:
                in_sight = handles.inside(handles.scope_at(user.start), scope)
                if use.start < place or not in_sight:
                    message = f"{refused} {script.describe(user)} uses {use.text}"
                    raise script.refusal(f"{message}, which would not be defined before it", use.start)
            elif use.start in span:
                defined = definition.name.start if definition.is_argument else definition.op.end
                if defined > place or not handles.may_read(scope, definition):
                    line = script.syntax.place(definition.name.start).line
                    message = f"{refused} it uses {use.text}, defined at line {line}"
                    raise script.refusal(f"{message}, which it cannot read there", definition.name.start)


def _names_free_at(script: Script, op: OpSyntax, scope: int, place: int) -> tuple[list[Replacement], list[str]]:
    """Return what renames the handles of a step whose names are taken where it goes, and which those are."""
    handles, span = script.handles, range(op.start, op.end)
    others = [d for d in handles.definitions if d.name.start not in span]
    around = [d for d in others if handles.inside(scope, d.scope)]
    inside = {d.name.text for d in others if handles.inside(d.scope, scope) and d.name.start > place}
    taken = names_in(script.text)
    replaced: list[Replacement] = []
    notes: list[str] = []
    for definition in handles.definitions:
        name = definition.name.text
        is_result = definition.op.start == op.start and not definition.is_argument
        seen = {d.name.text for d in around if is_result or d.name.start < place}
        if definition.name.start in span and name in (seen | inside if is_result else seen):
            new = fresh_name(name, taken)
            taken.add(new)
            replaced += renamed(definition, new)
            notes.append(f"{name} is called {new} there, since the name is taken")
    return replaced, notes


# Before the first line of a disabled step, and with a plus before its others.
_MARK = re.compile(re.escape(OFF_MARK) + r"(\+?) ?")


@dataclass(frozen=True, slots=True)
class DisabledStep:
    """A step that is off."""

    name: str
    text: str
    line: int
    marks: tuple[tuple[int, int], ...]  # Offsets of its comment marks, one per line


def disable_step(script: Script, step: StepRef, *, with_dependents: bool = False) -> Edited:
    """Switch a step off: its lines become comments, and nothing else changes."""
    op, gone, notes = _gone_with(script, step, allowed=with_dependents, done="switched off")
    replacements = [r for o in gone for r in _marks(script, o)]
    return script.edited(replacements, f"switch off {script.describe(op)}", notes)


def disabled_steps(text: str) -> tuple[DisabledStep, ...]:
    """Return the steps of a text that are off, in order."""
    groups: list[list[tuple[int, int]]] = []
    for token, mark in matching_comments(text, _MARK):
        if not mark[1]:
            groups.append([])
        if groups:
            groups[-1].append((token.start, token.start + mark.end()))
    return tuple(_disabled(Script(text), group) for group in groups)


def enable_step(script: Script, number: int) -> Edited:
    """Switch a step on again."""
    off = disabled_steps(script.text)
    if not 0 <= number < len(off):
        raise script.refusal(f"no step number {number} is switched off; {len(off)} are")
    marks = [Replacement(start, end, "") for start, end in off[number].marks]
    return script.edited(marks, f"switch on {off[number].name} at line {off[number].line}")


def _marks(script: Script, op: OpSyntax) -> list[Replacement]:
    text = script.text
    end = line_end(text, op.end)
    if text[op.tail : end].strip():
        message = f"{script.describe(op)} cannot be switched off: something stands behind it on its last line"
        raise script.refusal(message, op, "Give it lines of its own first.")
    marks = [Replacement(op.start, op.start, f"{OFF_MARK} ")]
    at = line_end(text, op.start) + 1
    while at < end:
        stop = line_end(text, at)
        line = text[line_start(text, at) : stop]
        inside = at + len(line) - len(line.lstrip(" \t"))
        marks.append(Replacement(inside, inside, f"{OFF_MARK}+ " if line.strip() else f"{OFF_MARK}+"))
        at = stop + 1
    return marks


def _disabled(script: Script, marks: list[tuple[int, int]]) -> DisabledStep:
    text = script.text
    lines = [text[line_start(text, start) : start] + text[end : line_end(text, end)] for start, end in marks]
    whole = "\n".join(lines)[marks[0][0] - line_start(text, marks[0][0]) :]
    ops = read_syntax(whole).ops
    line = script.syntax.place(marks[0][0]).line
    return DisabledStep(ops[0].name if ops else "?", whole, line, tuple(marks))


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
    head = script.find(first)
    tail = head if last is None else script.find(last)
    _check_range(script, head, tail)
    span = range(head.start, tail.end)
    around = (op for op in script.steps if op.start < head.start and tail.end <= op.end)
    if any(op.name == "transform.match.structured" for op in around):
        raise script.refusal(f"{script.describe(head)} is part of a match, which has no room for a loop", head)
    definitions = script.handles.definitions
    handed_on = [d for d in definitions if d.name.start in span and any(u.start not in span for u, _ in d.uses)]
    wanted = handle or next((u.text for u in head.operands), None)
    read = [d for d in definitions if d.name.start not in span]
    reads = [(u, d) for d in read for u, _ in d.uses if u.start in span and u.text == wanted]
    if not reads:
        raise script.refusal(f"{script.describe(head)} does not read {wanted or 'any handle'}", head)
    use, definition = min(reads, key=lambda r: r[0].start)
    type_ = type_of(script, definition, definition.value_of(use))
    each = fresh_name("%each", names_in(script.text))
    body = lines_of(script.text, head, tail, [Replacement(u.start, u.end, each) for u, _ in reads])
    values = {v: type_of(script, d, v) for d in handed_on for v in d.name.values}
    left, arrow, yielded = "", "", ""
    if values:
        types = ", ".join(values.values())
        left = ", ".join(d.name.written for d in handed_on) + " = "
        arrow = f" -> {types}"
        yielded = f"{STEP_INDENT}transform.yield {', '.join(values)} : {types}\n"
    lines = f"{left}transform.foreach {wanted} : {type_}{arrow} {{\n^bb0({each}: {type_}):\n"
    lines += indented(body, STEP_INDENT) + yielded + "}"
    extent, indent = extent_of(script.text, head, tail), indent_of(script.text, head.start)
    text = indented(lines, indent)
    if not extent.has_lines:
        after = script.text[extent.end : line_end(script.text, extent.end)].strip()
        text = text.removeprefix(indent).removesuffix("\n") + (f"\n{indent}" if after else "")
    title = f"wrap {script.describe(head)} in a foreach over {wanted}"
    return script.edited([Replacement(extent.start, extent.end, text)], title)


def _check_range(script: Script, first: OpSyntax, last: OpSyntax) -> None:
    """Refuse a range of steps that is not one of a single block, or has an op that cannot be wrapped."""
    _, ops, i = script.home_of(first)
    if last not in ops[i:]:
        message = f"{script.describe(last)} does not follow {script.describe(first)} in the same block"
        raise script.refusal(message, last)
    for op in ops[i : ops.index(last) + 1]:
        if op not in script.steps or is_terminator(op) or op.name == SEQUENCE:
            raise script.refusal(f"{script.describe(op)} is not a step that can be wrapped or extracted", op)


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
