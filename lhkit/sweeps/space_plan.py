"""How a space is counted: all its constraints at once where that is quick, else some of them on every draw."""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from lhkit.model.knob import KnobValue
from lhkit.sweeps.axes import Axis
from lhkit.sweeps.constraints import Constraint

# Which axes depend on which: the forest along which a space is counted.


# Results of a constraint are kept if its scope has at most so many combinations.
_MOST_KEPT = 300_000


class TooMuchEffortError(Exception):
    """Counting would take longer than it may; never leaves the room."""


class Effort:
    """What counting has taken so far, in evaluations; a clock would make results differ from run to run."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._spent = 0

    def spend(self, evaluations: int) -> None:
        """Add to what was spent.

        Raises:
            TooMuchEffortError: It is more than the limit.
        """
        self._spent += evaluations
        if self._limit is not None and self._spent > self._limit:
            raise TooMuchEffortError


class Check:
    """A constraint on the values of axes by their places."""

    def __init__(self, constraint: Constraint, axes: Sequence[Axis]) -> None:
        columns: dict[str, tuple[int, tuple[KnobValue, ...]]] = {}
        for i, axis in enumerate(axes):
            columns |= {name: (i, column) for name, column in axis.columns().items()}
        self._reads = tuple((name, *columns[name]) for name in constraint.names)
        self.constraint = constraint
        self.scope = tuple(sorted({i for _, i, _ in self._reads}))
        self.combinations = math.prod(len(axes[i].values) for i in self.scope)
        self._known: dict[tuple[int, ...], bool] = {}

    def holds(self, places: Sequence[int], effort: Effort | None = None) -> bool:
        """Return whether values may stand together.

        Args:
            places: For every axis the place of its value; those outside the scope are not looked at.
            effort: What an evaluation adds to.

        Raises:
            UsageError: The predicate raised.
        """
        key = tuple([places[i] for i in self.scope])
        known = self._known.get(key)
        if known is None:
            if effort is not None:
                effort.spend(self.constraint.evaluations)
            known = self.constraint.holds({name: column[places[i]] for name, i, column in self._reads})
            if self.combinations <= _MOST_KEPT:
                self._known[key] = known
        return known


@dataclass(frozen=True, slots=True)
class Node:
    """An axis in the forest.

    Attributes:
        axis: Its place.
        context: The axes above it on which the number of its completions depends.
        checks: The constraints that are decided once it has a value.
        children: What is independent of one another once it has a value.
        subtree: It and the axes below it, as bits.
    """

    axis: int
    context: tuple[int, ...]
    checks: tuple[Check, ...]
    children: tuple[Node, ...]
    subtree: int


def build_forest(sizes: Sequence[int], checks: Sequence[Check]) -> tuple[Node, ...]:
    """Return the roots of the forest.

    Args:
        sizes: How many values each axis has.
        checks: The constraints between axes.
    """
    order, contexts = _eliminate(sizes, checks)
    when = {axis: i for i, axis in enumerate(order)}
    waiting: dict[int, list[Node]] = {axis: [] for axis in order}
    roots = []
    for axis in order:
        decided = tuple(c for c in checks if min(c.scope, key=when.__getitem__) == axis)
        children = tuple(sorted(waiting[axis], key=lambda n: n.axis))
        subtree = 1 << axis
        for child in children:
            subtree |= child.subtree
        node = Node(axis, contexts[axis], decided, children, subtree)
        if node.context:
            waiting[min(node.context, key=when.__getitem__)].append(node)
        else:
            roots.append(node)
    return tuple(sorted(roots, key=lambda n: n.axis))


def forest_cost(sizes: Sequence[int], checks: Sequence[Check]) -> int:
    """Return a bound on what counting takes, in evaluations."""
    _, contexts = _eliminate(sizes, checks)
    tables = sum(sizes[axis] * math.prod(sizes[i] for i in context) for axis, context in contexts.items())
    evaluated = (c.constraint.evaluations * math.prod(sizes[i] for i in c.scope) for c in checks)
    return tables + sum(evaluated)


def _eliminate(
    sizes: Sequence[int], checks: Sequence[Check]
) -> tuple[list[int], Mapping[int, tuple[int, ...]]]:
    """Return the axes in the order of elimination, and with which later ones each is connected then."""
    near: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for check in checks:
        for axis in check.scope:
            near[axis].update(i for i in check.scope if i != axis)
    order: list[int] = []
    contexts: dict[int, tuple[int, ...]] = {}
    while near:
        # Of equals the last one is eliminated: the first axes stay above, as in a grid.
        axis = min(near, key=lambda i: (sizes[i] * math.prod(sizes[j] for j in near[i]), -i))
        around = near.pop(axis)
        for i in around:
            near[i] = (near[i] | around) - {i, axis}
        order.append(axis)
        contexts[axis] = tuple(sorted(around))
    return order, contexts


# Counting, numbering and completing the points of a space, with tables of what was counted before.


UNBOUND = -1


@dataclass(frozen=True, slots=True)
class Table:
    """The values of an axis that can be completed, for one choice of its context.

    Attributes:
        values: Their places.
        cumulative: With how many completions, those of the values before included.
    """

    values: tuple[int, ...]
    cumulative: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many completions there are."""
        return self.cumulative[-1] if self.cumulative else 0


