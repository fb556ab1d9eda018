"""Edits of handles: rename one wherever it is meant, let a step read another one."""

from __future__ import annotations

from lhkit.text.handle_scopes import Definition
from lhkit.text.script import Script, StepRef


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
