"""Origin, erasure and handles of a payload op at a step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lhkit.model.trace_record import HandleChange, ParamReference, PayloadOp, Trace
from lhkit.traces.diff.ir_lines import HandleMark
from lhkit.traces.record.handle_history import enclosing_steps, states_before
from lhkit.traces.record.placed_ops import op_in_words

_MOST_ORIGINS = 2


@dataclass(frozen=True, slots=True)
class OpRemarks:
    """Remarks on the ops of a trace, made on demand; ``handles`` maps an op to the handles that point to it."""

    trace: Trace
    handles: Mapping[str, tuple[HandleMark, ...]]
    _said: dict[tuple[int, tuple[str, ...]], str] = field(default_factory=dict)

    def origin(self, op_id: str) -> str:
        """Return which step made an op from what, or its place in the source."""
        op = self.trace.op(op_id)
        if op.born < 0:
            return op_in_words(self.trace, op_id)
        # Ops that were made together from the same ops have the same origin.
        key = (op.born, op.derived_from)
        if key not in self._said:
            self._said[key] = self._made(op)
        return f"{op.name}, {self._said[key]}"

    def ending(self, op_id: str) -> str:
        """Return which step erased an op, or ""."""
        died = self.trace.op(op_id).died
        return "" if died is None else f"; erased by {_step_in_words(self.trace, died)}"

    def _made(self, op: PayloadOp) -> str:
        origins = [op_in_words(self.trace, each) for each in op.derived_from[:_MOST_ORIGINS]]
        more = len(op.derived_from) - len(origins)
        listed = " and ".join([*origins, *([f"{more} more"] if more else [])])
        made = f"made by {_step_in_words(self.trace, op.born)}"
        return f"{made} from {listed}" if listed else made


def remarks_at(trace: Trace, step: int) -> OpRemarks:
    """Return the remarks on ops after a step."""
    before = states_before(trace, step) if step >= 0 else {}
    # Handles of other steps are out of scope.
    around = {s.index for s in enclosing_steps(trace, trace.step_records[step])} if step >= 0 else set()
    found: dict[str, list[HandleMark]] = defaultdict(list)
    for handle, state in trace.states_after(step).items():
        record = trace.handle(handle)
        if state.state != "live" or not around.issuperset(record.path):
            continue
        known = _ops_of(before[handle]) if handle in before else {}
        for op in _ops_of(state):
            found[op].append(HandleMark(handle, record.name, op not in known))
    return OpRemarks(trace, {op: tuple(those) for op, those in found.items()})


def _ops_of(state: HandleChange) -> dict[str, None]:
    references = (r for r in state.payload if not isinstance(r, ParamReference))
    return dict.fromkeys(r if isinstance(r, str) else r.op for r in references)


def _step_in_words(trace: Trace, step: int) -> str:
    return f"step {step} ({trace.step_records[step].op.removeprefix('transform.')})"