class Counter:
    """The points of a space that meet those of its constraints that can be counted.

    Args:
        domains: For every axis the places of the values that it may have.
        checks: The constraints between axes.
        effort: What tables may take.
    """

    def __init__(self, domains: Sequence[tuple[int, ...]], checks: Sequence[Check], effort: Effort) -> None:
        self._domains = domains
        self._effort = effort
        self._roots = build_forest([len(d) for d in domains], checks)
        self._root_of = {i: root for root in self._roots for i in range(len(domains)) if root.subtree >> i & 1}
        self._tables: dict[tuple[int, tuple[int, ...]], Table] = {}

    def count(self) -> int:
        """Return how many points there are.

        Raises:
            TooMuchEffortError: More than counting may take.
            UsageError: A predicate raised.
        """
        places = [UNBOUND] * len(self._domains)
        return math.prod(self._table(root, places).total for root in self._roots)

    def point_at(self, number: int) -> tuple[int, ...]:
        """Return the point of a number, from 0 and below the count; each has one."""
        places = [UNBOUND] * len(self._domains)
        for root in self._roots:
            number, own = divmod(number, self._table(root, places).total)
            self._place(root, own, places)
        return tuple(places)

    def can_complete(self, places: list[int], changed: int) -> bool:
        """Return whether some point has the given values.

        Args:
            places: For every axis the place of one of its possible values, or ``UNBOUND``.
            changed: The axis that got its value last; without this one the values can be completed.
        """
        root = self._root_of[changed]
        if root.subtree == 1 << changed:
            return True
        bound = sum(1 << i for i, place in enumerate(places) if place != UNBOUND)
        return self._feasible(root, list(places), bound, {})

    def _place(self, node: Node, number: int, places: list[int]) -> None:
        table = self._table(node, places)
        i = bisect_right(table.cumulative, number)
        places[node.axis] = table.values[i]
        number -= table.cumulative[i - 1] if i else 0
        for child in node.children:
            number, own = divmod(number, self._table(child, places).total)
            self._place(child, own, places)

    def _table(self, node: Node, places: list[int]) -> Table:
        key = (node.axis, tuple([places[i] for i in node.context]))
        known = self._tables.get(key)
        if known is not None:
            return known
        values, cumulative, total = [], [], 0
        for value in self._domains[node.axis]:
            self._effort.spend(1)
            places[node.axis] = value
            if not all(check.holds(places, self._effort) for check in node.checks):
                continue
            completions = 1
            for child in node.children:
                completions *= self._table(child, places).total
                if not completions:
                    break
            if completions:
                total += completions
                values.append(value)
                cumulative.append(total)
        places[node.axis] = UNBOUND
        self._tables[key] = Table(tuple(values), tuple(cumulative))
        return self._tables[key]

    def _feasible(
        self, node: Node, places: list[int], bound: int, known: dict[tuple[int, tuple[int, ...]], bool]
    ) -> bool:
        """Return whether the axes of a subtree have values, some of them being bound."""
        if not node.subtree & bound:
            return self._table(node, places).total > 0
        key = (node.axis, tuple([places[i] for i in node.context]))
        if key in known:
            return known[key]
        is_bound = bool(bound >> node.axis & 1)
        found = False
        for value in (places[node.axis],) if is_bound else self._domains[node.axis]:
            places[node.axis] = value
            found = all(check.holds(places) for check in node.checks) and all(
                self._feasible(child, places, bound, known) for child in node.children
            )
            if found:
                break
        if not is_bound:
            places[node.axis] = UNBOUND
        known[key] = found
        return found


Places = tuple[int, ...]

# What counting may take, in evaluations: some tenths of a second.
_EFFORT = 250_000
# An estimate draws until so many points were met, or so many were drawn.
_ENOUGH_MET = 200
_MOST_DRAWN = 6_000
# Quantile of the normal distribution for an interval of 99 %.
_QUANTILE = 2.576


class Count(int):
    """How many points a space has: exactly, or an estimate with the interval that covers it in 99 of 100 cases.

    Args:
        value: The number.
        low: The interval's lower end; without it the number is exact.
        high: The interval's upper end.
    """

    low: int
    high: int
    is_exact: bool

    def __new__(cls, value: int, low: int | None = None, high: int | None = None) -> Count:
        """Return the number with its interval."""
        made = super().__new__(cls, value)
        made.low = value if low is None else low
        made.high = value if high is None else high
        made.is_exact = low is None
        return made

    def describe(self) -> str:
        """Return it in words: ``1,024 points``, ``about 1.2e+09 points (estimated: 1.1e+09 to 1.3e+09)``."""
        if self.is_exact:
            return f"{int(self):,} point{'' if self == 1 else 's'}"
        if not self:
            return f"at most {self.high:.3g} points (estimated: no draw met the constraints)"
        return f"about {int(self):.3g} points (estimated: {self.low:.3g} to {self.high:.3g})"


