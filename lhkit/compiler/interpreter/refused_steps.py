"""Steps that would end the process, told just before they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lhkit.compiler.ir.bindings import ir
from lhkit.model.fatal_attributes import (
    ALTERNATIVES_ON_COPY,
    ALTERNATIVES_ON_ROOT,
    find_fatal_request,
    may_be_fatal,
    too_many_copies,
)
from lhkit.model.trace_record import ParamReference

if TYPE_CHECKING:
    from lhkit.compiler.interpreter.handle_frames import Handle
    from lhkit.compiler.interpreter.plan import PlannedOp

_UNROLL = ("transform.loop.unroll", "transform.loop.unroll_and_jam")
# With the attribute that gives an operand of the op they are for; sizes of other groups mean something else.
_TAKES_PARAMETERS = ("transform.structured.pad",)


def fatal_request_of(op: Any, parameters: Sequence[int] = ()) -> str | None:
    """Return what in a transform op would end the process once it has payload, None if nothing would."""
    if not may_be_fatal(op.name):
        return None
    attributes = {name: str(op.attributes[name]) for name in op.attributes}
    return find_fatal_request(op.name, attributes, [str(r.type) for r in op.results], parameters)


def find_fatal_use(op: PlannedOp, handles: Sequence[Handle], state: Any, root: Any) -> str | None:
    """Return why the next step would end the process, None if it would not.

    Args:
        op: The step.
        handles: What its operands are now.
        state: The interpreter's state.
        root: The root of the payload.
    """
    dangling = next((h for h in handles if h.erased_by), None)
    if dangling is not None:
        return f"{dangling.planned.name} points to a payload op that an earlier {dangling.erased_by} erased"
    if not handles or handles[0].state != "live":
        return None
    if op.name in _TAKES_PARAMETERS and len(handles) > 1:
        return fatal_request_of(op.op, [n for h in handles[1:] for n in _integers(h)])
    if op.fatal is not None:
        return op.fatal
    if op.name == "transform.alternatives":
        loose = [o for o in state.get_payload_ops(handles[0].planned.value) if o.operation.parent is None]
        return None if not loose else ALTERNATIVES_ON_ROOT if root in loose else ALTERNATIVES_ON_COPY
    if op.name in _UNROLL:
        factor = ir.IntegerAttr(op.op.attributes["factor"]).value
        loops = [o.operation for o in state.get_payload_ops(handles[0].planned.value)]
        return too_many_copies(max((_copies(o, factor) for o in loops), default=0))
    return None


def _integers(handle: Handle) -> list[int]:
    texts = [r.param.partition(" ")[0] for r in handle.payload if isinstance(r, ParamReference)]
    return [int(text) for text in texts if text.lstrip("-").isdigit()]


def _copies(loop: Any, factor: int) -> int:
    """Return how often the ops of a loop's body are copied by an unrolling."""
    if loop.name != "scf.for":
        return 0
    trips = factor
    bounds = [_constant(v) for v in list(loop.operands)[:3]]
    if None not in bounds:
        lower, upper, step = (b for b in bounds if b is not None)
        trips = min(factor, max(0, -(-(upper - lower) // step)) if step > 0 else factor)
    return trips


def _constant(value: Any) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
