"""The records of a timeline drawing, and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.model.trace_record import HandleState, Trace
from lhkit.traces.record.handle_history import death_in_few_words, death_in_words, payload_in_words
from lhkit.traces.timeline.lifelines import Event, EventKind, Lifeline

ColumnKind = Literal["start", "step", "turn", "end", "fold", "elided"]
RowKind = Literal["op", "value", "param"]
StepMark = Literal["", "failed", "crashed", "suppressed", "not-run", "warning"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: one moment, or several in a fold; ``note`` says what is wrong, and ``mark`` of which kind."""

    kind: ColumnKind
    step: int | None
    name: str
    title: str
    moments: tuple[int, int]
    depth: int = 0
    steps: int = 0
    note: str = ""
    mark: StepMark = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event of a row's handles; ``step`` is the first, -1 for an argument; late is a use after death."""

    column: int
    kind: EventKind
    count: int
    step: int
    is_late: bool
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A state from column ``first`` to column ``last``.

    It begins with the event in ``first``, and ends with that in ``last``, or behind it if it ``runs_on``.
    """

    first: int
    last: int
    runs_on: bool
    state: HandleState
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A handle, or several folded ones; ``state`` is None for one that was never defined."""

    handles: tuple[str, ...]
    name: str
    kind: RowKind
    is_folded: bool
    note: str
    state: HandleState | None
    marks: tuple[Mark, ...]
    bars: tuple[Bar, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc from the handle that a step consumed to those that it invalidated: ``to_rows`` in one column."""

    column: int
    step: int
    from_row: int
    to_rows: tuple[int, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Group:
    """The columns of a step with nested steps, both ends included."""

    step: int
    first: int
    last: int
    depth: int
    name: str


@dataclass(frozen=True, slots=True)
class Fold:
    """A folded part, drawn in full."""

    label: str
    sheets: tuple[TimelineDrawing, ...]


@dataclass(frozen=True, slots=True)
class TimelineDrawing:
    """A handle timeline, or a part of one.

    ``elsewhere`` counts the handles without events in this part. ``overview`` is the same with all nested steps
    folded; None if that is no different, or if there are folds.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    arcs: tuple[Arc, ...]
    groups: tuple[Group, ...]
    verdict: str
    elsewhere: int
    folds: tuple[Fold, ...] = ()
    overview: TimelineDrawing | None = None


_VERBS = {"made": "makes", "read": "reads", "consumed": "consumes"}
_KINDS = {"op": "a handle to payload ops", "value": "a handle to values of the payload", "param": "a parameter"}
_MOST_NAMED = 12


class RowMaker:
    """Makes rows for some columns."""

    def __init__(self, trace: Trace, columns: Sequence[Column], names: dict[str, str]) -> None:
        self._trace, self._columns, self._names = trace, columns, names
        self._moments = (columns[0].moments[0], columns[-1].moments[1])
        self._column_of = {m: i for i, c in enumerate(columns) for m in range(c.moments[0], c.moments[1] + 1)}

    def events(self, line: Lifeline) -> list[Event]:
        """Return the events of a handle in these columns."""
        return [e for e in line.events if e.moment in self._column_of]

    def column_of(self, event: Event) -> int:
        """Return the column of an event."""
        return self._column_of[event.moment]

    def is_in_folds(self, line: Lifeline) -> bool:
        """Return True if all events of a handle are in folded columns."""
        events = self.events(line)
        return bool(events) and all(self._columns[self.column_of(e)].kind == "fold" for e in events)

    def signature(self, line: Lifeline) -> object:
        """Return a key that is equal for handles that look alike."""
        marks = Counter((self.column_of(e), e.kind) for e in self.events(line))
        return line.handle.kind, tuple(sorted(marks.items())), tuple(s.state for s in line.spans)

    def row(self, line: Lifeline) -> Row:
        """Return the row of one handle."""
        handle = line.handle
        state = line.spans[-1].state if line.spans else None
        name = self._names[handle.id]
        title = f"{name}, {_KINDS[handle.kind]}"
        if handle.path:
            title += f", inside step {handle.path[-1]}"
        if not line.spans:
            title += f"; {_undefined_state(self._trace, line)}: step {handle.defined_by} did not succeed"
        note, marks = note_of(self._trace, line, self._names), self._marks([line])
        return Row((handle.id,), name, handle.kind, False, note, state, marks, self._bars(line), title)

    def folded(self, lines: Sequence[Lifeline], *, alike: bool = False) -> Row:
        """Return the counted row of several handles; if ``alike``, with the bars of the first."""
        ids = tuple(line.handle.id for line in lines)
        states = Counter(line.spans[-1].state if line.spans else None for line in lines)
        kind = lines[0].handle.kind
        what = ("parameter" if kind == "param" else "handle") + ("s" if len(lines) > 1 else "")
        note = ", ".join(
            f"{n} {'✕ invalidated' if s == 'invalid' else s or 'never made'}" for s, n in states.items()
        )
        listed = ", ".join(self._names[i] for i in ids[:_MOST_NAMED])
        more = f", … {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
        name, title = f"⋯ {len(lines)} more {what}", f"{len(lines)} {what}, folded: {listed}{more}"
        state = "invalid" if states["invalid"] == len(lines) else next((s for s in states if s), None)
        bars = self._bars(lines[0]) if alike else ()
        return Row(ids, name, kind, True, note, state, self._marks(lines), bars, title)

    def _marks(self, lines: Sequence[Lifeline]) -> tuple[Mark, ...]:
        found: dict[tuple[int, EventKind], list[tuple[Event, Lifeline]]] = {}
        late = set()
        for line in lines:
            died = min((e.moment for e in line.events if e.kind == "dead"), default=None)
            for event in self.events(line):
                key = (self.column_of(event), event.kind)
                found.setdefault(key, []).append((event, line))
                if died is not None and died < event.moment and event.kind in ("read", "consumed"):
                    late.add(key)
        return tuple(self._mark(key[0], found[key], is_late=key in late) for key in sorted(found))

    def _mark(self, column: int, events: Sequence[tuple[Event, Lifeline]], *, is_late: bool) -> Mark:
        event, line = events[0]
        name = self._names[line.handle.id]
        if event.death is not None:
            said = death_in_words(self._trace, event.step, event.death, self._names)
        elif event.step < 0:
            said = f"{name} is an argument of @{self._trace.schedule.entry}"
        else:
            said = f"step {event.step} ({self._trace.step_records[event.step].op}) {_VERBS[event.kind]} {name}"
            said += ", which is invalidated" if is_late else ""
        said += f"; and {len(events) - 1} more like it" if len(events) > 1 else ""
        return Mark(column, event.kind, len(events), event.step, is_late, said)

    def _bars(self, line: Lifeline) -> tuple[Bar, ...]:
        first, last = self._moments
        bars = []
        for i, span in enumerate(line.spans):
            if span.last < first or span.first > last:
                continue
            begin = self._column_of[span.first] if span.first >= first else -1
            is_end = i == len(line.spans) - 1 or span.last > last
            end = self._column_of[min(span.last, last)]
            if begin == end and not is_end:
                continue
            title = f"{self._names[line.handle.id]}: {span.state}"
            if span.state == "live" and span.change.payload:
                verb = "holds" if line.handle.kind == "param" else "points to"
                title += f", {verb} {payload_in_words(self._trace, span.change)}"
            bars.append(Bar(begin, end, is_end, span.state, title))
        return tuple(bars)


def note_of(trace: Trace, line: Lifeline, names: dict[str, str]) -> str:
    """Return the step and cause of a handle's death; without one, what it is at the end."""
    for event in line.events:
        if event.death is not None:
            return f"✕ {death_in_few_words(event.step, event.death, names)}"
    if not line.spans:
        return _undefined_state(trace, line)
    change = line.spans[-1].change
    if change.state == "live" and change.payload:
        return payload_in_words(trace, change).replace(" : i64", "")
    return change.state


def _undefined_state(trace: Trace, line: Lifeline) -> str:
    """Return the state of a handle without a lifeline; after a crash it is unknown."""
    by, steps = line.handle.defined_by, trace.step_records
    has_crashed = 0 <= by < len(steps) and steps[by].status == "crashed"
    return "not known" if has_crashed else "never made"
