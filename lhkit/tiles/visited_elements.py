"""Regions of an operand over iterations: tile, visited part, passes of loops, path."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence

from lhkit.model.errors import usage_error
from lhkit.model.tile_picture import StructuredOp, Sweep, TermValues, TiledOperand
from lhkit.tiles.operand_region import Footprint, LoopNest, Points, footprint, spread, union
from lhkit.tiles.tile_labels import loop_factors

# Up to so many tiles are united one by one, more by the steps of the loops.
_MOST_JOINED = 48
_MOST_ROWS = 16


class RegionTracker:
    """Follows one operand through the iterations of an op."""

    def __init__(self, operand: TiledOperand, op: StructuredOp, nest: LoopNest, values: TermValues) -> None:
        self._operand, self._op, self._nest, self._values = operand, op, nest, values
        axes = range(len(operand.base_shape))
        self._factors = [loop_factors(operand, axis, values) for axis in axes]
        self._relevant = frozenset(self._moving_loops() & set(nest.loops))

    def _moving_loops(self) -> set[int]:
        terms = [t for view in self._operand.views for t in (*view.offsets, *view.strides)]
        found: set[int] = set()
        for term in (*terms, *self._op.extents):
            found |= self._values.loops_of(term)
        return found

    def at(self, iteration: Mapping[int, int]) -> Footprint:
        """Return the elements that an iteration touches.

        Raises:
            UsageError: An offset or a size does not follow from sizes.
        """
        extents = [self._values.value(e, iteration) for e in self._op.extents]
        known = [n for n in extents if n is not None]
        found = footprint(self._operand, known, self._values, iteration) if len(known) == len(extents) else None
        if found is None:
            raise usage_error(
                f"the position of an operand of {self._op.name} cannot be computed from sizes and loops"
            )
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
                parts.append(self.region(around, {loop: before}))
        return [p for i, p in enumerate(parts) if p.elements and not _is_held(p, i, parts)]

    def passes(self, iteration: Mapping[int, int]) -> list[Footprint]:
        """Return the elements that each loop touches in one run, outermost first."""
        loops = self._nest.loops
        return [self.region({n: iteration[n] for n in loops[:at]}, {}) for at in range(len(loops))]

    def region(self, around: Mapping[int, int], given: Mapping[int, range]) -> Footprint:
        """Return the elements that all iterations with the values ``around`` of outermost loops touch.

        ``given`` replaces the range of the next loop.
        """
        free = self._nest.with_needed(self._relevant - set(around))
        free = tuple(n for n in free if n not in around)
        first = self._corner(dict(around), given, 0)
        last = self._corner(dict(around), given, -1)
        if first is None or last is None:
            return Footprint(tuple(range(0) for _ in self._operand.base_shape))
        ranges = {n: given.get(n) or self._nest.range_of(n, first) for n in free}
        if math.prod(map(len, ranges.values())) <= _MOST_JOINED or not self._is_linear():
            return union([self.at({**first, **i}) for i in self._nest.walk(free, dict(around), given)])
        return self._spread_out(self.at(first), self.at(last), ranges)

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
        factors = [self._factors[axis] or {} for axis in shown]
        moving = [
            n
            for n in self._nest.loops
            if any(n in f for f in factors) and len(self._nest.range_of(n, iteration)) > 1
        ]
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
        *outer, inner = loops
        if not outer:
            return (self._row(iteration, inner, whole=whole),)
        values = self._nest.range_of(outer[0], iteration)[:_MOST_ROWS]
        return tuple(self._row({**iteration, outer[0]: v}, inner, whole=whole) for v in values)

    def _row(self, iteration: Mapping[int, int], inner: int, *, whole: bool = False) -> Sweep:
        runs = self._nest.range_of(inner, iteration) or range(iteration[inner], iteration[inner] + 1)
        first, last = (self._middle({**iteration, inner: runs[i]}, inner, whole=whole) for i in (0, -1))
        return first, last

    def _middle(self, at: Mapping[int, int], inner: int, *, whole: bool) -> tuple[float, ...]:
        if whole:  # of all that the loops inside touch
            outer = self._nest.loops[: self._nest.loops.index(inner) + 1]
            found = self.region({n: at[n] for n in outer}, {})
        else:
            found = self.at(at)
        return tuple((low + high) / 2 for low, high in found.box)


def _is_held(part: Footprint, at: int, parts: list[Footprint]) -> bool:
    """Return True if another part contains one; of equal parts the first is kept."""
    for i, other in enumerate(parts):
        holds = all(_lie_in(p, q) for p, q in zip(part.axes, other.axes, strict=True))
        if i != at and holds and (part.axes != other.axes or i < at):
            return True
    return False


def _lie_in(points: Points, others: Points) -> bool:
    if isinstance(others, range) and others.step == 1:
        return len(others) > 0 and others[0] <= points[0] and points[-1] <= others[-1]
    return set(points) <= set(others)
