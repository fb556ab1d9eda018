"""Lines of a diff of two payloads with known ops: pairing, changed parts, and remarks on ops."""

from __future__ import annotations

import bisect
import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lhkit.model.trace_json import common_ends
from lhkit.model.trace_record import (
    DELTA_WORDS,
    HandleChange,
    ParamReference,
    PayloadDelta,
    PayloadOp,
    Trace,
)
from lhkit.traces.record.handle_history import enclosing_steps, states_before
from lhkit.traces.record.placed_ops import PlacedOps, PrintedIr, op_in_words

Sign = Literal["", "+", "−", "~", "↕"]
PartKind = Literal["operand", "type", "attribute"]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A changed part of a new line, in characters; ``start`` equals ``end`` for a deletion.

    ``was`` is the old text, equal to the new one for an operand that another op defines now.
    """

    start: int
    end: int
    was: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class HandleMark:
    """A handle that points to an op after the step; ``is_new`` if it did not before."""

    id: str
    name: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class IrLine:
    """A line of a diff: + created, − erased, ~ changed, ↕ moved, "" unchanged.

    ``old`` and ``new`` are line numbers from 1, or None. ``text`` is the new line, else the old one, and
    ``old_text`` the old one if it differs. On an op's first line, ``inside`` has the ids of nested ops that the
    text omits, and ``handles`` those that point to any of them. An unchanged line that is shown with changed
    ones is context; so are ops of the operands of a step that changed nothing, and the lines beside them.
    """

    sign: Sign
    old: int | None
    new: int | None
    text: str
    old_text: str | None = None
    parts: tuple[ChangedPart, ...] = ()
    op: str | None = None
    inside: tuple[str, ...] = ()
    handles: tuple[HandleMark, ...] = ()
    remark: str = ""
    is_context: bool = False
    is_operand: bool = False

    @property
    def is_shown(self) -> bool:
        """False for a line that is folded."""
        return bool(self.sign) or self.is_context


@dataclass(frozen=True, slots=True)
class IrDiff:
    """A diff of two payloads; ``note`` says how ops were matched, if not by identity.

    Attributes:
        delta: The ops that differ, also those without a line of their own; None where identity is not known.
    """

    title: str
    lines: tuple[IrLine, ...]
    note: str = ""
    delta: PayloadDelta | None = None

    @property
    def counts(self) -> tuple[tuple[Sign, int], ...]:
        """The number of ops per sign: those that are known to differ, else those with a line."""
        if self.delta is not None:
            return tuple((sign, len(ids)) for sign, ids in self.delta.signed)
        ops: dict[Sign, set[str]] = {sign: set() for sign in DELTA_WORDS}
        for line in self.lines:
            if line.sign and line.op is not None:
                ops[line.sign].add(line.op)
        return tuple((sign, len(those)) for sign, those in ops.items() if those)


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
        known = ops_of(before[handle]) if handle in before else {}
        for op in ops_of(state):
            found[op].append(HandleMark(handle, record.name, op not in known))
    return OpRemarks(trace, {op: tuple(those) for op, those in found.items()})


def ops_of(state: HandleChange) -> dict[str, None]:
    """Return the payload ops that a handle points to, each once."""
    references = (r for r in state.payload if not isinstance(r, ParamReference))
    return dict.fromkeys(r if isinstance(r, str) else r.op for r in references)


def _step_in_words(trace: Trace, step: int) -> str:
    return f"step {step} ({trace.step_records[step].op.removeprefix('transform.')})"


# (line of the old text, line of the new text), from 0.
Pair = tuple[int, int]


def _pair_lines(old: PlacedOps, new: PlacedOps, moved: Collection[str]) -> list[Pair]:
    """Return ascending (old, new) pairs of equal lines; ops known to have moved yield to others."""
    settled: list[Pair] = []
    loose: list[Pair] = []
    where = {each: number for number, each in enumerate(old.ids) if each is not None}
    moving: set[int] = set()
    for number, (op, each) in enumerate(zip(new.ir.ops, new.ids, strict=True)):
        if each in moved or op.parent in moving:
            moving.add(number)
        if each is None or (at := where.get(each)) is None:
            continue
        pairs = _own_pairs(old.ir.ops[at].lines, op.lines)
        (loose if number in moving else settled).extend(pairs)
    settled += _unowned_pairs(old.ir, new.ir)
    return _with_fitting_pairs(_ascending(sorted(settled, key=lambda p: p[1])), loose)


def _own_pairs(old: Sequence[int], new: Sequence[int]) -> Iterator[Pair]:
    if len(old) == len(new):
        yield from zip(old, new, strict=True)
    else:
        yield old[0], new[0]
        if min(len(old), len(new)) > 1:
            yield old[-1], new[-1]


def _unowned_pairs(old: PrintedIr, new: PrintedIr) -> Iterator[Pair]:
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
    """Return a longest increasing subsequence by the first line of pairs that ascend in the second."""
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


def _with_fitting_pairs(settled: list[Pair], loose: Sequence[Pair]) -> list[Pair]:
    fitting = []
    for old, new in sorted(loose, key=lambda p: p[1]):
        place = bisect.bisect_left(settled, new, key=lambda p: p[1])
        above = settled[place - 1][0] if place else -1
        below = settled[place][0] if place < len(settled) else old + 1
        if above < old < below:
            fitting.append((old, new))
    # Those between the same two may cross one another.
    return sorted([*settled, *_ascending(fitting)])


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.-]+(?:[#:][0-9]+)?|[#!]?[\w$.]+|\s+|.', re.ASCII | re.DOTALL)
_TYPE = re.compile(
    r"(?:\b(?:tensor|vector|memref|tuple|complex)|![\w$.]+)(?:<(?:[^<>]|<[^<>]*>)*>)?"
    r"|\b(?:index|none|[us]?i[0-9]+|t?b?f[0-9]\w*)\b",
    re.ASCII,
)
# The minimal diff takes quadratic time; longer lines are compared from both ends only.
_MOST_COMPARED = 300


def changed_parts(
    old: str,
    new: str,
    old_values: Sequence[Hashable],
    new_values: Sequence[Hashable],
    aliases: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> tuple[ChangedPart, ...]:
    """Return the changed parts of a line; equal ``values``, in order of mention, are the same value."""
    indent = len(new) - len(new.lstrip())
    before, now = _TOKEN.findall(old.lstrip()), _TOKEN.findall(new[indent:])
    left, right = _meanings(before, old_values, aliases[0]), _meanings(now, new_values, aliases[1])
    starts = [indent]
    for token in now:
        starts.append(starts[-1] + len(token))
    found = []
    for i, j, k, end in _differences(left, right):
        was = before[i:j]
        kind = _kind(now[k:end] or was, starts[k], new)
        found.append(ChangedPart(starts[k], starts[end], "".join(was), kind))
    return tuple(found)


def _meanings(tokens: Sequence[str], values: Sequence[Hashable], aliases: Mapping[str, str]) -> list[Hashable]:
    """Return tokens by meaning: values by identity, aliases in full."""
    known = iter(values)
    return [
        ("%", next(known, None)) if t[0] == "%" and len(t) > 1 else " " if t.isspace() else aliases.get(t, t)
        for t in tokens
    ]


def _differences(left: list[Hashable], right: list[Hashable]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the differing slices as (left start, left end, right start, right end)."""
    first, tail = common_ends(left, right)
    i, k = len(left) - tail, len(right) - tail
    if i - first <= 1 or k - first <= 1 or max(i, k) - first > _MOST_COMPARED:
        if first < max(i, k):
            yield first, i, first, k
        return
    matcher = difflib.SequenceMatcher(None, left[first:i], right[first:k], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield first + a, first + b, first + c, first + d


def _kind(tokens: Sequence[str], start: int, line: str) -> PartKind:
    if any(t[0] == "%" for t in tokens):
        return "operand"
    return "type" if any(m.start() <= start < m.end() for m in _TYPE.finditer(line)) else "attribute"


_UNSEEN = "changed in a way that the text does not show"


@dataclass(frozen=True, slots=True)
class KnownChanges:
    """Ids of the ops that the steps between two payloads changed and moved."""

    changed: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()


def diff_lines(
    old: PlacedOps, new: PlacedOps, known: KnownChanges, remarks: OpRemarks | None
) -> tuple[IrLine, ...]:
    """Return the lines of two payloads, each line of either once."""
    return _with_context(list(_Differ(old, new, known, remarks).in_order()), old, new)


class _Differ:
    """Makes the lines in order; there may be many thousands."""

    def __init__(self, old: PlacedOps, new: PlacedOps, known: KnownChanges, remarks: OpRemarks | None) -> None:
        self._old, self._new, self._known, self._remarks = old, new, known, remarks
        self._pairs = _pair_lines(old, new, known.moved)
        # What the text leaves out was or is there too.
        self._kept = old.all_ids() & new.all_ids()
        paired = {n for _, n in self._pairs}
        self._in_place = {i for i, op in zip(new.ids, new.ir.ops, strict=True) if op.lines[0] in paired}

    def in_order(self) -> Iterator[IrLine]:
        """Yield the lines: between two common lines first the old ones, then the new ones."""
        old_at = new_at = 0
        ends = (len(self._old.ir.lines), len(self._new.ir.lines))
        for old_line, new_line in (*self._pairs, ends):
            for line in range(old_at, old_line):
                yield self._alone(self._old, line, line + 1, None)
            for line in range(new_at, new_line):
                yield self._alone(self._new, line, None, line + 1)
            if (old_line, new_line) != ends:
                yield self._both(old_line, new_line)
            old_at, new_at = old_line + 1, new_line + 1

    def _alone(self, side: PlacedOps, line: int, old: int | None, new: int | None) -> IrLine:
        op = side.id_at(line)
        sign: Sign = "+" if new else "−"
        if op in self._kept:  # an op in its place may have got or lost a region
            sign = "~" if op in self._in_place else "↕"
        more = self._of_op(side, line, is_new=new is not None, is_gone=sign == "−")
        return IrLine(sign, old, new, side.ir.lines[line], None, (), op, *more)

    def _both(self, old_line: int, new_line: int) -> IrLine:
        old, new = self._old, self._new
        was, text = old.ir.lines[old_line], new.ir.lines[new_line]
        old_text = None if was == text else was
        before, now, op = old.ir.owners[old_line], new.ir.owners[new_line], new.id_at(new_line)
        if now < 0 or op is None:
            return IrLine("", old_line + 1, new_line + 1, text, old_text)
        old_place = old.ir.ops[before].lines.index(old_line)
        new_place = new.ir.ops[now].lines.index(new_line)
        sign: Sign = ""
        parts: tuple[ChangedPart, ...] = ()
        if self._line_differs(before, now, old_place, new_place, is_known=op in self._known.changed):
            sign = "~"
            left, right = old.ir.ops[before].values[old_place], new.ir.ops[now].values[new_place]
            aliases = (old.ir.aliases, new.ir.aliases)
            parts = changed_parts(was, text, old.named(left), new.named(right), aliases)
        unseen = ""
        if new_place == 0:
            sign, unseen = self._sign_of_op(op, before, now, sign)
        more = self._of_op(new, new_line, unseen)
        if unseen:
            gone = (i for i in old.inside.get(before, ()) if i not in more[0])
            more = ((*more[0], *gone), *more[1:])
        return IrLine(sign, old_line + 1, new_line + 1, text, old_text, parts, op, *more)

    def _line_differs(
        self, before: int, now: int, old_place: int, new_place: int, *, is_known: bool = False
    ) -> bool:
        """Return True if a line differs; operands count exactly only in an op known to have changed."""
        if self._old is self._new:
            return False
        old, new = self._old.ir.ops[before], self._new.ir.ops[now]
        if old.shapes[old_place] != new.shapes[new_place]:
            return True
        left, right = old.values[old_place], new.values[new_place]
        if not left and not right:
            return False
        if is_known:
            return self._old.named(left) != self._new.named(right)
        return self._old.by_meaning(left) != self._new.by_meaning(right)

    def _sign_of_op(self, op: str, before: int, now: int, sign: Sign) -> tuple[Sign, str]:
        """Return the sign of an op's first line, and a remark if the text does not show the change."""
        if self._old is self._new:
            return ("~", _UNSEEN) if op in self._known.changed else (sign, "")
        if op in self._known.moved or self._old.parent_id(before) != self._new.parent_id(now):
            return "↕", ""
        inside = set(self._old.inside.get(before, ())) != set(self._new.inside.get(now, ()))
        if sign == "" and (inside or (op in self._known.changed and not self._differs(before, now))):
            return "~", _UNSEEN
        return sign, ""

    def _differs(self, before: int, now: int) -> bool:
        count = len(self._old.ir.ops[before].lines)
        if count != len(self._new.ir.ops[now].lines):
            return True
        return any(self._line_differs(before, now, place, place, is_known=True) for place in range(count))

    def _of_op(
        self, side: PlacedOps, line: int, unseen: str = "", *, is_new: bool = True, is_gone: bool = False
    ) -> tuple[tuple[str, ...], tuple[HandleMark, ...], str]:
        """Return the omitted ops, handles and remark of an op's first line."""
        at = side.ir.owners[line]
        op = None if at < 0 else side.ids[at]
        if op is None or side.ir.ops[at].lines[0] != line:
            return (), (), ""
        inside = side.inside.get(at, ())
        if self._remarks is None:
            return inside, (), unseen
        words = self._remarks.origin(op)
        if is_gone:
            words += self._remarks.ending(op)
        if unseen:
            words += f"; {unseen}"
        known = self._remarks.handles
        marks = {m.id: m for each in (op, *inside) for m in known.get(each, ())} if is_new and known else {}
        return inside, tuple(marks.values()), words


def _with_context(lines: list[IrLine], old: PlacedOps, new: PlacedOps) -> tuple[IrLine, ...]:
    """Return the lines with the neighbors of changed ones, and the ops around them, marked as context."""
    in_new = {line.new: i for i, line in enumerate(lines) if line.new}
    in_old = {line.old: i for i, line in enumerate(lines) if not line.new}
    shown: set[int] = set()
    for i, line in enumerate(lines):
        if not line.sign and not any(h.is_new for h in line.handles):
            continue
        shown |= {i - 1, i, i + 1} if line.sign else {i}
        ir, where = (new.ir, in_new) if line.new else (old.ir, in_old)
        at = ir.owners[(line.new or line.old or 0) - 1]
        while at >= 0 and (at := ir.ops[at].parent) >= 0:
            place = where.get(ir.ops[at].lines[0] + 1)
            if place is None:
                continue
            if place in shown and lines[place].sign:
                break  # its parents are shown with it
            shown.add(place)
    for i in shown.intersection(range(len(lines))):
        if not (line := lines[i]).sign:
            # `dataclasses.replace` takes three times as long, and there may be thousands.
            parts = line.parts, line.op, line.inside, line.handles, line.remark
            lines[i] = IrLine(line.sign, line.old, line.new, line.text, line.old_text, *parts, True)
    return tuple(lines)
