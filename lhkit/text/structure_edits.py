"""Edits of structure: steps into a foreach, into a named sequence of their own, an include back in place."""

from __future__ import annotations

from lhkit.text.layout import STEP_INDENT, extent_of, indent_of, indented, line_end, lines_of
from lhkit.text.naming import fresh_name, names_in
from lhkit.text.op_tree import Name, OpSyntax
from lhkit.text.ranges import find_range, type_of
from lhkit.text.script import Edited, Replacement, Script, StepRef


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
