"""Sets of payload ops without a payload: what is known of how the sets behind handles overlap and nest.

A *cell* stands for a set of payload ops that is not empty. A handle points to the union of some cells. Cells
are related by what the ops of a schedule say of their results: one is a part of another, lies inside
another, or may share ops with it. Consuming cells kills the handles with an op at or under theirs: certainly if
the relations leave no other possibility, possibly if they give a reason to think so. Two cells that nothing
relates are taken to be apart; without that every schedule would be full of warnings.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from lhkit.checks.op_facts import Kinds, is_loop, is_outer, kinds_meet, kinds_within
from lhkit.model.trace_record import Cause

CellSet = frozenset["Cell"]


@dataclass(frozen=True, slots=True)
class Inside:
    """Every op of a cell lies at or under one of these; ``is_direct``: with nothing between."""

    cells: CellSet
    is_certain: bool
    is_direct: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """How the ops of a cell were found: all of its kinds under a scope, at one state of the payload."""

    scope: CellSet
    version: int
    is_filtered: bool


@dataclass(slots=True, eq=False)
class Cell:
    """A set of payload ops that is not empty.

    Attributes:
        kinds: What kinds they are, None if unknown.
        is_exact: False once something unknown may have changed the kinds.
        parts_of: Unions that contain all its ops.
        parts: The cells that are a part of it alone.
        inside: What its ops lie in.
        overlaps: Cells with which it may share ops.
        apart: Cells with which it shares none.
        search: How it was found, None if it was not by a search.
        near: The op that asked for the producers or consumers of other cells and gave these, and those cells.
    """

    kinds: Kinds
    is_exact: bool = True
    parts_of: list[CellSet] = field(default_factory=list)
    parts: list[Cell] = field(default_factory=list)
    inside: list[Inside] = field(default_factory=list)
    overlaps: set[Cell] = field(default_factory=set)
    apart: set[Cell] = field(default_factory=set)
    search: Search | None = None
    near: tuple[str, CellSet] | None = None

    def make_part_of(self, whole: CellSet) -> None:
        """Record that its ops are among those of ``whole``."""
        self.parts_of.append(whole)
        if len(whole) == 1:
            next(iter(whole)).parts.append(self)

    def may_overlap(self, other: Cell) -> None:
        """Record that the two may share ops."""
        self.overlaps.add(other)
        other.overlaps.add(self)

    def stir(self) -> None:
        """Take back what no longer holds after payload ops may have moved, changed or gone."""
        if not is_outer(self.kinds):
            self.is_exact = False
        self.inside = [
            i if all(is_outer(c.kinds) for c in i.cells) else dataclasses.replace(i, is_certain=False)
            for i in self.inside
        ]

    def place(self) -> list[Inside]:
        """Return what its ops lie in, by itself or because it is a part of what lies there."""
        found = list(self.inside)
        for whole in wholes(self)[1:]:
            is_certain = all_among(self, frozenset({whole}))
            found += [dataclasses.replace(i, is_certain=i.is_certain and is_certain) for i in whole.inside]
        return [i for i in found if self not in i.cells]

    def containers(self) -> list[Cell]:
        """Return the cells it lies or may lie in, near ones first."""
        found: dict[Cell, None] = {}
        waiting: list[Cell] = [self]
        while waiting:
            cell = waiting.pop(0)
            around = [c for i in cell.inside for c in i.cells] + [c for p in cell.parts_of for c in p]
            for each in around:
                if each not in found and each is not self:
                    waiting.append(each)
                    found[each] = None
        lying_in = {c for cell in (self, *found) for i in cell.inside for c in i.cells}
        return [c for c in found if c in lying_in]


def wholes(cell: Cell) -> list[Cell]:
    """Return a cell and those it is, perhaps with others, a part of."""
    found = {cell: None}
    waiting = [cell]
    while waiting:
        for whole in waiting.pop().parts_of:
            for each in whole:
                if each not in found:
                    found[each] = None
                    waiting.append(each)
    return list(found)


def contents(cells: Iterable[Cell]) -> set[Cell]:
    """Return the cells all of whose ops are certainly among those of a union."""
    found = set(cells)
    waiting = list(found)
    while waiting:
        for part in waiting.pop().parts:
            if part not in found:
                found.add(part)
                waiting.append(part)
    return found


def all_among(cell: Cell, roots: CellSet) -> bool:
    """Return True if every op of a cell is certainly one of the roots."""
    return _is_covered_by(cell, roots, lambda c: c.parts_of)


def all_under(cell: Cell, roots: CellSet) -> bool:
    """Return True if every op of a cell certainly lies at or under one of the roots."""
    return _is_covered_by(cell, roots, lambda c: [i.cells for i in c.inside if i.is_certain] + c.parts_of)


def _is_covered_by(cell: Cell, roots: CellSet, unions_of: Callable[[Cell], list[CellSet]]) -> bool:
    reached = {cell: unions_of(cell)}
    if cell in roots or any(union and union <= roots for union in reached[cell]):
        return True  # so are most, and the search below may reach every cell that there is
    waiting = [cell]
    while waiting:
        for union in reached[waiting.pop()]:
            for each in union:
                if each not in reached:
                    reached[each] = [] if each in roots else unions_of(each)
                    waiting.append(each)
    covered = set(roots & reached.keys())
    # For each union its cell and how many of its own are not covered yet; for each cell the unions it is in.
    unions = [(c, u) for c, of_it in reached.items() for u in of_it]
    missing = [len(u) for _, u in unions]
    users: dict[Cell, list[int]] = defaultdict(list)
    for k, (_, union) in enumerate(unions):
        for each in union:
            users[each].append(k)
    waiting = list(covered)
    while waiting and cell not in covered:
        for k in users[waiting.pop()]:
            missing[k] -= 1
            if missing[k] == 0 and unions[k][0] not in covered:
                covered.add(unions[k][0])
                waiting.append(unions[k][0])
    return cell in covered


def may_share(a: Cell, b: Cell) -> bool:
    """Return True if there is reason to think that two cells share an op."""
    if a is b:
        return True
    if a.kinds and b.kinds and not kinds_meet(a.kinds, b.kinds):
        return False
    of_a, of_b = wholes(a), wholes(b)
    if any(y in x.apart for x in of_a for y in of_b):
        return False
    return any(x is y or y in x.overlaps for x in of_a for y in of_b)


def may_lie_under(cell: Cell, root: Cell) -> bool:
    """Return True if there is reason to think that an op of a cell lies at or under one of another."""
    seen = {cell}
    waiting = [cell]
    while waiting:
        each = waiting.pop()
        if may_share(each, root):
            return True
        alike = [*wholes(each), *contents([each]), *each.overlaps]
        around = {c for x in alike for i in x.inside for c in i.cells} - seen
        seen |= around
        waiting += around
    return False


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a handle when cells are consumed: why it dies, and whether that is certain."""

    cause: Cause
    is_certain: bool


