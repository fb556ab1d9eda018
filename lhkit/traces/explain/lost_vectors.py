"""What vectorization left behind: contractions without vector.contract, scalar ops, vectors too large."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from lhkit.model.trace_record import PayloadOp, Trace, TraceStep, TraceWarning
from lhkit.model.warning_kinds import MOST_VECTOR_ELEMENTS
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.placed_ops import op_in_words

VECTORIZE = "transform.structured.vectorize"
VECTORIZE_CHILDREN = "transform.structured.vectorize_children_and_apply_patterns"

_PRODUCTS = ("arith.mulf", "arith.muli")
_SUMS = ("arith.addf", "arith.addi")
_CONTRACTIONS = ("vector.contract", "vector.outerproduct", "vector.fma", "math.fma")
_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for")
_VECTOR = re.compile(r"vector<((?:\[?\d+\]?x)+)")

Found = Iterator[tuple[int, TraceWarning]]


def vectorizing_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps that vectorize."""
    return [s for s in trace.step_records if s.op in (VECTORIZE, VECTORIZE_CHILDREN) and s.status == "ok"]


def lost_contractions(trace: Trace, history: PayloadHistory) -> Found:
    """Yield a warning for each step that made product and reduction of a contraction, and nothing put it right.

    The reduction carries on from the sum in the body of the structured op, so that it is known where it comes
    from; patterns that turn it into a contraction later derive that from it.
    """
    for step in vectorizing_steps(trace):
        erased = set(step.payload_delta.erased)
        bodies: dict[str, list[PayloadOp]] = {}
        for op_id in step.payload_delta.erased:
            op = trace.op(op_id)
            if op.parent in erased and op.name in _PRODUCTS + _SUMS:
                bodies.setdefault(op.parent or "", []).append(op)
        for owner, body in bodies.items():
            sums = [o.id for o in body if o.name in _SUMS]
            if sums and any(o.name in _PRODUCTS for o in body):
                if (reduction := _reduction_left(history, step, sums)) is None:
                    continue
                what = op_in_words(trace, owner)
                yield (
                    step.index,
                    TraceWarning(
                        "lost-contraction",
                        f"the {what} became {reduction.name} of a product, and nothing made a"
                        " vector.contract of it: add create_named_contraction, or apply the pattern"
                        " vector.reduction_to_contract before any canonicalization",
                    ),
                )


def _reduction_left(history: PayloadHistory, step: TraceStep, sums: list[str]) -> PayloadOp | None:
    made = history.descendants(sums)
    reductions = [o for o in made if o.name == "vector.multi_reduction" and o.born == step.index]
    if not reductions or any(o.name in _CONTRACTIONS for o in made):
        return None
    return reductions[0]


def scalar_leftovers(trace: Trace, history: PayloadHistory) -> Found:
    """Yield a warning for each vectorizing step with structured ops left beside it or in its target."""
    steps = vectorizing_steps(trace)
    if not steps:
        return
    end = len(trace.step_records)
    left = [o for o in history.alive_before(end) if o.name.startswith("linalg.") and _has_loops(o)]
    told: set[str] = set()
    for step in steps if left else ():
        if step.op == VECTORIZE_CHILDREN:
            these = [o for o in left if history.lies_in(o, _targets(trace, step))]
        else:
            around = {p for p in map(trace.op, step.payload_delta.erased) if p.name.startswith("linalg.")}
            loops = {p.parent for p in around if p.parent and trace.op(p.parent).name in _LOOPS}
            these = [o for o in left if o.parent in loops]
        if new := [o for o in these if o.id not in told]:
            told |= {o.id for o in new}
            names = ", ".join(dict.fromkeys(op_in_words(trace, o.id) for o in new))
            where = "its target" if step.op == VECTORIZE_CHILDREN else "the same loop"
            yield (
                step.index,
                TraceWarning(
                    "scalar-code-left", f"in {where} are left, and will run element by element: {names}"
                ),
            )


def _has_loops(op: PayloadOp) -> bool:
    return op.name not in ("linalg.yield", "linalg.index")


def _targets(trace: Trace, step: TraceStep) -> set[str]:
    after = {c.handle: c for c in step.changes}
    return {r for h in step.results if h in after for r in after[h].payload if isinstance(r, str)}


def large_vectors(trace: Trace) -> Found:
    """Yield a warning for the step that made the largest vector of the last payload, if it is too large."""
    largest = _largest_vector(trace.last_snapshot_text())
    if largest is None or any(w.kind == "vector-too-large" for s in trace.step_records for w in s.warnings):
        return
    elements, written = largest
    for step in trace.steps_by_end():
        makes = any(trace.op(o).name.startswith("vector.") for o in step.payload_delta.created)
        if makes and written in (trace.snapshot_text(step.index) or ""):
            message = (
                f"the payload has {written.rstrip('x')}…>, a vector of {elements} elements, more than"
                f" {MOST_VECTOR_ELEMENTS}; LLVM may take minutes: tile before vectorizing"
            )
            yield step.index, TraceWarning("vector-too-large", message)
            return


def _largest_vector(text: str) -> tuple[int, str] | None:
    shapes = {m[0]: math.prod(map(int, re.findall(r"\d+", m[1]))) for m in _VECTOR.finditer(text)}
    large = [(n, shape) for shape, n in shapes.items() if n > MOST_VECTOR_ELEMENTS]
    return max(large, default=None)
