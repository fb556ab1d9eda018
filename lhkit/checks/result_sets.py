"""The cells that the results of a transform op point to, by what is known of the op."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lhkit.checks.op_facts import (
    AS_OPERAND,
    FACTS,
    FUNCTION,
    INTERFACES,
    MODULE,
    NOTHING_KNOWN,
    Kinds,
    OpFacts,
    ResultFact,
    is_loop,
    is_outer,
    is_plain,
    kinds_meet,
    kinds_of_type,
)
from lhkit.checks.points_to import Cell, CellSet, Inside, Search, all_under, fate_of, relate_found
from lhkit.model.check_report import OpPlace
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
class CellStore:
    """All cells of an interpretation, and the state of the payload as a count of changes."""

    cells: list[Cell] = field(default_factory=list)
    version: int = 0
    # Ops that only read give the same for the same operands as long as nothing changes.
    known: dict[object, list[CellSet]] = field(default_factory=dict)

    def new(self, kinds: Kinds = None, *, is_exact: bool = True) -> Cell:
        """Return a cell that nothing is related to."""
        cell = Cell(kinds, is_exact)
        self.cells.append(cell)
        return cell

    def part_of(self, whole: CellSet, kinds: Kinds = None) -> Cell:
        """Return a cell for some of the ops of others."""
        own = {c.kinds for c in whole}
        cell = self.new(kinds or (next(iter(own)) if len(own) == 1 else None))
        cell.is_exact = kinds is not None or all(c.is_exact for c in whole)
        cell.make_part_of(whole)
        return cell

    def change(self, *, keeps: bool) -> None:
        """Record that the payload changes; unless it ``keeps`` ops where they are, little is certain then."""
        self.version += 1
        self.known.clear()
        if not keeps:
            for cell in self.cells:
                cell.stir()


def facts_of(op: OutlineOp) -> OpFacts:
    """Return what is known of an op."""
    return FACTS.get(op.name, NOTHING_KNOWN)


class ResultCells:
    """Makes the cells of an op's results."""

    def __init__(
        self,
        store: CellStore,
        op: OutlineOp,
        operands: Sequence[CellSet],
        results: Sequence[OutlineHandle],
        live: Callable[[], set[Cell]],
    ) -> None:
        """Prepare for an op.

        Args:
            store: Where cells are made.
            op: The op.
            operands: The cells of each operand, none for a parameter.
            results: The handles it gives.
            live: Gives the cells of all handles that can be used.
        """
        self._store, self._op, self._operands, self._results, self._live = store, op, operands, results, live
        self._attributes = dict(op.attributes)
        self._facts = facts_of(op)

    def make(self) -> list[CellSet]:
        """Return the cells of each result."""
        types = tuple([result.type for result in self._results])
        key = (self._op.name, tuple(self._operands), self._op.attributes, types)
        if not self._op.only_reads:
            return self._make()
        if key not in self._store.known:
            self._store.known[key] = self._make()
        return self._store.known[key]

    def _make(self) -> list[CellSet]:
        count = len(self._results)
        made = [self._result(i, self._facts.result(i, count)) for i in range(count)]
        for i in range(count):
            fact = self._facts.result(i, count)
            if fact is not None and fact.relation == "new":
                self._nest(i, fact, made)
        parts = [c for cells in made for c in cells if self._facts.results[:1] == (ResultFact("part"),)]
        for part in parts:
            part.apart |= {p for p in parts if p is not part}
        return [frozenset(cells) for cells in made]

    def _result(self, index: int, fact: ResultFact | None) -> list[Cell]:
        if self._results[index].kind == "param":
            return []
        kinds = kinds_of_type(self._results[index].type)
        if fact is None:
            return [self._anything(kinds)]
        whole = frozenset().union(*self._operands) if fact.of < 0 else self._operands[fact.of]
        if fact.relation == "same":
            for cell in whole:
                cell.kinds = cell.kinds or kinds
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
        return [self._new(cell, fact, kinds) for cell in sorted(whole, key=self._store.cells.index)]

    def _named(self, attribute: str) -> Kinds:
        names = _QUOTED.findall(self._attributes.get(attribute, ""))
        return frozenset(names) if names else None

    def _anything(self, kinds: Kinds) -> Cell:
        """Return a cell for a result of an op of which nothing is known."""
        cell = self._store.new(kinds)
        for number, operand in enumerate(self._operands):
            for each in operand:
                cell.inside += [Inside(i.cells, is_certain=False) for i in each.place()]
                if self._op.consumes[number]:
                    continue
                cell.may_overlap(each)
                cell.inside.append(Inside(frozenset({each}), is_certain=False))
                if self._op.only_reads:
                    each.inside.append(Inside(frozenset({cell}), is_certain=False))
        return cell

    def _new(self, old: Cell, fact: ResultFact, kinds: Kinds) -> Cell:
        if fact.kind == AS_OPERAND:
            cell = self._store.new(kinds or old.kinds, is_exact=old.is_exact)
        else:
            cell = self._store.new(kinds or (frozenset({fact.kind}) if fact.kind else None))
        cell.inside = old.place()
        return cell

    def _nest(self, index: int, fact: ResultFact, made: list[list[Cell]]) -> None:
        """Put new ops into the loops that were made with them."""
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
        for number, cell in enumerate(made[index]):
            loop = loops[number] if len(loops) == len(made[index]) else None
            around = frozenset({loop}) if loop else frozenset(loops)
            cell.inside.insert(0, Inside(around, is_certain=True, is_direct=is_direct))

    def _found(self, scope: CellSet) -> Cell:
        names, interface = self._named("ops"), self._attributes.get("interface", "").partition(" ")[0]
        kinds = names
        if names is None and interface.isdigit() and int(interface) < len(INTERFACES):
            kinds = frozenset({INTERFACES[int(interface)]})
        more = set(self._attributes) - {"ops" if names else "interface"}
        return found_in(self._store, scope, kinds, bool(more) or kinds is None, self._live())

    def _near(self, whole: CellSet, kinds: Kinds) -> Cell:
        cell = self._store.new(kinds)
        cell.near = (self._op.name, whole)
        for each in whole:
            for i in each.place():
                is_outer_one = len(whole) == 1 and all(is_outer(c.kinds) for c in i.cells)
                cell.inside.append(Inside(i.cells, i.is_certain and is_outer_one))
            # All ops of an interface are likely to have producers and consumers among them.
            if each.search is not None and each.kinds is not None and each.kinds <= set(INTERFACES):
                cell.may_overlap(each)
            # Producers of consumers, and consumers of producers, may be where one came from.
            if each.near is not None and _OPPOSITE.get(self._op.name) == each.near[0]:
                for origin in each.near[1]:
                    cell.may_overlap(origin)
        return cell

    def _apart(self, whole: CellSet, fact: ResultFact) -> Cell:
        cell = self._store.new(frozenset({fact.kind}) if fact.kind else None)
        around = [i for each in whole for i in each.place()]
        cell.inside = [i for i in around if all(kinds_meet(c.kinds, MODULE) for c in i.cells)]
        return cell

    def _around(self, whole: CellSet, kinds: Kinds) -> list[Cell]:
        kinds = kinds or self._named("op_name")
        if kinds is None and "isolated_from_above" in self._attributes:
            kinds = FUNCTION
        is_next = "nth_parent" not in self._attributes or self._attributes["nth_parent"].startswith("1 ")
        if is_next and "isolated_from_above" not in self._attributes:
            direct = [_directly_around(each, kinds) for each in whole]
            if direct and all(direct):
                return [c for c in direct if c is not None]
        parent = self._store.new(kinds)
        is_certain = "allow_empty_results" not in self._attributes
        for each in whole:
            self._relate_parent(parent, each)
            each.inside.append(Inside(frozenset({parent}), is_certain))
        return [parent]

    @staticmethod
    def _relate_parent(parent: Cell, child: Cell) -> None:
        """Relate a parent to what its child is known to lie in."""
        direct = _directly_outward(child)
        # Loops that a search found may lie in one another.
        if child.search is not None and is_loop(child.kinds) and not is_outer(parent.kinds):
            parent.may_overlap(child)
        for container in child.containers():
            one = frozenset({container})
            if is_outer(container.kinds):
                if kinds_meet(parent.kinds, container.kinds):
                    # Functions do not nest: the one around an op that lies in one of these is among them.
                    if parent.kinds == FUNCTION and all_under(child, one):
                        parent.make_part_of(one)
                    parent.may_overlap(container)
                elif not kinds_meet(child.kinds, container.kinds):
                    parent.inside.append(Inside(one, is_certain=all_under(child, one)))
            elif is_outer(parent.kinds):
                if container.kinds is not None:
                    container.inside.append(Inside(frozenset({parent}), is_certain=container in direct))
            elif is_loop(container.kinds):
                if parent.kinds is None or kinds_meet(parent.kinds, container.kinds):
                    parent.may_overlap(container)
                container.inside.append(Inside(frozenset({parent}), is_certain=False))
                parent.inside.append(Inside(one, is_certain=False))


