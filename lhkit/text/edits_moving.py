"""Moving a step to another place, as far as every handle stays defined where it is read."""

from __future__ import annotations

from lhkit.text.layout import cut, lines_of, put_after, put_before
from lhkit.text.naming import fresh_name, names_in
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import SEQUENCE, Edited, Replacement, Script, StepRef, is_terminator, renamed
from lhkit.text.step_edits import refuse_terminator


def move_step(
    script: Script, step: StepRef, *, before: StepRef | None = None, after: StepRef | None = None
) -> Edited:
    """Move a step, with its comments, before or behind another one.

    Raises:
        UsageError: A handle would be used before its definition or out of its sight; the message says which.
    """
    if (before is None) == (after is None):
        raise script.refusal("say where to move: exactly one of before and after")
    op = script.find(step)
    target = script.find(before if before is not None else after)  # type: ignore[arg-type]
    refuse_terminator(script, op, "moved")
    if op.start <= target.start < op.end:
        raise script.refusal(f"{script.describe(op)} cannot move into itself", op)
    if before is None and is_terminator(target):
        raise script.refusal(f"nothing can stand behind {script.describe(target)}: it ends its block", target)
    if (op.name == SEQUENCE) != (target.name == SEQUENCE):
        raise script.refusal("steps stand in sequences, and sequences beside sequences", target)
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
    for definition in handles.definitions:
        is_result = definition.op.start == op.start and not definition.is_argument
        if definition.name.start in span and not is_result:
            continue
        for use, user in definition.uses:
            if is_result:
                in_sight = handles.inside(handles.scope_at(user.start), scope)
                if use.start < place or not in_sight:
                    message = (
                        f"{script.describe(op)} cannot move there: {script.describe(user)} uses {use.text}"
                    )
                    raise script.refusal(f"{message}, which would not be defined before it", use.start)
            elif use.start in span:
                defined = definition.name.start if definition.is_argument else definition.op.end
                if defined > place or not handles.may_read(scope, definition):
                    line = script.syntax.place(definition.name.start).line
                    message = (
                        f"{script.describe(op)} cannot move there: it uses {use.text}, defined at line {line}"
                    )
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
