"""Regions of operands from indexing maps and slices: one iteration, loop nests, visited parts, paths."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.tile_picture import LoopVariable, StructuredOp, Sweep, TermValues, TiledOperand, View

# The indices along one axis; a range where they are evenly spaced.
Points = range | tuple[int, ...]
# More points along an axis, or more tiles, are not enumerated.
_MOST_POINTS = 1 << 16
_MOST_TILES = 512


@dataclass(frozen=True, slots=True)
class Footprint:
    """The touched elements of a value: the product of the points along each axis.

    Attributes:
        is_exact: False if fewer elements than the product are touched, as on a diagonal.
    """

    axes: tuple[Points, ...]
    is_exact: bool = True

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(map(len, self.axes))

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        """First index and one past the last, along each axis; (0, 0) where there is none."""
        return tuple((p[0], p[-1] + 1) if len(p) else (0, 0) for p in self.axes)


def footprint(
    operand: TiledOperand, extents: Sequence[int], values: TermValues, iteration: Mapping[int, int]
) -> Footprint | None:
    """Return the elements of an operand's whole value that one execution of an op touches.

    ``extents`` are those of the iteration space, ``iteration`` the values of the loops around the op. None if
    an offset or stride does not follow from sizes.
    """
    axes: list[Points] = []
    used: list[int] = []
    for index in operand.map:
        linear = values.linear(index, "dimension")
        if linear is None:
            return None
        constant, factors = linear
        points: Points = range(constant, constant + 1)
        for dimension, factor in sorted(factors, key=lambda f: abs(f[1])):
            points = spread(points, range(0, factor * extents[dimension], factor))
        used += [d for d, _ in factors if extents[d] != 1]
        axes.append(points)
    for view in operand.views:
        outer = _through(view, axes, values, iteration)
        if outer is None:
            return None
        axes = outer
    return Footprint(tuple(axes), is_exact=len(used) == len(set(used)))


def spread(points: Points, shifts: Points) -> Points:
    """Return every sum of a point and a shift, ascending; evenly spaced ones as a range."""
    if not len(points) or not len(shifts):
        return range(0)
    points, shifts = (p[::-1] if isinstance(p, range) and p.step < 0 else p for p in (points, shifts))
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


def _as_points(found: set[int]) -> Points:
    """Return points in order, as a range if they are evenly spaced."""
    ordered = sorted(found)
    if len(ordered) < 2:
        return range(ordered[0], ordered[0] + 1) if ordered else range(0)
    step = ordered[1] - ordered[0]
    even = range(ordered[0], ordered[-1] + 1, step)
    return even if len(even) == len(ordered) and list(even) == ordered else tuple(ordered)


def _through(
    view: View, axes: Sequence[Points], values: TermValues, iteration: Mapping[int, int]
) -> list[Points] | None:
    """Map the points of a view to its source."""
    found: list[Points] = []
    inner = dict(zip(view.kept, axes, strict=True))
    for dimension, terms in enumerate(zip(view.offsets, view.strides, view.source_shape, strict=True)):
        offset, stride, extent = (values.value(t, iteration) for t in terms)
        if offset is None or stride is None:
            return None
        points = _moved(inner.get(dimension, range(1)), offset, stride)
        if view.op == "tensor.pad":
            if extent is None:
                return None
            points = points[bisect.bisect_left(points, 0) : bisect.bisect_left(points, extent)]
        found.append(points)
    return found


def _moved(points: Points, offset: int, stride: int) -> Points:
    if isinstance(points, range) and stride > 0 and len(points):
        return range(offset + stride * points[0], offset + stride * points[-1] + 1, stride * points.step)
    return tuple(sorted(offset + stride * p for p in points))


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
    nothing: Points = range(0)
    return functools.reduce(_with, distinct, nothing)


def _with(a: Points, b: Points) -> Points:
    if not len(a) or not len(b):
        return a if len(a) else b
    are_runs = all(isinstance(p, range) and p.step == 1 for p in (a, b))
    if are_runs and b[0] <= a[-1] + 1 and a[0] <= b[-1] + 1:
        return range(min(a[0], b[0]), max(a[-1], b[-1]) + 1)
    return _as_points({*a, *b})


def _is_grid(parts: Sequence[Footprint]) -> bool:
    distinct = {p.axes for p in parts if p.elements}
    along = [set(column) for column in zip(*distinct, strict=True)]
    return math.prod(map(len, along)) == len(distinct) and distinct == set(itertools.product(*along))


# The value of each loop variable, by its number.
Iteration = dict[int, int]


class LoopNest:
    """The loops around an op, outermost first, by number of their variables."""

    def __init__(self, loops: Sequence[int], variables: Sequence[LoopVariable], values: TermValues) -> None:
        self.loops = tuple(loops)
        self._variables, self._values = variables, values
        # For each place: the outer loops that the bounds of the loop there and of those inside depend on.
        self._needs = [self._bounded_by(loops[at:]) & set(loops[:at]) for at in range(len(loops) + 1)]
        self._counts: dict[tuple[int, ...], int] = {}

    def _bounded_by(self, loops: Iterable[int]) -> set[int]:
        """Return the loops that the bounds of some loops depend on."""
        variables = [self._variables[loop] for loop in loops]
        terms = [term for v in variables for term in (v.lower, v.upper, v.step)]
        return set().union(*map(self._values.loops_of, terms))

    def range_of(self, loop: int, around: Mapping[int, int]) -> range:
        """Return the values of a loop variable, given those of the loops around it."""
        variable = self._variables[loop]
        terms = (variable.lower, variable.upper, variable.step)
        lower, upper, step = (self._values.value(t, around) for t in terms)
        if lower is None or upper is None or step is None or step <= 0:
            message = f"the trip count of {variable.op} {variable.name} cannot be computed from sizes"
            raise usage_error(message, "A tile picture needs bounds that are numbers or extents of arguments.")
        return range(lower, upper, step)

    def count(self) -> int:
        """Return the number of iterations."""
        return self._count(0, {})

    def _count(self, at: int, around: Iteration) -> int:
        if at == len(self.loops):
            return 1
        key = (at, *(around[n] for n in sorted(self._needs[at])))
        if key not in self._counts:
            loop = self.loops[at]
            values = self.range_of(loop, around)
            varies = loop in self._needs[at + 1]
            inside = sum(self._count(at + 1, {**around, loop: v}) for v in (values if varies else values[:1]))
            self._counts[key] = inside if varies else inside * len(values)
        return self._counts[key]

    def iteration(self, number: int) -> Iteration:
        """Return the n-th iteration, from 0; UsageError if there are not so many."""
        total = self.count()
        if not 0 <= number < total:
            raise usage_error(f"there is no iteration {number}: the loops have {total}, counted from 0")
        found: Iteration = {}
        for at, loop in enumerate(self.loops):
            values = self.range_of(loop, found)
            if loop in self._needs[at + 1]:
                for value in values:
                    inside = self._count(at + 1, {**found, loop: value})
                    if number < inside:
                        break
                    number -= inside
            else:
                inside = self._count(at + 1, {**found, loop: values[0]})
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
        for value in first.get(loop) or self.range_of(loop, around):
            yield from self.walk(inner, {**around, loop: value}, first)

    def with_needed(self, loops: frozenset[int]) -> tuple[int, ...]:
        """Return some loops and those that their bounds depend on, outermost first."""
        found = set(loops)
        for at in reversed(range(len(self.loops))):
            if self.loops[at] in found:
                found |= self._bounded_by([self.loops[at]])
        return tuple(n for n in self.loops if n in found)


# Up to so many tiles are united one by one, more by the steps of the loops.
_MOST_JOINED = 48
_MOST_ROWS = 16


def loop_factors(operand: TiledOperand, axis: int, values: TermValues) -> dict[int, int] | None:
    """Return the move of an operand's tile along an axis per loop step; None if the offset is not linear."""
    factors: dict[int, int] = {}
    at, scale = axis, 1
    for view in reversed(operand.views):  # from the whole inwards
        linear = values.linear(view.offsets[at], "loop")
        stride = values.value(view.strides[at])
        if linear is None or stride is None:
            return None
        for loop, factor in linear[1]:
            factors[loop] = factors.get(loop, 0) + scale * factor
        if at not in view.kept:
            break
        at, scale = view.kept.index(at), scale * stride
    return {loop: factor for loop, factor in factors.items() if factor}


