"""What is looked at in a workbench: the step, the selection, the open tabs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Which pane of each area is in front, before anybody chose another.
FRONT = (("left", "steps"), ("middle", "payload"), ("handles", "timeline"), ("pictures", "tiles"),
         ("bottom", "problems"), ("narrow", "steps"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Screen:
    """What is looked at.

    Attributes:
        step: The step whose payload is shown, -1 for the payload as given.
        kind: What is selected: ``step``, ``handle`` or ``op``; empty if nothing is.
        ids: Its ids, separated by spaces.
        front: The pane in front of each area.
        is_large: Whether the type is large, for a projector.
        whole_payload: Whether the payload is shown as text instead of as a diff.
        by: Which view of the screen asked for this, so that it need not follow itself.
    """

    step: int = -1
    kind: str = ""
    ids: str = ""
    front: tuple[tuple[str, str], ...] = FRONT
    is_large: bool = False
    whole_payload: bool = False
    by: str = ""

    def is_open(self, pane: str) -> bool:
        """Return whether a pane is in front of one of the areas."""
        return any(pane == open_pane for _, open_pane in self.front)

    def to_json(self) -> dict[str, Any]:
        """Return it as the script reads it."""
        return {
            "step": self.step,
            "selection": {"kind": self.kind, "id": self.ids} if self.kind else None,
            "front": dict(self.front),
            "large": self.is_large,
            "whole": self.whole_payload,
            "by": self.by,
        }
