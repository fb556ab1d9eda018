"""Structured ops that were left beside vectorized ones."""

from __future__ import annotations

from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.warnings.warning_kind import VECTORIZE_CHILDREN, Messages, WarningKind, vectorizing_steps

_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for")
_WITHOUT_LOOPS = ("linalg.yield", "linalg.index")


def _find(history: PayloadHistory) -> Messages:
    trace = history.trace
    steps = vectorizing_steps(trace)
    if not steps:
        return
    alive = history.alive_before(len(trace.step_records))
    left = [o for o in alive if o.name.startswith("linalg.") and o.name not in _WITHOUT_LOOPS]
    reported: set[str] = set()
    for step in steps if left else ():
        if step.op == VECTORIZE_CHILDREN:
            payloads = [c.payload for c in step.changes if c.handle in step.results]
            targets = {r for payload in payloads for r in payload if isinstance(r, str)}
            where, these = "its target", [o for o in left if history.lies_in(o, targets)]
        else:
            vectorized = [p for p in map(trace.op, step.payload_delta.erased) if p.name.startswith("linalg.")]
            loops = {p.parent for p in vectorized if p.parent and trace.op(p.parent).name in _LOOPS}
            where, these = "the same loop", [o for o in left if o.parent in loops]
        if new := [o.id for o in these if o.id not in reported]:
            reported.update(new)
            names = ", ".join(dict.fromkeys(op_in_words(trace, each) for each in new))
            yield step.index, f"in {where} are left, and will run element by element: {names}"


SCALAR_CODE_LEFT = WarningKind(
    "scalar-code-left",
    "Beside vectorized ops, structured ops are left that will run element by element.",
    _find,
)