def found_in(store: CellStore, scope: CellSet, kinds: Kinds, is_filtered: bool, live: set[Cell]) -> Cell:
    """Return a cell for the ops of some kinds under others, related to the cells that are there already."""
    cell = store.new(kinds)
    cell.search = Search(scope, store.version, is_filtered)
    relate_found(cell, live)
    if is_plain(kinds) and all(is_plain(c.kinds) for c in scope):
        cell.make_part_of(scope)
        return cell
    cell.inside.append(Inside(scope, is_certain=True))
    # A search looks at the ops of its scope too.
    for each in scope:
        if not is_outer(each.kinds) and (kinds is None or kinds_meet(kinds, each.kinds)):
            cell.may_overlap(each)
    return cell


def _directly_outward(cell: Cell) -> set[Cell]:
    """Return the chain of cells each of which lies directly around the one before."""
    found: set[Cell] = set()
    waiting = [cell]
    while waiting:
        for i in waiting.pop().inside:
            if i.is_direct and i.is_certain:
                waiting += [c for c in i.cells if c not in found]
                found |= i.cells
    return found


def _directly_around(cell: Cell, kinds: Kinds) -> Cell | None:
    """Return the one cell that lies directly around another, if it is known and of these kinds."""
    for i in cell.inside:
        if i.is_direct and i.is_certain and len(i.cells) == 1:
            (around,) = i.cells
            if kinds is None or (around.kinds is not None and around.kinds == kinds):
                return around
    return None


