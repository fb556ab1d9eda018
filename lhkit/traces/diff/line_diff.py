"""The lines of a diff of two payloads whose ops are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lhkit.traces.diff.ir_lines import ChangedPart, HandleMark, IrLine, Sign
from lhkit.traces.diff.line_pairs import pair_lines
from lhkit.traces.diff.line_parts import changed_parts
from lhkit.traces.explain.op_remarks import OpRemarks
from lhkit.traces.record.placed_ops import PlacedOps

_UNSEEN = "changed in what the text does not show"


@dataclass(frozen=True, slots=True)
class KnownChanges:
    """What steps are known to have done to ops that were there before and are after, by id."""

    changed: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()


def diff_lines(
    old: PlacedOps, new: PlacedOps, known: KnownChanges, remarks: OpRemarks | None
) -> tuple[IrLine, ...]:
    """Return the lines of two payloads, each line of either once.

    Args:
        old: The payload before.
        new: The payload after.
        known: What is known beyond the texts.
        remarks: What to say about ops, or None.
    """
    lines = list(_Differ(old, new, known, remarks).in_order())
    return _with_context(lines, old, new)


class _Differ:
    """Makes the lines in order; there may be many thousands."""

    def __init__(self, old: PlacedOps, new: PlacedOps, known: KnownChanges, remarks: OpRemarks | None) -> None:
        self._old, self._new, self._known, self._remarks = old, new, known, remarks
        self._pairs = pair_lines(old, new, known.moved)
        # What the text leaves out was or is there too.
        self._kept = _all_ids(old) & _all_ids(new)
        paired = {n for _, n in self._pairs}
        self._in_place = {i for i, op in zip(new.ids, new.ir.ops, strict=True) if op.lines[0] in paired}

    def in_order(self) -> Iterator[IrLine]:
        """Yield the lines: between two that both payloads have the old ones, then the new ones."""
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
        """Return a line that only one payload has."""
        op = side.id_at(line)
        sign: Sign = "+" if new else "−"
        if op in self._kept:  # an op in its place may have got or lost a region
            sign = "~" if op in self._in_place else "»"
        more = self._of_op(side, line, is_new=new is not None, is_gone=sign == "−")
        return IrLine(sign, old, new, side.ir.lines[line], None, (), op, *more)

    def _both(self, old_line: int, new_line: int) -> IrLine:
        """Return a line that both payloads have."""
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
            sign, parts = "~", self._parts(before, now, old_place, new_place)
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
        """Return True for a line that reads otherwise; in an op known to have changed, other operands count."""
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
        return self._old.meant(left) != self._new.meant(right)

    def _parts(self, before: int, now: int, old_place: int, new_place: int) -> tuple[ChangedPart, ...]:
        old, new = self._old.ir.ops[before], self._new.ir.ops[now]
        return changed_parts(
            self._old.ir.lines[old.lines[old_place]],
            self._new.ir.lines[new.lines[new_place]],
            self._old.named(old.values[old_place]),
            self._new.named(new.values[new_place]),
            (self._old.ir.aliases, self._new.ir.aliases),
        )

    def _sign_of_op(self, op: str, before: int, now: int, sign: Sign) -> tuple[Sign, str]:
        """Return the sign of an op's first line, and what it stands for that cannot be seen."""
        if self._old is self._new:
            return ("~", _UNSEEN) if op in self._known.changed else (sign, "")
        if op in self._known.moved or self._old.parent_id(before) != self._new.parent_id(now):
            return "»", ""
        inside = set(self._old.inside.get(before, ())) != set(self._new.inside.get(now, ()))
        if sign == "" and (inside or (op in self._known.changed and not self._differs(before, now))):
            return "~", _UNSEEN
        return sign, ""

    def _differs(self, before: int, now: int) -> bool:
        """Return True if any own line of an op reads otherwise."""
        count = len(self._old.ir.ops[before].lines)
        if count != len(self._new.ir.ops[now].lines):
            return True
        return any(self._line_differs(before, now, place, place, is_known=True) for place in range(count))

    def _of_op(
        self, side: PlacedOps, line: int, unseen: str = "", *, is_new: bool = True, is_gone: bool = False
    ) -> tuple[tuple[str, ...], tuple[HandleMark, ...], str]:
        """Return what the first line of an op carries: ops left out, handles, and where it comes from."""
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


def _all_ids(side: PlacedOps) -> set[str]:
    """Return the ids of the ops of a payload, those that its text leaves out too."""
    return {i for i in side.ids if i is not None}.union(*side.inside.values())


def _with_context(lines: Sequence[IrLine], old: PlacedOps, new: PlacedOps) -> tuple[IrLine, ...]:
    """Return the lines; unchanged ones beside changed ones, and what these lie in, are context."""
    where = {line.new: i for i, line in enumerate(lines) if line.new} | {
        -line.old: i for i, line in enumerate(lines) if line.old and not line.new
    }
    shown: set[int] = set()
    for i, line in enumerate(lines):
        if not line.sign and not any(h.is_new for h in line.handles):
            continue
        shown |= {i - 1, i, i + 1} if line.sign else {i}
        side, number = (new, line.new) if line.new else (old, -(line.old or 0))
        at = side.ir.owners[abs(number or 0) - 1]
        while at >= 0 and (at := side.ir.ops[at].parent) >= 0:
            header = side.ir.ops[at].lines[0] + 1
            place = where.get(header if line.new else -header)
            if place in shown and place is not None and lines[place].sign:
                break  # what that one lies in is shown with it
            if place is not None:
                shown.add(place)
    made = list(lines)
    for i in shown.intersection(range(len(lines))):
        if not lines[i].sign:
            made[i] = _as_context(lines[i])
    return tuple(made)


def _as_context(i: IrLine) -> IrLine:
    # `dataclasses.replace` takes three times as long, and there may be thousands.
    return IrLine(i.sign, i.old, i.new, i.text, i.old_text, i.parts, i.op, i.inside, i.handles, i.remark, True)
