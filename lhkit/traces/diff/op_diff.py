"""Diff of two payloads whose ops are matched by their identity in the trace, or by structure.

An op whose results are only renumbered is unchanged, one whose operand comes from another op is changed, and
one at another place is moved.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from lhkit.model.errors import usage_error
from lhkit.model.trace_json import common_ends
from lhkit.model.trace_record import PayloadDelta, Trace
from lhkit.traces.diff.line_diff import (
    HandleMark,
    IrDiff,
    IrLine,
    KnownChanges,
    diff_lines,
    ops_of,
    remarks_at,
)
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record.placed_ops import (
    PlacedOps,
    PrintedIr,
    SameTrace,
    named_as_copies,
    order_at,
    place_ops,
    read_printed,
    shown_delta,
)

# Op numbers of the new payload to those of the old one.
Matches = dict[int, int]


def match_structure(old_text: str, new_text: str) -> tuple[PlacedOps, PlacedOps]:
    """Return two payloads with equal ids for ops that are taken to be the same.

    Siblings are matched in order: first those with equal text, value names aside, then those of the same name
    in between. The rest is matched where the text is unique on both sides.
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
    """Return ascending index pairs of equal items: common prefix and suffix, unique anchors, then greedy."""
    first, tail = common_ends(left, right)
    left_end, right_end = len(left) - tail, len(right) - tail
    found = [(i, i) for i in range(first)]
    counts = Counter(left[first:left_end]), Counter(right[first:right_end])
    where = {each: k for k, each in enumerate(right[first:right_end], first)}
    anchors: list[tuple[int, int]] = []
    for i, each in enumerate(left[first:left_end], first):
        if counts[0][each] == counts[1][each] == 1 and (not anchors or where[each] > anchors[-1][1]):
            anchors.append((i, where[each]))
    at = (first, first)
    for i, k in (*anchors, (left_end, right_end)):
        found += _greedy(left, right, range(at[0], i), range(at[1], k))
        if i < left_end:
            found.append((i, k))
        at = (i + 1, k + 1)
    return found + [(left_end + i, right_end + i) for i in range(tail)]


def _greedy(
    left: Sequence[Hashable], right: Sequence[Hashable], rows: range, columns: range
) -> list[tuple[int, int]]:
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
    """Match the rest where the text is unique on both sides: such an op has moved."""
    unique = []
    for ir, taken in ((old, set(matches.values())), (new, matches.keys())):
        rest = [number for number in range(len(ir.ops)) if number not in taken]
        counts = Counter(ir.ops[number].shapes[0] for number in rest)
        looks = ((ir.ops[number].shapes[0], number) for number in rest)
        unique.append({look: number for look, number in looks if counts[look] == 1})
    left, right = unique
    matches.update((right[look], left[look]) for look in right.keys() & left.keys())


_MOST_OPERANDS = 40
OF_A_COPY = "This step works on a copy of a part of the payload, and is compared to the original."
BY_STRUCTURE = "Ops were matched by the structure of the texts; their identity is not known."


def ir_diff(trace: Trace, step: int, against: int | None = None) -> IrDiff:
    """Return the diff of the payload after a step (-1: as given) against another, by default that before it.

    A step without a snapshot, since it failed or never ran, shows the last payload before it.

    Raises:
        UsageError: There is no such step, or the trace has no snapshots.
    """
    # Going back and forth between steps, or redrawing one, hits the cache.
    return _ir_diff(SameTrace(trace), step, against)


@functools.lru_cache(maxsize=8)
def _ir_diff(same: SameTrace, step: int, against: int | None) -> IrDiff:
    trace = same.trace
    new_step = snapshot_at(trace, step)
    old_step = _step_before(trace, step) if against is None else snapshot_at(trace, against)
    old_text, new_text = trace.snapshot_text(old_step) or "", trace.snapshot_text(new_step) or ""
    new = place_ops(trace, new_step)
    is_same = old_text == new_text and order_at(trace, old_step) == order_at(trace, new_step)
    old = new if is_same else place_ops(trace, old_step)
    note = ""
    what = _title(trace, step, new_step, old_step if against is not None else None)
    if old is None or new is None:
        return text_diff(old_text, new_text, what)
    if new.ids and old.ids and new.ids[0] not in old.ids and old.ids[0] not in new.ids:
        old, note = named_as_copies(trace, old, new), OF_A_COPY
    deltas = _between(trace, old_step, new_step)
    is_one = len(deltas) == 1 and new_step > old_step
    delta = shown_delta(trace, new_step) if is_one else _delta_between(old, new, deltas)
    lines = diff_lines(old, new, _changes_between(trace, old_step, new_step), remarks_at(trace, step))
    if against is None and step >= 0 and not any(line.is_shown for line in lines):
        lines, note = _with_operands(trace, step, lines)
    return IrDiff(what, lines, note, delta)


