"""Two ops of a traced payload: which are meant, their copies in each snapshot, the values between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import PayloadOp, Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory, oldest_of
from lhkit.traces.record.placed_ops import PlacedOps, place_ops
from lhkit.traces.record.placed_values import around, live_ops, loops_around, users_of

# Made by tiling beside the tiled op, with the same origin.
_AROUND = ("scf.", "affine.", "tensor.", "arith.constant", "func.", "ub.", "memref.")
# Made by packing beside the packed op, with the same origin.
_LAYOUT = ("linalg.pack", "linalg.unpack", "linalg.fill", "linalg.transpose", "linalg.copy")
_MAP = re.compile(r"affine_map<\((.*?)\)(?:\[.*?\])? -> \((.*?)\)>")
FUSED_OPS = ("linalg.", "tensor.pad", "tensor.pack", "tensor.unpack")
_MOST_LISTED = 12


@dataclass(frozen=True)
class FusionCase:
    """A producer and a consumer, by op id, in a trace."""

    trace: Trace
    producer: str
    consumer: str

    @cached_property
    def history(self) -> PayloadHistory:
        """The history of the trace's payload ops."""
        return PayloadHistory(self.trace)

    @cached_property
    def kin(self) -> dict[str, set[str]]:
        """For each of the two, its id and those of all ops derived from it."""
        two = (self.producer, self.consumer)
        return {op: {op, *(o.id for o in self.history.descendants([op]))} for op in two}

    @cached_property
    def _bodies(self) -> dict[str, set[str]]:
        """For each of the two, ops of its body and those derived from them, which elementwise fusion moves."""
        found = {}
        for op, kin in self.kin.items():
            own = [o.id for o in self.trace.op_records if o.parent in kin and o.name != "linalg.yield"]
            all_ = [*map(self.trace.op, own), *self.history.descendants(own)]
            inside = [o.id for o in all_ if o.parent and self.trace.op(o.parent).name.startswith("linalg.")]
            found[op] = set(inside)
        return found

    @cached_property
    def _ended(self) -> dict[int, int]:
        return {-1: -1, **{s.index: at for at, s in enumerate(self.trace.steps_by_end())}}

    @cached_property
    def _placed(self) -> dict[int, PlacedOps]:
        return {}

    def after(self, step: int) -> PlacedOps:
        """Return the payload after a step, -1 for the payload as given."""
        if step not in self._placed and (found := place_ops(self.trace, step)) is not None:
            self._placed[step] = found
        return self._placed[step]

    def before(self, step: int) -> PlacedOps:
        """Return the payload that a step found."""
        earlier = [s.step for s in self.trace.snapshots if self._ended[s.step] < self._ended[step]]
        return self.after(earlier[-1])

    @cached_property
    def steps(self) -> list[int]:
        """The steps after which both exist as structured ops, in order; -1 is the payload as given."""
        found = [s.step for s in self.trace.snapshots]
        for op in (self.producer, self.consumer):
            names = ("linalg.", self.trace.op(op).name)
            kin = [o for o in map(self.trace.op, self.kin[op]) if o.name.startswith(names)]
            kin += map(self.trace.op, self._bodies[op])
            ends = [len(self._ended) if o.died is None else self._ended[o.died] for o in kin]
            lives = [range(self._ended[o.born], end) for o, end in zip(kin, ends, strict=True)]
            found = [s for s in found if any(self._ended[s] in life for life in lives)]
        return found

    @property
    def first(self) -> PlacedOps:
        """The first payload that has both ops."""
        return self.after(self.steps[0])

    @property
    def last(self) -> PlacedOps:
        """The last payload that has both as structured ops."""
        return self.after(self.steps[-1])

    def instances(self, placed: PlacedOps, op: str) -> list[int]:
        """Return the numbers of what an op is now: ops of its name made from it, else what else was made."""
        ops = placed.ir.ops
        moved = {ops[n].parent for n, i in enumerate(placed.ids) if i is not None and i in self._bodies[op]}
        kin = [n for n, i in enumerate(placed.ids) if n in moved or (i is not None and i in self.kin[op])]
        made = [n for n in kin if ops[n].name.startswith("linalg.") and ops[n].name not in _LAYOUT]
        kin = made or kin if self.trace.op(op).name not in _LAYOUT else kin
        for name in (self.trace.op(op).name, "linalg."):
            if same := [n for n in kin if ops[n].name.startswith(name) and ops[n].name != "linalg.yield"]:
                # Fusion leaves clones that nothing reads where it cannot tile: no computation.
                live = live_ops(placed) if len(same) > 1 else ()
                return [n for n in same if n in live] or same
        return [n for n in kin if not ops[n].name.startswith(_AROUND)]

    def number(self, placed: PlacedOps, op: str) -> int:
        """Return the number of an op, or of the first op that it is now."""
        return placed.ids.index(op) if op in placed.ids else self.instances(placed, op)[0]

    def holds(self, step: TraceStep, op: str) -> bool:
        """Return whether the first operand of a step pointed to an op or to what was made from it."""
        return not self.kin[op].isdisjoint(self.history.ops_given(step, 0))

    def name(self, op: str) -> str:
        """Return the name of an op."""
        return self.trace.op(op).name

    def born(self, placed: PlacedOps, number: int) -> int:
        """Return the step that made an op, -1 for one of the payload as given."""
        return self.trace.op(placed.ids[number] or self.producer).born


