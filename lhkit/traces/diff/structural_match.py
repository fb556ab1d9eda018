"""Which ops of two payloads are the same, where there is no trace to say: by their place and their look."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from lhkit.traces.record.placed_ops import PlacedOps
from lhkit.traces.record.printed_ir import PrintedIr, read_printed

# For each op of the new payload the number of the old one that it is.
Matches = dict[int, int]


def match_structure(old_text: str, new_text: str) -> tuple[PlacedOps, PlacedOps]:
    """Return two payloads with ids for their ops that are equal for those that are taken to be the same.

    Ops of the same parent are matched in order: those that look the same, names of values aside, then those
    of the same name in between. What is left over is matched where just one op on either side looks like it.
    """
    old, new = read_printed(old_text), read_printed(new_text)
    matches: Matches = {}
    waiting = [(-1, -1)]
    inner = _children(old), _children(new)
    while waiting:
        before, now = waiting.pop()
        for i, k in _match_siblings(old, new, inner[0][before], inner[1][now]):
            matches[k] = i
            waiting.append((i, k))
    _match_rest(old, new, matches)
    ids = tuple(f"s{i}" for i in range(len(old.ops)))
    found = [ids[matches[k]] if k in matches else f"s{len(ids) + k}" for k in range(len(new.ops))]
    return PlacedOps(old, ids, {}), PlacedOps(new, tuple(found), {})


def _children(ir: PrintedIr) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, op in enumerate(ir.ops):
        found[op.parent].append(number)
    return found


def _match_siblings(
    old: PrintedIr, new: PrintedIr, left: Sequence[int], right: Sequence[int]
) -> list[tuple[int, int]]:
    looks = [ir.ops[n].shapes[0] for ir, those in ((old, left), (new, right)) for n in those]
    exact = _in_order(looks[: len(left)], looks[len(left) :])
    found = []
    at_left = at_right = 0
    for i, k in (*exact, (len(left), len(right))):
        between = left[at_left:i], right[at_right:k]
        names = [[ir.ops[n].name for n in those] for ir, those in zip((old, new), between, strict=True)]
        found += [(between[0][a], between[1][b]) for a, b in _in_order(*names)]
        if i < len(left):
            found.append((left[i], right[k]))
        at_left, at_right = i + 1, k + 1
    return found


def _in_order(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return places of equal things in ascending order: from both ends, around those that are there once."""
    most = min(len(left), len(right))
    first = next((i for i in range(most) if left[i] != right[i]), most)
    tail = next((i for i in range(most - first) if left[-1 - i] != right[-1 - i]), most - first)
    head = [(i, i) for i in range(first)]
    end = [(len(left) - tail + i, len(right) - tail + i) for i in range(tail)]
    left_end, right_end = len(left) - tail, len(right) - tail
    counts = Counter(left[first:left_end]), Counter(right[first:right_end])
    where = {each: k for k, each in enumerate(right[first:right_end], first)}
    anchors: list[tuple[int, int]] = []
    for i, each in enumerate(left[first:left_end], first):
        if counts[0][each] == counts[1][each] == 1 and (not anchors or where[each] > anchors[-1][1]):
            anchors.append((i, where[each]))
    middle: list[tuple[int, int]] = []
    at = (first, first)
    for i, k in (*anchors, (left_end, right_end)):
        middle += _greedy(left, right, range(at[0], i), range(at[1], k))
        if i < left_end:
            middle.append((i, k))
        at = (i + 1, k + 1)
    return [*head, *middle, *end]


def _greedy(
    left: Sequence[Hashable], right: Sequence[Hashable], rows: range, columns: range
) -> list[tuple[int, int]]:
    """Return places of equal things in ascending order, each with the next one that is left."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for k in reversed(columns):
        places[right[k]].append(k)
    found = []
    last = columns.start - 1
    for i in rows:
        candidates = places.get(left[i], [])
        while candidates and candidates[-1] <= last:
            candidates.pop()
        if candidates:
            last = candidates.pop()
            found.append((i, last))
    return found


def _match_rest(old: PrintedIr, new: PrintedIr, matches: Matches) -> None:
    """Match ops that are left over where one on either side looks like no other: it has moved."""
    taken = set(matches.values())
    left: dict[str, list[int]] = defaultdict(list)
    right: dict[str, list[int]] = defaultdict(list)
    for number, op in enumerate(old.ops):
        if number not in taken:
            left[op.shapes[0]].append(number)
    for number, op in enumerate(new.ops):
        if number not in matches:
            right[op.shapes[0]].append(number)
    for look, numbers in right.items():
        if len(numbers) == len(left.get(look, ())) == 1:
            matches[numbers[0]] = left[look][0]
