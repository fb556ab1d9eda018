"""Warnings that need the whole trace: added when a schedule has run, and taken out where they are allowed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping

from lhkit.model.knob import Knob
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadDelta, Trace, TraceStep, TraceWarning
from lhkit.traces.explain.handle_explanation import repeated
from lhkit.traces.explain.lost_vectors import large_vectors, lost_contractions, scalar_leftovers
from lhkit.traces.explain.near_misses import near_misses
from lhkit.traces.record.handle_history import PayloadHistory, display_names
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.record.schedule_text import ScheduleText

_MATCH = "transform.structured.match"


def with_warnings(trace: Trace) -> Trace:
    """Return a trace with the warnings that only the whole of it shows; see `lhkit.model.warning_kinds`."""
    texts = {name: ScheduleText(name, text) for name, text in trace.texts}
    history = PayloadHistory(trace)
    found: dict[int, list[TraceWarning]] = defaultdict(list)
    for index, warning in _warnings(trace, history, texts):
        if warning not in found[index]:
            found[index].append(warning)
    steps = []
    searched: set[Span | None] = set()  # once is enough for a match in a loop
    for step in trace.step_records:
        own = step.warnings
        if step.op == _MATCH and step.source not in searched and any(w.kind == "zero-match" for w in own):
            searched.add(step.source)
            own = tuple(_with_near_misses(trace, history, step, w, texts) for w in own)
        changed = (*own, *found[step.index]) if step.index in found else own
        steps.append(step if changed == step.warnings else dataclasses.replace(step, warnings=changed))
    return dataclasses.replace(trace, step_records=tuple(steps))


def without_warnings(trace: Trace, kinds: Collection[str] = ()) -> Trace:
    """Return a trace without warnings of some kinds, and without those that comments in its schedule allow."""
    texts = {name: ScheduleText(name, text) for name, text in trace.texts}
    steps = []
    for step in trace.step_records:
        if step.warnings:
            text = texts.get(step.source.file) if step.source else None
            allowed = text.allowed(step.source.line) if text and step.source else frozenset()
            kept = tuple(w for w in step.warnings if w.kind not in kinds and w.kind not in allowed)
            steps.append(step if kept == step.warnings else dataclasses.replace(step, warnings=kept))
        else:
            steps.append(step)
    return dataclasses.replace(trace, step_records=tuple(steps))


def _warnings(
    trace: Trace, history: PayloadHistory, texts: Mapping[str, ScheduleText]
) -> Iterator[tuple[int, TraceWarning]]:
    yield from _repeated_payload(trace)
    yield from large_vectors(trace)
    if trace.outcome.status == "ok":  # what a later step would have put right is no mistake
        yield from _unused(trace, texts)
        yield from lost_contractions(trace, history)
        yield from scalar_leftovers(trace, history)


def _with_near_misses(
    trace: Trace,
    history: PayloadHistory,
    step: TraceStep,
    warning: TraceWarning,
    texts: Mapping[str, ScheduleText],
) -> TraceWarning:
    if warning.kind != "zero-match":
        return warning
    why = near_misses(trace, history, step, texts)
    return warning if why is None else TraceWarning("zero-match", f"{warning.message}: {why}")


def _repeated_payload(trace: Trace) -> Iterator[tuple[int, TraceWarning]]:
    names = display_names(trace)
    told: set[str] = set()
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle in told or not (again := repeated(change)):
                continue
            told.add(change.handle)
            what = op_in_words(trace, again[0]) if isinstance(again[0], str) else "a value"
            yield (
                step.index,
                TraceWarning(
                    "repeated-payload",
                    f"{names[change.handle]} lists one op twice ({what}); a step that consumes it will fail,"
                    " transform.merge_handles deduplicate takes the repetition out",
                ),
            )


def _unused(trace: Trace, texts: Mapping[str, ScheduleText]) -> Iterator[tuple[int, TraceWarning]]:
    """Yield a warning for each step that only finds something whose name the text never says again."""
    used = {o.handle for s in trace.step_records for o in s.operands}
    told = set()
    for step in trace.step_records:
        if step.source is None or step.source in told or not _only_finds(trace, step):
            continue
        text = texts.get(step.source.file)
        names = [trace.handle(r).name for r in step.results]
        if text is None or used.intersection(step.results) or any(text.mentions(n) != 1 for n in names):
            continue
        told.add(step.source)
        listed = ", ".join(names)
        yield step.index, TraceWarning("unused-handle", f"nothing uses {listed}")


def _only_finds(trace: Trace, step: TraceStep) -> bool:
    is_plain = not any(o.effect == "consume" for o in step.operands) and step.payload_delta == PayloadDelta()
    kinds = {trace.handle(r).kind for r in step.results}
    return step.status == "ok" and is_plain and bool(kinds) and "param" not in kinds


# Knobs whose options all give the same payload.


def knobs_without_effect(schedule: Schedule, apply: Callable[[Schedule], str | None]) -> tuple[Knob, ...]:
    """Return the knobs whose options all give the same payload, the other knobs as they are set.

    Two applications a knob usually decide; a knob without effect takes one for each option.

    Args:
        schedule: The schedule.
        apply: Gives the payload that a schedule makes as text, None if it fails, which counts as different.
    """
    found = []
    for knob in schedule.knobs:
        outcomes: set[str | None] = set()
        for option in knob.options:
            outcomes.add(apply(schedule.with_knobs({knob.name: option})))
            if len(outcomes) > 1 or None in outcomes:
                break
        else:
            if len(knob.options) > 1:
                found.append(knob)
    return tuple(found)


def with_knob_warnings(trace: Trace, knobs: tuple[Knob, ...]) -> Trace:
    """Return a trace with a warning at the step of each of these knobs without effect."""
    steps = list(trace.step_records)
    for knob in knobs:
        listed = ", ".join(map(str, knob.options))
        message = f"knob {knob.name!r} has no effect: each of its options {listed} gives the same payload"
        for i, step in enumerate(steps):
            if step.op.startswith("transform.tune.") and step.source and step.source.line == knob.line:
                warnings = (*step.warnings, TraceWarning("knob-without-effect", message))
                steps[i] = dataclasses.replace(step, warnings=warnings)
                break
    return dataclasses.replace(trace, step_records=tuple(steps))
