"""Payload ops that keep their identity while a schedule rewrites them.

An op is known by its address, the tag that its location carries, and its name: addresses are used again,
and a rewrite gives new ops the location of the op that they come from, which says what they derive from.
"""

from __future__ import annotations

import bisect
import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.names import Names
from lhkit.model.span import Span
from lhkit.model.trace import PayloadDelta, PayloadOp

_MARK = "lhkit:"
_TAG = re.compile(r'"lhkit:(o\d+)"')
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_name_of_capsules: list[bytes] = []


def address(op: Any) -> int:
    """Return the address of an operation."""
    capsule = op._CAPIPtr
    if not _name_of_capsules:
        _name_of_capsules.append(_capsule_name(capsule))
    return int(_pointer(capsule, _name_of_capsules[0]))


@dataclass(slots=True)
class _Known:
    """An op that is in the payload now."""

    id: str
    name: str
    parent: int | None
    hash: int


class Identities:
    """Which op of the payload is which, from one look to the next."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[int, _Known] = {}
        self._base: dict[str, tuple[Any, Span | None]] = {}
        self._hashes: list[int] = []
        self._count = 0

    def id_of(self, op: Any) -> str | None:
        """Return the id of an op that the last look saw, or None."""
        known = self._known.get(address(op))
        return known.id if known else None

    def parent_of(self, at: int) -> int | None:
        """Return the address of the op around the one at an address."""
        known = self._known.get(at)
        return known.parent if known else None

    def id_at(self, at: int) -> str | None:
        """Return the id of the op at an address that the last look saw there."""
        known = self._known.get(at)
        return known.id if known else None

    def look(self, roots: Sequence[Any], step: int) -> tuple[PayloadDelta, list[PayloadOp]] | None:
        """Walk the payload; return what a step did to it and the ops it made, None if it did nothing."""
        ops: list[Any] = []
        keep, go_on = ops.append, ir.WalkResult.ADVANCE

        def visit(op: Any) -> Any:
            keep(op)
            return go_on

        for root in roots:
            root.walk(visit, ir.WalkOrder.PRE_ORDER)
        # The hash covers name, attributes, operands, types and location; the order covers the nesting.
        hashes = [hash(op) for op in ops]
        if hashes == self._hashes:
            return None
        delta, made = self._update(ops, hashes, step)
        self._hashes = hashes
        return delta, made

    def _update(self, ops: list[Any], hashes: list[int], step: int) -> tuple[PayloadDelta, list[PayloadOp]]:
        before = self._known
        self._known = now = dict[int, _Known]()
        made: list[PayloadOp] = []
        changed: list[str] = []
        moved: list[str] = []
        around: list[tuple[Any, int]] = []
        for i, op in enumerate(ops):
            at = address(op)
            parent_op = op.parent
            while around and (parent_op is None or around[-1][0] != parent_op):
                around.pop()
            parent = around[-1][1] if around else None
            around.append((op, at))
            old = before.get(at)
            if old is not None and old.hash != hashes[i] and not self._is_same(op, old):
                old = None
            if old is None:
                known = _Known(f"o{self._count}", op.name, parent, 0)
                self._count += 1
                made.append(self._tag(op, known, now.get(parent) if parent else None, step))
                known.hash = hashes[i] = hash(op)
                now[at] = known
                continue
            if old.hash != hashes[i]:
                changed.append(old.id)
            if old.parent != parent:
                moved.append(old.id)
            now[at] = _Known(old.id, old.name, parent, hashes[i])
        moved += self._reordered(before, now, set(moved))
        kept = {k.id for k in now.values()}
        erased = [k.id for k in before.values() if k.id not in kept]
        delta = PayloadDelta(tuple(o.id for o in made), tuple(erased), tuple(changed), tuple(moved))
        return delta, made

    def _is_same(self, op: Any, old: _Known) -> bool:
        location = op.location
        return (
            isinstance(location, ir.NameLoc) and location.name_str == f"{_MARK}{old.id}" and op.name == old.name
        )

    def _tag(self, op: Any, known: _Known, parent: _Known | None, step: int) -> PayloadOp:
        """Give a new op a tag; the one it had says what it derives from."""
        location = op.location
        origins = _origins(location)
        base, source = self._base[origins[0]] if origins else (location, self._names.place(location))
        self._base[known.id] = base, source
        op.location = ir.Location.name(f"{_MARK}{known.id}", childLoc=base)
        return PayloadOp(known.id, known.name, parent.id if parent else None, origins, step, None, source)

    @staticmethod
    def _reordered(before: dict[int, _Known], now: dict[int, _Known], moved: set[str]) -> list[str]:
        """Return the ops that changed places with siblings, as few as explain the new order."""
        kept = {k.id for k in now.values()}
        was = [k.id for k in before.values() if k.id in kept]
        there = set(was)
        siblings: dict[int | None, list[str]] = {}
        if was == [k.id for k in now.values() if k.id in there]:
            return []
        for known in now.values():
            if known.id in there and known.id not in moved:
                siblings.setdefault(known.parent, []).append(known.id)
        rank = {each: i for i, each in enumerate(was)}
        return [each for ids in siblings.values() for each in _out_of_order(ids, rank)]


def _origins(location: Any) -> tuple[str, ...]:
    """Return the ids in the tags of a location, the outermost of each branch."""
    if isinstance(location, ir.NameLoc):
        name = location.name_str
        return (name[len(_MARK) :],) if name.startswith(_MARK) else _origins(location.child_loc)
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
