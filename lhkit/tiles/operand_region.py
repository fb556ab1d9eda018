"""Regions of operands from indexing maps and slices, and iterations of loop nests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.tile_picture import LoopVariable, TermValues, TiledOperand, View

# The indices along one axis; a range where they are evenly spaced.
Points = range | tuple[int, ...]
# More points along an axis, or more tiles, are not enumerated.
_MOST_POINTS = 1 << 16
_MOST_TILES = 512


@dataclass(frozen=True, slots=True)
class Footprint:
    """The touched elements of a value: the product of the points along each axis.

    Attributes:
        axes: The points along each axis, ascending.
        is_exact: False if fewer elements than the product are touched, as on a diagonal.
    """

    axes: tuple[Points, ...]
    is_exact: bool = True

    @property
    def elements(self) -> int:
        """The number of elements."""
        count = 1
        for points in self.axes:
            count *= len(points)
        return count

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        """First index and one past the last, along each axis; (0, 0) where there is none."""
        return tuple((p[0], p[-1] + 1) if len(p) else (0, 0) for p in self.axes)

    def __contains__(self, index: Sequence[int]) -> bool:
        return all(i in points for i, points in zip(index, self.axes, strict=True))


def footprint(
    operand: TiledOperand, extents: Sequence[int], values: TermValues, iteration: Mapping[int, int]
) -> Footprint | None:
    """Return the elements of an operand's whole value that one execution of an op touches.

    ``extents`` are those of the iteration space, ``iteration`` the values of the loops around the op. None if
    an offset or stride does not follow from sizes.
    """
    axes: list[Points] = []
    seen: set[int] = set()
    is_exact = True
    for index in operand.map:
        points, dimensions = _indexed(index, extents, values)
        if points is None:
            return None
        is_exact = is_exact and not seen & dimensions
        seen |= dimensions
        axes.append(points)
    for view in operand.views:
        outer = _through(view, axes, values, iteration)
        if outer is None:
            return None
        axes = outer
    return Footprint(tuple(axes), is_exact)


def _indexed(index: int, extents: Sequence[int], values: TermValues) -> tuple[Points | None, set[int]]:
    """Return the values of one result of an indexing map, and the dimensions that it uses."""
    linear = values.linear(index, "dimension")
    if linear is None:
        return None, set()
    constant, factors = linear
    points: Points = range(constant, constant + 1)
    for dimension, factor in sorted(factors, key=lambda f: abs(f[1])):
        points = spread(points, range(0, factor * extents[dimension], factor))
    return points, {d for d, _ in factors if extents[d] != 1}


def spread(points: Points, shifts: Points) -> Points:
    """Return every sum of a point and a shift, ascending; evenly spaced ones as a range."""
    if not len(points) or not len(shifts):
        return range(0)
    points, shifts = _ascending(points), _ascending(shifts)
    if len(points) > 1 and len(shifts) == 1:
        points, shifts = shifts, points
    if len(points) == 1:
        if isinstance(shifts, range):
            return range(points[0] + shifts.start, points[0] + shifts[-1] + 1, shifts.step)
        return tuple(points[0] + s for s in shifts)
    if isinstance(points, range) and isinstance(shifts, range):
        fine, coarse = sorted((points, shifts), key=lambda r: r.step)
        if coarse.step % fine.step == 0 and coarse.step <= fine.step * len(fine):
            return range(points[0] + shifts[0], points[-1] + shifts[-1] + 1, fine.step)
    if len(points) * len(shifts) > _MOST_POINTS:
        return range(points[0] + shifts[0], points[-1] + shifts[-1] + 1)
    return _as_points({a + b for a in points for b in shifts})


def _ascending(points: Points) -> Points:
    if isinstance(points, range) and points.step < 0:
        return points[::-1]
    return points


def _as_points(found: set[int]) -> Points:
    """Return points in order, as a range if they are evenly spaced."""
    ordered = sorted(found)
    if len(ordered) < 2:
        return range(ordered[0], ordered[0] + 1) if ordered else range(0)
    step = ordered[1] - ordered[0]
    even = range(ordered[0], ordered[-1] + 1, step)
    return (
        even
        if len(even) == len(ordered) and all(a == b for a, b in zip(even, ordered, strict=True))
        else tuple(ordered)
    )


def _through(
    view: View, axes: Sequence[Points], values: TermValues, iteration: Mapping[int, int]
) -> list[Points] | None:
    """Map the points of a view to its source."""
    offsets = [values.value(t, iteration) for t in view.offsets]
    strides = [values.value(t, iteration) for t in view.strides]
    found: list[Points] = []
    inner = dict(zip(view.kept, axes, strict=True))
    for dimension, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
        if offset is None or stride is None:
            return None
        points = inner.get(dimension, range(1))
        moved = _moved(points, offset, stride)
        if view.op == "tensor.pad":
            extent = values.value(view.source_shape[dimension], iteration)
            if extent is None:
                return None
            moved = _inside(moved, extent)
        found.append(moved)
    return found


def _moved(points: Points, offset: int, stride: int) -> Points:
    if isinstance(points, range) and stride > 0 and len(points):
        last = offset + stride * points[-1]
        return range(offset + stride * points[0], last + 1, stride * points.step)
    return tuple(offset + stride * p for p in points)


def _inside(points: Points, extent: int) -> Points:
    if not isinstance(points, range):
        return tuple(p for p in points if 0 <= p < extent)
    skipped = max(0, -(-(0 - points.start) // points.step))
    return range(points.start + skipped * points.step, min(points.stop, extent), points.step)


def union(parts: Sequence[Footprint]) -> Footprint:
    """Return the smallest product of axes that contains all footprints; it is exact if they are a grid."""
    axes = [_joined([p.axes[a] for p in parts]) for a in range(len(parts[0].axes))]
    box = Footprint(tuple(axes))
    if len(parts) > _MOST_TILES or not all(p.is_exact for p in parts):
        return Footprint(box.axes, is_exact=False)
    if len(axes) == 1 or any(p.elements == box.elements for p in parts):
        return box
    return Footprint(box.axes, is_exact=_is_grid(parts))


def _joined(several: Sequence[Points]) -> Points:
    distinct = sorted(set(several), key=lambda p: (p[0] if len(p) else 0, len(p)))
    joined: Points = range(0)
    for points in distinct:
        joined = _with(joined, points)
    return joined


def _with(a: Points, b: Points) -> Points:
    if not len(a) or not len(b):
        return a if len(a) else b
    if (
        isinstance(a, range)
        and isinstance(b, range)
        and a.step == b.step == 1
        and b[0] <= a.stop
        and a[0] <= b.stop
    ):
        return range(min(a.start, b.start), max(a.stop, b.stop))
    return _as_points({*a, *b})


def _is_grid(parts: Sequence[Footprint]) -> bool:
    distinct = {p.axes for p in parts if p.elements}
    along = [set(column) for column in zip(*distinct, strict=True)]
    combinations = 1
    for each in along:
        combinations *= len(each)
    return combinations == len(distinct) and distinct == set(itertools.product(*along))


# The value of each loop variable, by its number.
Iteration = dict[int, int]


class LoopNest:
    """The loops around an op, outermost first, by number of their variables."""

    def __init__(self, loops: Sequence[int], variables: Sequence[LoopVariable], values: TermValues) -> None:
        self.loops = tuple(loops)
        self._variables, self._values = variables, values
        self._needs = [self._needed(at) for at in range(len(self.loops))]

    def _needed(self, at: int) -> frozenset[int]:
        """Return the outer loops that the bounds of a loop and of loops inside depend on."""
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
            message = f"the trip count of {variable.op} {variable.name} cannot be computed from sizes"
            raise usage_error(message, "A tile picture needs bounds that are numbers or extents of arguments.")
        return range(lower, upper, step)

    def count(self) -> int:
        """Return the number of iterations."""
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
        """Return the n-th iteration, from 0; UsageError if there are not so many."""
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
        """Yield the values of some loops in execution order; ``first`` replaces the range of a loop.

        Loops that their bounds depend on must be among them or in ``around``.
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
