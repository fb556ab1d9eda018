"""The whole timeline of a trace as JSON, which the script ``timeline.js`` draws: only what is in sight.

Nothing is folded here: a reader opens and closes steps, filters and searches in the browser.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from lhkit.model.trace_record import HandleState, PayloadDelta, StepStatus, Trace, TraceStep
from lhkit.traces.record.handle_history import death_in_words, display_names
from lhkit.traces.timeline.lifelines import EventKind, Lifeline, Lifelines, Moment, MomentKind, lifelines
from lhkit.traces.timeline.timeline_records import note_of

# Codes of the script.
_MOMENTS: dict[MomentKind, str] = {"start": "a", "step": "s", "turn": "t", "end": "e", "elided": "x"}
_EVENTS: tuple[EventKind, ...] = ("read", "consumed", "made", "dead")
_STATES: tuple[HandleState, ...] = ("live", "empty", "invalid")
_STATUSES: tuple[StepStatus, ...] = ("ok", "failed", "crashed", "suppressed", "not-run")
_KINDS = ("op", "value", "param")
_MOST_SAID = 3


def timeline_data(trace: Trace) -> str:
    """Return the timeline of a trace as JSON text.

    - ``steps``: [op, status, whether it had an effect, place, messages].
    - ``moments``: the columns, a letter each, of the steps in ``at``, with ``labels`` of turns.
    - ``groups``: [first and last moment, depth, step, label], steps with others inside and their iterations.
    - ``rows``: [handle, name, kind, note, states, events, a sentence on each of its deaths]; states are first
      and last moment and state, events moment, event and step, in one list.
    - ``ties``: [moment, step, row that was consumed, rows that were invalidated with it].
    """
    lives, names = lifelines(trace), display_names(trace)
    ops = list(dict.fromkeys(s.op for s in trace.step_records))
    numbers = {op: i for i, op in enumerate(ops)}
    lines = sorted(lives.lines, key=lambda line: line.handle.kind == "param")
    data = {
        "entry": trace.schedule.entry,
        "ops": ops,
        "steps": [_step(step, numbers) for step in trace.step_records],
        "moments": "".join(_MOMENTS[m.kind] for m in lives.moments),
        "at": [m.step for m in lives.moments],
        "labels": {i: _label(m) for i, m in enumerate(lives.moments) if m.kind in ("turn", "elided")},
        "groups": list(_groups(trace, lives)),
        "rows": [_row(trace, line, names) for line in lines],
        "ties": _ties(lines),
    }
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _step(step: TraceStep, numbers: dict[str, int]) -> list[Any]:
    """Return [number of the op, number of the status, whether it had an effect, place, messages]."""
    has_effect = (
        step.payload_delta != PayloadDelta() or bool(step.invalidated) or step.status not in ("ok", "not-run")
    )
    place = f"{_name_of(step.source.file)}:{step.source.line}" if step.source else ""
    said = [f"! {w.kind}: {w.message}" for w in step.warnings[:_MOST_SAID]]
    heard = [d for d in step.diagnostics if d.severity in ("error", "note")][:_MOST_SAID]
    said += [d.message.strip().partition("\n")[0] for d in heard]
    return [numbers[step.op], _STATUSES.index(step.status), int(has_effect or bool(step.warnings)), place, said]


@functools.lru_cache(maxsize=16)
def _name_of(file: str) -> str:
    return PurePath(file).name


def _label(moment: Moment) -> str:
    first, last = moment.turn
    if moment.kind == "elided":
        return f"iterations {first} to {last} not recorded"
    return f"iteration {first}" if first is not None else f"alternative {last}"


def _groups(trace: Trace, lives: Lifelines) -> Iterator[list[Any]]:
    """Yield the steps with others inside, and their turns where there are several, outer before inner."""
    for bracket in lives.brackets:
        name = trace.step_records[bracket.step].op.rpartition(".")[2]
        yield [bracket.first, bracket.last, 2 * bracket.depth, bracket.step, name]
        turns = [t for t in bracket.turns if lives.moments[t[0]].kind == "turn"]
        for first, last in turns if len(turns) > 1 else ():
            yield [first, last, 2 * bracket.depth + 1, bracket.step, _label(lives.moments[first])]


def _row(trace: Trace, line: Lifeline, names: dict[str, str]) -> list[Any]:
    states = [n for s in line.spans for n in (s.first, s.last, _STATES.index(s.state))]
    events = [n for e in line.events for n in (e.moment, _EVENTS.index(e.kind), e.step)]
    said = [death_in_words(trace, e.step, e.death, names) for e in line.events if e.death is not None]
    handle = line.handle
    return [
        handle.id,
        names[handle.id],
        _KINDS.index(handle.kind),
        note_of(trace, line, names),
        states,
        events,
        said,
    ]


def _ties(lines: list[Lifeline]) -> list[list[Any]]:
    """Return [moment, step, row, rows]: handles that died because another one was consumed."""
    row_of = {line.handle.id: i for i, line in enumerate(lines)}
    ties: dict[tuple[int, int, int], list[int]] = {}
    for i, line in enumerate(lines):
        for event in line.events:
            if event.death is not None and event.death.cause != "direct" and event.death.by in row_of:
                ties.setdefault((event.moment, event.step, row_of[event.death.by]), []).append(i)
    return [[*key, rows] for key, rows in sorted(ties.items())]
