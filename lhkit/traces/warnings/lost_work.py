"""Warnings about work that a schedule does twice or not at all: failures that nothing reports, copies left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lhkit.model.span import Span
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import ALTERNATIVES, PayloadHistory
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words, place_ops
from lhkit.traces.record.placed_values import around, live_ops, loops_around, readers, users_of

FUSE, GREEDY = "transform.structured.fuse_into_containing_op", "transform.structured.fuse"
_MATCH = "transform.structured.match"
# A failure of these is an answer and no mistake.
_GUARDS = ("transform.match.", "transform.structured.match", "transform.num_", "transform.foreach_match")

# The index of a step and the message of a warning about it.
Messages = Iterator[tuple[int, str]]


def suppressed_failures(trace: Trace) -> list[TraceStep]:
    """Return the steps that failed and were to do something, without those around them and alternatives."""
    steps = trace.step_records
    failed = [s for s in steps if s.status == "suppressed"]
    outer = {s.parent for s in failed}
    found = [s for s in failed if s.index not in outer and not s.op.startswith(_GUARDS)]
    return [s for s in found if not any(p.op == ALTERNATIVES for p in _parents(trace, s))]


def find_suppressed_failures(history: PayloadHistory) -> Messages:
    """Yield the steps that failed each time they ran, and that nothing reports."""
    trace = history.trace
    ran: dict[Span, list[TraceStep]] = defaultdict(list)
    for step in trace.step_records:
        if step.source is not None and step.status != "not-run":
            ran[step.source].append(step)
    failures = {s.index for s in suppressed_failures(trace)}
    for executions in ran.values():
        if not all(s.index in failures for s in executions):
            continue
        first = executions[0]
        said = next((d.message.partition("\n")[0] for d in first.diagnostics if d.severity == "error"), "")
        by = next((p for p in _parents(trace, first) if p.status != "suppressed"), None)
        around_it = f"step {by.index} ({by.op})" if by else "a step around it"
        times = f" each of {len(executions)} times" if len(executions) > 1 else ""
        why = f": {said}" if said else ""
        yield first.index, f"failed{times}, and {around_it} went on as if nothing had happened{why}"


def _parents(trace: Trace, step: TraceStep) -> Iterator[TraceStep]:
    while step.parent is not None:
        step = trace.step_records[step.parent]
        yield step


def _fusions(trace: Trace) -> list[TraceStep]:
    return [s for s in trace.step_records if s.op in (FUSE, GREEDY) and s.status == "ok"]


def find_recomputed(history: PayloadHistory) -> Messages:
    """Yield the steps that put the whole of an op into a loop, of which each iteration reads a slice."""
    trace = history.trace
    if not (fusions := _fusions(trace)) or (placed := place_ops(trace, fusions[-1].index)) is None:
        return
    live = live_ops(placed)
    for number in sorted(live):
        op, id_ = placed.ir.ops[number], placed.ids[number]
        if not op.name.startswith("linalg.") or id_ is None or not (loops := loops_around(placed, number)):
            continue
        born = trace.op(id_).born
        if born not in {s.index for s in fusions} or _varies(placed, number, loops[-1]):
            continue
        slices = [n for n in users_of(placed, number) if placed.ir.ops[n].name == "tensor.extract_slice"]
        if any(_varies(placed, n, loops[-1], without=number) for n in slices):
            loop = placed.ir.ops[loops[0]].name
            what = op_in_words(trace, id_)
            yield (
                born,
                f"each iteration of the {loop} computes the whole {what} anew, and reads a slice of it",
            )


def _varies(placed: PlacedOps, number: int, loop: int, without: int = -1) -> bool:
    """Return whether an op in a loop depends on what changes from iteration to iteration."""
    waiting, seen = [number], {number, without}
    while waiting:
        at = waiting.pop()
        for source, index in {value for line in placed.ir.ops[at].values for value in line}:
            inside = loop == source or loop in around(placed, source)
            if (
                index < 0
                and inside
                and source not in (at, without)
                and placed.ir.ops[source].name[:4] in ("scf.", "affi")
            ):
                return True
            if inside and source not in seen and source != loop:
                seen.add(source)
                waiting.append(source)
    return False


def find_computed_twice(history: PayloadHistory) -> Messages:
    """Yield the steps that fused an op of which another copy outside of the loop is still read."""
    trace = history.trace
    if not (fusions := _fusions(trace)) or (placed := place_ops(trace, fusions[-1].index)) is None:
        return
    copies: dict[str, list[int]] = defaultdict(list)
    for number, id_ in enumerate(placed.ids):
        if id_ is not None and placed.ir.ops[number].name.startswith("linalg."):
            copies[_root(trace, id_)].append(number)
    live = live_ops(placed) if any(len(c) > 1 for c in copies.values()) else set[int]()
    for root, numbers in copies.items():
        inside = [n for n in numbers if loops_around(placed, n) and n in live]
        outside = [n for n in numbers if not loops_around(placed, n) and n in live]
        if not inside or not outside or trace.op(root).name == "linalg.fill":
            continue
        born = trace.op(placed.ids[inside[0]] or root).born
        users = [placed.ids[n] for n in users_of(placed, outside[0])]
        names = ", ".join(dict.fromkeys(op_in_words(trace, u) for u in users if u)) or "what is behind the loop"
        if born in {s.index for s in fusions}:
            yield (
                born,
                f"the {op_in_words(trace, root)} is computed in the loop and again outside of it, for {names}",
            )


def _root(trace: Trace, id_: str) -> str:
    """Return the op of the payload as given, or of the first step, that an op is a copy of."""
    op = trace.op(id_)
    while same := [o for o in map(trace.op, op.derived_from) if o.name == op.name]:
        op = same[0]
    return op.id


def find_leftovers(history: PayloadHistory) -> Messages:
    """Yield the matches that find originals which fusing left behind, and which nothing reads."""
    trace = history.trace
    fused: set[str] = set()
    for step in trace.step_records:
        if step.op == FUSE and step.status == "ok":
            fused.update(history.ops_given(step, 0))
        if not fused or step.op != _MATCH or step.status != "ok":
            continue
        found = [r for c in step.changes if c.handle in step.results for r in c.payload if isinstance(r, str)]
        again = [r for r in found if r in fused]
        if not again or len(found) < 2 or (placed := place_ops(trace, step.index)) is None:
            continue
        read = readers(placed)
        dead = [r for r in again if r in placed.ids and not read.get(placed.ids.index(r))]
        if dead:
            what = ", ".join(op_in_words(trace, r) for r in dead[:3])
            yield (
                step.index,
                f"finds also what fusing left outside of the loop and nothing reads ({what}):"
                " apply_dce before it takes that away, or match inside the loop",
            )
