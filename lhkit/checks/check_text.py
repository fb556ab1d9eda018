"""A check report as text: a line a finding, with the places of use and of consumption, and a summary."""

from __future__ import annotations

from typing import Any

from lhkit.model.check_report import CheckReport, Finding
from lhkit.model.pass_policy import RefusedPass, how_to_allow
from lhkit.model.printable import counted
from lhkit.model.span import excerpt
from lhkit.traces.report.trace_text import Line, Piece, Role, plain_text


def check_lines(report: CheckReport) -> tuple[Line, ...]:
    """Return a report as lines: findings in order of place, then a summary."""
    texts = dict(report.texts)
    lines: list[Line] = []
    for finding in report.findings:
        lines += [*_finding_lines(finding, texts), ()]
    for fatal in report.fatal:
        head: Line = (
            Piece(f"{fatal.use.source}: "),
            Piece(f"error: {fatal.use.op}: {fatal.message}", "failed"),
        )
        lines += [head, *_excerpt_lines(excerpt(fatal.use.source, texts)), ()]
    for refused in report.refused:
        lines += [*_refused_lines(refused, texts), ()]
    if advice := how_to_allow(r.name for r in report.refused if r.is_registered):
        lines += [(Piece(advice),), ()]
    return (*lines, (Piece(summary(report), "title"),))


def check_bundle(report: CheckReport) -> dict[str, Any]:
    """Return a report as a MIME bundle: its text."""
    return {"text/plain": plain_text(check_lines(report))}


def summary(report: CheckReport) -> str:
    """Return what was found in one line."""
    looked = f"{counted(report.uses, 'use')} of handles in {counted(report.sequences, 'sequence')}"
    if not report.is_complete:
        looked += "; it is too long, or its sequences include one another too often, to be followed to the end"
    found = "no use of an invalid handle"
    if report.findings or report.refused or report.fatal:
        errors = len(report.errors) + len(report.refused) + len(report.fatal)
        parts = [(errors, "error"), (len(report.warnings), "warning")]
        found = ", ".join(counted(n, what) for n, what in parts if n)
    return f"{report.source}: {found} ({looked})"


def _finding_lines(finding: Finding, texts: dict[str, str]) -> list[Line]:
    role: Role = "failed" if finding.severity == "error" else "warning"
    use, death = finding.use.source, finding.invalidated_at.source
    lines: list[Line] = [(Piece(f"{use}: "), Piece(f"{finding.severity}: {finding.message}", role))]
    lines += _excerpt_lines(excerpt(use, texts))
    if death != use:
        lines.append((Piece(f"{death}: "), Piece(f"note: {finding.by} is consumed here", "faint")))
        lines += _excerpt_lines(excerpt(death, texts))
    return lines


def _refused_lines(refused: RefusedPass, texts: dict[str, str]) -> list[Line]:
    at = f"{refused.source}: " if refused.source else ""
    lines: list[Line] = [(Piece(at), Piece(f"error: {refused.reason}", "failed"))]
    return lines + (_excerpt_lines(excerpt(refused.source, texts)) if refused.source else [])


def _excerpt_lines(shown: str) -> list[Line]:
    return [(Piece(line),) for line in shown.splitlines()]
