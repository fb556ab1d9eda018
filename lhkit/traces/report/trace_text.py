"""A trace as a text table: one row per step, deaths in words, final states.

Colours only repeat marks and words: ``●`` live, ``○`` empty, ``✗`` invalid or failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.draw.tables import format_ns
from lhkit.model import trace_record as record
from lhkit.model.printable import counted
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record import handle_history
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.warnings.lost_work import suppressed_failures

Role = Literal["plain", "faint", "title", "live", "empty", "invalid", "failed", "warning"]

MARKS: dict[record.HandleState, str] = {"live": "●", "empty": "○", "invalid": "✗"}
STATUS: dict[record.StepStatus, tuple[str, Role]] = {
    "ok": ("", "plain"),
    "failed": ("✗ FAILED", "failed"),
    "suppressed": ("✗ failed, suppressed", "warning"),
    "not-run": ("– not run", "faint"),
    "crashed": ("✗ CRASHED", "failed"),
}
DELTA_LEGEND = "  ".join(f"{sign} {word}" for sign, word in record.DELTA_WORDS.items())
_LEGEND = f"● live  ○ empty  ✗ invalidated · in the payload: {DELTA_LEGEND}"
_HEADER = ("step", "line", "op", "uses", "gives", "payload", "time")
_WIDEST_CELL = 44


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text and its role, for coloring."""

    text: str
    role: Role = "plain"


Line = tuple[Piece, ...]


