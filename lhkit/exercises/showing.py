"""Exercises and verdicts as MIME bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lhkit.draw.svg import escaped

if TYPE_CHECKING:
    from lhkit.exercises.exercise import Exercise
    from lhkit.exercises.verdict import Bundle, Finding, Note, Verdict

_GREEN, _RED = "var(--jp-success-color0, #087a56)", "var(--jp-warn-color0, #b04a00)"


def exercise_bundle(exercise: Exercise) -> Bundle:
    """Return what is asked."""
    return note_bundle(exercise.statement)


def note_bundle(note: Note) -> Bundle:
    """Return a text, as Markdown where it can be shown."""
    return {"text/markdown": note.markdown, "text/plain": note.markdown}


def verdict_bundle(verdict: Verdict) -> Bundle:
    """Return a verdict: its findings, what to do next, and the picture."""
    picture = verdict.picture() if verdict.picture is not None else {"text/html": "", "text/plain": ""}
    rows = "".join(map(_row, verdict.findings))
    title = f"<b>{escaped(verdict.exercise)}: {'solved' if verdict.is_solved else 'not yet'}</b>"
    table = f'<table style="text-align:left">{rows}</table>'
    shown = f"<p>{title}</p>{table}<p>{escaped(verdict.next_step)}</p>"
    return {
        "text/html": f'<div class="lhkit-verdict">{shown}</div>{picture["text/html"]}',
        "text/plain": "\n\n".join(filter(None, (verdict.describe(), picture["text/plain"]))),
    }


def _row(finding: Finding) -> str:
    mark, color = ("✓ right", _GREEN) if finding.is_right else ("✗ not yet", _RED)
    seen = f'<pre style="margin:0;white-space:pre-wrap">{escaped(finding.seen)}</pre>' if finding.seen else ""
    cells = (
        f'<td style="color:{color};white-space:nowrap"><b>{mark}</b></td>',
        f"<td>{escaped(finding.says)}{seen}</td>",
    )
    left = 'style="text-align:left;vertical-align:top"'
    return f"<tr>{''.join(cell.replace('<td>', f'<td {left}>') for cell in cells)}</tr>"
