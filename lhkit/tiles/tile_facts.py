"""Tile pictures: loops, operands and their labels; the tiles of one iteration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.signature import Function
from lhkit.model.target import CacheLevel
from lhkit.model.tile_picture import (
    LoopVariable,
    OperandTile,
    Part,
    PicturedLoop,
    PicturedOperand,
    StructuredOp,
    TermValues,
    TiledOperand,
    TileFrame,
    TilePicture,
    Tilings,
    WorkingSet,
)
from lhkit.tiles.operand_region import Footprint, LoopNest, Points, RegionTracker, loop_factors

Shape = tuple[int | None, ...]


def tile_picture(
    tilings: Tilings,
    op: StructuredOp,
    *,
    shapes: Sequence[Sequence[int]] | None = None,
    argument_names: Sequence[str] = (),
    caches: Sequence[CacheLevel] = (),
    first: int | None = None,
) -> TilePicture:
    """Return the picture of a structured op; ``shapes`` of the arguments are needed where they are dynamic."""
    given = argument_shapes(tilings, op, shapes)
    values = TermValues(tilings.terms, given)
    nest = LoopNest(op.loops, tilings.loops, values)
    try:
        total = nest.count()
    except UsageError:
        raise _unknown(op, given) from None
    if total == 0:
        raise usage_error(f"{op.name} never runs: one of the loops around it has no iteration")
    first = first_shown(total) if first is None else first
    nest.iteration(first)
    start = nest.iteration(0)

    def numbers(terms: Sequence[int]) -> tuple[int, ...]:
        known = tuple(n for t in terms if (n := values.value(t, start)) is not None)
        if len(known) < len(terms):
            raise _unknown(op, given)
        return known

    extents = numbers(op.extents)
    loops: dict[int, PicturedLoop] = {}
    for number, label in zip(op.loops, loop_labels(op, tilings.loops, values), strict=True):
        variable, runs = tilings.loops[number], nest.range_of(number, start)
        loops[number] = PicturedLoop(label, variable.name, variable.op, runs.start, runs.step, len(runs))
    operands = tuple(
        _operand(o, letter, loops, values, argument_names, numbers(o.base_shape))
        for o, letter in zip(op.operands, operand_letters(op), strict=True)
    )
    return TilePicture(
        op=op.name,
        loops=tuple(loops.values()),
        operands=operands,
        iterations=total,
        extents=extents,
        caches=tuple(caches),
        first=first,
        tilings=tilings,
        structured_op=op,
        shapes=given,
    )


# A slider has so many iterations: later ones repeat the first.
MOST_ITERATIONS = 32


def first_shown(iterations: int, most: int = MOST_ITERATIONS) -> int:
    """Return the iteration to start at: among the first, but after some of them."""
    return min(iterations, most) * 2 // 3


def tile_frame(picture: TilePicture, number: int | None = None) -> TileFrame:
    """Return the tiles of iteration ``number``, from 0; default the one of the still picture."""
    number = picture.first if number is None else number
    op, tilings = picture.structured_op, picture.tilings
    values = TermValues(tilings.terms, picture.shapes)
    nest = LoopNest(op.loops, tilings.loops, values)
    iteration = nest.iteration(number)
    tiles = tuple(
        _tile(RegionTracker(o, op, nest, values), iteration, pictured.shown)
        for o, pictured in zip(op.operands, picture.operands, strict=True)
    )
    sets = [_working_set("tile", [t.tile for t in tiles], picture)]
    for i, loop in reversed(list(enumerate(picture.loops))):
        sets.append(_working_set(loop.label, [t.passes[i] for t in tiles], picture))
    return TileFrame(number, tuple(iteration[n] for n in op.loops), tiles, tuple(sets))


def work_of(
    tilings: Tilings, op: StructuredOp, shapes: Sequence[Sequence[int]] | None = None
) -> tuple[int, int]:
    """Return an op's arithmetic and its points, over all iterations; unknown extents count as 1."""
    is_given = shapes is not None and not _function(tilings, op).misfit(shapes)
    values = TermValues(tilings.terms, argument_shapes(tilings, op, shapes if is_given else None))
    nest = LoopNest(op.loops, tilings.loops, values)
    try:
        iterations = nest.count()
        start = nest.iteration(0) if iterations else {}
    except UsageError:  # bounds that sizes do not say
        iterations, start = 1, {}
    points = iterations * math.prod(n if (n := values.value(e, start)) is not None else 1 for e in op.extents)
    return points * op.flops, points


