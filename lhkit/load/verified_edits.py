"""Edits of schedules, verified by comparing the syntax tree with the parsed IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lhkit.load.loader import parse_text
from lhkit.model.errors import Diagnostic, Failure, UsageError
from lhkit.model.ir_outline import WrittenOp
from lhkit.model.schedule import Schedule
from lhkit.text.parser import read_steps, read_syntax
from lhkit.text.script import Edited, Script
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

# Whether a reading of a schedule's text agrees with the parsed IR: same transform ops, order and names.


def find_disagreement(
    text: str, outline: Sequence[WrittenOp], *, source: str = "<schedule>"
) -> Diagnostic | None:
    """Return where a reading of the text first differs from the parsed IR, or None if it nowhere does."""
    syntax, steps = read_syntax(text), read_steps(text)
    for step, op in zip(steps, outline, strict=False):
        place = syntax.place(step.name_start, source)
        if step.name != op.name:
            return Diagnostic("error", f"the text has {step.name} where the compiler has {op.name}", place)
        if op.line and (op.line, op.column) != (place.line, place.column):
            message = (
                f"{op.name} is read here and stands at line {op.line}, column {op.column} for the compiler"
            )
            return Diagnostic("error", message, place)
        if len(step.values) != len(op.results) or (op.line and step.values != op.results):
            read, parsed = ", ".join(step.values) or "none", ", ".join(op.results) or "none"
            return Diagnostic("error", f"the results of {op.name} read as {read} and are {parsed}", place)
    if len(steps) == len(outline):
        return None
    extra = steps[len(outline)].name_start if len(steps) > len(outline) else len(text)
    message = f"the text reads as {len(steps)} transform ops, and the compiler has {len(outline)}"
    return Diagnostic("error", message, syntax.place(extra, source))


def check_agreement(text: str, outline: Sequence[WrittenOp], *, source: str = "<schedule>") -> None:
    """Refuse to edit a text that is read otherwise than the compiler parses it."""
    found = find_disagreement(text, outline, source=source)
    if found is not None:
        raise UsageError(
            Failure(
                kind="usage",
                message=f"{source} cannot be edited by steps: its text is not read as the compiler parses it",
                diagnostics=(found,),
                advice="Change the text itself, or write this op in the form in which the compiler prints it.",
                texts=((source, text),),
            )
        )


def read_script(schedule: Schedule, *, worker: Worker | None = None) -> Script:
    """Return a schedule's text with its outline, for edits that give text."""
    return checked_script(*parse_text(schedule, schedule.text, worker=worker))


@dataclass(frozen=True, slots=True)
class ScheduleEdit:
    """An edit that was made; keeping ``before`` is undo, and ``script`` saves parsing ``after`` again."""

    before: Schedule
    after: Schedule
    script: Script
    edited: Edited


def edit_schedule(
    schedule: Schedule,
    edit: Callable[[Script], Edited],
    *,
    script: Script | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> ScheduleEdit:
    """Make an edit: ``edit_schedule(s, lambda script: remove_step(script, "%tiled"))``."""
    if script is None or script.text != schedule.text:
        script = read_script(schedule, worker=worker)
    edited = edit(script)
    after, outline = parse_text(schedule, edited.text, worker=worker, limits=limits)
    return ScheduleEdit(schedule, after, checked_script(after, outline), edited)


def checked_script(schedule: Schedule, outline: tuple[WrittenOp, ...]) -> Script:
    """Return the script of a schedule that was just parsed."""
    check_agreement(schedule.text, outline, source=schedule.source)
    return Script(schedule.text, schedule.source, outline)
