"""Which elements of a whole value an operand's tile is, from indexing maps and slices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.index_terms import TermValues
from lhkit.model.tiling import TiledOperand, View

# The indices along one axis; a range where they are evenly spaced.
Points = range | tuple[int, ...]
# More points than this along an axis, or more tiles than this, are not listed one by one.
_MOST_POINTS = 1 << 16
_MOST_TILES = 512


@dataclass(frozen=True, slots=True)
class Footprint:
    """The elements of a value that are touched: the product of the points along each axis.

    Attributes:
        axes: The points along each axis, ascending.
        is_exact: False where what is touched is less than the product, as on a diagonal.
    """

    axes: tuple[Points, ...]
    is_exact: bool = True

    @property
    def elements(self) -> int:
        """How many elements."""
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
    """Return what one execution of an op touches of an operand's whole value.

    Args:
        operand: The operand.
        extents: The extents of the op's iteration space in this iteration.
        values: The values of terms.
        iteration: The values of the loops around the op.

    Returns:
        None where an offset or a stride does not follow from sizes.
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
    """Return the values of one result of an indexing map, and the dimensions that it takes."""
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
    """Return the points of a view's source, for those of the view."""
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
    """Return the points from 0 up to an extent: the others are padding."""
    if not isinstance(points, range):
        return tuple(p for p in points if 0 <= p < extent)
    skipped = max(0, -(-(0 - points.start) // points.step))
    return range(points.start + skipped * points.step, min(points.stop, extent), points.step)


def union(parts: Sequence[Footprint]) -> Footprint:
    """Return the smallest product of points along axes that holds all of some footprints.

    It is exact if they are a grid: as many elements as the product has.
    """
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
    """Return True if the parts are every combination of what they are along each axis."""
    distinct = {p.axes for p in parts if p.elements}
    along = [set(column) for column in zip(*distinct, strict=True)]
    combinations = 1
    for each in along:
        combinations *= len(each)
    return combinations == len(distinct) and distinct == set(itertools.product(*along))