def argument_shapes(
    tilings: Tilings, op: StructuredOp, shapes: Sequence[Sequence[int]] | None
) -> tuple[Shape, ...]:
    """Return the shapes of the arguments of an op's function: those given, else those of the types."""
    function = _function(tilings, op)
    if shapes is None:
        return tuple(a.shape for a in function.arguments)
    if misfit := function.misfit(shapes):
        raise usage_error(misfit)
    return tuple(tuple(int(n) for n in shape) for shape in shapes)


def _function(tilings: Tilings, op: StructuredOp) -> Function:
    return next(f for f in tilings.functions if f.name == op.function)


def _unknown(op: StructuredOp, given: Sequence[Shape]) -> UsageError:
    message = f"the extents of {op.name} in @{op.function} cannot be computed from known sizes"
    dynamic = [i for i, shape in enumerate(given) if None in shape]
    if not dynamic:
        return usage_error(message, "They depend on data: no picture can be drawn.")
    which = ", ".join(f"argument {i}" for i in dynamic)
    return usage_error(f"{message}: {which} of dynamic shape", "Say how large: shapes=((512, 512), …).")


def _operand(
    operand: TiledOperand,
    letter: str,
    loops: Mapping[int, PicturedLoop],
    values: TermValues,
    argument_names: Sequence[str],
    shape: tuple[int, ...],
) -> PicturedOperand:
    factors = [loop_factors(operand, axis, values) for axis in range(len(shape))]
    order = [n for n, loop in loops.items() if loop.count > 1]
    moving = [{n for n in order if f is None or n in f} for f in factors]
    relevant = set(operand.base_loops).union(*moving)
    last = max((at for at, n in enumerate(order) if n in relevant), default=-1)
    counts = {n: loops[n].count for n in order}
    new_in = [loops[n].label for n in operand.base_loops if n in order]
    return PicturedOperand(
        letter=letter,
        name=_operand_name(operand, argument_names),
        is_output=operand.is_output,
        shape=shape,
        axes=_axis_labels(operand, values),
        element_bytes=operand.element_bytes,
        shown=_shown(shape, [bool(m) for m in moving]),
        stays=math.prod(counts[n] for n in order[last + 1 :]),
        returns=math.prod(counts[n] for n in order[: last + 1] if n not in relevant),
        new_in=new_in[-1] if new_in else None,
    )


def _shown(shape: Sequence[int], moves: Sequence[bool]) -> tuple[int, ...]:
    """Return the axes to draw: moving axes before others, then long ones before short ones.

    An axis at least half as long as the longest counts as long.
    """
    if len(shape) <= 2:
        return tuple(range(len(shape)))
    longest = max(shape)
    ranked = sorted(
        range(len(shape)), key=lambda a: (not (moves[a] and shape[a] > 1), 2 * shape[a] < longest, a)
    )
    return tuple(sorted(ranked[:2]))


def _tile(sweeper: RegionTracker, iteration: Mapping[int, int], shown: Sequence[int]) -> OperandTile:
    visited, passes = (tuple(map(_part, found(iteration))) for found in (sweeper.visited, sweeper.passes))
    return OperandTile(_part(sweeper.at(iteration)), visited, passes, *sweeper.way(iteration, shown))


def _part(found: Footprint) -> Part:
    counts = tuple(len(points) for points in found.axes)
    steps = tuple(points.step if isinstance(points, range) else 0 for points in found.axes)
    return Part(found.box, counts, steps, tuple(map(_runs, found.axes)), found.elements, found.is_exact)


# Gaps of evenly spaced indices that are more than these are too narrow to draw.
_MOST_RUNS = 256


def _runs(points: Points) -> tuple[tuple[int, int], ...]:
    if not len(points):
        return ()
    if isinstance(points, range) and (points.step == 1 or len(points) > _MOST_RUNS):
        return ((points[0], points[-1] + 1),)
    starts = [i for i, point in enumerate(points) if not i or points[i - 1] + 1 < point]
    return tuple((points[i], points[j - 1] + 1) for i, j in itertools.pairwise((*starts, len(points))))


