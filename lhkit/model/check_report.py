"""The report of a static check: uses of invalidated handles, fatal ops, and refused passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from lhkit.model.errors import Failure
from lhkit.model.pass_policy import APPLY_PASS, RefusedPass
from lhkit.model.showable import Printable
from lhkit.model.span import Span
from lhkit.model.trace_record import Cause

CHECK_SCHEMA = "lhkit.check/1"

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class OpPlace:
    """A transform op and its place."""

    op: str
    source: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """A use of a handle that is or may be invalid."""

    # ``error`` if the use fails for every payload for which no handle is empty, ``warning`` if for some
    severity: Severity
    handle: str  # The handle as its author wrote it
    use: OpPlace  # The op that uses it
    cause: Cause  # How it died: consumed itself, alias of a consumed handle, or nested in one
    by: str  # The handle that was consumed
    invalidated_at: OpPlace  # The op that consumed it
    message: str  # What is wrong, in one sentence


@dataclass(frozen=True, slots=True)
class FatalUse:
    """An op that enters an undefined sequence, or whose attributes end the compiler; always an error."""

    use: OpPlace
    message: str


@dataclass(frozen=True, slots=True)
class CheckReport(Printable):
    """The findings of a static check, in order of place.

    Attributes:
        source: The schedule's name.
        sha256: Hash of the schedule's text and libraries.
        findings: What was found; empty for a clean schedule.
        sequences: How many named sequences were followed.
        uses: How many uses of handles were looked at.
        refused: Steps that run a pass which is not allowed, in order.
        fatal: Ops that would end the compiler, or that enter what nothing defines, in order of place.
        is_complete: False if the schedule is so long, or enters sequences so often, that it was not followed to
            the end.
        texts: The sources that places point into, each as (file name, text).
    """

    source: str
    sha256: str
    findings: tuple[Finding, ...]
    sequences: int
    uses: int
    is_complete: bool = True
    refused: tuple[RefusedPass, ...] = ()
    fatal: tuple[FatalUse, ...] = ()
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The uses that are certainly invalid."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The uses that may be invalid."""
        return tuple(f for f in self.findings if f.severity == "warning")

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.checks.schedule_check import check_bundle

        return check_bundle(self)


def check_to_json(report: CheckReport) -> dict[str, Any]:
    """Serialize a report in the form of ``lhkit.check/1``."""
    fatal = [{**_place(f.use, report), "message": f.message} for f in report.fatal]
    refused = []
    for r in report.refused:
        place = {} if r.source is None else _place(OpPlace(APPLY_PASS, r.source), report)
        refused.append({**place, "pass": r.name, "message": r.reason})
    return {
        "schema": CHECK_SCHEMA,
        "schedule": {"source": report.source, "sha256": report.sha256},
        "findings": [
            {
                "severity": f.severity,
                "handle": f.handle,
                **_place(f.use, report),
                "cause": f.cause,
                "invalidated_at": _place(f.invalidated_at, report),
                "message": f.message,
            }
            for f in report.findings
        ],
        **({"refused": refused} if refused else {}),
        **({"fatal": fatal} if fatal else {}),
    }


def unchecked_to_json(source: str, failure: Failure) -> dict[str, Any]:
    """Return the JSON for a schedule that could not be checked: the failure and no findings."""
    return {
        "schema": CHECK_SCHEMA,
        "schedule": {"source": source, "sha256": ""},
        "findings": [],
        "failure": {"kind": failure.kind, "message": failure.describe()},
    }


def _place(place: OpPlace, report: CheckReport) -> dict[str, Any]:
    """Serialize a place; the file is written only if it is a library's."""
    file = {} if place.source.file == report.source else {"file": place.source.file}
    return {**file, "line": place.source.line, "column": place.source.column, "op": place.op}
