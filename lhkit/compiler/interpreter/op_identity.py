"""Payload ops that keep their identity while a schedule rewrites them.

An op is known by its address, the tag that its location carries, and its name: addresses are used again,
and a rewrite gives new ops the location of the op that they come from, which says what they derive from.

Whether an op changed is told by its hash, which MLIR makes of 64 bits from name, attributes, operands, results
(both by address), result types and location. It leaves out successors, which are added here for the few ops
that have some, and the types of block arguments: in a payload that verifies they follow from what is covered.
Two values of a changed op have the same hash about once in 2**64 changes, except where memory is reused: a new
op may get the address of an erased one, and then its users hash as before. Users of new ops and ops inside of
them are therefore compared by identity.
"""

from __future__ import annotations

import bisect
import io
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.interpreter.payload_walk import (
    MOST_WITHOUT,
    WORDS,
    BoundWalk,
    NativeWalk,
    address,
    addresses,
    made_walk,
    native_walk,
    op_at,
)
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadDelta

_MARK = "lhkit:"
_TAG = re.compile(r'"lhkit:(o\d+)"')
_TAGGED = re.compile(rf"{_MARK}(o\d+)")

# A new payload op: its id, name, parent's id, origins, and its place if it has no origin.
NewOp = tuple[str, str, str | None, tuple[str, ...], Span | None]


@dataclass(slots=True)
class _Known:
    """An op that is in the payload now."""

    id: str
    parent: int | None
    hash: int
    name: str = ""


def bytecode_of(root: Any) -> bytes:
    """Return a payload as bytecode, to be compared; it takes a tenth of the time that its text does."""
    written = io.BytesIO()
    root.write_bytecode(written, 2)  # the version that leaves out the order of uses, as texts do
    return written.getvalue()