def plain_text(lines: Sequence[Line]) -> str:
    """Return lines without colours."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines) + "\n"


def trace_lines(trace: record.Trace, *, most_steps: int = 60, most_deaths: int = 6) -> tuple[Line, ...]:
    """Return a trace as lines; the middle of a long trace is folded, the failed step is not.

    ``most_deaths`` limits the deaths per step.
    """
    names = handle_history.display_names(trace)
    shown = shown_steps(trace, most_steps)
    rows = {i: _cells(trace, trace.step_records[i], names) for i in shown}
    widths = [max(len(row[c]) for row in (_HEADER, *rows.values())) for c in range(len(_HEADER))]
    what = f"@{trace.schedule.entry} of {trace.schedule.source}, applied to {trace.payload.source}"
    lines: list[Line] = [(Piece(what, "title"),)]
    if trace.schedule.knobs:
        lines.append((Piece("knobs: " + ", ".join(f"{name}={value}" for name, value in trace.schedule.knobs)),))
    lines += [(), (Piece(_aligned(_HEADER, widths), "title"),)]
    last = -1
    for index in shown:
        if index > last + 1:
            lines.append((Piece(f"      … {counted(index - last - 1, 'step')} folded …", "faint"),))
        step = trace.step_records[index]
        lines.append(_row(step, rows[index], widths))
        lines += _below(trace, step, names, most_deaths)
        for e in [e for e in trace.elided if _last_before(trace, e) == index]:
            said = f"      … iterations {e.first} to {e.last} ran and are not recorded …"
            lines.append((Piece(said, "faint"),))
        last = index
    return (*lines, (), *_ending(trace, names), (Piece(_LEGEND, "faint"),))


def shown_steps(trace: record.Trace, most: int) -> list[int]:
    """Return the steps to show of a trace: all, or its start, its end, and those before its failure."""
    count = len(trace.step_records)
    if count <= most:
        return list(range(count))
    chosen = {*range(most // 2), *range(count - (most - most // 2), count)}
    if trace.outcome.failed_step is not None:
        chosen |= set(range(max(0, trace.outcome.failed_step - 3), trace.outcome.failed_step + 1))
    return sorted(chosen)


def _last_before(trace: record.Trace, elision: record.Elision) -> int:
    """Return the index of the last recorded step before elided iterations."""
    steps, last = trace.step_records, elision.parent
    for step in steps[elision.parent + 1 :]:
        if step.depth <= steps[elision.parent].depth:
            break
        if step.parent == elision.parent and (step.iteration or 0) >= elision.first:
            break
        last = step.index
    return last


def _cells(trace: record.Trace, step: record.TraceStep, names: dict[str, str]) -> tuple[str, ...]:
    states = {c.handle: c for c in step.changes}
    place = f"{step.source.line}:{step.source.column}" if step.source else ""
    name = "  " * step.depth + step.op.removeprefix("transform.") + handle_history.turn_mark(step)
    results = ", ".join(_result(names[r], states.get(r)) for r in step.results)
    time = format_ns(step.time_ns) if step.status != "not-run" else ""
    changes = delta_text(shown_delta(trace, step.index))
    cells = (str(step.index), place, name, _uses(step, names), results, changes, time)
    return tuple(c if len(c) <= _WIDEST_CELL else f"{c[: _WIDEST_CELL - 1]}…" for c in cells)


def _uses(step: record.TraceStep, names: dict[str, str]) -> str:
    parts = []
    for effect, verb in (("consume", "consumes"), ("read", "reads")):
        if used := [names[o.handle] for o in step.operands if o.effect == effect]:
            parts.append(f"{verb} {', '.join(dict.fromkeys(used))}")
    return "; ".join(parts)


def _result(name: str, change: record.HandleChange | None) -> str:
    if change is None:
        return name
    held = [r.param.removesuffix(" : i64") for r in change.payload if isinstance(r, record.ParamReference)]
    what = f" = {', '.join(held)}" if held else f" {len(change.payload)}"
    return f"{MARKS[change.state]} {name}{what if change.state == 'live' else ''}"


def delta_text(delta: record.PayloadDelta) -> str:
    """Return how many payload ops a step created, erased, changed and moved, each with its sign."""
    return " ".join(f"{sign}{len(ops)}" for sign, ops in delta.signed)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    padded[0], padded[-1] = cells[0].rjust(widths[0]), cells[-1].rjust(widths[-1])
    return "  ".join(padded)


def _row(step: record.TraceStep, cells: tuple[str, ...], widths: Sequence[int]) -> Line:
    word, role = STATUS[step.status]
    line = (Piece(_aligned(cells, widths), role if step.status != "suppressed" else "plain"),)
    return (*line, Piece(f"  {word}", role)) if word else line


def _below(trace: record.Trace, step: record.TraceStep, names: dict[str, str], most: int) -> list[Line]:
    """Return the lines below a step: deaths, failure, compiler messages, warnings."""
    said: list[tuple[str, Role]] = [
        (f"✗ {death}", "invalid") for death in deaths_in_words(trace, step, names, most)
    ]
    if step.index == trace.outcome.failed_step:
        said += [(f"✗ {reason}", "failed") for reason in failure_reasons(trace, step)[:most]]
    said += [(f"» {remark}", "plain") for remark in _remarks(step, most)]
    said += [(f"! {w.kind}: {w.message}", "warning") for w in step.warnings]
    return [(Piece(f"      {text}", role),) for text, role in said]


def deaths_in_words(trace: record.Trace, step: record.TraceStep, names: dict[str, str], most: int) -> list[str]:
    """Return the deaths at a step as sentences; those after the first ``most`` are counted."""
    said = [handle_history.death_in_words(trace, step.index, each, names) for each in step.invalidated[:most]]
    more = len(step.invalidated) - most
    return [*said, f"… and {more} more handles were invalidated"] if more > 0 else said


def failure_reasons(trace: record.Trace, step: record.TraceStep) -> list[str]:
    """Return why a step failed: the handle at fault, else the first line of each error."""
    if (cause := explain_failure(trace)).handle is not None:
        return [cause.sentence]
    errors = (d.message.strip() for d in step.diagnostics if d.severity == "error")
    return [message.partition("\n")[0] for message in errors if message]


def _remarks(step: record.TraceStep, most: int) -> list[str]:
    said = [d for d in step.diagnostics if d.severity != "error" or step.status == "suppressed"]
    lines = []
    for diagnostic in said[:most]:
        message, _, rest = diagnostic.message.strip().partition("\n")
        place = f" ({diagnostic.span})" if diagnostic.span else ""
        lines.append(f"{diagnostic.severity}: {message}{' …' if rest else ''}{place}")
    return lines + ([f"… and {len(said) - most} more messages"] if len(said) > most else [])


def _ending(trace: record.Trace, names: dict[str, str], *, most: int = 12) -> list[Line]:
    outcome = trace.outcome
    ran = sum(s.status != "not-run" for s in trace.step_records)
    if outcome.status == "ok":
        failures = len(suppressed_failures(trace))
        also = f", {counted(failures, 'failure')} suppressed" if failures else ""
        lines: list[Line] = [(Piece(f"ok: {counted(ran, 'step')}{also}", "title"),)]
        lines += [(Piece(f"✗ line {u.source.line}: {u.message}", "failed"),) for u in trace.unmet]
    else:
        at = "" if outcome.failed_step is None else f" at step {outcome.failed_step}"
        kind = "" if outcome.kind in (None, outcome.status) else f" ({outcome.kind})"
        of = counted(len(trace.step_records), "step")
        lines = [(Piece(f"{outcome.status}{at}{kind}: {ran} of {of} ran", "failed"),)]
    states, gone = handle_history.states_at_end(trace), handle_history.rolled_back(trace)
    for state, mark in MARKS.items():
        these = [names[h] for h, change in states.items() if change.state == state and h not in gone]
        if these:
            lines.append(
                (Piece(f"{mark} {len(these)} {record.STATE_WORDS[state]}: {_listed(these, most)}", state),)
            )
    if gone:
        these = [names[h.id] for h in trace.handle_records if h.id in gone]
        what = f"– {len(gone)} of alternatives that were rolled back: {_listed(these, most)}"
        lines.append((Piece(what, "faint"),))
    return lines


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f", … {len(names) - most} more" if len(names) > most else "")