def is_whole(case: FusionCase, placed: PlacedOps, number: int) -> bool:
    """Return whether a copy of the producer in a loop is untiled, of which users read slices."""
    type_, users = result_type(placed, number), users_of(placed, number)
    whole = result_type(case.first, case.number(case.first, case.producer))
    slices = [n for n in users if placed.ir.ops[n].name == "tensor.extract_slice"]
    shapes = [placed.ir.ops[n].shapes[0].rpartition(" to ")[2].strip() for n in slices]
    if not shapes or type_ != whole:
        return False
    if "?" not in type_:
        return any(shape != type_ for shape in shapes)
    # Extents that are not written do not tell: a tile is computed from slices, the whole from whole operands.
    ops = placed.ir.ops
    read = {source for source, _ in ops[number].values[0] if source != number}
    return not any(ops[n].name == "tensor.extract_slice" and ops[n].parent == ops[number].parent for n in read)


def fused_loop(case: FusionCase, placed: PlacedOps) -> tuple[int, int, int] | None:
    """Return a loop that a step made, the innermost around one of the two, and copies of both in it.

    A copy that is not tiled is not fused: each iteration computes all of it.
    """
    tiled = [n for n in case.instances(placed, case.producer) if not is_whole(case, placed, n)]
    for consumer in case.instances(placed, case.consumer):
        for producer in tiled:
            mine, its = (loops_around(placed, n) for n in (consumer, producer))
            for loop in (*mine[:1], *its[:1]):
                if loop in mine and loop in its and case.born(placed, loop) >= 0:
                    return loop, producer, consumer
    return None


def copies_outside(case: FusionCase, placed: PlacedOps) -> Iterator[tuple[int, list[int]]]:
    """Yield the copies of the producer that share no loop with the consumer and have users, with the users.

    Inlining leaves copies for other callers, in functions without the consumer: these are not counted, nor are
    tiles that were fused for another user, with all that reads them in a loop that a step made.
    """
    consumers = case.instances(placed, case.consumer)
    loops = {n for c in consumers for n in loops_around(placed, c)}
    functions = {n for c in consumers for n in around(placed, c) if placed.ir.ops[n].name == "func.func"}
    for producer in (p for p in case.instances(placed, case.producer) if p not in consumers):
        if functions and functions.isdisjoint(around(placed, producer)):
            continue
        users = users_of(placed, producer) if loops.isdisjoint(around(placed, producer)) else []
        made = [n for n in loops_around(placed, producer) if case.born(placed, n) >= 0][:1]
        is_tile = bool(made) and all(made[0] in around(placed, u) for u in users)
        if users and not (is_tile and fused_loop(case, placed)):
            yield producer, users


def result_type(placed: PlacedOps, number: int) -> str:
    """Return the type of an op's last result as printed."""
    shapes = placed.ir.ops[number].shapes
    return next((s.rpartition("-> ")[2].strip() for s in reversed(shapes) if "-> " in s and "<" in s), "")


