"""Edits of handles: rename one wherever it is meant, let a step read another one."""

from __future__ import annotations

from lhkit.schedule.handles import Definition
from lhkit.schedule.naming import is_handle_name
from lhkit.schedule.script import Edited, Replacement, Script, StepRef, renamed


def rename_handle(script: Script, old: str | Definition, new: str, *, at: StepRef | None = None) -> Edited:
    """Rename a handle where it is defined and wherever it is used; another one of the same name stays.

    Args:
        script: The schedule.
        old: Its name, ``%loops``, without the number of a result; or its definition, one of ``script.handles``.
        new: The name it gets.
        at: The step that defines it, or around whose block it is an argument, where several bear the name.

    Raises:
        UsageError: No such handle, several, a name that cannot be one, or one that is taken in its sight.
    """
    if not is_handle_name(new):
        raise script.refusal(
            f"{new!r} cannot be a handle's name: % and letters, digits, $ . _ -, no digit first"
        )
    definition = find_definition(script, old, at=at) if isinstance(old, str) else old
    if new != definition.name.text:
        _check_free(script, definition, new)
    return script.edited(renamed(definition, new), f"rename {definition.name.text} to {new}")


def set_operand(script: Script, step: StepRef, position: int, handle: str) -> Edited:
    """Let a step read another handle.

    Args:
        script: The schedule.
        step: The step.
        position: Which of its operands, in the order of the text, from 0.
        handle: The handle, ``%loops#1`` for one of several results.

    Raises:
        UsageError: No such operand, or a handle that is not defined before the step and in its sight.
    """
    op = script.find(step)
    if not 0 <= position < len(op.operands):
        raise script.refusal(f"{script.describe(op)} has {len(op.operands)} operands, no number {position}", op)
    scope = script.handles.scope_at(op.start)
    definition = script.handles.in_sight(scope).get(handle.partition("#")[0])
    is_readable = definition is not None and script.handles.may_read(scope, definition)
    if definition is None or not is_readable or definition.name.start >= op.start:
        raise script.refusal(f"{handle} is not defined before {script.describe(op)}, or not in its sight", op)
    if handle not in (*definition.name.values, definition.name.text):
        raise script.refusal(
            f"{definition.name.text} stands for {definition.name.count} handles; {handle} is none", op
        )
    use = op.operands[position]
    return script.edited(
        [Replacement(use.start, use.end, handle)], f"let {script.describe(op)} read {handle} for {use.text}"
    )


def find_definition(script: Script, name: str, *, at: StepRef | None = None) -> Definition:
    """Return the definition of a handle.

    Raises:
        UsageError: There is none, or several and ``at`` does not tell them apart.
    """
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


def _check_free(script: Script, definition: Definition, new: str) -> None:
    handles = script.handles
    for other in handles.definitions:
        if other.name.text != new:
            continue
        is_nested = handles.inside(other.scope, definition.scope) and other.name.start > definition.name.start
        is_around = handles.inside(definition.scope, other.scope) and not (
            other.scope != definition.scope and other.name.start > definition.name.start
        )
        # A use inside a region that has a handle of that name would mean that one.
        captures = any(handles.inside(handles.scope_at(op.start), other.scope) for _, op in definition.uses)
        if is_nested or is_around or captures:
            line = script.syntax.place(other.name.start).line
            message = f"{definition.name.text} cannot be called {new}: that name is taken at line {line}"
            raise script.refusal(message, other.name.start)
