"""Edits of structure: steps into a foreach, into a named sequence of their own, an include back in place."""

from __future__ import annotations

from lhkit.schedule.layout import STEP_INDENT, cut, extent_of, indent_of, indented, line_end, lines_of
from lhkit.schedule.lexing import lex
from lhkit.schedule.naming import fresh_name, is_symbol_name, names_in
from lhkit.schedule.ranges import StepRange, find_range, is_consumed, type_of
from lhkit.schedule.script import SEQUENCE, Edited, Replacement, Script, StepRef, renamed
from lhkit.schedule.tree import Name, OpSyntax

_INCLUDE = "transform.include"


def wrap_in_foreach(
    script: Script, first: StepRef, last: StepRef | None = None, *, handle: str | None = None
) -> Edited:
    """Put steps into a ``transform.foreach``: they then run once for each payload op of a handle.

    Inside, ``%each`` stands for the handle. What later steps read of the wrapped ones is yielded, and the
    foreach has results of the same names.

    Args:
        script: The schedule, with its outline.
        first: The first step.
        last: The last one, if there are several.
        handle: What to go through; default is the first operand of the first step.

    Raises:
        UsageError: The steps are not in a row, or they do not read the handle.
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


def extract_sequence(script: Script, name: str, first: StepRef, last: StepRef | None = None) -> Edited:
    """Put steps into a named sequence of their own, and an include in their place.

    Its arguments are the handles that the steps read from outside, marked as consumed or read-only; its results
    are what later steps read of them.

    Args:
        script: The schedule, with its outline.
        name: Name of the sequence, ``@tile``.
        first: The first step.
        last: The last one, if there are several.

    Raises:
        UsageError: The steps are not in a row, or the name is taken or cannot be one.
    """
    steps = find_range(script, first, last)
    name = name if name.startswith("@") else f"@{name}"
    if not is_symbol_name(name):
        raise script.refusal(
            f"{name!r} cannot be a sequence's name: @ and letters, digits, $ . _, no digit first"
        )
    if any(t.kind == "symbol" and t.text == name for t in script.syntax.tokens):
        raise script.refusal(f"{script.source} has a symbol {name} already")
    around = [op for op in script.steps if op.name == SEQUENCE and op.start < steps.first.start < op.end]
    if not around:
        raise script.refusal(f"{script.describe(steps.first)} is in no named sequence", steps.first)
    arguments = _arguments(script, steps)
    by_value = {value: argument for value, argument, _, _ in arguments}
    replaced = [Replacement(u.start, u.end, by_value[d.value_of(u)]) for u, _, d in steps.captured]
    body = lines_of(script.text, steps.first, steps.last, replaced)
    results = [(v, type_of(script, d, v)) for d in steps.handed_on for v in d.name.values]
    sequence = _sequence_text(name, arguments, results, body)
    home = around[-1]
    indent = indent_of(script.text, home.start)
    at = line_end(script.text, home.end)
    placed = Replacement(at, at, "\n\n" + indented(sequence, indent).removesuffix("\n"))
    include = _include_text(steps, name, arguments, [t for _, t in results])
    title = f"extract {script.describe(steps.first)} to {name}"
    return script.edited([_replaced(script, steps.first, steps.last, include), placed], title)


def inline_include(script: Script, step: StepRef) -> Edited:
    """Put the steps of an included sequence in the place of the include; the sequence itself stays.

    Its comments come along. Handles whose names are taken get a number behind them.

    Raises:
        UsageError: The step is no include, it suppresses failures, or the sequence is not in this text.
    """
    op = script.find(step)
    if op.name != _INCLUDE:
        raise script.refusal(f"{script.describe(op)} is no transform.include", op)
    if "suppress" in script.text[op.start : op.end]:
        message = f"{script.describe(op)} suppresses failures, which its steps would not do in its place"
        raise script.refusal(message, op)
    symbol = op.symbol
    found = [s for s in script.steps if s.name == SEQUENCE and s.symbol == symbol]
    if not found or not found[0].regions:
        raise script.refusal(f"{symbol} has no body in {script.source}", op)
    body, yielded = _inlined(script, op, found[0])
    replacements = [_in_place(script, op, body) if body else cut(script.text, op, op)]
    by_result = dict(zip(op.values, yielded, strict=True))
    for definition in script.handles.definitions:
        if definition.op.start == op.start and not definition.is_argument:
            for use, _ in definition.uses:
                if (new := by_result[definition.value_of(use)]) != use.text:
                    replacements.append(Replacement(use.start, use.end, new))
    return script.edited(replacements, f"inline {symbol} into {script.describe(op)}")


def _in_place(script: Script, op: OpSyntax, lines: str) -> Replacement:
    """Return the replacement of an op by lines; the comments around it stay."""
    indent = indent_of(script.text, op.start)
    after = script.text[op.tail : line_end(script.text, op.tail)].strip()
    text = indented(lines, indent).removeprefix(indent).removesuffix("\n")
    return Replacement(op.start, op.end, text + (f"\n{indent}" if after else ""))


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


def _arguments(script: Script, steps: StepRange) -> list[tuple[str, str, str, bool]]:
    """Return, for each handle read from outside: itself, the argument, its type, whether it is consumed."""
    inner = {t.text.partition("#")[0] for op in steps.ops for t in lex(script.text[op.start : op.end])}
    found: dict[str, tuple[str, str, bool]] = {}
    for use, op, definition in steps.captured:
        value = definition.value_of(use)
        consumed = is_consumed(script, use, op)
        if value in found:
            argument, type_, before = found[value]
            found[value] = (argument, type_, before or consumed)
            continue
        # %loops#1 is no name of an argument.
        argument = value.replace("#", "_")
        if argument != value:
            argument = fresh_name(argument, inner | {a for a, _, _ in found.values()})
        found[value] = (argument, type_of(script, definition, value), consumed)
    return [(value, *rest) for value, rest in found.items()]


def _sequence_text(
    name: str, arguments: list[tuple[str, str, str, bool]], results: list[tuple[str, str]], body: str
) -> str:
    marked = ", ".join(
        f"{a}: {t} {{transform.{'consumed' if consumed else 'readonly'}}}" for _, a, t, consumed in arguments
    )
    types = ", ".join(t for _, t in results)
    arrow = f" -> {types}" if len(results) == 1 else f" -> ({types})" if results else ""
    values = f" {', '.join(v for v, _ in results)} : {types}" if results else ""
    head = f"transform.named_sequence private {name}({marked}){arrow} {{\n"
    return f"{head}{indented(body, STEP_INDENT)}{STEP_INDENT}transform.yield{values}\n}}"


def _include_text(
    steps: StepRange,
    name: str,
    arguments: list[tuple[str, str, str, bool]],
    result_types: list[str],
) -> str:
    left = ", ".join(_written(d.name) for d in steps.handed_on)
    operands = ", ".join(value for value, *_ in arguments)
    types = ", ".join(t for _, _, t, _ in arguments)
    gives = ", ".join(result_types)
    gives = gives if len(result_types) == 1 else f"({gives})"
    left = f"{left} = " if left else ""
    return f"{left}{_INCLUDE} {name} failures(propagate) ({operands}) : ({types}) -> {gives}"


def _inlined(script: Script, include: OpSyntax, sequence: OpSyntax) -> tuple[str, list[str]]:
    """Return the body of a sequence for the place of an include, and the handle for each of its results."""
    block = sequence.regions[0].blocks[0]
    steps = block.ops[:-1]
    given = {a.text: u.text for a, u in zip(block.arguments, include.operands, strict=True)}
    around = [op for op in script.steps if op.name == SEQUENCE and op.start < include.start < op.end]
    taken = names_in(script.text[around[-1].start : around[-1].end]) if around else set()
    results = list(include.values)
    yielded = [u.text for u in block.ops[-1].operands]
    names: dict[str, str] = {}
    for op in steps:
        for definition in op.results:
            name = definition.text
            # A result keeps the name that it has outside, if it is one of its own there.
            if definition.count == 1 and yielded.count(name) == 1 and len(include.results) == len(results):
                names[name] = results[yielded.index(name)]
            else:
                names[name] = fresh_name(name, taken)
                taken.add(names[name])
    mapped = {**given, **names}
    values = [_mapped(value, mapped) for value in yielded]
    if not steps:
        return "", values
    span = range(steps[0].start, steps[-1].end)
    seen = {*script.handles.in_sight(script.handles.scope_at(include.start)), *mapped.values()}
    replaced: list[Replacement] = []
    for d in script.handles.definitions:
        if d.name.start in span and d.name.text in seen and not any(d.name in op.results for op in steps):
            # Defined in a region of a step: only what that region sees is taken.
            replaced += renamed(d, fresh_name(d.name.text, taken | seen | names_in(script.text)))
            continue
        is_argument = d.is_argument and d.op.start == sequence.start
        if is_argument:
            uses = [u for u, _ in d.uses if u.start in span]
            replaced += [Replacement(u.start, u.end, mapped[d.name.text]) for u in uses]
        elif not d.is_argument and any(d.op.start == op.start for op in steps):
            replaced += [r for r in renamed(d, mapped[d.name.text]) if r.start in span]
    return lines_of(script.text, steps[0], steps[-1], replaced), values


def _mapped(value: str, names: dict[str, str]) -> str:
    name, mark, number = value.partition("#")
    return names.get(name, name) + mark + number
