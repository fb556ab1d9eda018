"""Switching steps off and on: a step that is off stays in the text, as comments of a form that can be undone.

Its first line begins with ``//lhkit:off``, the others with ``//lhkit:off+``, both behind the indentation.
"""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.text.brackets import OFF_MARK
from lhkit.text.layout import line_end, line_start
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax
from lhkit.text.script import Edited, Replacement, Script, StepRef
from lhkit.text.step_edits import check_dependents, outermost, refuse_terminator

_FIRST, _MORE = OFF_MARK, OFF_MARK + "+"


@dataclass(frozen=True, slots=True)
class DisabledStep:
    """A step that is off.

    Attributes:
        name: Its op.
        text: Its text, as it will stand when it is on again.
        line: The line where it begins.
        marks: Where its marks stand, one a line.
    """

    name: str
    text: str
    line: int
    marks: tuple[tuple[int, int], ...]


def disable_step(script: Script, step: StepRef, *, with_dependents: bool = False) -> Edited:
    """Switch a step off: its lines become comments, and nothing else changes.

    Args:
        script: The schedule.
        step: The step.
        with_dependents: True to switch off the steps that depend on it too; they are listed in the notes.

    Raises:
        UsageError: It ends a block, others depend on it, or something stands behind it on its last line.
    """
    op = script.find(step)
    refuse_terminator(script, op, "switched off")
    dependents = check_dependents(script, op, allowed=with_dependents, done="switched off")
    replacements = [r for o in outermost([op, *dependents]) for r in _marks(script, o)]
    notes = [f"switched off {script.describe(d)} too" for d in dependents]
    return script.edited(replacements, f"switch off {script.describe(op)}", notes)


def disabled_steps(text: str) -> tuple[DisabledStep, ...]:
    """Return the steps of a text that are off, in order."""
    groups: list[list[tuple[int, int]]] = []
    script = Script(text)
    for token in script.syntax.tokens:
        if token.kind != "comment" or not token.text.startswith(OFF_MARK):
            continue
        mark = _MORE if token.text.startswith(_MORE) else _FIRST
        width = len(mark) + token.text.startswith(" ", len(mark))
        if mark == _FIRST:
            groups.append([])
        if groups:
            groups[-1].append((token.start, token.start + width))
    return tuple(_disabled(script, group) for group in groups)


def enable_step(script: Script, number: int) -> Edited:
    """Switch a step on again.

    Args:
        script: The schedule.
        number: Which one, as ``disabled_steps`` lists them.

    Raises:
        UsageError: No such step is off.
    """
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
    marks = [Replacement(op.start, op.start, _FIRST + " ")]
    at = line_end(text, op.start) + 1
    while at < end:
        stop = line_end(text, at)
        line = text[line_start(text, at) : stop]
        inside = at + len(line) - len(line.lstrip(" \t"))
        marks.append(Replacement(inside, inside, _MORE + (" " if line.strip() else "")))
        at = stop + 1
    return marks


def _disabled(script: Script, marks: list[tuple[int, int]]) -> DisabledStep:
    text = script.text
    pieces = [text[end : line_end(text, end)] for _, end in marks]
    indents = [text[line_start(text, start) : start] for start, _ in marks]
    lines = [pieces[0], *(i + p for i, p in zip(indents[1:], pieces[1:], strict=True))]
    whole = "\n".join(lines)
    ops = read_syntax(whole).ops
    line = script.syntax.place(marks[0][0]).line
    return DisabledStep(ops[0].name if ops else "?", whole, line, tuple(marks))
