"""The static check of a schedule, as a report."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

from lhkit.checks.static_check import check_outline
from lhkit.load.loader import as_schedule, describe_sources
from lhkit.load.sequence_names import describe_undefined
from lhkit.model.boundary import public
from lhkit.model.check_report import CheckReport, FatalUse
from lhkit.model.codec import from_json
from lhkit.model.ir_outline import Outline
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.workers import shared_worker


@public
def check_schedule(
    schedule: Schedule | str | os.PathLike[str],
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    only_entry: bool = False,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> CheckReport:
    """Look for uses of handles that are invalid, or may be, and for refused passes, without a payload.

    A use is an *error* if it fails for every payload for which no handle of the schedule is empty, and a
    *warning* if it fails for some. What would end the compiler, such as a division by an attribute that is 0,
    is an error too, and so is entering a sequence that is declared and that nothing defines.

    Args:
        schedule: What to check, loaded or a path.
        knobs: Values for knobs, over those it has; knobs without a value stay open.
        only_entry: Check what the entry reaches; otherwise all other sequences too, each by itself.
        worker: Another worker than the session's.
        limits: Time and memory for reading the schedule.

    Returns:
        The report, an immutable value that shows itself as text.

    Raises:
        UsageError: No such knob, or more or fewer names bound than trailing arguments.
    """
    schedule = as_schedule(schedule, worker)
    if knobs:
        schedule = schedule.with_knobs(knobs)
    outline = outline_of(schedule, worker=worker, limits=limits)
    checked = check_outline(outline, schedule.entry, only_entry=only_entry)
    defined = [s.name for s in outline.sequences]
    undefined = [FatalUse(place, describe_undefined(name, defined)) for place, name in checked.undefined]
    fatal = sorted([*checked.fatal, *undefined], key=lambda f: dataclasses.astuple(f.use.source))
    return CheckReport(
        source=schedule.source,
        sha256=schedule.sha256,
        findings=checked.findings,
        sequences=checked.sequences,
        uses=checked.uses,
        is_complete=checked.is_complete,
        refused=outline.refused,
        fatal=tuple(fatal),
        texts=((schedule.source, schedule.text), *((b.source, b.text) for b in schedule.libraries)),
    )


def outline_of(schedule: Schedule, *, worker: Worker | None = None, limits: Limits | None = None) -> Outline:
    """Return a schedule as plain data: ops with operands, effects, places and names."""
    settings = {k.name: k.default for k in schedule.knobs} | dict(schedule.settings)
    described, body = describe_sources(
        [(schedule.source, schedule.text.encode())] + [(b.source, b.text.encode()) for b in schedule.libraries],
        role="schedule",
    )
    parts = {
        "knobs": {name: value for name, value in settings.items() if value is not None},
        "entry": schedule.entry,
        "bind": list(schedule.bind),
        "allowed_passes": list(schedule.allowed_passes),
    }
    answer = (worker or shared_worker()).request(
        "outline", {"sources": described, "schedule": parts}, body, limits=limits
    )
    return from_json(Outline, answer.header["outline"])