def fate_of(cells: Collection[Cell], roots: CellSet) -> Fate | None:
    """Return how a handle to some cells dies if ``roots`` are consumed, None if it does not."""
    known = contents(cells)
    if any(all_among(c, roots) for c in known):
        return Fate("alias", True)
    if any(all_under(c, roots) for c in known):
        return Fate("nested", True)
    if any(may_share(c, r) for c in cells for r in roots):
        return Fate("alias", False)
    if any(may_lie_under(c, r) for c in cells for r in roots):
        return Fate("nested", False)
    return None


def relate_found(found: Cell, others: Iterable[Cell]) -> None:
    """Relate a cell that a search gave to those that are there already."""
    search = found.search
    if search is None:
        return
    for other in others:
        if other is found:
            continue
        is_under = all_under(other, search.scope)
        if not is_under and not any(may_lie_under(other, s) for s in search.scope):
            continue
        if not kinds_meet(other.kinds, found.kinds):
            _relate_functions(found, other)
            continue
        covers = is_under and other.is_exact and not search.is_filtered
        if covers and kinds_within(other.kinds, found.kinds):
            other.make_part_of(frozenset({found}))
        elif not _is_covered(found, search, other):
            found.may_overlap(other)
        if _is_covered(found, search, other):
            found.make_part_of(frozenset({other}))


def _is_covered(found: Cell, search: Search, other: Cell) -> bool:
    """Return True if an earlier search of the same payload has found all of it."""
    earlier = other.search
    return (
        earlier is not None
        and not earlier.is_filtered
        and earlier.version == search.version
        and kinds_within(found.kinds, other.kinds)
        and all(all_under(s, earlier.scope) for s in search.scope)
    )


def _relate_functions(found: Cell, other: Cell) -> None:
    """All functions of a scope, and all ops of some kind: these may lie in those."""
    for outer, inner in ((found, other), (other, found)):
        all_of_them = outer.search is not None and not outer.search.is_filtered
        is_around = is_outer(outer.kinds) or (is_loop(outer.kinds) and inner.kinds is not None)
        if all_of_them and is_around and not is_outer(inner.kinds):
            inner.inside.append(Inside(frozenset({outer}), is_certain=False))
