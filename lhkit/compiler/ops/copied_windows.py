"""Copies of the windows of images, row by row, for rewrites of convolutions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.compiler.ops.tensor_parts import (
    DYNAMIC,
    Size,
    index_value,
    loop_over,
    put_slice,
    reads,
    slice_of,
    value_at,
)

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")
_vector: Any = host_module("dialects.vector")

# Rows of elements that lie so far apart are copied by way of vectors, of so many elements.
_SHUFFLED = range(2, 5)
_VECTOR = 32


def copy_windows(
    image: Any, exprs: list[Any], sizes: Mapping[int, Size], window: Collection[int]
) -> tuple[Any, list[Any]]:
    """Write loops that copy windows row by row, a row being the last dimension, or the last two.

    Args:
        image: The tensor that is read.
        exprs: Where each dimension of the image is read, by loops.
        sizes: How often each loop runs; the loops, in this order, are the dimensions of the windows.
        window: Which loops are those of the window.

    Returns:
        The windows, and each ``linalg.copy`` of a row. Rows of elements that lie apart are vectors already.
    """
    order = list(sizes)
    row = _row(exprs, sizes, window)
    outer = order[: -len(row)]
    copies: list[Any] = []
    length = math.prod(sizes[d] for d in row) if len(row) > 1 else sizes[row[0]]
    element = image.type.element_type

    def write(loops: list[int], at: dict[int, Any], whole: Any) -> Any:
        if loops:
            dim, *rest = loops
            return loop_over(sizes[dim], 1, whole, lambda i, inner: write(rest, {**at, dim: i}, inner))
        offsets = [value_at(expr, at) for expr in exprs]
        read = [next((d for d in row if reads(expr, d)), None) for expr in exprs]
        extents = [1 if d is None else sizes[d] for d in read]
        steps = [
            1 if d is None else value_at(e, dict.fromkeys(at, 0) | {d: 1})
            for e, d in zip(exprs, read, strict=True)
        ]
        source = slice_of(image, offsets, extents, steps, [d is not None for d in read])
        if len(row) > 1:
            source = _tensor.collapse_shape(ir.RankedTensorType.get([length], element), source, [[0, 1]])
        step = next(n for n, d in zip(steps, read, strict=True) if d == row[-1])
        if len(row) == 1 and isinstance(length, int) and step in _SHUFFLED and read[-1] == row[0]:
            return _copy_apart(image, offsets, whole, [at[d] for d in outer], length, step)
        place: list[list[Any]] = [
            [*(at[d] for d in outer), 0],
            [1] * len(outer) + [length],
            [1] * (len(outer) + 1),
        ]
        copy = named_op(
            "CopyOp", source, out=slice_of(whole, place[0], place[1], place[2], [False] * len(outer) + [True])
        )
        copies.append(copy.owner.operation)
        return put_slice(copy, whole, place[0], place[1], place[2])

    total = write(outer, {}, _tensor.empty([*(sizes[d] for d in outer), length], element))
    if len(row) == 1:
        return total, copies
    shape = [n if isinstance(n, int) else DYNAMIC for n in (sizes[d] for d in order)]
    places = [[i] for i in range(len(outer))] + [[len(outer), len(outer) + 1]]
    values = [n for n in (sizes[d] for d in order) if not isinstance(n, int)]
    type_ = ir.RankedTensorType.get(shape, element)
    return _tensor.expand_shape(type_, total, places, values, shape), copies


def _row(exprs: list[Any], sizes: Mapping[int, Size], window: Collection[int]) -> list[int]:
    """Return the last loop, or the last two where they are in one piece in the image and in the windows."""
    pair = list(sizes)[-2:]
    last_two = len(pair) == 2 and all(isinstance(sizes[d], int) for d in pair) and len(exprs) > 1
    if not last_two or pair[0] not in window or not _is_loop(exprs[-1], pair[1]):
        return pair[-1:]
    others = dict.fromkeys(sizes, 0)
    return pair if reads(exprs[-2], pair[0]) and value_at(exprs[-2], others | {pair[0]: 1}) == 1 else pair[-1:]


def _copy_apart(image: Any, offsets: list[Size], whole: Any, place: list[Size], length: int, step: int) -> Any:
    """Copy every so many elements of a row: vectors of all of them are read, and those between left out."""
    element, rank, result = image.type.element_type, len(offsets), len(place)
    zero = _arith.constant(element, 0.0 if isinstance(element, ir.FloatType) else 0)
    for first in range(0, length, _VECTOR):
        count = min(_VECTOR, length - first)
        span = (count - 1) * step + 1
        at = [_sum(n, first * step) if i == rank - 1 else _sum(n, 0) for i, n in enumerate(offsets)]
        every = ir.VectorType.get([span], element)
        read = _vector.transfer_read(every, image, at, _minor(rank), zero, in_bounds=[True])
        kept = _vector.shuffle(read, read, [i * step for i in range(count)])
        to = [_sum(n, 0) for n in place] + [index_value(first)]
        whole = _vector.transfer_write(whole.type, kept, whole, to, _minor(result + 1), in_bounds=[True])
    return whole


def _minor(rank: int) -> Any:
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)])


def _sum(value: Size, more: int) -> Any:
    if isinstance(value, int):
        return index_value(value + more)
    return _arith.addi(value, index_value(more)) if more else value


def _is_loop(expr: Any, dim: int) -> bool:
    return isinstance(expr, ir.AffineDimExpr) and expr.position == dim
