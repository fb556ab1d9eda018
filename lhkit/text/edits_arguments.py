"""Edits of a step's arguments."""

from __future__ import annotations

from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Edited, Replacement, Script, StepRef
from lhkit.text.step_arguments import Argument, arguments_of, dictionaries_of, elements_of


def set_argument(
    script: Script, step: StepRef, name: str, value: str | None, *, index: int | None = None
) -> Edited:
    """Give an argument of a step another value, or take it away; all else of the step stays as it is written.

    An argument that is not there becomes an entry of the step's attribute dictionary. (Where an op writes it
    otherwise, behind a word of its own, write the step anew with ``replace_step``.)

    Args:
        script: The schedule.
        step: The step.
        name: As the text spells it: ``tile_sizes``, ``factor``, ``ops``.
        value: The value in the text's syntax: ``[8, 32]``, ``4``, ``"cse"``; "" makes a flag; None removes it.
        index: Replace only this element of a list, from 0.

    Raises:
        UsageError: No such element, or an argument that cannot be taken away.
    """
    op = script.find(step)
    found = next((a for a in arguments_of(op) if a.name == name), None)
    title = f"set {name} of {script.describe(op)}"
    if value is None:
        return script.edited([_removal(script, op, name, found)], f"remove {name} of {script.describe(op)}")
    if found is None:
        if index is not None:
            raise script.refusal(f"{script.describe(op)} has no {name}, so no element {index} of it", op)
        return script.edited([_new_entry(script, op, f"{name} = {value}" if value else name)], title)
    if index is not None:
        elements = elements_of(op, found.start, found.end) if found.form != "word" else ()
        if not 0 <= index < len(elements):
            message = f"{name} of {script.describe(op)} has {len(elements)} elements, no number {index}"
            raise script.refusal(message, found.start)
        start, end = elements[index]
        return script.edited([Replacement(start, end, value)], title)
    start, end = found.start, found.end
    if found.form == "braces" and not value.startswith("{"):
        start, end = start + 1, end - 1
    if start == end:
        value = f" = {value}" if value else ""
    return script.edited([Replacement(start, end, value)], title)


def _removal(script: Script, op: OpSyntax, name: str, found: Argument | None) -> Replacement:
    text = script.text
    if found is None or found.form in ("list", "word", "braces"):
        what = "has no" if found is None else "cannot do without"
        raise script.refusal(f"{script.describe(op)} {what} {name}", op)
    for group in dictionaries_of(op):
        if not group.start < found.name_start < group.end:
            continue
        entries = elements_of(op, group.start, group.end)
        if len(entries) == 1:
            start = len(text[: group.start].rstrip(" "))
            return Replacement(start, group.end, "")
        i = next(i for i, (start, _) in enumerate(entries) if start == found.name_start)
        if i + 1 < len(entries):
            return Replacement(entries[i][0], entries[i + 1][0], "")
        return Replacement(entries[i - 1][1], entries[i][1], "")
    raise script.refusal(f"{script.describe(op)} has {name} in no dictionary", op)


def _new_entry(script: Script, op: OpSyntax, entry: str) -> Replacement:
    text = script.text
    groups = dictionaries_of(op)
    if groups:
        inside = text[groups[-1].start + 1 : groups[-1].end - 1]
        at = groups[-1].start + 1 + len(inside.rstrip())
        return Replacement(at, at, f", {entry}" if inside.strip() else entry)
    # Before the types; an op with a region and no types has its dictionary behind it.
    end = op.signature[0] if op.signature else op.location[0] if op.location else op.end
    before_region = [r.start for r in op.regions if op.signature is None or r.start > op.signature[0]]
    if before_region and op.signature is None:
        end = op.end
    at = len(text[:end].rstrip())
    return Replacement(at, at, f" {{{entry}}}")
