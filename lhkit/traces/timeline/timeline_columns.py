"""The columns of a handle timeline: names, and what is wrong with a step, in few words and in full."""

from __future__ import annotations

from pathlib import PurePath

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.report.trace_text import STATUS
from lhkit.traces.timeline.lifelines import Bracket, Lifelines, Moment
from lhkit.traces.timeline.timeline_folds import Span
from lhkit.traces.timeline.timeline_records import Column, Group, StepMark

# What is told of a folded column is the worst of what is in it.
_WORST: tuple[StepMark, ...] = ("crashed", "failed", "suppressed", "warning", "not-run")
_MOST_DIAGNOSTICS = 2


def columns_of(trace: Trace, lives: Lifelines, spans: list[Span]) -> tuple[Column, ...]:
    """Return a column a span of moments."""
    return tuple(
        _one(trace, lives.moments[first], first) if first == last else _folded(trace, lives, first, last)
        for first, last in spans
    )


def groups_of(trace: Trace, brackets: tuple[Bracket, ...], spans: list[Span]) -> tuple[Group, ...]:
    """Return the brackets that can be seen: those that begin in a column of their own, or before the first."""
    found = []
    for bracket in brackets:
        columns = [i for i, (f, last) in enumerate(spans) if f <= bracket.last and last >= bracket.first]
        if not columns:
            continue
        first, last = spans[columns[0]]
        is_hidden = first < last and first <= bracket.first
        if not is_hidden:
            name = f"{bracket.step} {short_name(trace.step_records[bracket.step].op)}"
            found.append(Group(bracket.step, columns[0], columns[-1], bracket.depth, name))
    return tuple(found)


def short_name(op: str) -> str:
    """Return the last part of an op's name."""
    return op.rpartition(".")[2]


def _fold_label(trace: Trace, lives: Lifelines, first: int, last: int) -> str:
    """Return what moments ``first`` to ``last`` are: ``⋯ 30 more iterations``, ``⋯ 120 more steps``."""
    moments = lives.moments[first : last + 1]
    begun = moments[0]
    lost = sum(_lost(m) for m in moments)
    unrecorded = f", {lost} not recorded" if lost else ""
    same = [m for m in moments if m.kind == "turn" and m.step == begun.step]
    if begun.kind == "turn" and begun.turn[0] is not None and _is_inside(trace, moments, begun.step):
        return f"⋯ {len(same) + lost} more iterations{unrecorded}"
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    what = "steps not run" if steps and all(s.status == "not-run" for s in steps) else "more steps"
    return f"⋯ {len(steps)} {what}{unrecorded}"


def _lost(moment: Moment) -> int:
    first, last = moment.turn
    return (last or 0) - (first or 0) + 1 if moment.kind == "elided" else 0


def _is_inside(trace: Trace, moments: tuple[Moment, ...], step: int) -> bool:
    outer = trace.step_records[step].depth
    return all(m.step == step or trace.step_records[m.step].depth > outer for m in moments)


def _folded(trace: Trace, lives: Lifelines, first: int, last: int) -> Column:
    label = _fold_label(trace, lives, first, last)
    moments = lives.moments[first : last + 1]
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    kinds = [_mark(step) for step in steps]
    mark: StepMark = next((k for k in _WORST if k in kinds), "")
    note = ""
    if mark not in ("", "not-run"):
        note = f"! {kinds.count(mark)} {'with warnings' if mark == 'warning' else mark}"
    title = f"{label}: steps {steps[0].index} to {steps[-1].index}" if steps else label
    depth = min((s.depth for s in steps), default=0)
    return Column(
        "fold",
        None,
        label.partition(",")[0],
        note,
        mark,
        f"{title}; {note}" if note else title,
        depth,
        len(steps),
        (first, last),
    )


def _one(trace: Trace, moment: Moment, at: int) -> Column:
    if moment.kind == "start":
        what = f"the arguments of @{trace.schedule.entry}"
        return Column("start", None, "arguments", "", "", what, 0, 0, (at, at))
    step = trace.step_records[moment.step]
    name = short_name(step.op)
    if moment.kind == "step":
        return Column(
            "step", step.index, name, _note(step), _mark(step), _step_title(step), step.depth, 1, (at, at)
        )
    inside = step.depth + 1
    if moment.kind == "elided":
        label = f"⋯ {_lost(moment)} iterations not recorded"
        title = f"iterations {moment.turn[0]} to {moment.turn[1]} of step {step.index} ran and are not recorded"
        return Column("elided", step.index, label, "", "", title, inside, 0, (at, at))
    if moment.kind == "end":
        title = f"step {step.index} ({step.op}) ends: what it consumed dies, what it gives is made"
        return Column("end", step.index, f"end of {name}", "", "", title, step.depth, 0, (at, at))
    iteration, alternative = moment.turn
    label = f"iteration {iteration}" if iteration is not None else f"alternative {alternative}"
    return Column(
        "turn",
        step.index,
        label,
        "",
        "",
        f"{label} of step {step.index} ({step.op}) begins",
        inside,
        0,
        (at, at),
    )


def _mark(step: TraceStep) -> StepMark:
    if step.status != "ok":
        return step.status
    return "warning" if step.warnings else ""


def _note(step: TraceStep) -> str:
    if step.status != "ok":
        return STATUS[step.status][0]
    kinds = list(dict.fromkeys(w.kind for w in step.warnings))
    return f"! {', '.join(kinds)}" if kinds else ""


def _step_title(step: TraceStep) -> str:
    place = f", {PurePath(step.source.file).name}:{step.source.line}" if step.source else ""
    lines = [f"step {step.index}: {step.op}{place}"]
    if step.status != "ok":
        lines.append(STATUS[step.status][0])
    lines += [f"! {w.kind}: {w.message}" for w in step.warnings]
    said = [d for d in step.diagnostics if d.severity in ("error", "note")][:_MOST_DIAGNOSTICS]
    lines += [d.message.strip().partition("\n")[0] for d in said]
    return "\n".join(lines)
