"""Whether a reading of a schedule's text agrees with the parsed IR: same transform ops, order and names."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.model.errors import UsageError
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.written import WrittenOp
from lhkit.text.parser import read_steps, read_syntax


def find_disagreement(
    text: str, outline: Sequence[WrittenOp], *, source: str = "<schedule>"
) -> Diagnostic | None:
    """Return where a reading of the text first differs from the parsed IR, or None if it nowhere does.

    Args:
        text: The schedule.
        outline: Its transform ops as the compiler parsed them.
        source: The text's name in messages.
    """
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
    """Refuse to edit a text that is read otherwise than the compiler parses it.

    Raises:
        UsageError: It is; the message says where the two part.
    """
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
