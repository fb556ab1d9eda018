"""Points-to sets for the static checker: may/must alias and nesting between handles when no payload is given.

An *abstract set* is a non-empty set of payload ops. A handle points to a union of abstract
sets. The facts about ops relate sets: subset of a union, nested in a union, may alias. Consuming sets kills the
handles that point to their ops or into them: an error if the relations imply it (must), a warning if they allow
it (may). Sets without a relation are assumed not to alias; otherwise every schedule would be full of warnings.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from lhkit.checks.op_facts import Kinds, is_loop, is_outer, kinds_intersect, kinds_within
from lhkit.model.trace_record import Cause

SetUnion = frozenset["AbstractSet"]


@dataclass(frozen=True, slots=True)
class Nesting:
    """Every op of a set is nested in, or equal to, one of these; ``is_direct``: with no op between."""

    sets: SetUnion
    is_certain: bool
    is_direct: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """The match that found a set: all ops of its kinds under a scope, at one version of the payload."""

    scope: SetUnion
    version: int
    is_filtered: bool


@dataclass(slots=True, eq=False)
class AbstractSet:
    """A set of payload ops that is not empty.

    Attributes:
        kinds: Names and interfaces of its ops, None if unknown.
        is_exact: False once an unknown op may have changed the kinds.
        search: The match that found it, or None.
        near: The op that returned it as producers or consumers of other sets, and those sets.
    """

    kinds: Kinds
    is_exact: bool = True
    subset_of: list[SetUnion] = field(default_factory=list)
    subsets: list[AbstractSet] = field(default_factory=list)
    nestings: list[Nesting] = field(default_factory=list)
    may_aliases: set[AbstractSet] = field(default_factory=set)
    disjoint: set[AbstractSet] = field(default_factory=set)
    search: Search | None = None
    near: tuple[str, SetUnion] | None = None

    def add_superset(self, whole: SetUnion) -> None:
        """Record that its ops are among those of ``whole``."""
        self.subset_of.append(whole)
        if len(whole) == 1:
            next(iter(whole)).subsets.append(self)

    def add_may_alias(self, other: AbstractSet) -> None:
        """Record that the two may share ops."""
        self.may_aliases.add(other)
        other.may_aliases.add(self)

    def invalidate_relations(self) -> None:
        """Weaken relations to may after payload ops may have moved, changed or been erased."""
        if not is_outer(self.kinds):
            self.is_exact = False
        self.nestings = [
            i if all(is_outer(c.kinds) for c in i.sets) else dataclasses.replace(i, is_certain=False)
            for i in self.nestings
        ]

    def enclosing(self) -> list[Nesting]:
        """Return what its ops are nested in, directly or through a superset."""
        found = list(self.nestings)
        for whole in supersets(self)[1:]:
            is_certain = is_must_subset(self, frozenset({whole}))
            found += [dataclasses.replace(i, is_certain=i.is_certain and is_certain) for i in whole.nestings]
        return [i for i in found if self not in i.sets]

    def containers(self) -> list[AbstractSet]:
        """Return the sets that it is or may be nested in, near ones first."""

        def around(ops: AbstractSet) -> list[AbstractSet]:
            return [c for i in ops.nestings for c in i.sets] + [c for whole in ops.subset_of for c in whole]

        found = list(reachable([self], around))
        lying_in = {c for ops in found for i in ops.nestings for c in i.sets}
        return [c for c in found[1:] if c in lying_in]


def reachable(
    start: Iterable[AbstractSet], successors: Callable[[AbstractSet], Iterable[AbstractSet]]
) -> Iterator[AbstractSet]:
    """Yield sets and all that are reached from them, breadth first."""
    waiting = list(start)
    found = set(waiting)
    for each in waiting:
        yield each
        for other in successors(each):
            if other not in found:
                found.add(other)
                waiting.append(other)


def supersets(ops: AbstractSet) -> list[AbstractSet]:
    """Return a set and the members of the unions that it is a subset of."""
    return list(reachable([ops], lambda c: itertools.chain(*c.subset_of)))


def must_subsets(sets: Iterable[AbstractSet]) -> list[AbstractSet]:
    """Return the sets all of whose ops are certainly in a union."""
    return list(reachable(sets, lambda c: c.subsets))


def is_must_subset(ops: AbstractSet, roots: SetUnion) -> bool:
    """Return True if every op of a set must be one of the roots."""
    return _is_covered(ops, roots, lambda c: c.subset_of)


def is_must_nested(ops: AbstractSet, roots: SetUnion) -> bool:
    """Return True if every op of a set must be one of the roots or nested in one."""
    return _is_covered(ops, roots, lambda c: [i.sets for i in c.nestings if i.is_certain] + c.subset_of)


def _is_covered(ops: AbstractSet, roots: SetUnion, unions_of: Callable[[AbstractSet], list[SetUnion]]) -> bool:
    reached = {ops: unions_of(ops)}
    if ops in roots or any(union and union <= roots for union in reached[ops]):
        return True  # so are most, and the search below may reach every set that there is
    waiting = [ops]
    while waiting:
        for union in reached[waiting.pop()]:
            for each in union:
                if each not in reached:
                    reached[each] = [] if each in roots else unions_of(each)
                    waiting.append(each)
    covered = set(roots & reached.keys())
    # For each union its set and the number of its members not covered yet; for each set the unions it is in.
    unions = [(c, u) for c, of_it in reached.items() for u in of_it]
    missing = [len(u) for _, u in unions]
    users: dict[AbstractSet, list[int]] = defaultdict(list)
    for k, (_, union) in enumerate(unions):
        for each in union:
            users[each].append(k)
    waiting = list(covered)
    while waiting and ops not in covered:
        for k in users[waiting.pop()]:
            missing[k] -= 1
            if missing[k] == 0 and unions[k][0] not in covered:
                covered.add(unions[k][0])
                waiting.append(unions[k][0])
    return ops in covered


def may_alias(a: AbstractSet, b: AbstractSet) -> bool:
    """Return True if there is reason to think that two sets share an op."""
    if a is b:
        return True
    if a.kinds and b.kinds and not kinds_intersect(a.kinds, b.kinds):
        return False
    of_a, of_b = supersets(a), supersets(b)
    if any(y in x.disjoint for x in of_a for y in of_b):
        return False
    return any(x is y or y in x.may_aliases for x in of_a for y in of_b)


def may_be_nested(ops: AbstractSet, root: AbstractSet) -> bool:
    """Return True if there is reason to think that an op of a set is in another set or nested in it."""

    def around(each: AbstractSet) -> set[AbstractSet]:
        alike = (*supersets(each), *must_subsets([each]), *each.may_aliases)
        return {c for x in alike for i in x.nestings for c in i.sets}

    return any(may_alias(each, root) for each in reachable([ops], around))


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of a handle with consumed sets: the cause of its death, and must (certain) or may."""

    cause: Cause
    is_certain: bool


