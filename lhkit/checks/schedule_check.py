"""The public check of a schedule, and its report as text."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from lhkit.checks.abstract_interpreter import check_outline
from lhkit.load.loader import as_schedule, schedule_sources
from lhkit.load.old_spellings import describe_undefined
from lhkit.model.check_report import CheckReport, FatalUse
from lhkit.model.errors import public
from lhkit.model.ir_outline import Outline
from lhkit.model.knob import KnobValue
from lhkit.model.pass_policy import how_to_allow
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span, excerpt
from lhkit.traces.report.trace_text import Line, Piece, Role, plain_text
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Application, OutlineSchedule


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
    """Return the outline of a schedule: ops with operands, effects, places and names."""
    settings = {k.name: k.default for k in schedule.knobs} | dict(schedule.settings)
    application = Application(
        schedule_sources(schedule),
        schedule.entry,
        {name: value for name, value in settings.items() if value is not None},
        schedule.bind,
        schedule.allowed_passes,
    )
    return (worker or shared_worker()).ask(OutlineSchedule(application), limits=limits).value


def check_lines(report: CheckReport) -> tuple[Line, ...]:
    """Return a report as lines: findings in order of place, then a summary."""
    texts = dict(report.texts)
    lines: list[Line] = []
    for finding in report.findings:
        use, death = finding.use.source, finding.invalidated_at.source
        role: Role = "failed" if finding.severity == "error" else "warning"
        lines += _lines_at(use, Piece(f"{finding.severity}: {finding.message}", role), texts)
        if death != use:
            lines += _lines_at(death, Piece(f"note: {finding.by} is consumed here", "faint"), texts)
        lines.append(())
    errors = [(f.use.source, f"{f.use.op}: {f.message}") for f in report.fatal]
    for place, message in (*errors, *((r.source, r.reason) for r in report.refused)):
        lines += [*_lines_at(place, Piece(f"error: {message}", "failed"), texts), ()]
    if advice := how_to_allow(r.name for r in report.refused if r.is_registered):
        lines += [(Piece(advice),), ()]
    return (*lines, (Piece(summary(report), "title"),))


def check_bundle(report: CheckReport) -> dict[str, Any]:
    """Return a report as a MIME bundle: its text."""
    return {"text/plain": plain_text(check_lines(report))}


def summary(report: CheckReport) -> str:
    """Return the numbers of findings in one line."""
    looked = f"{counted(report.uses, 'use')} of handles in {counted(report.sequences, 'sequence')}"
    if not report.is_complete:
        looked += "; it is too long, or its sequences include one another too often, to be followed to the end"
    found = "no use of an invalid handle"
    if report.findings or report.refused or report.fatal:
        errors = len(report.errors) + len(report.refused) + len(report.fatal)
        parts = [(errors, "error"), (len(report.warnings), "warning")]
        found = ", ".join(counted(n, what) for n, what in parts if n)
    return f"{report.source}: {found} ({looked})"


def _lines_at(place: Span | None, message: Piece, texts: dict[str, str]) -> list[Line]:
    """Return a message with its place, and the line of the text there."""
    if place is None:
        return [(Piece(""), message)]
    return [(Piece(f"{place}: "), message), *((Piece(line),) for line in excerpt(place, texts).splitlines())]
