"""Commands that change the text as such: typing, and the file that it is kept in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.workbench.screen import Notice, Typed, flag, text
from lhkit.worker.cancellation import was_stopped

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _set_text(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"text": str, "gesture": id, "by": view}``: what is typed in one go, one gesture, is one change."""
    written = text(command, "text")
    gesture = command.get("gesture")
    session = workbench.session
    if written != session.text:
        amends = gesture is not None and gesture == workbench.gesture
        workbench.gesture = None
        session.set_text(written, amends=amends)
        workbench.gesture = gesture
    workbench.typed = Typed(str(command.get("by", "")), workbench.version_id, gesture is not None)


def _settle_text(workbench: Workbench, _: Mapping[str, Any]) -> None:
    """``{}``: no more is typed for now; what comes next is another change."""
    workbench.typed = dataclasses.replace(workbench.typed, goes_on=False)


def _save_text(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"path": str, "overwrite": bool}``: to the file that is followed, or another, followed from then on."""
    session, overwrites = workbench.session, flag(command, "overwrite")
    name = str(command.get("path") or "").strip()
    again = {**command, "overwrite": True}
    followed = session.followed
    if name:
        path = Path(name)
        if path.exists() and not overwrites:
            message = f"there is a file {path.name} already; nothing was written"
            workbench.notice = Notice("refused", message, "", ((f"overwrite {path.name}", again),))
            return
        session.save_as(path)
        session.follow(path)
        workbench.notice = Notice("done", f"saved as {path}; it is followed from now on")
        return
    if followed is None:
        raise usage_error("the schedule has no file yet", "Give it a name to save it under.")
    try:
        followed.save(session.text, overwrites=overwrites)
    except UsageError as error:
        is_other = followed.changed_meanwhile(session.text)
        actions = (("overwrite it", again), ("take its text", {"do": "take_file"})) if is_other else ()
        workbench.notice = Notice("refused", error.failure.message, error.failure.advice or "", actions)
        return
    workbench.notice = Notice("done", f"saved to {followed.path.name}")


def _trace(workbench: Workbench, _: Mapping[str, Any]) -> None:
    """``{}``: take up again what was stopped."""
    session = workbench.session
    if was_stopped(session.version.failure):
        session.set_text(session.text, title=session.version.title, amends=True)
    elif session.is_stale:
        session.retrace()


def _take_file(workbench: Workbench, _: Mapping[str, Any]) -> None:
    """``{}``: take the text of the file that is followed."""
    followed = workbench.session.followed
    if followed is not None:
        workbench.session.follow(followed.path)


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    "set_text": _set_text,
    "settle_text": _settle_text,
    "save_text": _save_text,
    "take_file": _take_file,
    "trace": _trace,
}
