"""The ops of a printed payload by line, without parsing it, and their ids in a trace."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lhkit.model.span import Span
from lhkit.model.trace_json import read_order
from lhkit.model.trace_record import PayloadDelta, PayloadOp, Trace

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME = r"[A-Za-z_][\w$.-]*"
_RESULT = r"%[\w$.-]+(?::[0-9]+)?"
_OP = re.compile(
    rf"(?:(?P<results>{_RESULT}(?:, {_RESULT})*) = )?(?P<name>{_STRING}|{_NAME})(?=[ (<{{\[@]|$)", re.ASCII
)
# Words without a dot at the start of a line that are not ops.
_NO_OPS = {
    *("case", "default", "else", "do", "ins", "outs", "attributes", "init", "shared_outs", "iter_args", "to"),
    "step",
}
# Names that may differ in the next snapshot; strings are matched to be skipped.
_NAMED = re.compile(rf"{_STRING}|%[\w$.-]+(?:[#:][0-9]+)?|[#!]{_NAME}", re.ASCII)
_ALIAS = re.compile(rf"([#!]{_NAME}) = (.*)", re.ASCII)
_LABEL_COMMENT = re.compile(r"\s+//[^\"]*$")

# A value: the number of its op, and its index: results from 0 up, block arguments from -1 down.
Value = tuple[int, int]


@dataclass(slots=True)
class PrintedOp:
    """An op in a printed payload; ``parent`` is -1 for none, ``name`` as printed without quotes.

    ``lines`` are its own, from 0: the first, those of its block labels, the last with its brace. For each of
    them, ``shapes`` has the text without names of values and with aliases expanded, ``values`` the values that
    it names in order, its own results included.
    """

    name: str
    parent: int
    lines: list[int] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    values: list[tuple[Value, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PrintedIr:
    """A printed payload; ``owners`` has the number of each line's op, -1 for lines of none."""

    lines: tuple[str, ...]
    ops: tuple[PrintedOp, ...]
    owners: tuple[int, ...]
    aliases: Mapping[str, str]


@functools.lru_cache(maxsize=8)
def read_printed(text: str) -> PrintedIr:
    """Return the lines and ops of a text; a final line break starts no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    reader = _Reader(_aliases(lines))
    owners = [reader.take(number, line) for number, line in enumerate(lines)]
    return PrintedIr(tuple(lines), tuple(reader.ops), tuple(owners), reader.aliases)


def _aliases(lines: Iterable[str]) -> dict[str, str]:
    """Return the aliases with nested ones expanded; the printer defines an alias before its use."""
    found: dict[str, str] = {}
    for line in lines:
        if line[:1] in ("#", "!") and (match := _ALIAS.fullmatch(line)):
            found[match[1]] = _NAMED.sub(lambda m: found.get(m[0], m[0]), match[2])
    return found


@dataclass(slots=True)
class _Open:
    """An enclosing op: indent and number, and the outer definitions of names that it shadows."""

    indent: int
    number: int
    hidden: list[tuple[str, Value | None]] = field(default_factory=list)


class _Reader:
    """Reads a text line by line with a scope of value names."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self.ops: list[PrintedOp] = []
        self._open = [_Open(-1, -1)]
        self._known: dict[str, Value] = {}
        self._arguments: dict[int, int] = {}

    def take(self, number: int, line: str) -> int:
        """Read the next line; return the number of the op that owns it, -1 for none."""
        bare = line.lstrip(" ")
        if not bare or bare.startswith("//") or (bare == line and line[0] in "#!"):
            return -1
        indent = len(line) - len(bare)
        match = _OP.match(bare)
        if match is None or (match["results"] is None and match["name"] in _NO_OPS):
            self._close(indent + 1)
            at = self._open[-1].number
            if at >= 0:
                self._add(at, number, bare.partition("  //")[0] if bare[0] == "^" else bare)
            return at
        self._close(indent)
        at = len(self.ops)
        self.ops.append(PrintedOp(match["name"].strip('"'), self._open[-1].number))
        count = 0
        for each in match["results"].split(", ") if match["results"] else ():
            name, _, many = each.partition(":")
            self._define(name, (at, count))
            count += int(many[:6] or 1)  # a text may say anything
        self._open.append(_Open(indent, at))
        self._add(at, number, bare)
        return at

    def _close(self, indent: int) -> None:
        """Leave the ops at an indent or deeper, and restore the names that they shadow."""
        while self._open[-1].indent >= indent:
            for name, value in reversed(self._open.pop().hidden):
                if value is None:
                    self._known.pop(name, None)
                else:
                    self._known[name] = value

    def _define(self, name: str, value: Value) -> None:
        self._open[-1].hidden.append((name, self._known.get(name)))
        self._known[name] = value

    def _add(self, at: int, number: int, bare: str) -> None:
        values: list[Value] = []
        known, aliases = self._known, self.aliases

        def leave_out(match: re.Match[str]) -> str:
            word = match[0]
            if word[0] != "%":
                return aliases.get(word, word)
            if ":" in word:
                word, _, many = word.partition(":")
                values.append(known[word] if word in known else self._argument(word, at))
                return f"%:{many}"
            if (value := known.get(word)) is None:
                base, _, result = word.partition("#")
                first = known.get(base)
                value = self._argument(word, at) if first is None else (first[0], first[1] + int(result or 0))
            values.append(value)
            return "%"

        op = self.ops[at]
        op.shapes.append(_NAMED.sub(leave_out, bare))
        op.values.append(tuple(values))
        op.lines.append(number)

    def _argument(self, name: str, at: int) -> Value:
        """Define a block argument of an op: a name without an earlier definition."""
        count = self._arguments.get(at, 0) + 1
        self._arguments[at] = count
        self._define(name, (at, -count))
        return at, -count


