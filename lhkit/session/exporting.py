"""Schedules written for other programs, and applied by one that is not lhkit."""

from __future__ import annotations

from lhkit.analysis.sharing import with_knobs_set
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Library, Schedule
from lhkit.schedule.exports import folded_text, portable_problems
from lhkit.schedule.script import Script
from lhkit.session.loading import describe_sources, parse_text
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker


def tunable_text(schedule: Schedule) -> str:
    """Return a schedule's text with its knobs; those that are set have that value as default.

    Raises:
        UsageError: A knob's value cannot be written into the text.
    """
    return with_knobs_set(schedule)


def prevents_portable(schedule: Schedule) -> tuple[str, ...]:
    """Return what keeps a schedule from being exported to other programs, each with its place; empty if nothing."""
    try:
        values = schedule.values
    except UsageError as error:
        return (error.failure.describe(),)
    found = []
    for name, text in (
        (schedule.source, schedule.text),
        *((lib.source, lib.text) for lib in schedule.libraries),
    ):
        folded = folded_text(text, name, values)
        for message, op in portable_problems(folded, name):
            place = Script(folded, name).syntax.place(op.name_start, name)
            found.append(f"{name}:{place.line}: {message}")
    return tuple(found)


def portable_text(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return a schedule's text for other programs: knobs are folded to what they are set to, no op is ours.

    Comments and layout stay. Libraries are exported apart, by `portable_libraries`.

    Raises:
        UsageError: Something prevents it; all of it is listed.
        ScheduleError: What came out is not accepted.
    """
    _refuse(schedule)
    text = folded_text(schedule.text, schedule.source, schedule.values)
    return parse_text(schedule, text, worker=worker)[0].text


def portable_libraries(schedule: Schedule) -> tuple[Library, ...]:
    """Return a schedule's libraries for other programs, knobs folded.

    Raises:
        UsageError: Something prevents it.
    """
    _refuse(schedule)
    return tuple(
        Library(lib.source, folded_text(lib.text, lib.source, schedule.values)) for lib in schedule.libraries
    )


def _refuse(schedule: Schedule) -> None:
    if found := prevents_portable(schedule):
        listed = "\n".join(found)
        raise usage_error(f"{schedule.source} cannot be exported to other programs", listed)


def apply_portable(payload: Payload, schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return the payload after the compiler's own pass applied the portable text of a schedule.

    This is what ``mlir-opt`` does: the passes ``transform-preload-library`` and ``transform-interpreter``; nothing
    of how lhkit applies schedules takes part.

    Raises:
        UsageError: Something prevents the export.
        ScheduleError: The pass does not accept it or fails.
    """
    parts = [(schedule.source, portable_text(schedule, worker=worker).encode())]
    parts += [(lib.source, lib.text.encode()) for lib in portable_libraries(schedule)]
    first, content = describe_sources(
        [(payload.source, payload.bytecode or payload.text.encode())], role="payload"
    )
    described, body = describe_sources(parts, role="schedule")
    fields = {"sources": first + described, "entry": schedule.entry, "bind": list(schedule.bind)}
    return (worker or shared_worker()).request("apply_by_pass", fields, content + body).body.decode()
