"""Counting, numbering and completing the points of a space, with tables of what was counted before."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.sweeps.elimination import Check, Effort, Node, build_forest

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