@dataclass(frozen=True, slots=True)
class PlacedOps:
    """A printed payload with the ids of its ops.

    ``inside`` has the ids of nested ops that the text omits (terminators, bodies of named ops), by the number
    of the innermost printed op around them.
    """

    ir: PrintedIr
    ids: tuple[str | None, ...]
    inside: dict[int, tuple[str, ...]]

    def id_at(self, line: int) -> str | None:
        """Return the id of the op that a line belongs to, counted from 0."""
        owner = self.ir.owners[line]
        return None if owner < 0 else self.ids[owner]

    def all_ids(self) -> set[str]:
        """Return the ids of all ops, those that the text omits too."""
        return {i for i in self.ids if i is not None}.union(*self.inside.values())

    def parent_id(self, number: int) -> str | None:
        """Return the id of the op around an op."""
        parent = self.ir.ops[number].parent
        return None if parent < 0 else self.ids[parent]

    def named(self, values: Sequence[Value]) -> list[tuple[str | int, int]]:
        """Return values by the id of their op, to be compared with those of another text."""
        return [(self.ids[op] or op, number) for op, number in values]

    def by_meaning(self, values: Sequence[Value]) -> list[tuple[str | int, int]]:
        """Return values as `named` does, but constants by value: folding recreates them all the time."""
        ops = self.ir.ops
        return [
            (ops[op].shapes[0] if ops[op].name.endswith(".constant") else self.ids[op] or op, number)
            for op, number in values
        ]


def order_at(trace: Trace, step: int) -> tuple[str, ...] | None:
    """Return the ids of the payload ops after a step, outer before inner; None where that is not known."""
    snapshots = {s.step: s for s in trace.snapshots}
    at = snapshots.get(step)
    while at is not None and at.ops is None and not at.edits and at.base is not None:
        at = snapshots.get(at.base)
    return None if at is None or at.ops is None else read_order(at.ops)


class SameTrace:
    """A trace as a cache key, compared by identity: comparing by value is slow."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameTrace) and other.trace is self.trace

    def __hash__(self) -> int:
        return id(self.trace)


def place_ops(trace: Trace, step: int) -> PlacedOps | None:
    """Return the snapshot after a step with the ids of its ops; None if there is none."""
    return _place_ops(SameTrace(trace), step)


@functools.lru_cache(maxsize=4)
def _place_ops(same: SameTrace, step: int) -> PlacedOps | None:
    trace = same.trace
    text, order = trace.snapshot_text(step), order_at(trace, step)
    if text is None or order is None:
        return None
    return _Placing(trace, order).place(read_printed(text))


def omitted_ops(trace: Trace) -> Mapping[int, frozenset[str]]:
    """Return the payload ops that the printed text omits, after each step that changed the payload, and -1.

    These are bodies of named ops and terminators without operands. No count of ops includes them, so that a
    reader finds in the text what a number says. The steps are in the order in which they ended.
    """
    found = _omissions(SameTrace(trace))
    return {step: ops for step in found.steps if (ops := found.after(step)) is not None}


class _Omissions:
    """The ops that texts omit, found when they are asked for: reading a text takes a while.

    Attributes:
        steps: The steps that changed the payload, in the order in which they ended, after -1.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.steps = (-1, *(s.index for s in trace.steps_by_end() if s.payload_delta.signed))
        self._places = {step: place for place, step in enumerate(self.steps)}
        self._found: dict[int, frozenset[str] | None] = {}

    def after(self, step: int) -> frozenset[str] | None:
        """Return the ops that the text after a step omits; None if there is no such text."""
        if step not in self._found:
            placed = place_ops(self._trace, step)
            self._found[step] = None if placed is None else frozenset().union(*placed.inside.values())
        return self._found[step]

    def before(self, step: int) -> frozenset[str]:
        """Return the same of the last text before that of a step."""
        earlier = map(self.after, reversed(self.steps[: self._places[step]]))
        return next((ops for ops in earlier if ops is not None), frozenset())


