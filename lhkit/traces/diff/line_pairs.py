"""Which lines of two payloads are the same line: those of the same op, as far as they are in the same order."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from lhkit.traces.record.placed_ops import PlacedOps
from lhkit.traces.record.printed_ir import PrintedIr

# (line of the old text, line of the new text), from 0.
Pair = tuple[int, int]


def pair_lines(old: PlacedOps, new: PlacedOps, moved: Collection[str]) -> list[Pair]:
    """Return pairs in ascending order of both lines.

    Args:
        old: The payload before.
        new: The payload after.
        moved: Ids of ops that are known to have moved: the others stay where they are, and these make way.
    """
    settled: list[Pair] = []
    loose: list[Pair] = []
    where = {each: number for number, each in enumerate(old.ids) if each is not None}
    restless: set[int] = set()
    for number, (op, each) in enumerate(zip(new.ir.ops, new.ids, strict=True)):
        if each in moved or op.parent in restless:
            restless.add(number)
        if each is None or (at := where.get(each)) is None:
            continue
        pairs = _own_pairs(old.ir.ops[at].lines, op.lines)
        (loose if number in restless else settled).extend(pairs)
    settled += _pairs_of_no_op(old.ir, new.ir)
    return _with_those_that_fit(_ascending(sorted(settled, key=lambda p: p[1])), loose)


def _own_pairs(old: Sequence[int], new: Sequence[int]) -> Iterator[Pair]:
    """Yield the pairs of an op's own lines: where their numbers differ, the first and the last."""
    if len(old) == len(new):
        yield from zip(old, new, strict=True)
        return
    yield old[0], new[0]
    if min(len(old), len(new)) > 1:
        yield old[-1], new[-1]


def _pairs_of_no_op(old: PrintedIr, new: PrintedIr) -> Iterator[Pair]:
    """Yield the pairs of aliases that stand for the same, and of other lines with the same text."""
    there = defaultdict(list)
    for line in reversed(range(len(old.lines))):
        if old.owners[line] < 0:
            there[_meaning(old, line)].append(line)
    for line, owner in enumerate(new.owners):
        if owner < 0 and (lines := there.get(_meaning(new, line))):
            yield lines.pop(), line


def _meaning(ir: PrintedIr, line: int) -> str:
    name, equals, _ = ir.lines[line].partition(" = ")
    return f"= {ir.aliases[name]}" if equals and name in ir.aliases else ir.lines[line]


def _ascending(pairs: Sequence[Pair]) -> list[Pair]:
    """Return a longest part of pairs, which ascend in their second line, that ascends in the first too."""
    ends: list[int] = []
    length: list[int] = []
    for old, _ in pairs:
        place = bisect.bisect_left(ends, old)
        ends[place : place + 1] = [old]
        length.append(place)
    wanted = len(ends) - 1
    chosen = []
    for pair, place in zip(reversed(pairs), reversed(length), strict=True):
        if place == wanted:
            chosen.append(pair)
            wanted -= 1
    return chosen[::-1]


def _with_those_that_fit(settled: list[Pair], loose: Sequence[Pair]) -> list[Pair]:
    """Return pairs, and of others as many as fit between them."""
    fitting = []
    for old, new in sorted(loose, key=lambda p: p[1]):
        place = bisect.bisect_left(settled, new, key=lambda p: p[1])
        above = settled[place - 1][0] if place else -1
        below = settled[place][0] if place < len(settled) else old + 1
        if above < old < below:
            fitting.append((old, new))
    # Those between the same two may cross one another.
    return sorted([*settled, *_ascending(fitting)])
