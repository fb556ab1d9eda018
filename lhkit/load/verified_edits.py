"""Schedules edited step by step: the reading of the text is held against the parsed IR before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lhkit.load.agreement import check_agreement
from lhkit.load.loader import parse_text
from lhkit.model.schedule import Schedule
from lhkit.model.written import WrittenOp
from lhkit.text.script import Edited, Script
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits


def read_script(schedule: Schedule, *, worker: Worker | None = None) -> Script:
    """Return a schedule's text with its outline, for edits that give text.

    Raises:
        UsageError: The text is read otherwise than the compiler parses it; the message says where.
        ScheduleError: It does not parse or does not verify.
    """
    return checked_script(*parse_text(schedule, schedule.text, worker=worker))


@dataclass(frozen=True, slots=True)
class ScheduleEdit:
    """An edit that was made.

    Attributes:
        before: The schedule as it was; keeping it is undo.
        after: The schedule with the edit.
        script: The script of ``after``, so that the next edit need not parse it again.
        edited: What the edit did.
    """

    before: Schedule
    after: Schedule
    script: Script
    edited: Edited


def edit_schedule(
    schedule: Schedule,
    edit: Callable[[Script], Edited],
    *,
    script: Script | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> ScheduleEdit:
    """Make an edit: ``edit_schedule(s, lambda script: remove_step(script, "%tiled"))``.

    Args:
        schedule: The schedule; it stays as it is.
        edit: A function of a script, as the modules ``lhkit.text.…_edits`` have them.
        script: The script of the schedule, if the edit before or `read_script` gave it.
        worker: Another worker than the session's.
        limits: Time and memory for parsing what the edit gives.

    Raises:
        UsageError: The edit is refused; the message says why and where.
        ScheduleError: What the edit gave does not parse or does not verify.
    """
    if script is None or script.text != schedule.text:
        script = read_script(schedule, worker=worker)
    edited = edit(script)
    after, outline = parse_text(schedule, edited.text, worker=worker, limits=limits)
    return ScheduleEdit(schedule, after, checked_script(after, outline), edited)


def checked_script(schedule: Schedule, outline: tuple[WrittenOp, ...]) -> Script:
    """Return the script of a schedule that was just parsed.

    Raises:
        UsageError: The text is read otherwise than the compiler parsed it; the message says where.
    """
    check_agreement(schedule.text, outline, source=schedule.source)
    return Script(schedule.text, schedule.source, outline)