class Identities:
    """Which op of the payload is which, from one look to the next."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._walk: BoundWalk | NativeWalk = made_walk() or BoundWalk()
        self._walked = 0
        self._known: dict[int, _Known] = {}
        self._base: dict[str, Any] = {}
        self._words: array[int] = array("Q")  # of the last look
        self._count = 0

    @property
    def count(self) -> int:
        """How many ops the last look saw."""
        return len(self._known)

    def parent_of(self, at: int) -> int | None:
        """Return the address of the op around the one at an address."""
        known = self._known.get(at)
        return known.parent if known else None

    def id_at(self, at: int | None) -> str | None:
        """Return the id of the op at an address that the last look saw there."""
        known = None if at is None else self._known.get(at)
        return known.id if known else None

    def in_order(self, first: Any) -> list[str]:
        """Return the ids of the ops that the last look saw from an op on, outer before inner."""
        found, known = self._words[::WORDS].tolist(), self._known
        return [known[at].id for at in found[found.index(address(first)) :]]

    def look(self, roots: Sequence[Any]) -> tuple[PayloadDelta, list[NewOp]] | None:
        """Walk the payload; return what changed and the new ops, None if nothing did since the last look."""
        words = self._walk.words(roots)
        self._walked += len(words) // WORDS
        seen = None if words == self._words else self._update(words)
        if self._walked > MOST_WITHOUT and isinstance(self._walk, BoundWalk) and (native := native_walk()):
            self._walk, self._words = native, native.words(roots)
            for at, hash_ in zip(self._words[::WORDS], self._words[2::WORDS], strict=True):
                self._known[at].hash = hash_
        return seen

    def _update(self, words: array[int]) -> tuple[PayloadDelta, list[NewOp]]:
        first, last = _common_rows(self._words, words)
        now = self._known
        old = {at: now[at] for at in self._words[first : len(self._words) - last : WORDS]}
        rows = range(first, len(words) - last, WORDS)
        self._words = words
        made: dict[int, NewOp] = {}
        changed: list[str] = []
        moved: list[str] = []
        kept: list[_Known] = []
        for row in rows:
            at, parent, hash_ = words[row], words[row + 1] or None, words[row + 2]
            known = old.get(at)
            if known is None or (known.hash != hash_ and not self._is_same(op_at(at), known)):
                now[at] = known = _Known(f"o{self._count}", parent, 0)
                self._count += 1
                op = op_at(at)
                made[at] = self._tag(op, known)
                words[row + 2] = known.hash = self._walk.hash_of(op)
                continue
            kept.append(known)
            if known.hash != hash_:
                changed.append(known.id)
                known.hash = hash_
            if known.parent != parent or parent in made:
                moved.append(known.id)
                known.parent = parent
        gone = old.keys() - {words[row] for row in rows}
        erased = [known.id for at, known in old.items() if at in gone or at in made]
        for at in gone:
            del now[at]
        if not made.keys().isdisjoint(old):  # other ops at their addresses; what follows may be in them
            behind = range(len(words) - last, len(words), WORDS)
            moved += [now[words[row]].id for row in behind if words[row + 1] in made]
        if erased and made:
            changed = self._with_rewired(changed, made)
        moved += _reordered(old.values(), kept, set(moved))
        return (
            PayloadDelta(tuple([o[0] for o in made.values()]), tuple(erased), tuple(changed), tuple(moved)),
            list(made.values()),
        )

    def _with_rewired(self, changed: list[str], made: Mapping[int, NewOp]) -> list[str]:
        """Add the kept ops that read results of new ops: those may lie at the addresses of erased ones."""
        users = addresses([use.owner for at in made for r in op_at(at).results for use in r.uses])
        found = {self._known[at].id for at in users if at in self._known and at not in made}
        if found <= set(changed):
            return changed
        found.update(changed)
        return [known.id for at in self._words[::WORDS] if (known := self._known[at]).id in found]

    def _is_same(self, op: Any, known: _Known) -> bool:
        location = op.location
        return (
            isinstance(location, ir.NameLoc)
            and location.name_str == f"{_MARK}{known.id}"
            and op.name == known.name
        )

    def _tag(self, op: Any, known: _Known) -> NewOp:
        """Give a new op a tag; the one it had says what it derives from."""
        location = op.location
        origins = _origins(location)
        base = self._base[origins[0]] if origins else location
        if origins and isinstance(location, ir.NameLoc) and not _TAGGED.fullmatch(location.name_str):
            base = ir.Location.name(location.name_str, childLoc=base)  # what the lowering knows it by
        source = None if origins else self._names.place(location)
        # Diagnostics about an op find its place below the tag.
        self._base[known.id], known.name = base, op.name
        op.location = ir.Location.name(f"{_MARK}{known.id}", childLoc=base)
        around = None if known.parent is None else self._known[known.parent].id
        return known.id, known.name, around, origins, source


def _common_rows(old: array[int], new: array[int]) -> tuple[int, int]:
    """Return how many words of whole rows two arrays have in common at the beginning and at the end."""

    def length(most: int, differ: Callable[[int], bool]) -> int:
        return bisect.bisect_left(range(1, most + 1), True, key=lambda rows: differ(rows * WORDS))

    most, ends = min(len(old), len(new)) // WORDS, (len(old), len(new))
    first = length(most, lambda n: old[:n] != new[:n])
    last = length(most - first, lambda n: old[ends[0] - n :] != new[ends[1] - n :])
    return first * WORDS, last * WORDS


def _reordered(was: Iterable[_Known], kept: Sequence[_Known], moved: set[str]) -> list[str]:
    """Return the ops that changed places with siblings, as few as explain the new order."""
    present = {known.id for known in kept}
    before = [known.id for known in was if known.id in present]
    if before == [known.id for known in kept]:
        return []
    siblings: dict[int | None, list[str]] = {}
    for known in kept:
        if known.id not in moved:
            siblings.setdefault(known.parent, []).append(known.id)
    rank = {each: i for i, each in enumerate(before)}
    return [each for ids in siblings.values() for each in _out_of_order(ids, rank)]


def _origins(location: Any) -> tuple[str, ...]:
    """Return the ids in the tags of a location, the outermost of each branch."""
    if isinstance(location, ir.NameLoc):
        tag = _TAGGED.fullmatch(location.name_str)
        return (tag[1],) if tag else _origins(location.child_loc)
    if isinstance(location, ir.FileLineColLoc | ir.UnknownLoc):
        return ()
    text = str(location)
    return tuple(dict.fromkeys(_TAG.findall(text)))


def _out_of_order(ids: list[str], rank: dict[str, int]) -> list[str]:
    """Return the ids outside a longest run of ascending rank."""
    ends: list[int] = []
    length: list[int] = []
    for each in ids:
        place = bisect.bisect_left(ends, rank[each])
        ends[place : place + 1] = [rank[each]]
        length.append(place)
    wanted = len(ends) - 1
    out = []
    for each, place in zip(reversed(ids), reversed(length), strict=True):
        if place == wanted:
            wanted -= 1
        else:
            out.append(each)
    return out[::-1]