def result_maps(placed: PlacedOps, number: int) -> list[tuple[list[str], list[str]]]:
    """Return the indexing maps of an op's results as dimensions and expressions; named ops may print none."""
    count = max(len({v for v in placed.ir.ops[number].values[0] if v[0] == number}), 1)
    return indexing_maps(placed, number)[-count:]


def indexing_maps(placed: PlacedOps, number: int) -> list[tuple[list[str], list[str]]]:
    """Return the indexing maps that an op prints, as dimensions and expressions, by operand."""
    found = _MAP.findall(placed.ir.ops[number].shapes[0].partition("iterator_types")[0])
    return [(dims.split(", "), results.split(", ")) for dims, results in found]


def names_of(ops: Iterable[PayloadOp]) -> dict[str, PayloadOp]:
    """Return ops by the shortest name that means one alone: ``linalg.matmul``, ``linalg.generic#1``."""
    same: dict[str, list[PayloadOp]] = {}
    for op in ops:
        same.setdefault(op.name, []).append(op)
    numbered = ((name, n, op) for name, found in same.items() for n, op in enumerate(found))
    return {name if len(same[name]) == 1 else f"{name}#{n}": op for name, n, op in numbered}


def given_ops(trace: Trace) -> list[PayloadOp]:
    """Return the ops of the payload as given that have a place, without functions."""
    return [op for op in trace.op_records if op.born == -1 and op.source is not None and op.name != "func.func"]


def find_op(trace: Trace, asked: str) -> str:
    """Return the id of the op that a user names as `why_not_fused` says; UsageError lists the candidates."""
    given = given_ops(trace)
    found = _of_handle(trace, asked) or _of_text(trace, given, asked.strip())
    if len(found) == 1:
        return oldest_of(trace, found[0]).id
    listed = found or [op for op in given if op.name.startswith(("linalg.", "tensor."))] or given
    names = {op.id: name for name, op in names_of(given).items()}
    lines = [f"  {names.get(op.id, op.name)} at {op.source}" for op in listed[:_MOST_LISTED]]
    more = [f"  and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
    what = f"{asked!r} means {len(found)} ops" if found else f"no op of the payload is called {asked!r}"
    raise usage_error(
        what, "\n".join(["By name and number, line, handle, value or {attribute}:", *lines, *more])
    )


def _of_handle(trace: Trace, asked: str) -> list[PayloadOp]:
    handles = {h.id for h in trace.handle_records if asked in (h.name, h.id)}
    changes = (c for step in trace.step_records for c in step.changes if c.handle in handles)
    first = next((c for c in changes if c.state == "live"), None)
    return [trace.op(r) for r in first.payload if isinstance(r, str)] if first else []


def _of_text(trace: Trace, given: list[PayloadOp], asked: str) -> list[PayloadOp]:
    name, _, number = asked.partition("#")
    same = [op for op in given if op.name == name] or [op for op in given if op.name.endswith(f".{name}")]
    if same:
        return same[int(number) : int(number) + 1] if number.isdecimal() else same
    if line := re.fullmatch(r"(?:line )?(\d+)", asked):
        wanted = {int(line[1])}
    else:
        pattern = rf"\s*{re.escape(asked)}(?::\d+)?\s*=" if asked.startswith("%") else "$^"
        attribute = re.fullmatch(r"\{\s*([\w.]+)\s*(?:=\s*(.+?)\s*)?\}", asked)
        if attribute:
            is_value = rf"\s*=\s*{re.escape(attribute[2])}(?!\w)" if attribute[2] else ""
            pattern = rf".*[{{,]\s*{re.escape(attribute[1])}\b{is_value}"
        lines = dict(trace.texts).get(trace.payload.source, "").splitlines()
        # An op begins where its place is, and its attributes may be some lines below.
        starts = (
            sorted({op.source.line for op in given if op.source}) if attribute else range(1, len(lines) + 1)
        )
        ends = [*starts[1:], len(lines) + 1]
        spans = {n: "".join(lines[n - 1 : end - 1]) for n, end in zip(starts, ends, strict=True)}
        wanted = {n for n, text in spans.items() if re.match(pattern, text)}
    there = [op for op in given if op.source and op.source.line in wanted]
    inner = {op.id for op in there}
    return [op for op in there if op.parent not in inner]
