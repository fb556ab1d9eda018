"""Commands that go back and forth: undo, redo, checkpoints, recovery, repairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.model.errors import usage_error
from lhkit.workbench.screen import integer, text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _undo(workbench: Workbench, _: Mapping[str, Any]) -> None:
    if not workbench.session.undo():
        raise usage_error("there is nothing to undo")


def _redo(workbench: Workbench, _: Mapping[str, Any]) -> None:
    if not workbench.session.redo():
        raise usage_error("there is nothing to redo")


def _checkpoint(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"name": str}``; without a name a number is taken."""
    taken = workbench.session.checkpoints
    free = next(n for n in range(1, len(taken) + 2) if f"checkpoint {n}" not in taken)
    workbench.session.checkpoint(str(command.get("name") or f"checkpoint {free}").strip())


def _restore(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"name": str}``."""
    workbench.session.restore(text(command, "name"))


def _recover(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.session.recover()


def _take_repair(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"number": int, "title": str}``: one of those that were found."""
    number, found = integer(command, "number"), workbench.problems.found
    if not 0 <= number < len(found) or found[number].title != command.get("title"):
        raise usage_error("that repair is of another problem", "Take one of those that are shown now.")
    workbench.session.set_text(found[number].text, title=f"repair: {found[number].title}")


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    "undo": _undo,
    "redo": _redo,
    "checkpoint": _checkpoint,
    "restore": _restore,
    "recover": _recover,
    "take_repair": _take_repair,
}
