"""The iterations of a loop nest whose bounds are terms: how many, which one is the n-th, which come before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lhkit.model.errors import usage_error
from lhkit.model.index_terms import TermValues
from lhkit.model.tiling import LoopVariable

# The value of each loop variable, by its number.
Iteration = dict[int, int]


class LoopNest:
    """The loops around an op, outermost first.

    Attributes:
        loops: Numbers of the loop variables.
    """

    def __init__(self, loops: Sequence[int], variables: Sequence[LoopVariable], values: TermValues) -> None:
        self.loops = tuple(loops)
        self._variables, self._values = variables, values
        self._needs = [self._needed(at) for at in range(len(self.loops))]

    def _needed(self, at: int) -> frozenset[int]:
        """Return which loops outside of a position the bounds of it and of the loops inside depend on."""
        found: set[int] = set()
        for loop in self.loops[at:]:
            variable = self._variables[loop]
            for term in (variable.lower, variable.upper, variable.step):
                found |= self._values.loops_of(term)
        return frozenset(found & set(self.loops[:at]))

    def range_of(self, loop: int, around: Mapping[int, int]) -> range:
        """Return the values of a loop variable, given those of the loops around it.

        Raises:
            UsageError: A bound does not follow from sizes.
        """
        variable = self._variables[loop]
        bounds = [self._values.value(t, around) for t in (variable.lower, variable.upper, variable.step)]
        lower, upper, step = bounds
        if lower is None or upper is None or step is None or step <= 0:
            message = f"how often {variable.op} {variable.name} runs does not follow from sizes"
            raise usage_error(message, "A tile picture needs bounds that are numbers or extents of arguments.")
        return range(lower, upper, step)

    def count(self) -> int:
        """Return how many iterations there are."""
        return self._count(0, {}, {})

    def _count(self, at: int, around: Iteration, known: dict[tuple[int, ...], int]) -> int:
        if at == len(self.loops):
            return 1
        key = (at, *(around[n] for n in sorted(self._needs[at])))
        if key not in known:
            loop = self.loops[at]
            values = self.range_of(loop, around)
            if at + 1 < len(self.loops) and loop in self._needs[at + 1]:
                known[key] = sum(self._count(at + 1, {**around, loop: v}, known) for v in values)
            elif not values:
                known[key] = 0
            else:
                known[key] = len(values) * self._count(at + 1, {**around, loop: values[0]}, known)
        return known[key]

    def iteration(self, number: int) -> Iteration:
        """Return the iteration that runs as the n-th, from 0.

        Raises:
            UsageError: There are not so many.
        """
        total = self.count()
        if not 0 <= number < total:
            raise usage_error(f"there is no iteration {number}: the loops have {total}, counted from 0")
        found: Iteration = {}
        known: dict[tuple[int, ...], int] = {}
        for at, loop in enumerate(self.loops):
            values = self.range_of(loop, found)
            if at + 1 < len(self.loops) and loop in self._needs[at + 1]:
                for value in values:
                    inside = self._count(at + 1, {**found, loop: value}, known)
                    if number < inside:
                        break
                    number -= inside
            else:
                inside = self._count(at + 1, {**found, loop: values[0]}, known)
                value, number = values[number // inside], number % inside
            found[loop] = value
        return found

    def walk(self, loops: Sequence[int], around: Iteration, first: Mapping[int, range]) -> Iterator[Iteration]:
        """Yield the values of some of the loops, in the order in which they run.

        Args:
            loops: Which; those that their bounds depend on must be among them or in ``around``.
            around: Values of other loops.
            first: The values to take of a loop instead of all that it has.
        """
        if not loops:
            yield dict(around)
            return
        loop, *inner = loops
        for value in first.get(loop) if loop in first else self.range_of(loop, around):  # type: ignore[union-attr]
            yield from self.walk(inner, {**around, loop: value}, first)

    def with_needed(self, loops: frozenset[int]) -> tuple[int, ...]:
        """Return some loops and those that their bounds depend on, outermost first."""
        found = set(loops)
        for at in reversed(range(len(self.loops))):
            if self.loops[at] in found:
                variable = self._variables[self.loops[at]]
                for term in (variable.lower, variable.upper, variable.step):
                    found |= self._values.loops_of(term)
        return tuple(n for n in self.loops if n in found)
