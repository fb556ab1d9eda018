"""What a handle timeline draws: columns, rows, marks, bars, arcs; tests look at these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lhkit.model.trace_record import HandleState
from lhkit.traces.timeline.lifelines import EventKind

ColumnKind = Literal["start", "step", "turn", "end", "fold", "elided"]
RowKind = Literal["op", "value", "param"]
StepMark = Literal["", "failed", "crashed", "suppressed", "not-run", "warning"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        kind: What it stands for; ``fold`` for several moments, ``elided`` for iterations that are not recorded.
        step: Index of the step, or None.
        name: The op's short name, or what else it is.
        note: What is wrong with it, in words; empty if nothing is.
        mark: The kind of what is wrong with it.
        title: All of that in full.
        depth: How many steps it is inside of.
        steps: How many steps it stands for.
        moments: First and last of the moments that it stands for.
    """

    kind: ColumnKind
    step: int | None
    name: str
    note: str
    mark: StepMark
    title: str
    depth: int
    steps: int
    moments: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """What happened to a row's handles in a column.

    Attributes:
        column: In which.
        kind: What.
        count: How many times.
        step: The first step that did it, -1 for an argument of the entry.
        is_late: A use after death.
        title: All of that in words.
    """

    column: int
    kind: EventKind
    count: int
    step: int
    is_late: bool
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A state from column ``first`` to column ``last``.

    It begins with what column ``first`` does, and ends with what ``last`` does, or behind it if it ``runs_on``.
    """

    first: int
    last: int
    runs_on: bool
    state: HandleState
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A handle, or several that are folded.

    Attributes:
        handles: Their ids.
        name: Of the one, or how many there are.
        kind: What they are handles to.
        is_folded: Whether it is a counted row.
        note: How it ended: the step and cause of its death, or what it points to.
        state: The state at the end, None where it was never made.
        marks: In order of columns.
        bars: In order.
        title: Who it is, in full.
    """

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
    """From the handle that a step consumed to the others that died of it: ``to_rows`` in one column."""

    column: int
    step: int
    from_row: int
    to_rows: tuple[int, ...]
    title: str


@dataclass(frozen=True, slots=True)
class Group:
    """A step with others inside: its columns, both included."""

    step: int
    first: int
    last: int
    depth: int
    name: str


@dataclass(frozen=True, slots=True)
class Fold:
    """What is folded away, drawn in full."""

    label: str
    sheets: tuple[TimelineDrawing, ...]


@dataclass(frozen=True, slots=True)
class TimelineDrawing:
    """A handle timeline, or a part of one.

    Attributes:
        title: What it is of.
        columns: In order.
        rows: In order; those of parameters last.
        arcs: From consumed handles to those that died with them.
        groups: Brackets, outer ones first.
        verdict: How the schedule ended, in a sentence; empty for a part.
        elsewhere: How many handles a part does not show, as nothing happens to them in it.
        folds: What is folded away.
        overview: The same with the inside of every step folded; None where that is no different, or where
            something is folded already.
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