def _working_set(label: str, parts: Sequence[Part], picture: TilePicture) -> WorkingSet:
    sizes = [
        None if o.element_bytes is None else p.elements * o.element_bytes
        for p, o in zip(parts, picture.operands, strict=True)
    ]
    # The same of the same argument is in a cache once.
    arguments = [o.base if o.base_op == "argument" else i for i, o in enumerate(picture.structured_op.operands)]
    distinct = dict(zip(zip(arguments, parts, strict=True), sizes, strict=True))
    total = sum(n for n in distinct.values() if n is not None)
    fits = next((c for c in picture.caches if total <= c.size_bytes), None)
    return WorkingSet(label, tuple(sizes), total, fits)


_DIMENSIONS = "ijklmnpqrs"
_INPUTS = "ABDEFGHJKLMN"


def dimension_letter(dimension: int) -> str:
    """Return the name of a dimension of an iteration space: i, j, k and so on."""
    return _DIMENSIONS[dimension] if dimension < len(_DIMENSIONS) else f"d{dimension}"


def operand_letters(op: StructuredOp) -> list[str]:
    """Return a letter for each operand: C for the output, A, B, D, E, … for inputs."""
    inputs = iter(_INPUTS)
    outputs = [i for i, operand in enumerate(op.operands) if operand.is_output]
    names = ["C"] if len(outputs) == 1 else [f"C{n}" for n in range(len(outputs))]
    named = dict(zip(outputs, names, strict=True))
    return [named.get(i) or next(inputs, f"X{i}") for i in range(len(op.operands))]


def _operand_name(operand: TiledOperand, argument_names: Sequence[str]) -> str:
    """Return the name of an operand's value, or its origin."""
    if operand.base_op == "argument":
        written = operand.base.removeprefix("%arg")
        known = written.isdigit() and int(written) < len(argument_names)
        return argument_names[int(written)] if known else operand.base
    if operand.writer and not operand.is_output:
        return f"from {operand.writer}"
    if operand.base:
        return operand.base
    if operand.is_output:
        return "result"
    return "temporary" if operand.base_op == "tensor.empty" else f"from {operand.base_op}"


def _axis_labels(operand: TiledOperand, values: TermValues) -> tuple[str, ...]:
    """Return the dimensions of the op along each axis of an operand's whole value."""
    labels = [expression_text(index, values) for index in operand.map]
    for view in operand.views:
        kept = dict(zip(view.kept, labels, strict=True))
        labels = [kept.get(dimension, "") for dimension in range(len(view.offsets))]
    return tuple(labels)


def expression_text(index: int, values: TermValues) -> str:
    """Return an index in terms of an op's dimensions (``j + m``), "" if it is not linear."""
    linear = values.linear(index, "dimension")
    if linear is None:
        return ""
    constant, factors = linear
    parts = [f"{'' if f == 1 else f}{dimension_letter(d)}" for d, f in factors]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)


def loop_labels(op: StructuredOp, loops: Sequence[LoopVariable], values: TermValues) -> list[str]:
    """Return a label for each loop: the letter of the dimension that it tiles, or its name.

    Several loops along one dimension are numbered, the outer first.
    """
    letters = [_moved_dimension(number, op, values) for number in op.loops]
    labels = []
    for at, (number, letter) in enumerate(zip(op.loops, letters, strict=True)):
        order = letters[:at].count(letter) if letters.count(letter) > 1 else ""
        labels.append(f"{letter}{order}" if letter else loops[number].name.removeprefix("%"))
    return labels


def _moved_dimension(loop: int, op: StructuredOp, values: TermValues) -> str:
    """Return the letter of a dimension that is alone on an axis that a loop moves along, or ""."""
    letters = {dimension_letter(d) for d in range(len(op.extents))}
    for operand in reversed(op.operands):  # the output's axes are the plainest
        for axis, label in enumerate(_axis_labels(operand, values)):
            factors = loop_factors(operand, axis, values)
            if label in letters and factors and loop in factors:
                return label
    return ""
