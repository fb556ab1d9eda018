"""Commands for knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.workbench.screen import mapping

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _set_knobs(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"knobs": {name: value}, "gesture": id}``: one gesture, as the drag of a slider, is one change."""
    gesture = command.get("gesture")
    amends = gesture is not None and gesture == workbench.gesture
    workbench.gesture = None
    workbench.session.set_knobs(mapping(command, "knobs"), amends=amends)
    workbench.gesture = gesture


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {"set_knobs": _set_knobs}
