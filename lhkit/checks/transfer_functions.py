"""Transfer functions of transform ops: the abstract sets of their results, and invalidated handles."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lhkit.checks import op_facts
from lhkit.checks.points_to import (
    AbstractSet,
    Nesting,
    Search,
    SetUnion,
    find_overlap,
    is_must_nested,
    reachable,
    relate_match,
)
from lhkit.model.check_report import OpPlace
from lhkit.model.invalidation import Turn, describe_death
from lhkit.model.ir_outline import OutlineHandle, OutlineOp
from lhkit.model.span import Span
from lhkit.model.trace_record import Cause

_QUOTED = re.compile(r'"([^"]*)"')
_OPPOSITE = {
    "transform.get_producer_of_operand": "transform.get_consumers_of_result",
    "transform.get_operand": "transform.get_consumers_of_result",
    "transform.get_consumers_of_result": "transform.get_producer_of_operand",
}


@dataclass(slots=True)
class AbstractPayload:
    """All abstract sets, and the payload's version: the number of changes so far."""

    sets: list[AbstractSet] = field(default_factory=list)
    version: int = 0
    # Ops that only read give the same for the same operands as long as nothing changes.
    known: dict[object, list[SetUnion]] = field(default_factory=dict)

    def new(self, kinds: op_facts.Kinds = None, *, is_exact: bool = True) -> AbstractSet:
        """Return a set without relations."""
        ops = AbstractSet(kinds, is_exact)
        self.sets.append(ops)
        return ops

    def part_of(self, whole: SetUnion, kinds: op_facts.Kinds = None) -> AbstractSet:
        """Return a set for some of the ops of a union."""
        own = {c.kinds for c in whole}
        ops = self.new(kinds or (next(iter(own)) if len(own) == 1 else None))
        ops.is_exact = kinds is not None or all(c.is_exact for c in whole)
        ops.add_superset(whole)
        return ops

    def change(self, *, keeps: bool) -> None:
        """Record a change of the payload; unless it ``keeps`` ops in place, must-relations become may."""
        self.version += 1
        self.known.clear()
        if not keeps:
            for ops in self.sets:
                ops.invalidate_relations()


def facts_of(op: OutlineOp) -> op_facts.OpFacts:
    """Return the facts about an op."""
    return op_facts.FACTS.get(op.name, op_facts.NO_FACTS)


