"""Warnings about work that a schedule does twice or not at all: failures that nothing reports, copies left."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from lhkit.model.span import Span
from lhkit.model.trace_record import HandleRecord, Trace, TraceStep
from lhkit.traces.record.handle_history import ALTERNATIVES, PayloadHistory, oldest_of
from lhkit.traces.record.placed_ops import PlacedOps, PrintedOp, Value, op_in_words, place_ops
from lhkit.traces.record.placed_values import LOOPS, around, live_ops, loops_around, readers, users_of

FUSE, GREEDY = "transform.structured.fuse_into_containing_op", "transform.structured.fuse"
_MATCH, _PRODUCER = "transform.structured.match", "transform.get_producer_of_operand"
_TILES = tuple(
    f"transform.structured.{op}"
    for op in ("tile_using_for", "tile_using_forall", "tile_reduction_using_for", "tile_reduction_using_forall")
)
_VECTORIZE = "transform.structured.vectorize"
_SPLIT, _MERGE = "transform.split_handle", "transform.merge_handles"
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
    """Yield the steps that fused a reduction into a loop whose iterations all compute the same of it."""
    trace = history.trace
    if not (fusions := _fusions(trace)) or (placed := place_ops(trace, fusions[-1].index)) is None:
        return
    tiled = {root for s in fusions if s.op == GREEDY for root in history.ops_given(s, 0)}
    made = {s.index for s in fusions}
    for number in sorted(live_ops(placed)):
        op, id_ = placed.ir.ops[number], placed.ids[number]
        if id_ is None or trace.op(id_).born not in made or not _is_reduction(op):
            continue
        if not tiled.isdisjoint(trace.op(id_).derived_from):
            continue  # it is what was tiled, not a producer
        inputs = _inputs(placed, number)
        for loop in loops_around(placed, number):
            counts = _counts(placed.ir.ops[loop])
            same = [n for n, count in enumerate(counts) if count != 1 and (loop, -1 - n) not in inputs]
            if same and not any(_reads(placed, number, loop)):
                times = math.prod(counts[n] or 0 for n in same)
                what, often = op_in_words(trace, id_), f" {times} times" if times else ""
                of = f"the {placed.ir.ops[loop].name} of step {_born(trace, placed, loop)}"
                yield trace.op(id_).born, f"computes the same of the {what}{often} over, in iterations of {of}"
                break


def _born(trace: Trace, placed: PlacedOps, number: int) -> int:
    id_ = placed.ids[number]
    return trace.op(id_).born if id_ else -1


# What is computed from the element that stands in their outs, or may be.
_MAY_READ = ("linalg.generic", "linalg.index", "linalg.pack", "linalg.unpack", "linalg.softmax")


def _is_reduction(op: PrintedOp) -> bool:
    is_named = op.name.startswith(("linalg.reduce", "linalg.conv", "linalg.pool")) or "mat" in op.name
    return op.name.startswith("linalg.") and (is_named or '"reduction"' in op.shapes[0])


def _counts(loop: PrintedOp) -> list[int | None]:
    """Return how often each variable of a loop takes another value, None where that is not known."""
    if loop.name == "scf.forall" and (found := re.search(r" in \(([^)]*)\)", loop.shapes[0])):
        return [int(n) if n.strip().isdigit() else None for n in found[1].split(",")]
    return [None]


def _inputs(placed: PlacedOps, number: int) -> set[Value]:
    """Return the block arguments and values from outside of all loops that an op is computed from.

    What a loop computes depends on all that is read in it.
    """
    loops = set(loops_around(placed, number))
    found, waiting, seen = set[Value](), [number], {number}
    while waiting:
        at = waiting.pop()
        for value in {v for inside in _with_body(placed, at) for v in _read_values(placed.ir.ops[inside])}:
            if value[1] < 0 and value[0] != at:
                found.add(value)
            elif value[0] not in seen and loops.intersection(around(placed, value[0])):
                seen.add(value[0])
                waiting.append(value[0])
    return found


def _with_body(placed: PlacedOps, number: int) -> Iterator[int]:
    """Yield an op and all ops in it, which are printed behind it."""
    yield number
    for inside in range(number + 1, len(placed.ir.ops)):
        if placed.ir.ops[inside].parent < number:
            return
        yield inside


def _read_values(op: PrintedOp) -> Iterator[Value]:
    """Yield the values that an op names, but not the outs of a named op that only writes there."""
    yield from itertools.chain(*op.values[1:])
    before, outs, _ = op.shapes[0].partition(" outs(")
    only_writes = outs and op.name.startswith("linalg.") and not _is_reduction(op) and op.name not in _MAY_READ
    yield from op.values[0][: before.count("%")] if only_writes else op.values[0]


def _reads(placed: PlacedOps, number: int, loop: int) -> Iterator[Value]:
    """Yield what an op is computed from that a loop carries from iteration to iteration."""
    counts = len(_counts(placed.ir.ops[loop]))
    for source, index in _inputs(placed, number):
        if source == loop and index < -counts and placed.ir.ops[loop].name == "scf.for":
            yield source, index


def find_computed_twice(history: PayloadHistory) -> Messages:
    """Yield the steps that fused an op of which another copy outside of the loop is still read."""
    trace = history.trace
    if not (fusions := _fusions(trace)) or (placed := place_ops(trace, fusions[-1].index)) is None:
        return
    copies: dict[str, list[int]] = defaultdict(list)
    for number, id_ in enumerate(placed.ids):
        if id_ is not None and placed.ir.ops[number].name.startswith("linalg."):
            copies[oldest_of(trace, trace.op(id_)).id].append(number)
    live = live_ops(placed) if any(len(c) > 1 for c in copies.values()) else set[int]()
    for root, numbers in copies.items():
        inside = [n for n in numbers if loops_around(placed, n) and n in live]
        outside = [n for n in numbers if not loops_around(placed, n) and n in live]
        outside = [n for n in outside if not _is_piece(trace, root, placed, n)]
        if not inside or not outside or trace.op(root).name == "linalg.fill":
            continue
        born = trace.op(placed.ids[inside[0]] or root).born
        users = [placed.ids[n] for n in _readers_of(placed, outside[0])]
        names = ", ".join(dict.fromkeys(op_in_words(trace, u) for u in users if u)) or "what is behind the loop"
        if born in {s.index for s in fusions}:
            yield (
                born,
                f"the {op_in_words(trace, root)} is computed in the loop and again outside of it, for {names}",
            )


def _readers_of(placed: PlacedOps, number: int) -> Iterator[int]:
    """Yield the ops that read a result, or a slice of it."""
    for user in users_of(placed, number):
        is_slice = placed.ir.ops[user].name == "tensor.extract_slice"
        yield from _readers_of(placed, user) if is_slice else (user,)


def _is_piece(trace: Trace, root: str, placed: PlacedOps, number: int) -> bool:
    """Return whether a copy of an op is of a part of it alone: rows that peeling left over."""
    given = place_ops(trace, trace.op(root).born)
    if given is None or root not in given.ids:
        return False
    types = [
        p.ir.ops[n].shapes[-1].rpartition("->")[2]
        for p, n in ((given, given.ids.index(root)), (placed, number))
    ]
    return types[0] != types[1] and types[0].count("x") == types[1].count("x")


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


def find_empty_sequences(history: PayloadHistory) -> Messages:
    """Yield the first include that ran no step."""
    steps = history.trace.step_records
    with_steps = {s.parent for s in steps}
    included = [s for s in steps if s.op == "transform.include" and s.status == "ok"]
    for index in [s.index for s in included if s.index not in with_steps][:1]:
        yield index, "does nothing: the sequence that it includes has no step"


class LeftOutside(NamedTuple):
    """An op that a handle was made for, and that stayed outside of the one loop that reads it."""

    step: int  # That made the handle
    handle: str
    op: str
    loop: str
    placed_at: int  # The last step of the entry that tiles or fuses, or runs one that does


def left_outside(history: PayloadHistory) -> list[LeftOutside]:
    """Return the ops that were looked for and not fused into the loop that alone reads them."""
    trace = history.trace
    shaping = [s for s in trace.step_records if s.op in (*_TILES, FUSE, GREEDY) and s.status == "ok"]
    if not shaping:
        return []
    last = shaping[-1].index
    while (parent := trace.step_records[last].parent) is not None:
        last = parent
    placed = place_ops(trace, last)
    if placed is None:
        return []
    fused_into = {o for s in shaping if s.op == FUSE for o in history.ops_given(s, 1)}
    found = []
    held = trace.states_after(last)
    for handle in trace.handle_records:
        state = held.get(handle.id)
        if state is None or state.state != "live" or len(state.payload) != 1:
            continue
        (op,) = state.payload
        if not isinstance(op, str) or op not in placed.ids or not _is_looked_for(trace, handle):
            continue
        number = placed.ids.index(op)
        if not placed.ir.ops[number].name.startswith("linalg.") or loops_around(placed, number):
            continue
        loop = _only_loop(placed, number)
        id_ = placed.ids[loop] if loop is not None else None
        if loop is None or id_ is None:
            continue
        nest = {i for n in (loop, *around(placed, loop)) if (i := placed.ids[n])}
        # Loops that hold what was fused are new ops; they come from those that it was fused into.
        old = {o for i in nest for o in (i, *_origins(trace, i))}
        fuses = not fused_into.isdisjoint(old)
        later = trace.step_records[last + 1 :]
        uses = [s.op for s in later if any(o.handle == handle.id for o in s.operands)]
        made = trace.step_records[handle.defined_by].op
        # Of a split, a result that nothing reads may not have been wanted.
        is_wanted = made != _SPLIT or _VECTORIZE in uses
        is_work = made == _MATCH and _VECTORIZE in uses and not placed.ir.ops[number].name.endswith("fill")
        if (
            all(u in (_VECTORIZE, _MERGE) for u in uses)
            and is_wanted
            and (fuses or made == _PRODUCER or is_work)
        ):
            found.append(LeftOutside(handle.defined_by, handle.id, op, id_, last))
    return found


def _is_looked_for(trace: Trace, handle: HandleRecord) -> bool:
    """Return whether a handle was made in the entry by a step that only finds payload."""
    if handle.defined_by < 0:
        return False
    step = trace.step_records[handle.defined_by]
    return step.depth == 0 and step.op in (_MATCH, _PRODUCER, _SPLIT)


def _origins(trace: Trace, op: str) -> Iterator[str]:
    for origin in trace.op(op).derived_from:
        yield origin
        yield from _origins(trace, origin)


def _only_loop(placed: PlacedOps, number: int) -> int | None:
    """Return the innermost loop that has all readers of an op; None if one is outside or carries the value."""
    common: list[int] | None = None
    for user in users_of(placed, number):
        op = placed.ir.ops[user]
        if op.name in LOOPS and op.name != "scf.forall":
            return None
        loops = [user, *loops_around(placed, user)] if op.name in LOOPS else loops_around(placed, user)
        common = loops if common is None else [n for n in common if n in loops]
    return common[0] if common else None


def find_left_outside(history: PayloadHistory) -> Messages:
    """Yield the steps that looked for an op which was left outside of the loop that alone reads it."""
    for left in left_outside(history):
        trace = history.trace
        loop = trace.op(left.loop)
        where = f"the {loop.name} of step {loop.born}" if loop.born >= 0 else f"a {loop.name}"
        yield (
            left.step,
            f"the {op_in_words(trace, left.op)} is left outside of {where}, which alone reads it:"
            f" {FUSE} moves it there",
        )
