"""What is said about the last command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lhkit.compose.recovery import LeftBehind

NoticeKind = Literal["refused", "done", "defect"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the reader, and what can be done about it.

    Attributes:
        kind: ``refused``: the command changed nothing; ``done``: what else it did; ``defect``: lhkit itself
            failed.
        message: The sentence.
        advice: What to do next; empty if there is nothing.
        actions: Buttons, each as its label and the command.
    """

    kind: NoticeKind
    message: str
    advice: str = ""
    actions: tuple[tuple[str, dict[str, Any]], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the script reads it."""
        actions = [{"label": label, "command": command} for label, command in self.actions]
        return {"kind": self.kind, "message": self.message, "advice": self.advice, "actions": actions}


def recovery_notice(left: LeftBehind) -> Notice:
    """Return the offer to go on from a session that was not closed."""
    return Notice("done", left.sentence(), "", (("Go on from there", {"do": "recover"}),))
