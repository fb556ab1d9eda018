"""The warning about a handle that is called like one op and holds another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lhkit.model.trace_record import PayloadOp
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.op_names import held_ops, is_called, is_target, words_of
from lhkit.traces.record.placed_ops import op_in_words

_MATCH = "transform.structured.match"
VECTORIZE_CHILDREN = "transform.structured.vectorize_children_and_apply_patterns"


def find_other_named(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the matches whose handle is called like an op that no handle points to, and holds another one."""
    trace = history.trace
    matches = [s for s in trace.step_records if s.op == _MATCH and s.status == "ok" and len(s.results) == 1]
    held = held_ops(trace) if matches else set[str]()
    for step in matches:
        found = [
            trace.op(r)
            for c in step.changes
            if c.handle in step.results
            for r in c.payload
            if isinstance(r, str)
        ]
        name = trace.handle(step.results[0]).name
        is_meant = partial(is_called, words_of(name), trace)
        if not found or not all(is_target(o.name) for o in found) or any(map(is_meant, found)):
            continue
        others = [o for o in history.alive_before(step.index) if is_target(o.name) and o.id not in held]
        if (other := next((o for o in others if is_meant(o) and _stays(history, o)), None)) is not None:
            yield (
                step.index,
                f"{name} holds the {op_in_words(trace, found[0].id)}, and the {op_in_words(trace, other.id)},"
                " which is called so, is in no handle",
            )


def _stays(history: PayloadHistory, op: PayloadOp) -> bool:
    """Return whether no step changed an op to the end, but for one that vectorizes all of a function."""
    if op.died is not None:
        return history.trace.step_records[op.died].op == VECTORIZE_CHILDREN
    return len(history.descendants([op.id])) == 0