class RegionTracker:
    """Follows one operand through the iterations of an op."""

    def __init__(self, operand: TiledOperand, op: StructuredOp, nest: LoopNest, values: TermValues) -> None:
        self._operand, self._op, self._nest, self._values = operand, op, nest, values
        self._factors = [loop_factors(operand, axis, values) for axis in range(len(operand.base_shape))]
        terms = [t for view in operand.views for t in (*view.offsets, *view.strides)]
        moving = frozenset[int]().union(*map(values.loops_of, (*terms, *op.extents)))
        self._relevant = moving & set(nest.loops)

    def at(self, iteration: Mapping[int, int]) -> Footprint:
        """Return the elements that an iteration touches."""
        extents = [n for e in self._op.extents if (n := self._values.value(e, iteration)) is not None]
        is_known = len(extents) == len(self._op.extents)
        found = footprint(self._operand, extents, self._values, iteration) if is_known else None
        if found is None:
            message = f"the position of an operand of {self._op.name} cannot be computed from sizes and loops"
            raise usage_error(message)
        return found

    def visited(self, iteration: Mapping[int, int]) -> list[Footprint]:
        """Return the elements that earlier iterations touched, in few parts."""
        parts: list[Footprint] = []
        for at, loop in enumerate(self._nest.loops):
            if loop in self._operand.base_loops:  # what was touched before is another value
                continue
            around = {n: iteration[n] for n in self._nest.loops[:at]}
            runs = self._nest.range_of(loop, around)
            before = range(runs.start, iteration[loop], runs.step)
            if before:
                pieces = self._pieces(around, {loop: before})
                whole = union(pieces)
                # What is no grid would hold more than was touched.
                is_few = not whole.is_exact and len(pieces) <= _MOST_JOINED
                parts += dict.fromkeys(pieces) if is_few else [whole]
        return [p for i, p in enumerate(parts) if p.elements and not _is_held(p, i, parts)]

    def passes(self, iteration: Mapping[int, int]) -> list[Footprint]:
        """Return the elements that each loop touches in one run, outermost first."""
        loops = self._nest.loops
        return [self.region({n: iteration[n] for n in loops[:at]}, {}) for at in range(len(loops))]

    def region(self, around: Mapping[int, int], given: Mapping[int, range]) -> Footprint:
        """Return the elements that all iterations with the values ``around`` of outermost loops touch.

        ``given`` replaces the range of the next loop.
        """
        return union(self._pieces(around, given))

    def _pieces(self, around: Mapping[int, int], given: Mapping[int, range]) -> list[Footprint]:
        """Return the same as `region` before it is united: a part for each iteration where they are few."""
        free = self._nest.with_needed(self._relevant - set(around))
        free = tuple(n for n in free if n not in around)
        first = self._corner(dict(around), given, 0)
        last = self._corner(dict(around), given, -1)
        if first is None or last is None:
            return [Footprint(tuple(range(0) for _ in self._operand.base_shape))]
        ranges = {n: given.get(n) or self._nest.range_of(n, first) for n in free}
        if math.prod(map(len, ranges.values())) <= _MOST_JOINED or not self._is_linear():
            return [self.at({**first, **i}) for i in self._nest.walk(free, dict(around), given)]
        return [self._spread_out(self.at(first), self.at(last), ranges)]

    def _is_linear(self) -> bool:
        """Return True if every loop moves the tile along one axis at most, by a constant."""
        moved = [loop for factors in self._factors for loop in factors or ()]
        return None not in self._factors and len(moved) == len(set(moved))

    def _spread_out(self, first: Footprint, last: Footprint, ranges: Mapping[int, range]) -> Footprint:
        """Return the union of the tiles of all iterations, from the first, the steps, and the last."""
        axes: list[Points] = []
        for points, end, factors in zip(first.axes, last.axes, self._factors, strict=True):
            moves = [(f * ranges[n].step, len(ranges[n])) for n, f in (factors or {}).items() if n in ranges]
            reached = points
            for step, count in sorted(moves, key=lambda m: abs(m[0])):
                reached = spread(reached, range(0, step * count, step))
            # Tiles at the end may be smaller than the first.
            axes.append(reached[: bisect.bisect_right(reached, end[-1] if len(end) else -1)])
        return Footprint(tuple(axes), first.is_exact)

    def _corner(self, around: dict[int, int], given: Mapping[int, range], which: int) -> dict[int, int] | None:
        """Return the first or the last iteration, given the values of the outermost loops."""
        found = dict(around)
        for loop in self._nest.loops:
            if loop not in found:
                runs = given.get(loop) or self._nest.range_of(loop, found)
                if not len(runs):
                    return None
                found[loop] = runs[which]
        return found

    def way(
        self, iteration: Mapping[int, int], shown: Sequence[int]
    ) -> tuple[Sweep | None, tuple[Sweep, ...], Sweep | None, tuple[Sweep, ...]]:
        """Return the path of the tile along the shown axes: its row, all rows, the trend, outer rows."""
        moved_by = {n for axis in shown for n in self._factors[axis] or ()}
        loops = [n for n in self._nest.loops if n in moved_by]
        moving = [n for n in loops if len(self._nest.range_of(n, iteration)) > 1]
        if not moving:
            return None, (), None, ()
        row = self._row(iteration, moving[-1])
        if len(moving) == 1:
            return row, (row,), None, ()
        outer = self._nest.range_of(moving[-2], iteration)
        rows = self._rows(moving[-2:], iteration, whole=False) if len(outer) <= _MOST_ROWS else ()
        first, last = (self._row({**iteration, moving[-2]: v}, moving[-1])[0] for v in (outer[0], outer[-1]))
        coarse = self._rows(moving[:-2][:2], iteration, whole=True) if len(moving) > 2 else ()
        return row, rows, (first, last), coarse

    def _rows(self, loops: list[int], iteration: Mapping[int, int], *, whole: bool) -> tuple[Sweep, ...]:
        outer, inner = loops[0], loops[-1]
        if outer == inner:
            return (self._row(iteration, inner, whole=whole),)
        values = self._nest.range_of(outer, iteration)[:_MOST_ROWS]
        return tuple(self._row({**iteration, outer: v}, inner, whole=whole) for v in values)

    def _row(self, iteration: Mapping[int, int], inner: int, *, whole: bool = False) -> Sweep:
        runs = self._nest.range_of(inner, iteration) or range(iteration[inner], iteration[inner] + 1)
        first, last = (self._middle({**iteration, inner: runs[i]}, inner, whole=whole) for i in (0, -1))
        return first, last

    def _middle(self, at: Mapping[int, int], inner: int, *, whole: bool) -> tuple[float, ...]:
        # The whole is what all loops inside touch.
        outer = self._nest.loops[: self._nest.loops.index(inner) + 1]
        found = self.region({n: at[n] for n in outer}, {}) if whole else self.at(at)
        return tuple((low + high) / 2 for low, high in found.box)


def _is_held(part: Footprint, at: int, parts: list[Footprint]) -> bool:
    """Return True if another part contains one; of equal parts the first is kept."""
    return any(
        all(map(_lie_in, part.axes, other.axes)) and (part.axes != other.axes or i < at)
        for i, other in enumerate(parts)
        if i != at
    )


def _lie_in(points: Points, others: Points) -> bool:
    if isinstance(others, range) and others.step == 1:
        return len(others) > 0 and others[0] <= points[0] and points[-1] <= others[-1]
    return set(points) <= set(others)