class Plan:
    """The constraints of a space by when they are decided.

    Attributes:
        domains: For every axis the places of the values that the constraints on it alone leave.
        counter: What numbers the points that meet the constraints that can be counted quickly.
        residual: The constraints that would take too long to count.
    """

    def __init__(self, axes: Sequence[Axis], constraints: Sequence[Constraint]) -> None:
        checks = [Check(c, axes) for c in constraints]
        # Without axes there is one point, unless a constraint on constants forbids it.
        self._is_possible = all(c.holds(()) for c in checks if not c.scope)
        self.domains = _domains(axes, [c for c in checks if len(c.scope) == 1])
        between = [c for c in checks if len(c.scope) > 1]
        self.counter, self.residual = _choose(self.domains, between)
        self._checks = checks
        # The residual constraints by the last of their axes: with its value they are decided.
        self._decided = [[c for c in self.residual if c.scope[-1] == i] for i in range(len(axes))]

    @functools.cached_property
    def counted(self) -> int:
        """How many points meet the counted constraints."""
        return self.counter.count() if self._is_possible else 0

    @functools.cached_property
    def count(self) -> Count:
        """How many points there are."""
        counted = self.counted
        if not self.residual or not counted:
            return Count(counted)
        rng, met, drawn = Random(0), 0, 0
        while drawn < _MOST_DRAWN and met < _ENOUGH_MET:
            drawn += 1
            met += self.meets_residual(self.counter.point_at(rng.randrange(counted)))
        low, high = _interval(met, drawn)
        return Count(counted * met // drawn, math.floor(counted * low), math.ceil(counted * high))

    def holds(self, places: Places) -> bool:
        """Return whether a point meets every constraint."""
        return all(check.holds(places) for check in self._checks)

    def meets_residual(self, places: Places) -> bool:
        """Return whether a point that meets the counted constraints meets the others too."""
        return all(check.holds(places) for check in self.residual)

    def points(self) -> Iterator[Places]:
        """Yield the points in the order of a grid: the last axis changes first.

        A value is taken only if the counted constraints can be met with it and those before it.
        """
        if not self.domains:
            yield from [()] * self.counted
            return
        if not self.counted:
            return
        places = [UNBOUND] * len(self.domains)
        iterators = [iter(self.domains[0])]
        while iterators:
            depth = len(iterators) - 1
            value = next(iterators[-1], None)
            if value is None:
                places[depth] = UNBOUND
                iterators.pop()
                continue
            places[depth] = value
            if not self._may_stand(places, depth):
                continue
            if depth + 1 == len(places):
                yield tuple(places)
            else:
                iterators.append(iter(self.domains[depth + 1]))

    def nearest(self, preferences: Sequence[Sequence[int]]) -> Places | None:
        """Return the point that takes for each axis in turn the first value that the others allow.

        Args:
            preferences: For every axis the places of all its values, the preferred one first.

        Returns:
            None where there is no point, or where residual constraints forbid what this leads to.
        """
        if not self.counted:
            return None
        places = [UNBOUND] * len(self.domains)
        for depth, preferred in enumerate(preferences):
            possible = set(self.domains[depth])
            for value in preferred:
                places[depth] = value
                if value in possible and self._may_stand(places, depth):
                    break
            else:
                return None
        return tuple(places)

    def _may_stand(self, places: list[int], depth: int) -> bool:
        return self.counter.can_complete(places, depth) and all(c.holds(places) for c in self._decided[depth])


def _domains(axes: Sequence[Axis], alone: Sequence[Check]) -> tuple[Places, ...]:
    """Return what constraints on one axis leave of each."""
    places = [UNBOUND] * len(axes)
    domains = []
    for i, axis in enumerate(axes):
        own = [check for check in alone if check.scope == (i,)]
        left = []
        for value in range(len(axis.values)):
            places[i] = value
            if all(check.holds(places) for check in own):
                left.append(value)
        domains.append(tuple(left))
    return tuple(domains)


def _choose(domains: Sequence[Places], between: Sequence[Check]) -> tuple[Counter, tuple[Check, ...]]:
    """Return what counts as many constraints as can be counted quickly, and the constraints that are left."""
    counter = Counter(domains, between, Effort(_EFFORT))
    try:
        counter.count()
    except TooMuchEffortError:
        pass
    else:
        return counter, ()
    sizes = [len(d) for d in domains]
    kept, residual = list(between), []
    while kept and forest_cost(sizes, kept) > _EFFORT:
        widest = max(kept, key=lambda c: math.prod(sizes[i] for i in c.scope))
        kept.remove(widest)
        residual.append(widest)
    return Counter(domains, kept, Effort()), tuple(residual)


def _interval(met: int, drawn: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, z2 = met / drawn, _QUANTILE**2
    centre = (share + z2 / (2 * drawn)) / (1 + z2 / drawn)
    half = _QUANTILE * math.sqrt(share * (1 - share) / drawn + z2 / (4 * drawn**2)) / (1 + z2 / drawn)
    return max(0.0, centre - half), min(1.0, centre + half)
