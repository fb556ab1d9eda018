"""The records of a trace as pandas frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from lhkit.model.trace_record import STATE_WORDS, Effect, HandleRecord, PayloadOp, Trace, TraceStep
from lhkit.traces.record.handle_history import deaths, display_names, states_at_end
from lhkit.traces.record.placed_ops import shown_delta, source_places

if TYPE_CHECKING:
    import pandas as pd

_Record = TypeVar("_Record")
_Columns = Mapping[str, Callable[[_Record], Any]]


def steps_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per step, by its index: op, place, nesting, status, handles, counts, time in ns."""
    names = display_names(trace)
    columns: _Columns[TraceStep] = {
        "step": lambda s: s.index,
        "op": lambda s: s.op,
        "file": lambda s: s.source.file if s.source else None,
        "line": lambda s: s.source.line if s.source else None,
        "depth": lambda s: s.depth,
        "parent": lambda s: s.parent,
        "iteration": lambda s: s.iteration,
        "alternative": lambda s: s.alternative,
        "status": lambda s: s.status,
        "reads": lambda s: _used(s, "read", names),
        "consumes": lambda s: _used(s, "consume", names),
        "results": lambda s: tuple(names[r] for r in s.results),
        "invalidated": lambda s: len(s.invalidated),
        "created": lambda s: len(shown_delta(trace, s.index).created),
        "erased": lambda s: len(shown_delta(trace, s.index).erased),
        "changed": lambda s: len(shown_delta(trace, s.index).changed),
        "moved": lambda s: len(shown_delta(trace, s.index).moved),
        "warnings": lambda s: tuple(w.kind for w in s.warnings),
        "time_ns": lambda s: s.time_ns,
    }
    return _frame(trace.step_records, columns, ("line", "parent", "iteration", "alternative"))


def _frame(records: Iterable[_Record], columns: _Columns[_Record], nullable: Iterable[str]) -> pd.DataFrame:
    """Return one row per record, indexed by the first column; nullable columns hold integers.

    Words are of pandas' own type, so that what is missing is written as in columns of integers: ``<NA>``.
    """
    import pandas as pd

    rows = [{name: value_of(record) for name, value_of in columns.items()} for record in records]
    frame = pd.DataFrame(rows, columns=list(columns))
    words = [name for name in columns if all(row[name] is None or isinstance(row[name], str) for row in rows)]
    types = dict.fromkeys(words, "string") | dict.fromkeys(nullable, "Int64")
    return frame.astype(types).set_index(next(iter(columns)))


def _used(step: TraceStep, effect: Effect, names: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[o.handle] for o in step.operands if o.effect == effect))


def handles_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per handle, by its id: name, kind, birth, final state, uses, and what invalidated it.

    ``payload_at_birth`` and ``payload_at_end`` count its payload; ``invalidated_at``, ``cause`` and
    ``invalidated_by`` are missing for handles that no step invalidated.
    """
    names, died, last = display_names(trace), deaths(trace), states_at_end(trace)
    uses = Counter(o.handle for s in trace.step_records for o in s.operands)
    first: dict[str, int] = {}
    for step in trace.step_records:
        for change in step.changes:
            first.setdefault(change.handle, len(change.payload))
    columns: _Columns[HandleRecord] = {
        "handle": lambda h: h.id,
        "name": lambda h: h.name,
        "kind": lambda h: h.kind,
        "sequence": lambda h: h.sequence,
        "path": lambda h: h.path,
        "defined_by": lambda h: h.defined_by,
        "uses": lambda h: uses[h.id],
        "payload_at_birth": lambda h: first.get(h.id),
        "payload_at_end": lambda h: len(last[h.id].payload) if h.id in last else None,
        "state": lambda h: STATE_WORDS[last[h.id].state] if h.id in last else None,
        "invalidated_at": lambda h: died[h.id].step if h.id in died else None,
        "cause": lambda h: died[h.id].invalidation.cause if h.id in died else None,
        "invalidated_by": lambda h: names[died[h.id].invalidation.by] if h.id in died else None,
    }
    return _frame(trace.handle_records, columns, ("payload_at_birth", "payload_at_end", "invalidated_at"))


def ops_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per payload op, by its id: name, parent, origins, birth, end, place of its source op."""
    places = dict(zip((o.id for o in trace.op_records), source_places(trace), strict=True))
    columns: _Columns[PayloadOp] = {
        "id": lambda o: o.id,
        "name": lambda o: o.name,
        "parent": lambda o: o.parent,
        "derived_from": lambda o: o.derived_from,
        "born": lambda o: o.born,
        "died": lambda o: o.died,
        "file": lambda o: place.file if (place := places[o.id]) else None,
        "line": lambda o: place.line if (place := places[o.id]) else None,
    }
    return _frame(trace.op_records, columns, ("died", "line"))
