"""Which axes depend on which: the forest along which a space is counted.

Axes are eliminated one after another, always the one whose table is smallest; the constraints of an axis with
those eliminated later become its table. What is eliminated first is deepest. Subtrees that share no axis above
them with a constraint are counted once for all (variable elimination as an AND/OR search with caching: Dechter
and Mateescu, "AND/OR search spaces for graphical models", 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.knob import KnobValue
from lhkit.sweeps.axes import Axis
from lhkit.sweeps.constraints import Constraint

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
