"""Commands that look at something: a step, a handle, a pane."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.model.errors import usage_error
from lhkit.workbench.screen import fitting, flag, integer, text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

_KINDS = ("", "step", "handle", "op")


def _select(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": index, "kind": "step" | "handle" | "op" | "", "ids": str, "by": view}``.

    Of ids that are not there, as a click on a picture of an earlier trace names them, none is selected.
    """
    trace = workbench.trace
    step, kind = integer(command, "step"), text(command, "kind")
    last = len(trace.step_records) - 1 if trace else -1
    if not -1 <= step <= last:
        raise usage_error(f"there is no step {step}; there are {last + 1}")
    if kind not in _KINDS:
        raise usage_error(f"nothing of kind {kind!r} can be selected")
    asked = dataclasses.replace(workbench.screen, step=step, kind=kind, ids=text(command, "ids"))
    workbench.screen = dataclasses.replace(fitting(asked, trace), by=str(command.get("by", "")))


def _open(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"area": name, "pane": name, "by": view}``: bring a pane to the front of its area."""
    front = {**dict(workbench.screen.front), text(command, "area"): text(command, "pane")}
    workbench.look(front=tuple(front.items()), by=str(command.get("by", "")))


def _set_large(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"large": bool}``: large type, for a projector."""
    workbench.look(is_large=flag(command, "large"), by="")


def _set_whole(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"whole": bool}``: the payload as text instead of as a diff."""
    workbench.look(whole_payload=flag(command, "whole"), by="")


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    "select": _select,
    "open": _open,
    "set_large": _set_large,
    "set_whole": _set_whole,
}
