"""Schedules edited step by step: the reading of the text is held against the parsed IR before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lhkit.model.jsonable import from_json
from lhkit.model.outline import OutlineOp
from lhkit.model.schedule import Schedule
from lhkit.schedule.agreement import check_agreement
from lhkit.schedule.script import Edited, Script
from lhkit.session.loading import describe_sources, with_text
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker


def read_script(schedule: Schedule, *, worker: Worker | None = None) -> Script:
    """Return a schedule's text with its outline, for edits that give text.

    Raises:
        UsageError: The text is read otherwise than the compiler parses it; the message says where.
        ScheduleError: It does not parse or does not verify.
    """
    parts = [(schedule.source, schedule.text.encode())]
    described, body = describe_sources(parts, role="schedule")
    answer = (worker or shared_worker()).request("outline", {"sources": described}, body)
    outline = tuple(from_json(OutlineOp, op) for op in answer.header["ops"])
    check_agreement(schedule.text, outline, source=schedule.source)
    return Script(schedule.text, schedule.source, outline)


@dataclass(frozen=True, slots=True)
class ScheduleEdit:
    """A schedule before and after an edit, and what the edit did; keeping ``before`` is undo."""

    before: Schedule
    after: Schedule
    edited: Edited


def edit_schedule(
    schedule: Schedule, edit: Callable[[Script], Edited], *, worker: Worker | None = None
) -> ScheduleEdit:
    """Make an edit: ``edit_schedule(s, lambda script: rename_handle(script, "%loops", "%rows"))``.

    Args:
        schedule: The schedule; it stays as it is.
        edit: A function of a script, as the modules ``lhkit.schedule.edits_…`` have them.
        worker: Another worker than the session's.

    Raises:
        UsageError: The edit is refused; the message says why and where.
        ScheduleError: What the edit gave does not parse or does not verify.
    """
    edited = edit(read_script(schedule, worker=worker))
    changed = with_text(schedule, edited.text, worker=worker)
    read_script(changed, worker=worker)
    return ScheduleEdit(schedule, changed, edited)