def _with_operands(trace: Trace, step: int, lines: tuple[IrLine, ...]) -> tuple[tuple[IrLine, ...], str]:
    """Return lines of which those of a step's operands are shown and marked, and a note: nothing changed.

    Of a handle that is invalidated the ops are shown to which it pointed last, as far as they are left.
    """
    record = trace.step_records[step]
    operands = {operand.handle for operand in record.operands}
    held: dict[str, dict[str, None]] = {}
    invalid: set[str] = set()
    for earlier in itertools.takewhile(lambda s: s.index != step, trace.steps_by_end()):
        for change in earlier.changes:
            if change.handle in operands and change.state == "live":
                held[change.handle] = ops_of(change)
            elif change.state == "invalid":
                invalid.add(change.handle)
    wanted = {op for ops in held.values() for op in ops}
    numbers = [n for n, line in enumerate(lines) if wanted.intersection((line.op, *line.inside))]
    made, marked = list(lines), set[str | None]()
    for n in numbers[:_MOST_OPERANDS]:
        for near in (n - 1, n, n + 1):
            made[near : near + 1] = [
                dataclasses.replace(each, is_context=True) for each in made[near : near + 1]
            ]
        if lines[n].op in marked:
            continue
        marked.add(lines[n].op)  # on its first line
        ops = {lines[n].op, *lines[n].inside}
        # Handles that are live have their marks already.
        late = (h for h in held if h in invalid and not ops.isdisjoint(held[h]))
        named = [HandleMark(h, f"{trace.handle(h).name}, invalidated") for h in late]
        handles = (*made[n].handles, *named)
        made[n] = dataclasses.replace(made[n], is_operand=True, handles=handles)
    said = "nothing changed"
    if step == trace.outcome.failed_step:
        said = f"failed: {explain_failure(trace).sentence}"
    elif record.status == "not-run":
        said = "did not run"
    if not numbers:
        return lines, said
    more = len(numbers) - _MOST_OPERANDS
    left = f", {more} more are folded" if more > 0 else ""
    return tuple(made), f"{said} · ▸ ops of its operands{left}"


def text_diff(old: str, new: str, title: str = "") -> IrDiff:
    """Return the diff of two printed payloads without a trace; the note says so."""
    lines = diff_lines(*match_structure(old, new), KnownChanges(), None)
    return IrDiff(title, lines, BY_STRUCTURE)


def ir_at(trace: Trace, step: int) -> IrDiff:
    """Return the payload after a step as a diff without changes."""
    return ir_diff(trace, step, against=step)


def plain_lines(text: str) -> IrDiff:
    """Return a text as a diff without changes and without known ops."""
    return IrDiff("", tuple(IrLine("", n, n, each) for n, each in enumerate(read_printed(text).lines, 1)))


def snapshot_at(trace: Trace, step: int) -> int:
    """Return the step whose snapshot shows the payload after a step: its own, or the last one before it."""
    if not trace.snapshots or not -1 <= step < max(len(trace.step_records), 1):
        known = f"Steps: -1 to {len(trace.step_records) - 1}." if trace.snapshots else ""
        raise usage_error(f"the trace has no payload after step {step}", known)
    steps = [s.step for s in trace.snapshots]
    if step in steps:
        return step
    ends = {s.index: i for i, s in enumerate(trace.steps_by_end())}
    return max((s for s in steps if ends.get(s, -1) < ends[step]), key=lambda s: ends.get(s, -1))


def _step_before(trace: Trace, step: int) -> int:
    """Return the step whose snapshot shows the payload when a step began.

    Alternatives work on copies: the first step on a copy is compared to the original, and copies of other
    alternatives are skipped.
    """
    if step < 0:
        return -1
    earlier = [s.step for s in itertools.takewhile(lambda s: s.step < step, trace.snapshots)]
    root = (order_at(trace, step) or ("",))[0]
    for each in reversed(earlier):
        if not root or root in (order_at(trace, each) or (root,)):
            return each
    parent = trace.step_records[step].parent
    return earlier[-1] if parent is None else _step_before(trace, parent)


def _title(trace: Trace, step: int, shown: int, against: int | None) -> str:
    what = _after(trace, step)
    if shown != step:  # a step that left no payload
        of = "as given" if shown < 0 else f"that of step {shown}"
        what = f"step {step}, {trace.step_records[step].op}; the payload is {of}"
    return what if against is None or against == shown else f"{what}, against {_after(trace, against)}"


def _after(trace: Trace, step: int) -> str:
    return "the payload as given" if step < 0 else f"after step {step}, {trace.step_records[step].op}"


def _between(trace: Trace, old: int, new: int) -> list[PayloadDelta]:
    """Return what the steps did that ended between two snapshots, in the order of time."""
    ends = [-1, *(s.index for s in trace.steps_by_end())]
    first, last = sorted((ends.index(old), ends.index(new)))
    return [trace.step_records[i].payload_delta for i in ends[first + 1 : last + 1]]


def _changes_between(trace: Trace, old: int, new: int) -> KnownChanges:
    deltas = _between(trace, old, new)
    changed = frozenset(i for d in deltas for i in d.changed)
    return KnownChanges(changed, frozenset(i for d in deltas for i in d.moved))


def _delta_between(old: PlacedOps, new: PlacedOps, deltas: Sequence[PayloadDelta]) -> PayloadDelta:
    """Return in which ops of their texts two snapshots differ, given what the steps between them did."""
    then, now = (tuple(filter(None, placed.ids)) for placed in (old, new))
    left, right = old.all_ids(), new.all_ids()
    kept = [
        tuple(dict.fromkeys(i for ids in listed for i in ids if i in left.intersection(now)))
        for listed in ([d.changed for d in deltas], [d.moved for d in deltas])
    ]
    created, erased = (i for i in now if i not in left), (i for i in then if i not in right)
    return PayloadDelta(tuple(created), tuple(erased), *kept)