@functools.lru_cache(maxsize=4)
def _omissions(same: SameTrace) -> _Omissions:
    return _Omissions(same.trace)


def shown_delta(trace: Trace, step: int) -> PayloadDelta:
    """Return what a step did to the payload ops that the printed text shows."""
    delta, omissions = trace.step_records[step].payload_delta, _omissions(SameTrace(trace))
    if not delta.signed or (after := omissions.after(step)) is None:
        return delta
    before = omissions.before(step)
    parts = ((delta.created, after), (delta.erased, before), (delta.changed, after), (delta.moved, after))
    return PayloadDelta(*(tuple(op for op in ops if op not in left_out) for ops, left_out in parts))


def named_as_copies(trace: Trace, old: PlacedOps, new: PlacedOps) -> PlacedOps:
    """Return a payload with the ids of its ops replaced by those of their copies in ``new``."""
    born = trace.op(new.ids[0] or "").born
    copies: dict[str | None, str] = {}
    for op in trace.op_records:
        if op.born == born and len(op.derived_from) == 1:
            copies.setdefault(op.derived_from[0], op.id)
    inside = {at: tuple(copies.get(i, i) for i in those) for at, those in old.inside.items()}
    return PlacedOps(old.ir, tuple(copies.get(i, i) for i in old.ids), inside)


class _Placing:
    """Aligns a text with the ids of its ops in order."""

    def __init__(self, trace: Trace, order: Sequence[str]) -> None:
        self._order = order
        self._records = [trace.op(each) for each in order]
        # Only where an op was first seen is known of these.
        self._moved = {i for s in trace.step_records for i in s.payload_delta.moved}

    def place(self, ir: PrintedIr) -> PlacedOps:
        ids: list[str | None] = []
        number: dict[str | None, int] = {}
        inside: dict[int, list[str]] = {}
        at = 0
        for op in ir.ops:
            around = ids[op.parent] if op.parent >= 0 else None
            found = self._find(at, op.name, around)
            if found is None:
                ids.append(None)
                continue
            self._leave_out(range(at, found), number, inside)
            number[self._order[found]] = len(ids)
            ids.append(self._order[found])
            at = found + 1
        self._leave_out(range(at, len(self._order)), number, inside)
        return PlacedOps(ir, tuple(ids), {op: tuple(those) for op, those in inside.items()})

    def _find(self, at: int, name: str, around: str | None) -> int | None:
        for place in range(at, len(self._order)):
            record = self._records[place]
            if not (record.name == name or record.name.endswith(f".{name}")):
                continue
            if record.parent == around or around is None or record.id in self._moved:
                return place
        return None

    def _leave_out(self, places: range, number: dict[str | None, int], inside: dict[int, list[str]]) -> None:
        for place in places:
            # One that was moved lies elsewhere than it was first seen: with the op before it.
            owner = number.get(self._records[place].parent, number.get(self._order[place - 1]))
            if owner is not None:
                number[self._order[place]] = owner
                inside.setdefault(owner, []).append(self._order[place])


def source_places(trace: Trace) -> list[Span | None]:
    """Return the source place of every payload op, in the order of the records.

    A derived op has the place of its first origin; None if that has none.
    """
    places: dict[str, Span | None] = {}
    for op in trace.op_records:
        places[op.id] = op.source or (places.get(op.derived_from[0]) if op.derived_from else None)
    return list(places.values())


def source_place(trace: Trace, op: PayloadOp) -> Span | None:
    """Return the source place of one payload op, as `source_places` does for all."""
    while op.source is None and op.derived_from:
        op = trace.op(op.derived_from[0])
    return op.source


def op_in_words(trace: Trace, op_id: str) -> str:
    """Return an op's name, with its source place where that is known."""
    op = trace.op(op_id)
    place = source_place(trace, op)
    return f"{op.name} of {place}" if place else op.name
