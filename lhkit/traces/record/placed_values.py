"""Values between the ops of a printed payload: who reads what, what is around what, and dead code."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from lhkit.traces.record.placed_ops import PlacedOps

LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for", "affine.parallel")
# What these read is a result of the op around them.
_YIELDS = ("scf.yield", "tensor.parallel_insert_slice", "scf.forall.in_parallel", "affine.yield", "scf.reduce")


def around(placed: PlacedOps, number: int) -> list[int]:
    """Return the ops around an op, innermost first."""
    found = []
    while (number := placed.ir.ops[number].parent) >= 0:
        found.append(number)
    return found


def loops_around(placed: PlacedOps, number: int) -> list[int]:
    """Return the loops around an op, innermost first."""
    return [n for n in around(placed, number) if placed.ir.ops[n].name in LOOPS]


def readers(placed: PlacedOps) -> dict[int, list[int]]:
    """Return for each op those that read a value of it; the op around a yield reads what is yielded."""
    found: dict[int, list[int]] = {}
    for n, op in enumerate(placed.ir.ops):
        for source in {value[0] for line in op.values for value in line} - {n}:
            found.setdefault(source, []).append(n)
        if op.name in _YIELDS and op.parent >= 0:
            found.setdefault(n, []).append(op.parent)
    return found


def path_between(
    placed: PlacedOps, sources: Iterable[int], targets: Collection[int], without: Collection[int] = ()
) -> list[int] | None:
    """Return the ops of a shortest way along values from one of some ops to another, ends included, or None."""
    links, came = readers(placed), dict.fromkeys(sources, -1)
    waiting = deque(came)
    while waiting:
        at = waiting.popleft()
        if at in targets:
            way = [at]
            while (at := came[at]) >= 0:
                way.append(at)
            return way[::-1]
        for reader in links.get(at, ()):
            if reader not in came and reader not in without:
                came[reader] = at
                waiting.append(reader)
    return None


def live_ops(placed: PlacedOps) -> set[int]:
    """Return the ops that are not dead code: effects, and what leads to them along values."""
    waiting, sources = [], dict[int, list[int]]()
    for n, op in enumerate(placed.ir.ops):
        has_result = any(value[0] == n and value[1] >= 0 for value in op.values[0])
        inner = op.name in _YIELDS or op.name.endswith(("yield", "module", "func"))
        if op.name.endswith("call") or not (has_result or inner):
            waiting.append(n)
    for source, reading in readers(placed).items():
        for n in reading:
            sources.setdefault(n, []).append(source)
    live = set(waiting)
    while waiting:
        new = [n for n in sources.get(waiting.pop(), ()) if n not in live]
        live.update(new)
        waiting += new
    return live


def users_of(placed: PlacedOps, number: int) -> list[int]:
    """Return the ops that read elements of an op's results and are not dead code themselves."""
    live = live_ops(placed)
    reading = [n for n in readers(placed).get(number, ()) if number not in around(placed, n)]
    return [n for n in reading if placed.ir.ops[n].name != "tensor.dim" and n in live]
