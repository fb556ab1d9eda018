"""The events and states of every handle over the moments of a trace.

A moment is a column of the timeline. A step with nested steps has one where it begins, one where each iteration
or alternative begins, and one where it ends, which is when it defines results and invalidates handles.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

from lhkit.model import trace_record as record

MomentKind = Literal["start", "step", "turn", "end", "elided"]
EventKind = Literal["made", "read", "consumed", "dead"]
Turn = tuple[int | None, int | None]  # iteration, alternative
_NO_TURN: Turn = (None, None)


@dataclass(frozen=True, slots=True)
class Moment:
    """A column of time.

    A turn is an iteration or alternative of ``step``; an ``elided`` moment has the first and last iteration
    that were not recorded. ``start`` (step -1) has the arguments of the entry.
    """

    kind: MomentKind
    step: int
    turn: Turn = _NO_TURN


@dataclass(frozen=True, slots=True)
class Event:
    """An effect of a step on a handle; ``death`` has the cause of a death."""

    moment: int
    kind: EventKind
    step: int
    death: record.Invalidation | None = None


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A handle in one state, from within moment ``first`` to within ``last``; ``change`` is the last of it."""

    first: int
    last: int
    change: record.HandleChange

    @property
    def state(self) -> record.HandleState:
        """The state."""
        return self.change.state


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The events and states of a handle; no ``spans`` if the defining step did not succeed."""

    handle: record.HandleRecord
    events: tuple[Event, ...]
    spans: tuple[StateSpan, ...]


@dataclass(frozen=True, slots=True)
class Bracket:
    """The moments of a step with nested steps, both ends included; ``turns`` has those of each turn."""

    step: int
    first: int
    last: int
    depth: int
    turns: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Lifelines:
    """All lifelines of a trace, in order of definition, over its moments."""

    moments: tuple[Moment, ...]
    brackets: tuple[Bracket, ...]
    lines: tuple[Lifeline, ...]


def lifelines(trace: record.Trace) -> Lifelines:
    """Return the lifeline of every handle of a trace.

    Moments follow the nesting of steps, which is the order of execution except for steps that never ran.
    """
    order = _Order(trace)
    order.place_all()
    life = _LifelineBuilder(trace, order)
    life.collect()
    lines = tuple(Lifeline(h, tuple(life.events.get(h.id, ())), life.spans(h)) for h in trace.handle_records)
    return Lifelines(tuple(order.moments), tuple(sorted(order.brackets, key=lambda b: b.first)), lines)


@dataclass
class _Order:
    """Moments in the order of nesting, with the start, end and turns of each step."""

    trace: record.Trace
    moments: list[Moment] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    begins: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    # Moment at which (step, turn) begins, and the last one in it.
    turns: dict[tuple[int, Turn], tuple[int, int]] = field(default_factory=dict)

    def place_all(self) -> None:
        inside: dict[int | None, dict[Turn, list[record.TraceStep]]] = {}
        for step in self.trace.step_records:
            turns = inside.setdefault(step.parent, {})
            turns.setdefault((step.iteration, step.alternative), []).append(step)
        if any(h.defined_by < 0 for h in self.trace.handle_records):
            self.moments.append(Moment("start", -1))
        for steps in inside.get(None, {}).values():
            for step in steps:
                self._place(step, inside)
        self.turns[-1, _NO_TURN] = (0, len(self.moments) - 1)

    def _place(
        self, step: record.TraceStep, inside: dict[int | None, dict[Turn, list[record.TraceStep]]]
    ) -> None:
        first = self._add(Moment("step", step.index))
        self.begins[step.index] = self.ends[step.index] = first
        if step.index not in inside:
            return
        turns = []
        elisions = sorted((e for e in self.trace.elided if e.parent == step.index), key=lambda e: e.first)
        for turn, steps in inside[step.index].items():
            elisions = self._elide(elisions, turn[0])
            begin = first if turn == _NO_TURN else self._add(Moment("turn", step.index, turn))
            for each in steps:
                self._place(each, inside)
            self.turns[step.index, turn] = (begin, len(self.moments) - 1)
            turns.append((begin, len(self.moments) - 1))
        self._elide(elisions, None)
        if step.results or step.changes or step.invalidated:
            self.ends[step.index] = self._add(Moment("end", step.index))
        self.brackets.append(Bracket(step.index, first, len(self.moments) - 1, step.depth, tuple(turns)))

    def _elide(self, elisions: list[record.Elision], before: int | None) -> list[record.Elision]:
        """Add the elided iterations before an iteration (None: all); return the rest."""
        now = [e for e in elisions if before is None or e.first < before]
        for each in now:
            self._add(Moment("elided", each.parent, (each.first, each.last)))
        return elisions[len(now) :]

    def _add(self, moment: Moment) -> int:
        self.moments.append(moment)
        return len(self.moments) - 1


def _block_of(step: record.TraceStep) -> tuple[int, Turn]:
    return -1 if step.parent is None else step.parent, (step.iteration, step.alternative)


@dataclass
class _LifelineBuilder:
    """Events and states of each handle, collected in the order of moments."""

    trace: record.Trace
    order: _Order
    events: dict[str, list[Event]] = field(default_factory=dict)
    states: dict[str, list[tuple[int, record.HandleChange]]] = field(default_factory=dict)
    # Where a handle's scope ends.
    until: dict[str, int] = field(default_factory=dict)

    def collect(self) -> None:
        for handle in self.trace.handle_records:
            if handle.defined_by < 0 and not handle.path:
                self._born(handle.id, 0, -1)
        for moment in self.order.moments:
            if moment.step < 0 or moment.kind not in ("step", "end"):
                continue
            step = self.trace.step_records[moment.step]
            if moment.kind == "step":
                self._take_arguments(step)
                self._use(step)
            if moment.kind == "end" or self.order.ends[step.index] == self.order.begins[step.index]:
                self._have_effect(step)

    def _born(self, handle: str, moment: int, step: int) -> None:
        self.events.setdefault(handle, []).append(Event(moment, "made", step))

    def _take_arguments(self, step: record.TraceStep) -> None:
        for change in step.changes:
            if change.handle in step.results or self.states.get(change.handle):
                continue
            handle = self.trace.handle(change.handle)
            at = 0
            if handle.path or handle.defined_by >= 0:
                at, self.until[handle.id] = self.order.turns.get(_block_of(step), (0, 0))
                self._born(handle.id, at, handle.defined_by)
            self.states[handle.id] = [(at, change)]

    def _use(self, step: record.TraceStep) -> None:
        begin, end = self.order.begins[step.index], self.order.ends[step.index]
        fatal = {d.by for d in step.invalidated}
        seen = set()
        for operand in step.operands:
            kind: EventKind = "consumed" if operand.effect == "consume" else "read"
            if (operand.handle, kind) not in seen:
                seen.add((operand.handle, kind))
                # What a step with others inside consumes dies when it ends.
                at = end if operand.handle in fatal and kind == "consumed" else begin
                self.events.setdefault(operand.handle, []).append(Event(at, kind, step.index))

    def _have_effect(self, step: record.TraceStep) -> None:
        at = self.order.ends[step.index]
        changed = {c.handle for c in step.changes}
        for handle in step.results:
            if handle in changed:
                self._born(handle, at, step.index)
                self.until[handle] = self.order.turns[_block_of(step)][1]
        for change in step.changes:
            known = self.states.setdefault(change.handle, [])
            if not known or known[-1][1] is not change:
                known.append((at, change))
        for death in step.invalidated:
            self.events.setdefault(death.handle, []).append(Event(at, "dead", step.index, death))

    def spans(self, handle: record.HandleRecord) -> tuple[StateSpan, ...]:
        last = self.until.get(handle.id, len(self.order.moments) - 1)
        known = self.states.get(handle.id, [])
        if not known and handle.defined_by < 0 and not handle.path:
            known = [(0, record.HandleChange(handle.id, "live"))]
        groups = [list(group) for _, group in itertools.groupby(known, key=lambda pair: pair[1].state)]
        starts = [group[0][0] for group in groups]
        ends = [*starts[1:], *(max(start, last) for start in starts[-1:])]
        changes = [group[-1][1] for group in groups]
        return tuple(map(StateSpan, starts, ends, changes))