def find_overlap(sets: Collection[AbstractSet], roots: SetUnion) -> Overlap | None:
    """Return how a handle's sets overlap with consumed ones, None if they do not."""
    known = must_subsets(sets)
    if any(is_must_subset(c, roots) for c in known):
        return Overlap("alias", True)
    if any(is_must_nested(c, roots) for c in known):
        return Overlap("nested", True)
    if any(may_alias(c, r) for c in sets for r in roots):
        return Overlap("alias", False)
    if any(may_be_nested(c, r) for c in sets for r in roots):
        return Overlap("nested", False)
    return None


def relate_match(found: AbstractSet, others: Iterable[AbstractSet]) -> None:
    """Relate a set that a match returned to the existing ones."""
    search = found.search
    if search is None:
        return
    for other in others:
        if other is found:
            continue
        is_under = is_must_nested(other, search.scope)
        if not is_under and not any(may_be_nested(other, s) for s in search.scope):
            continue
        if not kinds_intersect(other.kinds, found.kinds):
            _relate_nested_match(found, other)
            continue
        covers = is_under and other.is_exact and not search.is_filtered
        if covers and kinds_within(other.kinds, found.kinds):
            other.add_superset(frozenset({found}))
        elif not _is_found_by(found, search, other):
            found.add_may_alias(other)
        if _is_found_by(found, search, other):
            found.add_superset(frozenset({other}))


def _is_found_by(found: AbstractSet, search: Search, other: AbstractSet) -> bool:
    """Return True if an earlier match on the same payload has found all of it."""
    earlier = other.search
    return (
        earlier is not None
        and not earlier.is_filtered
        and earlier.version == search.version
        and kinds_within(found.kinds, other.kinds)
        and all(is_must_nested(s, earlier.scope) for s in search.scope)
    )


def _relate_nested_match(found: AbstractSet, other: AbstractSet) -> None:
    """Relate all functions or loops of a scope to sets that may be nested in them."""
    for outer, inner in ((found, other), (other, found)):
        all_of_them = outer.search is not None and not outer.search.is_filtered
        is_around = is_outer(outer.kinds) or (is_loop(outer.kinds) and inner.kinds is not None)
        if all_of_them and is_around and not is_outer(inner.kinds):
            inner.nestings.append(Nesting(frozenset({outer}), is_certain=False))
