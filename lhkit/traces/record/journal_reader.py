"""Parsing the worker's journal into the records of a trace, also after a crash."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, overload

from lhkit.model.span import Span
from lhkit.model.trace_json import handle_from_json, snapshot_from_json, step_from_json
from lhkit.model.trace_record import Elision, HandleRecord, PayloadOp, Snapshot, TraceStep

T = TypeVar("T")


class LazyTuple(Sequence[T]):
    """An immutable sequence that equals the tuple of its items, which are made at first use."""

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        """Take the function that makes the items; it must be deterministic."""
        self._make: Callable[[], Iterable[T]] | None = make
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        # Two threads may both make the items; they are equal, and one of the two stays.
        make = self._make
        if self._items is None and make is not None:
            self._items = tuple(make())
            self._make = None
        return self._items or ()

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        # What a sequence has of its own asks for one item after the other.
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyTuple):
            return self._all() == other._all()
        return self._all() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


@dataclass(slots=True)
class _Reading:
    toolchain: tuple[str, str] = ("unknown", "unknown")
    blocks: list[list[Any]] = field(default_factory=list)
    handles: list[HandleRecord] = field(default_factory=list)
    ops: list[list[Any]] = field(default_factory=list)
    died: dict[str, int] = field(default_factory=dict)
    steps: dict[int, TraceStep] = field(default_factory=dict)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    elided: list[Elision] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)

    def take(self, kind: str, *parts: Any) -> None:
        match kind:
            case "toolchain":
                self.toolchain = (parts[0], parts[1])
            case "blocks":
                self.blocks = parts[0]
            case "handle":
                self.handles.append(handle_from_json(*parts))
            case "ops":
                self.ops.append(list(parts))
            case "begin":
                step = step_from_json(parts[0])
                self.steps[step.index] = step
                self.places[step.index] = (parts[1], parts[2])
                self.pending.append(step.index)
            case "step":
                self._end(step_from_json(parts[0]))
            case "elided":
                self.elided.append(Elision(*parts))
            case "snapshot":
                self.snapshots.append(snapshot_from_json(parts[0]))
            case _:
                raise ValueError(f"a journal has no lines of kind {kind!r}")

    def _end(self, step: TraceStep) -> None:
        self.steps[step.index] = step
        self.pending.remove(step.index)
        self.died.update(dict.fromkeys(step.payload_delta.erased, step.index))

    def crash(self) -> int | None:
        """Mark the steps that had not ended; return the innermost."""
        for index in self.pending:
            self.steps[index] = dataclasses.replace(self.steps[index], status="crashed")
        return self.pending[-1] if self.pending else None

    def add_not_run_steps(self) -> None:
        """Add the ops that follow in their block on a step that failed."""
        ended_badly = [s for s in self.steps.values() if s.status in ("failed", "crashed", "suppressed")]
        seen = {(s.parent, s.iteration, s.alternative, *self.places[s.index]) for s in self.steps.values()}
        for step in sorted(ended_badly, key=lambda s: s.index, reverse=True):
            block, at = self.places[step.index]
            for place in range(at + 1, len(self.blocks[block])):
                if (step.parent, step.iteration, step.alternative, block, place) in seen:
                    break  # the block went on in spite of the failure
                name, source = self.blocks[block][place]
                span = Span(**source) if source else None
                index = len(self.steps)
                self.steps[index] = dataclasses.replace(
                    TraceStep(index, name, span, step.depth, step.parent, step.iteration, step.alternative),
                    status="not-run",
                )


@dataclass(frozen=True, slots=True)
class Records:
    """The tables of a trace; ``died_in`` is the step in which the worker died, or None."""

    toolchain: tuple[str, str]
    handles: tuple[HandleRecord, ...]
    steps: tuple[TraceStep, ...]
    elided: tuple[Elision, ...]
    ops: Sequence[PayloadOp]
    snapshots: tuple[Snapshot, ...]
    died_in: int | None


def read_journal(path: Path, *, died: bool) -> Records:
    """Return the records in a journal; after the worker ``died`` the last line may be cut."""
    reading = _Reading()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                break
            reading.take(*json.loads(line))
    died_in = reading.crash() if died else None
    reading.add_not_run_steps()
    steps = tuple(step for _, step in sorted(reading.steps.items()))
    return Records(
        reading.toolchain,
        tuple(reading.handles),
        steps,
        tuple(reading.elided),
        LazyTuple(partial(_ops, reading.ops, reading.died)),
        tuple(reading.snapshots),
        died_in,
    )


def _ops(batches: list[list[Any]], died: dict[str, int]) -> Iterator[PayloadOp]:
    for born, *columns in batches:
        for op_id, name, parent, origins, source in zip(*columns, strict=True):
            place = None if source is None else Span(*source)
            yield PayloadOp(op_id, name, parent, tuple(origins), born, died.get(op_id), place)
