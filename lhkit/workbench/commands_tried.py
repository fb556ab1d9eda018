"""Commands that try what can be done with a handle, and add what was tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.compose.recipes import insert_recipe
from lhkit.model.errors import usage_error
from lhkit.workbench.commands_steps import change
from lhkit.workbench.form_fields import number_after
from lhkit.workbench.screen import integer, text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _try_handle(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"handle": id}``: try ops and recipes on a handle of the trace."""
    workbench.tryouts.start(workbench, text(command, "handle"))


def _add_tried(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"number": int, "handle": name}``: add one of those that were tried."""
    tryouts = workbench.tryouts
    if command.get("handle") != tryouts.handle or tryouts.version != workbench.version_id:
        raise usage_error("the schedule has changed since that was tried", "Ask again what can be done.")
    tried, place = tryouts.tried(integer(command, "number")), tryouts.place
    number = number_after(workbench.script, place)
    change(workbench, command, lambda s: insert_recipe(s, tried.text, tried.sequences, **place.as_keyword))
    workbench.show_number(number)


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    "try_handle": _try_handle,
    "add_tried": _add_tried,
}
