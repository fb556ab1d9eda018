"""Names that schedules and payloads give: of a handle, of a value, of an op; and which ops handles point to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.traces.record.placed_ops import SameTrace, source_place

_NO_TARGETS = ("linalg.yield", "linalg.index")


def is_target(name: str) -> bool:
    """Return True for a structured op that a step may be for."""
    return name.startswith("linalg.") and name not in _NO_TARGETS


def words_of(name: str) -> set[str]:
    """Return the words in a name of a handle, a value or an op, of more than two letters."""
    return {word for word in re.split(r"[^a-z]+", name.lower()) if len(word) > 2}


def means(words: Collection[str], trace: Trace, ops: Iterable[PayloadOp]) -> bool:
    """Return True if words name one of some payload ops: by its kind, or by its value in the payload's text."""
    for op in ops:
        names = words_of(op.name.partition(".")[2]) | _value_words(SameTrace(trace), op.id)
        names |= {"product"} if is_product(op.name) else set()
        if any(w == n or (len(w) > 3 and w.startswith(n)) for w in words for n in names):
            return True
    return False


@lru_cache(maxsize=512)
def _value_words(same: SameTrace, op_id: str) -> frozenset[str]:
    """Return the words in the name of an op's value, as the payload is written."""
    place = source_place(same.trace, same.trace.op(op_id))
    lines = dict(same.trace.texts).get(place.file, "").splitlines() if place else []
    if place is None or not 1 <= place.line <= len(lines):
        return frozenset()
    head = re.match(r"\s*%([\w$.-]+)(?::\d+)? = ", lines[place.line - 1][: place.column])
    return frozenset(words_of(head[1])) if head else frozenset()


def is_called(words: Collection[str], trace: Trace, op: PayloadOp) -> bool:
    """Return True if words are all of the name of an op's value, or of its kind."""
    names = _value_words(SameTrace(trace), op.id), words_of(op.name.partition(".")[2])
    return bool(words) and set(words) in names


def held_ops(trace: Trace, without: Collection[str] = ()) -> set[str]:
    """Return the ops that handles point to at any time, handles to leave out by id."""
    return {
        reference
        for step in trace.step_records
        for change in step.changes
        if change.handle not in without
        for reference in change.payload
        if isinstance(reference, str)
    }


def is_product(name: str) -> bool:
    """Return whether a name is that of a product or a convolution."""
    return is_target(name) and any(part in name for part in ("mat", "conv", "dot"))
