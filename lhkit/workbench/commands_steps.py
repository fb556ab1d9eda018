"""Commands that change the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.text.script import Edited, Script, is_terminator
from lhkit.text.step_edits import (
    dependents_of,
    disable_step,
    duplicate_step,
    enable_step,
    insert_step,
    move_step,
    remove_step,
)
from lhkit.workbench.screen import Notice, flag, integer, text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

Do = Callable[["Workbench", Mapping[str, Any]], None]


def change(workbench: Workbench, command: Mapping[str, Any], edit: Callable[[Script], Edited]) -> Edited:
    """Make an edit of the text that the command was given for, and say what else it did.

    Raises:
        UsageError: The edit is refused, or the text is another one by now.
        ScheduleError: What it gives does not parse or does not verify.
    """
    check_version(workbench, command)
    edited = workbench.session.edit(edit)
    if edited.notes:
        workbench.notice = Notice("done", "; ".join(edited.notes))
    return edited


def check_version(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """Refuse a command that names steps by their numbers in another text.

    Raises:
        UsageError: It was given for another text than the one that stands.
    """
    if command.get("version", workbench.version_id) != workbench.version_id:
        raise usage_error("the schedule has changed meanwhile; nothing was done", "Do it again.")


def _remove(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": number, "with_dependents": bool}``."""
    _with_others(workbench, command, remove_step, "remove")


def _switch_off(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": number, "with_dependents": bool}``."""
    _with_others(workbench, command, disable_step, "switch off")


def _with_others(
    workbench: Workbench, command: Mapping[str, Any], edit: Callable[..., Edited], verb: str
) -> None:
    """Make an edit that others may stand in the way of, and offer to take them along."""
    step, along = integer(command, "step"), flag(command, "with_dependents")
    try:
        change(workbench, command, lambda script: edit(script, step, with_dependents=along))
    except UsageError as error:
        script = workbench.script
        others = () if along else dependents_of(script, step)
        if not others or any(map(is_terminator, others)):
            raise
        count = f"the {len(others)} that depend on it" if others[1:] else "the one that depends on it"
        label = f"{verb} it and {count}"
        again = {**command, "with_dependents": True}
        workbench.notice = Notice("refused", error.failure.message, "", ((label, again),))


def _switch_on(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"off": number among the steps that are off}``."""
    number = integer(command, "off")
    change(workbench, command, lambda script: enable_step(script, number))


def _duplicate(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": number}``."""
    step = integer(command, "step")
    change(workbench, command, lambda script: duplicate_step(script, step))


def _move(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": number, "before": number}`` or ``"after"``, or ``"by": -1 | 1`` among its siblings."""
    step = integer(command, "step")
    if "by" in command:
        place = _beside(workbench.script, step, integer(command, "by"))
    else:
        side = "before" if "before" in command else "after"
        place = {side: integer(command, side)}
    change(workbench, command, lambda script: move_step(script, step, **place))


def _beside(script: Script, step: int, by: int) -> dict[str, int]:
    """Return the place one step up or down in the block."""
    op = script.find(step)
    block, index = script.home_of(op)[2:]
    at = index + (1 if by > 0 else -1)
    if not 0 <= at < len(block.ops) or is_terminator(block.ops[at]):
        raise usage_error(f"there is no step {'below' if by > 0 else 'above'} it in its block")
    return {"after" if by > 0 else "before": script.number_of(block.ops[at])}


def _add_text(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"text": transform IR, "after" | "before" | "inside": number}``."""
    lines = text(command, "text")
    side = next((s for s in ("before", "inside") if s in command), "after")
    place = {side: integer(command, side)}
    change(workbench, command, lambda script: insert_step(script, lines, **place))


COMMANDS: Mapping[str, Do] = {
    "remove_step": _remove,
    "switch_off": _switch_off,
    "switch_on": _switch_on,
    "duplicate_step": _duplicate,
    "move_step": _move,
    "add_text": _add_text,
}
