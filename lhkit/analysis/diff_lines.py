"""The lines of a diff of two payloads whose ops are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lhkit.analysis.ir_lines import IrLine, Sign
from lhkit.analysis.line_pairs import pair_lines
from lhkit.analysis.line_parts import changed_parts
from lhkit.analysis.op_remarks import OpRemarks
from lhkit.analysis.placed_ops import PlacedOps

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
    """Makes the lines in order."""

    def __init__(
        self, old: PlacedOps, new: PlacedOps, known: KnownChanges, remarks: OpRemarks | None
    ) -> None:
        self._old, self._new, self._known, self._remarks = old, new, known, remarks
        self._pairs = pair_lines(old, new, known.moved)
        self._kept = {i for i in new.ids if i is not None} & set(old.ids)
        paired = {n for _, n in self._pairs}
        self._in_place = {i for i, op in zip(new.ids, new.ir.ops, strict=True) if op.lines[0] in paired}

    def in_order(self) -> Iterator[IrLine]:
        """Yield the lines: between two that both payloads have the old ones, then the new ones."""
        old_at = new_at = 0
        ends = (len(self._old.ir.lines), len(self._new.ir.lines))
        for old_line, new_line in (*self._pairs, ends):
            for line in range(old_at, old_line):
                yield self._alone(self._old, line, old=line + 1)
            for line in range(new_at, new_line):
                yield self._alone(self._new, line, new=line + 1)
            if (old_line, new_line) != ends:
                yield self._both(old_line, new_line)
            old_at, new_at = old_line + 1, new_line + 1

    def _alone(self, side: PlacedOps, line: int, *, old: int | None = None, new: int | None = None) -> IrLine:
        """Return a line that only one payload has."""
        op = side.id_at(line)
        sign: Sign = "+" if new else "−"
        if op in self._kept:  # an op in its place may have got or lost a region
            sign = "~" if op in self._in_place else "»"
        made = IrLine(sign, old, new, side.ir.lines[line], op=op)
        return self._with_remarks(made, side, line, is_gone=new is None and op not in self._kept)

    def _both(self, old_line: int, new_line: int) -> IrLine:
        """Return a line that both payloads have."""
        old, new = self._old, self._new
        was, text = old.ir.lines[old_line], new.ir.lines[new_line]
        at, op = new.ir.owners[new_line], new.id_at(new_line)
        made = IrLine("", old_line + 1, new_line + 1, text, None if was == text else was, op=op)
        if at < 0 or op is None:
            return made
        before, now = old.ir.ops[old.ir.owners[old_line]], new.ir.ops[at]
        old_place, new_place = before.lines.index(old_line), now.lines.index(new_line)
        old_values = old.named(before.values[old_place])
        new_values = new.named(now.values[new_place])
        if before.shapes[old_place] != now.shapes[new_place] or old_values != new_values:
            aliases = (old.ir.aliases, new.ir.aliases)
            parts = changed_parts(was.lstrip(), text.lstrip(), old_values, new_values, aliases)
            indent = len(text) - len(text.lstrip())
            shifted = [dataclasses.replace(p, start=p.start + indent, end=p.end + indent) for p in parts]
            made = dataclasses.replace(made, sign="~", parts=tuple(shifted))
        if new_place == 0:
            made = self._first_line(made, old.ir.owners[old_line], at)
        return self._with_remarks(made, new, new_line)

    def _first_line(self, made: IrLine, before: int, now: int) -> IrLine:
        """Return the first line of an op with what concerns the op as a whole."""
        op = made.op or ""
        if op in self._known.moved or self._old.parent_id(before) != self._new.parent_id(now):
            return dataclasses.replace(made, sign="»")
        unseen = set(self._old.inside.get(before, ())) != set(self._new.inside.get(now, ()))
        if made.sign == "" and (unseen or (op in self._known.changed and not self._differs(before, now))):
            return dataclasses.replace(made, sign="~", remark=_UNSEEN)
        return made

    def _differs(self, before: int, now: int) -> bool:
        """Return True if any own line of an op reads otherwise."""
        old, new = self._old.ir.ops[before], self._new.ir.ops[now]
        return old.shapes != new.shapes or any(
            self._old.named(a) != self._new.named(b) for a, b in zip(old.values, new.values, strict=False)
        )

    def _with_remarks(self, made: IrLine, side: PlacedOps, line: int, *, is_gone: bool = False) -> IrLine:
        """Return the first line of an op with its handles and where it comes from."""
        at = side.ir.owners[line]
        if at < 0 or made.op is None or side.ir.ops[at].lines[0] != line:
            return made
        inside = side.inside.get(at, ())
        if self._remarks is None:
            return dataclasses.replace(made, inside=inside)
        words = self._remarks.origin(made.op)
        if is_gone:
            words += self._remarks.ending(made.op)
        elif made.remark:
            words += f"; {made.remark}"
        known = self._remarks.handles
        marks = {m.id: m for each in (made.op, *inside) for m in known.get(each, ())} if made.new else {}
        return dataclasses.replace(made, inside=inside, handles=tuple(marks.values()), remark=words)


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
    return tuple(
        dataclasses.replace(line, is_context=True) if i in shown and not line.sign else line
        for i, line in enumerate(lines)
    )
