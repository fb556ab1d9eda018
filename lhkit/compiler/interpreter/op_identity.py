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
import ctypes
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadDelta

_MARK = "lhkit:"
_TAG = re.compile(r'"lhkit:(o\d+)"')
_TAGGED = re.compile(rf"{_MARK}(o\d+)")
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_name_of_capsules: list[bytes] = []

# A new payload op: its id, name, parent's id, origins, and its place if it has no origin.
NewOp = tuple[str, str, str | None, tuple[str, ...], Span | None]


def addresses(ops: Sequence[Any]) -> list[int]:
    """Return the address of each operation."""
    if not ops:
        return []
    if not _name_of_capsules:
        _name_of_capsules.append(_capsule_name(ops[0]._CAPIPtr))
    return list(map(_pointer, [op._CAPIPtr for op in ops], repeat(_name_of_capsules[0])))


def address(op: Any) -> int:
    """Return the address of an operation."""
    return addresses((op,))[0]


@dataclass(slots=True)
class _Known:
    """An op that is in the payload now."""

    id: str
    name: str
    parent: int | None
    hash: int


def ops_under(roots: Sequence[Any]) -> list[Any]:
    """Return the roots and all ops in them, outer before inner, in order."""
    ops: list[Any] = []
    keep, go_on = ops.append, ir.WalkResult.ADVANCE

    def visit(op: Any) -> Any:
        keep(op)
        return go_on

    for root in roots:
        root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return ops


def bytecode_of(root: Any) -> bytes:
    """Return a payload as bytecode, to be compared; it takes a tenth of the time that its text does."""
    written = io.BytesIO()
    root.write_bytecode(written, 2)  # the version that leaves out the order of uses, as texts do
    return written.getvalue()


class Identities:
    """Which op of the payload is which, from one look to the next."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[int, _Known] = {}
        self._base: dict[str, Any] = {}
        self._branching: set[int] = set()
        self._last: tuple[list[int], list[int | None], list[int]] = ([], [], [])
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
        found = self._last[0]
        return [self._known[at].id for at in found[found.index(address(first)) :]]

    def look(self, roots: Sequence[Any]) -> tuple[PayloadDelta, list[NewOp]] | None:
        """Walk the payload; return what changed and the new ops, None if nothing did since the last look."""
        ops = ops_under(roots)
        found = addresses(ops)
        around = [op.parent for op in ops]
        there = iter(addresses([p for p in around if p is not None]))
        parents = [None if p is None else next(there) for p in around]
        hashes = list(map(hash, ops))
        if self._branching:
            for i, at in enumerate(found):
                if at in self._branching:
                    hashes[i] = _hash_with_successors(ops[i])
        if (found, parents, hashes) == self._last:
            return None
        self._last = found, parents, hashes
        return self._update(ops)

    def _update(self, ops: list[Any]) -> tuple[PayloadDelta, list[NewOp]]:
        found, parents, hashes = self._last
        before = self._known
        self._known = now = dict[int, _Known]()
        made: list[NewOp] = []
        changed: list[str] = []
        moved: list[str] = []
        for i, (op, at, parent, hash_) in enumerate(zip(ops, found, parents, hashes, strict=True)):
            known = before.get(at)
            if known is None or (known.hash != hash_ and not self._is_same(op, known)):
                now[at] = known = _Known(f"o{self._count}", op.name, parent, 0)
                self._count += 1
                made.append(self._tag(op, known))
                hashes[i] = known.hash = self._hash(op, at)
                continue
            now[at] = known
            if known.hash != hash_:
                changed.append(known.id)
                known.hash = hash_
            if known.parent != parent or (parent in now and now[parent] is not before.get(parent)):
                moved.append(known.id)
                known.parent = parent
        erased = [k.id for at, k in before.items() if now.get(at) is not k]
        if erased and made:
            all_changed = self._rewired(ops, before).union(changed)
            changed = [known.id for known in now.values() if known.id in all_changed]
        moved += self._reordered(before, now, set(moved))
        return PayloadDelta(tuple([o[0] for o in made]), tuple(erased), tuple(changed), tuple(moved)), made

    def _rewired(self, ops: list[Any], before: dict[int, _Known]) -> set[str]:
        """Return the kept ops that read results of new ops: those may lie at the addresses of erased ones."""
        now, found = self._known, set[str]()
        for op, at in zip(ops, self._last[0], strict=True):
            if now[at] is not before.get(at):
                users = addresses([use.owner for result in op.results for use in result.uses])
                found.update(now[u].id for u in users if u in now and now[u] is before.get(u))
        return found

    def _is_same(self, op: Any, known: _Known) -> bool:
        location = op.location
        return (
            isinstance(location, ir.NameLoc)
            and location.name_str == f"{_MARK}{known.id}"
            and op.name == known.name
        )

    def _hash(self, op: Any, at: int) -> int:
        if len(op.successors):
            self._branching.add(at)
            return _hash_with_successors(op)
        self._branching.discard(at)  # of an op that was there before
        return hash(op)

    def _tag(self, op: Any, known: _Known) -> NewOp:
        """Give a new op a tag; the one it had says what it derives from."""
        location = op.location
        origins = _origins(location)
        base = self._base[origins[0]] if origins else location
        if origins and isinstance(location, ir.NameLoc) and not _TAGGED.fullmatch(location.name_str):
            base = ir.Location.name(location.name_str, childLoc=base)  # what the lowering knows it by
        source = None if origins else self._names.place(location)
        # Diagnostics about an op find its place below the tag.
        self._base[known.id] = base
        op.location = ir.Location.name(f"{_MARK}{known.id}", childLoc=base)
        around = None if known.parent is None else self._known[known.parent].id
        return known.id, known.name, around, origins, source

    @staticmethod
    def _reordered(before: dict[int, _Known], now: dict[int, _Known], moved: set[str]) -> list[str]:
        """Return the ops that changed places with siblings, as few as explain the new order."""
        was = [k.id for at, k in before.items() if now.get(at) is k]
        kept = [k for at, k in now.items() if before.get(at) is k]
        if was == [k.id for k in kept]:
            return []
        siblings: dict[int | None, list[str]] = {}
        for known in kept:
            if known.id not in moved:
                siblings.setdefault(known.parent, []).append(known.id)
        rank = {each: i for i, each in enumerate(was)}
        return [each for ids in siblings.values() for each in _out_of_order(ids, rank)]


def _hash_with_successors(op: Any) -> int:
    return hash((hash(op), *[hash(block) for block in op.successors]))


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