# What handles are as a schedule is followed without a payload: the cells they point to, and how they died.


@dataclass(frozen=True, slots=True)
class Death:
    """Why a handle is invalid: the handle and the op that consumed, and whether this is certain."""

    cause: Cause
    by: str
    place: OpPlace
    is_certain: bool


@dataclass(frozen=True, slots=True)
class State:
    """What a handle is: the cells it points to, and how it died if it did."""

    cells: CellSet
    death: Death | None = None


# The place of an op that no source text has.
NOWHERE = Span("", 1, 1)
# The handles of a block and of those around it that it can see, by number.
Scope = dict[int, State]


def consume(number: int, name: str, scope: Scope, place: OpPlace) -> None:
    """Let a handle die, and those with an op at or under its ops."""
    roots = scope[number].cells
    scope[number] = dataclasses.replace(scope[number], death=Death("direct", name, place, True))
    for other, state in scope.items():
        if other == number or (state.death is not None and state.death.is_certain):
            continue
        fate = fate_of(state.cells, roots)
        if fate is not None and (state.death is None or fate.is_certain):
            death = Death(fate.cause, name, place, fate.is_certain)
            scope[other] = dataclasses.replace(state, death=death)


def live_cells(scope: Scope) -> set[Cell]:
    """Return the cells of the handles that may be alive."""
    states = [s for s in scope.values() if s.death is None or not s.death.is_certain]
    return {cell for state in states for cell in state.cells}


def deaths_among(scope: Scope, outer: Scope) -> dict[int, Death]:
    """Return the deaths of the handles that ``outer`` has too."""
    return {n: s.death for n, s in scope.items() if n in outer and s.death is not None}


def join_deaths(deaths: Sequence[Death | None]) -> Death | None:
    """Return how a handle is dead after one of several ways: certainly if all of them kill it."""
    dead = [d for d in deaths if d is not None]
    if not dead:
        return None
    is_certain = len(dead) == len(deaths) and all(d.is_certain for d in dead)
    return dataclasses.replace(dead[0], is_certain=is_certain)


def join_into(scope: Scope, ends: Sequence[Scope]) -> None:
    """Let a scope hold what holds after one of several ways, in place."""
    for number, state in ends[0].items():
        if number in scope and all(number in s for s in ends):
            death = join_deaths([s[number].death for s in ends])
            scope[number] = dataclasses.replace(state, death=death)


def describe_death(name: str, death: Death, use: OpPlace, *, is_error: bool) -> str:
    """Return in one sentence why a use of a handle is, or may be, invalid."""
    line = f"line {death.place.source.line}"
    if death.place.source.file != use.source.file:
        line += f" of {death.place.source.file}"
    consumed = "it" if death.cause == "direct" and death.by == name else death.by
    if death.place.source != use.source:
        how = f"{death.place.op} at {line} consumed {consumed}"
    elif death.by != name:
        how = f"the same {use.op} consumes {consumed} first"
    else:
        how = f"the same {use.op} consumed {consumed} an iteration before"
    state = "is invalid" if is_error else "may be invalid"
    point = "point" if death.is_certain else "may point"
    lies = "lies" if death.is_certain else "may lie"
    why = {
        "direct": "",
        "alias": f", and both {point} to the same ops",
        "nested": f", and what {name} points to {lies} inside",
    }[death.cause]
    return f"{name} {state} here: {how}{why}"
