"""The payload ops of a trace in time: which were there when, what lay inside what, what came of which."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from lhkit.model.trace_record import PayloadOp, Trace


class PayloadHistory:
    """Questions about the payload ops of a trace, indexed once.

    A step that contains others ends after them, so time is counted in the order of endings.

    Attributes:
        trace: The trace.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._ended = {s.index: i for i, s in enumerate(trace.steps_by_end())}

    @functools.cached_property
    def _made(self) -> Mapping[str, list[PayloadOp]]:
        """The ops made from each; most traces are never asked, and long ones have many thousands."""
        made: dict[str, list[PayloadOp]] = defaultdict(list)
        for op in self.trace.op_records:
            for origin in op.derived_from:
                made[origin].append(op)
        return made

    def alive_before(self, step: int) -> list[PayloadOp]:
        """Return the ops that were there when a step began (the number of steps: at the end)."""
        now = self._ended.get(step, len(self._ended))
        return [o for o in self.trace.op_records if self._born(o) < now and not self._is_dead(o, now)]

    def dead_before(self, step: int) -> list[PayloadOp]:
        """Return the ops that had been erased when a step began."""
        now = self._ended.get(step, len(self._ended))
        return [o for o in self.trace.op_records if self._is_dead(o, now)]

    def descendants(self, roots: Iterable[str]) -> list[PayloadOp]:
        """Return the ops that were made from others, directly or not."""
        found: dict[str, PayloadOp] = {}
        waiting = list(roots)
        while waiting:
            for op in self._made.get(waiting.pop(), ()):
                if op.id not in found:
                    found[op.id] = op
                    waiting.append(op.id)
        return list(found.values())

    def lies_in(self, op: PayloadOp, roots: Collection[str]) -> bool:
        """Return True if an op is one of the roots, or inside one; by where it was first seen."""
        at: str | None = op.id
        while at is not None and at not in roots:
            at = self.trace.op(at).parent
        return at is not None

    def around(self, op: PayloadOp, name: str) -> PayloadOp | None:
        """Return the innermost op of a name around an op."""
        at = op.parent
        while at is not None and self.trace.op(at).name != name:
            at = self.trace.op(at).parent
        return None if at is None else self.trace.op(at)

    def _born(self, op: PayloadOp) -> int:
        return -1 if op.born < 0 else self._ended.get(op.born, -1)

    def _is_dead(self, op: PayloadOp, now: int) -> bool:
        return op.died is not None and self._ended.get(op.died, 0) < now
