"""All commands by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.workbench import (
    adding,
    commands_history,
    commands_knobs,
    commands_runs,
    commands_screen,
    commands_steps,
    commands_text,
    commands_tried,
    commands_trust,
)

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    **commands_screen.COMMANDS,
    **commands_history.COMMANDS,
    **commands_knobs.COMMANDS,
    **commands_steps.COMMANDS,
    **commands_text.COMMANDS,
    **adding.COMMANDS,
    **commands_runs.COMMANDS,
    **commands_tried.COMMANDS,
    **commands_trust.COMMANDS,
}
