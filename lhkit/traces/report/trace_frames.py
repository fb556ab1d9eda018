"""The records of a trace as pandas frames."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lhkit.model.trace_record import Effect, Trace, TraceStep
from lhkit.traces.record.handle_history import deaths, display_names, states_at_end
from lhkit.traces.record.placed_ops import source_places

if TYPE_CHECKING:
    import pandas as pd


def steps_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per step, by its index: op, place, nesting, status, handles, counts, time in ns."""
    import pandas as pd

    names = display_names(trace)
    rows = [
        {
            "step": s.index,
            "op": s.op,
            "file": s.source.file if s.source else None,
            "line": s.source.line if s.source else None,
            "depth": s.depth,
            "parent": s.parent,
            "iteration": s.iteration,
            "alternative": s.alternative,
            "status": s.status,
            "reads": _used(s, "read", names),
            "consumes": _used(s, "consume", names),
            "results": tuple(names[r] for r in s.results),
            "deaths": len(s.invalidated),
            "created": len(s.payload_delta.created),
            "erased": len(s.payload_delta.erased),
            "changed": len(s.payload_delta.changed),
            "moved": len(s.payload_delta.moved),
            "warnings": tuple(w.kind for w in s.warnings),
            "time_ns": s.time_ns,
        }
        for s in trace.step_records
    ]
    whole = dict.fromkeys(("line", "parent", "iteration", "alternative"), "Int64")
    return pd.DataFrame(rows, columns=_STEP_COLUMNS).astype(whole).set_index("step")


_STEP_COLUMNS = (
    *("step", "op", "file", "line", "depth", "parent", "iteration", "alternative", "status", "reads"),
    *("consumes", "results", "deaths", "created", "erased", "changed", "moved", "warnings", "time_ns"),
)


def _used(step: TraceStep, effect: Effect, names: dict[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[o.handle] for o in step.operands if o.effect == effect))


def handles_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per handle, by its id: name, kind, birth, final state, uses, and death with its cause.

    ``payload_at_birth`` and ``payload_at_end`` count what it points to; ``died_at``, ``cause`` and
    ``killed_by`` are missing for handles that did not die.
    """
    import pandas as pd

    names, died, last = display_names(trace), deaths(trace), states_at_end(trace)
    uses = Counter(o.handle for s in trace.step_records for o in s.operands)
    first: dict[str, int] = {}
    for step in trace.step_records:
        for change in step.changes:
            first.setdefault(change.handle, len(change.payload))
    rows = [
        {
            "handle": h.id,
            "name": h.name,
            "kind": h.kind,
            "sequence": h.sequence,
            "path": h.path,
            "defined_by": h.defined_by,
            "uses": uses[h.id],
            "payload_at_birth": first.get(h.id),
            "payload_at_end": len(last[h.id].payload) if h.id in last else None,
            "state": last[h.id].state if h.id in last else None,
            "died_at": died[h.id].step if h.id in died else None,
            "cause": died[h.id].invalidation.cause if h.id in died else None,
            "killed_by": names[died[h.id].invalidation.by] if h.id in died else None,
        }
        for h in trace.handle_records
    ]
    whole = dict.fromkeys(("payload_at_birth", "payload_at_end", "died_at"), "Int64")
    return pd.DataFrame(rows, columns=_HANDLE_COLUMNS).astype(whole).set_index("handle")


_HANDLE_COLUMNS = (
    *("handle", "name", "kind", "sequence", "path", "defined_by", "uses", "payload_at_birth"),
    *("payload_at_end", "state", "died_at", "cause", "killed_by"),
)


def ops_frame(trace: Trace) -> pd.DataFrame:
    """Return one row per payload op, by its id: name, parent, origins, birth, end, place of its source op."""
    import pandas as pd

    places = source_places(trace)
    rows = [
        {
            "id": o.id,
            "name": o.name,
            "parent": o.parent,
            "derived_from": o.derived_from,
            "born": o.born,
            "died": o.died,
            "file": place.file if place else None,
            "line": place.line if place else None,
        }
        for o, place in zip(trace.op_records, places, strict=True)
    ]
    columns = ("id", "name", "parent", "derived_from", "born", "died", "file", "line")
    return pd.DataFrame(rows, columns=columns).astype({"died": "Int64", "line": "Int64"}).set_index("id")