class TransferFunction:
    """Computes the abstract sets of an op's results from those of its operands."""

    def __init__(
        self,
        store: AbstractPayload,
        op: OutlineOp,
        operands: Sequence[SetUnion],
        results: Sequence[OutlineHandle],
        live: Callable[[], set[AbstractSet]],
    ) -> None:
        self._store, self._op, self._operands, self._results, self._live = store, op, operands, results, live
        self._attributes = dict(op.attributes)
        self._facts = facts_of(op)

    def make(self) -> list[SetUnion]:
        """Return the sets of each result; memoized for ops that only read."""
        types = tuple([result.type for result in self._results])
        key = (self._op.name, tuple(self._operands), self._op.attributes, types)
        if not self._op.only_reads:
            return self._make()
        if key not in self._store.known:
            self._store.known[key] = self._make()
        return self._store.known[key]

    def _make(self) -> list[SetUnion]:
        count = len(self._results)
        facts = [self._facts.result(i, count) for i in range(count)]
        made = [self._result(i, fact) for i, fact in enumerate(facts)]
        for i, fact in enumerate(facts):
            if fact is not None and fact.relation == "new":
                self._nest(i, fact, made)
        parts = [c for sets in made for c in sets if self._facts.results[:1] == (op_facts.ResultFact("part"),)]
        for part in parts:
            part.disjoint |= {p for p in parts if p is not part}
        return [frozenset(sets) for sets in made]

    def _result(self, index: int, fact: op_facts.ResultFact | None) -> list[AbstractSet]:
        if self._results[index].kind == "param":
            return []
        kinds = op_facts.kinds_of_type(self._results[index].type)
        if fact is None:
            return [self._anything(kinds)]
        whole = frozenset().union(*self._operands) if fact.of < 0 else self._operands[fact.of]
        if fact.relation == "same":
            for ops in whole:
                ops.kinds = ops.kinds or kinds
            return list(whole)
        if fact.relation == "part":
            return [self._store.part_of(whole, kinds or self._named("op_name"))]
        if fact.relation == "found":
            return [self._found(whole)]
        if fact.relation == "around":
            return self._around(whole, kinds)
        if fact.relation == "near":
            return [self._near(whole, kinds)]
        if fact.relation == "apart":
            return [self._apart(whole, fact)]
        return [self._new(ops, fact, kinds) for ops in sorted(whole, key=self._store.sets.index)]

    def _named(self, attribute: str) -> op_facts.Kinds:
        names = _QUOTED.findall(self._attributes.get(attribute, ""))
        return frozenset(names) if names else None

    def _anything(self, kinds: op_facts.Kinds) -> AbstractSet:
        ops = self._store.new(kinds)
        for number, operand in enumerate(self._operands):
            for each in operand:
                ops.nestings += [Nesting(i.sets, is_certain=False) for i in each.enclosing()]
                if self._op.consumes[number]:
                    continue
                ops.add_may_alias(each)
                ops.nestings.append(Nesting(frozenset({each}), is_certain=False))
                if self._op.only_reads:
                    each.nestings.append(Nesting(frozenset({ops}), is_certain=False))
        return ops

    def _new(self, old: AbstractSet, fact: op_facts.ResultFact, kinds: op_facts.Kinds) -> AbstractSet:
        if fact.kind == op_facts.AS_OPERAND:
            ops = self._store.new(kinds or old.kinds, is_exact=old.is_exact)
        else:
            ops = self._store.new(kinds or (frozenset({fact.kind}) if fact.kind else None))
        ops.nestings = old.enclosing()
        return ops

    def _nest(self, index: int, fact: op_facts.ResultFact, made: list[list[AbstractSet]]) -> None:
        outer, is_direct = None, True
        if self._facts.nests and index > 1:
            outer = index - 1
        elif fact.within is not None:
            outer = len(made) + fact.within
        elif fact.inside is not None:
            outer, is_direct = len(made) + fact.inside, False
        if outer is None or outer == index:
            return
        loops = made[outer]
        for number, ops in enumerate(made[index]):
            loop = loops[number] if len(loops) == len(made[index]) else None
            around = frozenset({loop}) if loop else frozenset(loops)
            ops.nestings.insert(0, Nesting(around, is_certain=True, is_direct=is_direct))

    def _found(self, scope: SetUnion) -> AbstractSet:
        names, interface = self._named("ops"), self._attributes.get("interface", "").partition(" ")[0]
        kinds = names
        if names is None and interface.isdigit() and int(interface) < len(op_facts.INTERFACES):
            kinds = frozenset({op_facts.INTERFACES[int(interface)]})
        more = set(self._attributes) - {"ops" if names else "interface"}
        return match_under(self._store, scope, kinds, bool(more) or kinds is None, self._live())

    def _near(self, whole: SetUnion, kinds: op_facts.Kinds) -> AbstractSet:
        ops = self._store.new(kinds)
        ops.near = (self._op.name, whole)
        for each in whole:
            for i in each.enclosing():
                is_outer_one = len(whole) == 1 and all(op_facts.is_outer(c.kinds) for c in i.sets)
                ops.nestings.append(Nesting(i.sets, i.is_certain and is_outer_one))
            # All ops of an interface are likely to have producers and consumers among them.
            if each.search is not None and each.kinds is not None and each.kinds <= set(op_facts.INTERFACES):
                ops.add_may_alias(each)
            # Producers of consumers, and consumers of producers, may be where one came from.
            if each.near is not None and _OPPOSITE.get(self._op.name) == each.near[0]:
                for origin in each.near[1]:
                    ops.add_may_alias(origin)
        return ops

    def _apart(self, whole: SetUnion, fact: op_facts.ResultFact) -> AbstractSet:
        ops = self._store.new(frozenset({fact.kind}) if fact.kind else None)
        around = [i for each in whole for i in each.enclosing()]
        ops.nestings = [
            i for i in around if all(op_facts.kinds_intersect(c.kinds, op_facts.MODULE) for c in i.sets)
        ]
        return ops

    def _around(self, whole: SetUnion, kinds: op_facts.Kinds) -> list[AbstractSet]:
        kinds = kinds or self._named("op_name")
        if kinds is None and "isolated_from_above" in self._attributes:
            kinds = op_facts.FUNCTION
        is_next = "nth_parent" not in self._attributes or self._attributes["nth_parent"].startswith("1 ")
        if is_next and "isolated_from_above" not in self._attributes:
            direct = [_directly_around(each, kinds) for each in whole]
            if direct and all(direct):
                return [c for c in direct if c is not None]
        parent = self._store.new(kinds)
        is_certain = "allow_empty_results" not in self._attributes
        for each in whole:
            self._relate_parent(parent, each)
            each.nestings.append(Nesting(frozenset({parent}), is_certain))
        return [parent]

    @staticmethod
    def _relate_parent(parent: AbstractSet, child: AbstractSet) -> None:
        """Relate a parent to the sets that its child is known to be nested in."""
        direct = _directly_outward(child)
        # Matched loops may be nested in one another.
        if child.search is not None and op_facts.is_loop(child.kinds) and not op_facts.is_outer(parent.kinds):
            parent.add_may_alias(child)
        for container in child.containers():
            one = frozenset({container})
            if op_facts.is_outer(container.kinds):
                if op_facts.kinds_intersect(parent.kinds, container.kinds):
                    # Functions do not nest: the one around an op nested in one of these is among them.
                    if parent.kinds == op_facts.FUNCTION and is_must_nested(child, one):
                        parent.add_superset(one)
                    parent.add_may_alias(container)
                elif not op_facts.kinds_intersect(child.kinds, container.kinds):
                    parent.nestings.append(Nesting(one, is_certain=is_must_nested(child, one)))
            elif op_facts.is_outer(parent.kinds):
                if container.kinds is not None:
                    container.nestings.append(Nesting(frozenset({parent}), is_certain=container in direct))
            elif op_facts.is_loop(container.kinds):
                if parent.kinds is None or op_facts.kinds_intersect(parent.kinds, container.kinds):
                    parent.add_may_alias(container)
                container.nestings.append(Nesting(frozenset({parent}), is_certain=False))
                parent.nestings.append(Nesting(one, is_certain=False))


