"""Schedules edited step by step: the reading of the text is held against the parsed IR before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from lhkit.model.jsonable import from_json
from lhkit.model.outline import OutlineOp
from lhkit.model.schedule import Schedule
from lhkit.schedule.agreement import check_agreement
from lhkit.schedule.script import Edited, Script
from lhkit.session.loading import describe_sources, with_text
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker

P = ParamSpec("P")


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


def edit_schedule(
    schedule: Schedule,
    edit: Callable[Concatenate[Script, P], Edited],
    worker: Worker | None = None,
    *args: P.args,
    **kwargs: P.kwargs,
) -> Schedule:
    """Return a schedule with an edit made; the old one is undo.

    ``edit_schedule(schedule, rename_handle, worker, "%loops", "%rows")``.

    Args:
        schedule: The schedule.
        edit: A function of the modules ``lhkit.schedule.edits_…``.
        worker: Another worker than the session's, or None.
        *args: What the edit takes after the script.
        **kwargs: Likewise.

    Raises:
        UsageError: The edit is refused; the message says why and where.
        ScheduleError: What the edit gave does not parse or does not verify.
    """
    edited = edit(read_script(schedule, worker=worker), *args, **kwargs)
    changed = with_text(schedule, edited.text, worker=worker)
    read_script(changed, worker=worker)
    return changed
