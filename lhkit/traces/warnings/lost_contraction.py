"""A contraction that vectorization left as product and reduction."""

from __future__ import annotations

from lhkit.model.trace_record import PayloadOp, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.warnings.warning_kind import Messages, WarningKind, vectorizing_steps

_PRODUCTS = ("arith.mulf", "arith.muli")
_SUMS = ("arith.addf", "arith.addi")
_CONTRACTIONS = ("vector.contract", "vector.outerproduct", "vector.fma", "math.fma")


def _find(history: PayloadHistory) -> Messages:
    trace = history.trace
    for step in vectorizing_steps(trace):
        erased = set(step.payload_delta.erased)
        bodies: dict[str, list[PayloadOp]] = {}
        for op in map(trace.op, step.payload_delta.erased):
            if op.parent in erased and op.name in _PRODUCTS + _SUMS:
                bodies.setdefault(op.parent or "", []).append(op)
        for owner, body in bodies.items():
            sums = [o.id for o in body if o.name in _SUMS]
            if not sums or not any(o.name in _PRODUCTS for o in body):
                continue
            if (reduction := _reduction_left(history, step, sums)) is not None:
                yield (
                    step.index,
                    f"the {op_in_words(trace, owner)} became {reduction.name} of a product, and nothing made a"
                    " vector.contract of it: add create_named_contraction, or apply the pattern"
                    " vector.reduction_to_contract before any canonicalization",
                )


def _reduction_left(history: PayloadHistory, step: TraceStep, sums: list[str]) -> PayloadOp | None:
    """Return the reduction derived from the sums; patterns derive a later contraction from them too."""
    made = history.descendants(sums)
    if any(o.name in _CONTRACTIONS for o in made):
        return None
    return next((o for o in made if o.name == "vector.multi_reduction" and o.born == step.index), None)


LOST_CONTRACTION = WarningKind(
    "lost-contraction",
    "Vectorization left a contraction as product and reduction, not as vector.contract.",
    _find,
)