def match_under(
    store: AbstractPayload, scope: SetUnion, kinds: op_facts.Kinds, is_filtered: bool, live: set[AbstractSet]
) -> AbstractSet:
    """Return a set for the ops of some kinds under others, related to the existing sets."""
    ops = store.new(kinds)
    ops.search = Search(scope, store.version, is_filtered)
    relate_match(ops, live)
    if op_facts.is_plain(kinds) and all(op_facts.is_plain(c.kinds) for c in scope):
        ops.add_superset(scope)
        return ops
    ops.nestings.append(Nesting(scope, is_certain=True))
    # A search looks at the ops of its scope too.
    for each in scope:
        if not op_facts.is_outer(each.kinds) and (kinds is None or op_facts.kinds_intersect(kinds, each.kinds)):
            ops.add_may_alias(each)
    return ops


def _directly_outward(ops: AbstractSet) -> set[AbstractSet]:
    """Return a set and the chain of those each of which directly encloses the one before."""

    def outward(each: AbstractSet) -> Iterator[AbstractSet]:
        return (c for i in each.nestings if i.is_direct and i.is_certain for c in i.sets)

    return set(reachable([ops], outward))


def _directly_around(ops: AbstractSet, kinds: op_facts.Kinds) -> AbstractSet | None:
    """Return the set that directly encloses another, if it is unique and of these kinds."""
    for i in ops.nestings:
        if i.is_direct and i.is_certain and len(i.sets) == 1:
            (around,) = i.sets
            if kinds is None or (around.kinds is not None and around.kinds == kinds):
                return around
    return None


@dataclass(frozen=True, slots=True)
class Death:
    """The reason why a handle is invalid: the consumed handle, the op, and whether it must be so."""

    cause: Cause
    by: str
    place: OpPlace
    is_certain: bool


@dataclass(frozen=True, slots=True)
class State:
    """The abstract state of a handle: its sets, and its death if it died."""

    sets: SetUnion
    death: Death | None = None


# The place of an op that no source text has.
NOWHERE = Span("", 1, 1)
# The handles that a block can see, by number.
Scope = dict[int, State]


def consume(number: int, name: str, scope: Scope, place: OpPlace) -> None:
    """Kill a handle, and those that alias it or are nested in it."""
    roots = scope[number].sets
    scope[number] = dataclasses.replace(scope[number], death=Death("direct", name, place, True))
    for other, state in scope.items():
        if other == number or (state.death is not None and state.death.is_certain):
            continue
        overlap = find_overlap(state.sets, roots)
        if overlap is not None and (state.death is None or overlap.is_certain):
            death = Death(overlap.cause, name, place, overlap.is_certain)
            scope[other] = dataclasses.replace(state, death=death)


def live_sets(scope: Scope) -> set[AbstractSet]:
    """Return the sets of the handles that may be live."""
    states = [s for s in scope.values() if s.death is None or not s.death.is_certain]
    return {ops for state in states for ops in state.sets}


def deaths_in(scope: Scope, outer: Scope) -> dict[int, Death]:
    """Return the deaths of the handles that ``outer`` has too."""
    return {n: s.death for n, s in scope.items() if n in outer and s.death is not None}


def join_deaths(deaths: Sequence[Death | None]) -> Death | None:
    """Return the join of a handle's deaths over several paths: must only if every path kills it."""
    dead = [d for d in deaths if d is not None]
    if not dead:
        return None
    is_certain = len(dead) == len(deaths) and all(d.is_certain for d in dead)
    return dataclasses.replace(dead[0], is_certain=is_certain)


def join_into(scope: Scope, ends: Sequence[Scope]) -> None:
    """Join the states at the ends of several paths into a scope, in place."""
    for number, state in ends[0].items():
        if number in scope and all(number in s for s in ends):
            death = join_deaths([s[number].death for s in ends])
            scope[number] = dataclasses.replace(state, death=death)


def describe_use(name: str, death: Death, use: OpPlace, *, is_repeated: bool, is_error: bool) -> str:
    """Return in one sentence why a use of a handle is, or may be, invalid; ``is_repeated``: it has two."""
    line = f"line {death.place.source.line}"
    if death.place.source.file != use.source.file:
        line += f" of {death.place.source.file}"
    turn: Turn = "earlier"
    killer = f"{death.place.op} at {line}"
    if death.place.source == use.source:
        killer = use.op
        turn = "same-op" if is_repeated or death.by != name else "iteration-before"
    state = "is invalidated" if is_error else "may be invalidated"
    is_certain = death.is_certain
    return describe_death(name, death.by, death.cause, killer, state=state, turn=turn, is_certain=is_certain)
