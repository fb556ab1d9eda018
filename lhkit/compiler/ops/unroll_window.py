"""``lhkit.unroll_window``: convolutions of each channel for itself, and poolings, become elementwise ops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.convolution_to_contraction import MOST_PLACES
from lhkit.compiler.ops.linalg_rewrites import named_op, permutation_of
from lhkit.compiler.ops.tensor_parts import (
    dim_expr,
    extent_of,
    generic,
    index_value,
    loop_over,
    part_of,
    put_part,
    reads,
    sizes_of,
    slice_of,
    value_at,
)
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_math: Any = host_module("dialects.math")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")
_vector: Any = host_module("dialects.vector")

_MOST_LANES = 16  # Elements of 32 bits in the widest vectors
# Copies of an image's channels beside elements of the result, up to which it is faster to have copies.
_MOST_REPEATED = 2.5
# Rows of pixels with their channels are padded so many at once.
_BLOCK = 8
# What a block of rows with repeated channels gives: with what it is made of, it fits the second-level cache.
_BLOCK_BYTES = 1 << 16


@transform_op("lhkit.unroll_window", consumes=["target"])
def unroll_window(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write convolutions and poolings that sum over a window only as ops that work by elements.

    ::

        linalg.depthwise_conv_1d_nwc_wc ins(%x, %w : tensor<1x9x4xf32>, tensor<3x4xf32>) ...
        // becomes
        %x0 = tensor.extract_slice %x[0, 0, 0] ... : tensor<1x7x4xf32>, %x1 = ... %x[0, 1, 0], %x2 = ...
        %w0 = tensor.extract_slice %w[0, 0] ... : tensor<4xf32>, %w1 = ..., %w2 = ...
        linalg.generic {all parallel} ins(%x0, %w0, %x1, %w1, %x2, %w2) ...
        // result[n, x, c] = ((start + x0[n, x, c] * w0[c]) + x1[n, x, c] * w1[c]) + x2[n, x, c] * w2[c]

    Sums are then values of the body, which vectors of it keep in registers, and strides are those of slices,
    so that any layout becomes vectors along the dimension that is contiguous. An image that ``tensor.pad`` pads
    is cut into images and channels, or rows, in a loop that pads each before it is read; one that is transposed
    is read as it was before. Every result is
    computed by the same steps in the same order; products of f32 and f64 are added by fused multiply-adds.

    Args:
        target: Convolutions and poolings of linalg on tensors, named ones generalized (``linalg.generic``):
            every reduction is a loop of a window, or has one step; consumed. One of unknown extents is not
            unrolled: its loops are written around the op by elements. Zero points of quantized numbers may be
            operands.
        rewriter: How the payload is changed.

    Returns:
        The ops by elements.

    Raises:
        SilenceableError: Another op; buffers; sums over channels; a window of more than 64 places; one of
            unknown extents that reads every so many elements of a row.
    """
    windows = [_Window.of(op.operation) for op in target]
    results: list[Any] = []
    for op, window in zip(target, windows, strict=True):
        with rewriter.before(op.operation):
            written = window.written(results)
        rewriter.replace(op.operation, [written])
    return results


@transform_op("lhkit.collapse_multiplier", consumes=["target"])
def collapse_multiplier(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write convolutions of each channel with several filters as those of as many channels with one each.

    ::

        linalg.depthwise_conv_1d_nwc_wcm ins(%x, %w : tensor<1x9x4xf32>, tensor<3x4x2xf32>) ...
        // becomes, as a linalg.generic, where %x2[n, x, c * 2 + m] is %x[n, x, c]
        linalg.depthwise_conv_1d_nwc_wc ins(%x2, %w2 : tensor<1x9x8xf32>, tensor<3x8xf32>) ...

    Args:
        target: Convolutions of linalg on tensors as ``linalg.generic``, whose filter and result end with a
            channel of the image, which ends with it too, and a dimension that the image does not have, of fewer
            than 16 elements or unknown; consumed.
        rewriter: How the payload is changed.

    Returns:
        The convolutions of single channels, with the attribute ``of_multiplier``.

    Raises:
        SilenceableError: Another op; buffers; other dimensions; one filter; filters that fill a vector; an
            image that is read in few places, as with strides: repeating it takes longer.
    """
    windows = [_Window.of(op.operation) for op in target]
    for window in windows:
        window.check_multiplier()
    results: list[Any] = []
    for op, window in zip(target, windows, strict=True):
        with rewriter.before(op.operation):
            written = window.collapsed(results)
        rewriter.replace(op.operation, [written])
    return results


def _repeated(image: Any, count: Any) -> Any:
    """Return an image with each of its channels, the last dimension, so often side by side."""
    *outer, channels = sizes_of(image)
    element, rank = image.type.element_type, len(outer) + 1
    if not isinstance(count, int) or not isinstance(channels, int):
        every = [dim_expr(i) for i in range(rank + 1)]
        out = _tensor.empty([*outer, channels, count], element)
        repeated = generic([image], out, [every[:-1], every], ["parallel"] * (rank + 1), lambda x, _: x)
        return _collapsed(repeated.results[0])
    zero = _arith.constant(element, 0.0 if isinstance(element, ir.FloatType) else 0)
    last = ir.AffineMap.get(rank, 0, [dim_expr(rank - 1)])

    def copy(at: list[Any], first: Any, width: int, whole: Any) -> Any:
        type_ = ir.VectorType.get([width], element)
        read = _vector.transfer_read(type_, image, [*at, first], last, zero, in_bounds=[True])
        repeated = _vector.shuffle(read, read, [i // count for i in range(width * count)])
        to = [*at, _arith.muli(first, index_value(count))]
        return _vector.transfer_write(whole.type, repeated, whole, to, last, in_bounds=[True])

    def write(left: list[Any], at: list[Any], whole: Any) -> Any:
        if left:
            return loop_over(left[0], 1, whole, lambda i, total: write(left[1:], [*at, i], total))
        vectors = channels - channels % _MOST_LANES
        if vectors:
            whole = loop_over(vectors, _MOST_LANES, whole, lambda i, t: copy(at, i, _MOST_LANES, t))
        return copy(at, index_value(vectors), channels - vectors, whole) if channels > vectors else whole

    return write(outer, [], _tensor.empty([*outer, channels * count], element))


def _last_together(rank: int) -> list[list[int]]:
    """Return how the last two dimensions become one."""
    return [*([i] for i in range(rank - 2)), [rank - 2, rank - 1]]


def _collapsed(value: Any) -> Any:
    """Return a tensor with its last two dimensions as one."""
    *outer, a, b = value.type.shape
    is_dynamic = any(map(ir.ShapedType.is_dynamic_size, (a, b)))
    shape = [*outer, ir.ShapedType.get_dynamic_size() if is_dynamic else a * b]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return _tensor.collapse_shape(type_, value, _last_together(len(shape) + 1))


@dataclass(frozen=True, slots=True)
class _Window:
    """An op with the image that it reads, how it reads, and how often each loop of its window runs."""

    op: Any
    image: Any
    order: tuple[int, ...] | None  # In which the dimensions of the image were transposed
    maps: list[list[Any]]
    extents: Mapping[int, int]
    is_known: bool  # The window's extents are, so that it can be unrolled

    @classmethod
    def of(cls, op: Any) -> _Window:
        if op.name != "linalg.generic" or len(op.results) != 1 or not _linalg.isa_convolution_op(op):
            raise SilenceableError("this is no convolution or pooling of tensors as linalg.generic", at=op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        extents: dict[int, int] = {}
        for loop in (d for d, kind in enumerate(op.attributes["iterator_types"]) if "reduction" in str(kind)):
            value, place = _read_along(loop, op.operands, maps)
            if value is None or (dim_expr(loop) in maps[0] and value.type.shape[place] != 1):
                raise SilenceableError("it sums over channels, and not over a window only", at=op)
            extents[loop] = int(value.type.shape[place])
        is_known = not any(map(ir.ShapedType.is_dynamic_size, extents.values()))
        if is_known and math.prod(extents.values()) > MOST_PLACES:
            raise SilenceableError(f"its window has more than {MOST_PLACES} places", at=op)
        last = maps[-1][-1].position if maps[-1] else 0
        steps = [value_at(e, {last: 1}) for e in maps[0] if reads(e, last)]
        if not is_known and any(step != 1 for step in steps):
            raise SilenceableError("its window's extents are unknown, and a row is read with strides", at=op)
        image, order = op.operands[0], None
        turned = producer_of(image)
        if turned is not None and (order := permutation_of(turned)) is not None:
            before = _before(order, maps[0])
            image, maps[0] = turned.operands[0], before
        return cls(op, image, order, maps, extents, is_known)

    def check_multiplier(self) -> None:
        """Refuse what does not have a few filters for each channel, or an image that is not read often."""
        pairs = [exprs[-2:] for exprs in self.maps[1:] if exprs]
        image, result = self.image.type, self.op.results[0].type
        is_pair = len(pairs) == 2 and len(pairs[0]) == 2 and pairs[0] == pairs[1]
        is_pair = is_pair and self.maps[0][-1] == pairs[0][0]
        count = result.shape[-1]
        is_few = ir.ShapedType.is_dynamic_size(count) or 1 < count < _MOST_LANES
        if not is_pair or not is_few or any(reads(e, pairs[0][1].position) for e in self.maps[0]):
            message = "its channels do not have a few filters each, as the last dimension"
            raise SilenceableError(message, at=self.op)
        is_static = image.has_static_shape and result.has_static_shape
        if is_static and math.prod(image.shape) * count > _MOST_REPEATED * math.prod(result.shape):
            raise SilenceableError("its image is several times as large as its result", at=self.op)

    def collapsed(self, ops: list[Any]) -> Any:
        """Write the op whose channels have one filter each, and collect it; gives the result.

        A large image is taken in blocks of rows, so that what is repeated stays in the caches.
        """
        *others, start = list(self.op.operands)[1:]
        loops = [expr.position for expr in self.maps[-1]]
        read = [
            (dim, at)
            for dim, expr in enumerate(self.maps[0])
            for at, loop in enumerate(loops)
            if isinstance(expr, ir.AffineBinaryExpr) and reads(expr, loop)
        ]
        is_static = self.image.type.has_static_shape and start.type.has_static_shape and self.is_known
        if not read or not is_static:
            return self._repeated_whole(self.image, others, start, ops)
        (dim, at), rows = read[0], int(start.type.shape[read[0][1]])
        stride = value_at(self.maps[0][dim], {loops[at]: 1})
        # Of a block's last row, so much of the image lies behind the next block's first.
        halo = value_at(self.maps[0][dim], {d: n - 1 for d, n in self.extents.items()}) + 1 - stride
        row_bytes = math.prod(start.type.shape) // rows * start.type.element_type.width // 8
        count = max(_BLOCK_BYTES // row_bytes, 1)
        if rows < 2 * count or count * stride < 4 * halo:
            return self._repeated_whole(self.image, others, start, ops)

        def block(row: Any, whole: Any, size: int) -> Any:
            line = _arith.muli(row, index_value(stride))
            image = part_of(self.image, dim, line, size * stride + halo)
            part = self._repeated_whole(image, others, part_of(whole, at, row, size), ops)
            return put_part(part, whole, at, row, size)

        end = rows - rows % count
        whole = loop_over(end, count, start, lambda row, total: block(row, total, count))
        return block(index_value(end), whole, rows - end) if end < rows else whole

    def _repeated_whole(self, image: Any, others: list[Any], start: Any, ops: list[Any]) -> Any:
        """Write it for an image of which all is repeated at once."""
        multiplier = self.maps[-1][-1].position
        image = _repeated(image, extent_of(start, len(start.type.shape) - 1))
        kinds = [str(kind).split("<")[1][:-1] for kind in self.op.attributes["iterator_types"]]
        left = {d: i for i, d in enumerate(d for d in range(len(kinds)) if d != multiplier)}
        loops = [dim_expr(left.get(d, 0)) for d in range(len(kinds))]
        renamed = ir.AffineMap.get(len(left), 0, loops)
        kept = [self.maps[0], *(exprs[:-1] for exprs in self.maps[1:])]
        exprs = [[e.compose(renamed) for e in each] for each in kept]
        block = self.op.regions[0].blocks[0]
        *inputs, out = [_collapsed(v) if e else v for v, e in zip([*others, start], self.maps[1:], strict=True)]
        kinds = [kinds[d] for d in left]
        op = generic([image, *inputs], out, exprs, kinds, lambda *given: again(block, list(given)))
        op.attributes["of_multiplier"] = ir.UnitAttr.get()
        ops.append(op)
        sizes = [n for n in sizes_of(start) if not isinstance(n, int)]
        groups = _last_together(len(start.type.shape))
        return _tensor.expand_shape(start.type, op.results[0], groups, sizes, list(start.type.shape))

    def written(self, ops: list[Any]) -> Any:
        """Write what takes the op's place, and collect the ops by elements; gives the result.

        An image that is padded is cut along what is not padded, or into blocks of rows where channels are
        contiguous, so that each piece is padded just before it is read, and stays in the caches.
        """
        *inputs, start = self.image, *list(self.op.operands)[1:]
        fill = producer_of(start)
        scalar = fill.operands[0] if fill is not None and fill.name == "linalg.fill" else None
        if scalar is not None and self.order is not None and len(self.order) == len(self.maps[-1]):
            # The result lies as the image did, and is transposed afterwards, by what reads it if that can be.
            sizes, loops = sizes_of(start), list(self.maps[-1])
            self.maps[-1] = _before(self.order, loops)
            start = _tensor.empty(_before(self.order, sizes), start.type.element_type)
            inner = self._around(inputs, start, scalar, ops)
            turned = [dim_expr(d) for d in range(len(sizes))]
            whole = _tensor.empty(sizes, inner.type.element_type)
            kinds = ["parallel"] * len(sizes)
            return generic(
                [inner], whole, [_before(self.order, turned), turned], kinds, lambda x, _: x
            ).results[0]
        if scalar is not None:
            start = _tensor.empty(sizes_of(start), start.type.element_type)
        return self._around(inputs, start, scalar, ops)

    def _around(self, inputs: list[Any], start: Any, scalar: Any, ops: list[Any]) -> Any:
        """Write it for the whole image, or piece by piece for one that is padded."""
        if not self.is_known:
            return self._looped(inputs, start, scalar, ops)
        pad = producer_of(inputs[0])
        if pad is None or pad.name != "tensor.pad" or not _is_constant(pad):
            return self._unrolled(inputs, start, scalar, ops)
        inputs[0] = pad.operands[0]
        edges = [
            (int(low), int(high))
            for low, high in zip(pad.attributes["static_low"], pad.attributes["static_high"], strict=True)
        ]
        cut = [
            expr.position
            for expr, edge, extent in zip(self.maps[0], edges, inputs[0].type.shape, strict=True)
            if isinstance(expr, ir.AffineDimExpr) and edge == (0, 0) and extent != 1
        ]
        last = self.maps[0][-1]
        if isinstance(last, ir.AffineDimExpr) and last.position in cut:
            cut.remove(last.position)

        def write(parts: list[Any]) -> Any:
            if isinstance(last, ir.AffineDimExpr):
                return self._rows(parts, pad, edges, scalar, ops)
            return self._padded(parts, pad, edges, scalar, ops)

        return self._pieces(cut, [*inputs, start], write)

    def _pieces(self, cut: list[int], parts: list[Any], inside: Callable[[list[Any]], Any]) -> Any:
        """Write loops that take the operands apart, one of each loop at a time."""
        if not cut:
            return inside(parts)
        dim, *rest = cut
        *inputs, start = parts
        places = [
            next(
                (i for i, e in enumerate(exprs) if isinstance(e, ir.AffineDimExpr) and e.position == dim), None
            )
            for exprs in self.maps
        ]
        at = [expr.position for expr in self.maps[-1]].index(dim)

        def write(i: Any, whole: Any) -> Any:
            cut_out = [
                value if place is None else part_of(value, place, i, 1)
                for value, place in zip([*inputs, whole], places, strict=True)
            ]
            return put_part(self._pieces(rest, cut_out, inside), whole, at, i, 1)

        return loop_over(extent_of(start, at), 1, start, write)

    def _rows(
        self, parts: list[Any], pad: Any, edges: list[tuple[int, int]], scalar: Any, ops: list[Any]
    ) -> Any:
        """Write blocks of rows: the first and the last are padded at their edge, those between are not."""
        image, *others, start = parts
        dim = next((i for i, edge in enumerate(edges) if edge != (0, 0)), None)
        loops = [expr.position for expr in self.maps[-1]]
        at = (
            None if dim is None else next((i for i, d in enumerate(loops) if reads(self.maps[0][dim], d)), None)
        )
        if dim is None or at is None or any(map(ir.ShapedType.is_dynamic_size, [image.type.shape[dim]])):
            return self._padded(parts, pad, edges, scalar, ops)
        expr, (low, high) = self.maps[0][dim], edges[dim]
        rows, lines = int(start.type.shape[at]), int(image.type.shape[dim])
        stride = value_at(expr, {loops[at]: 1})
        # So many lines of the image a block reads.
        span = (_BLOCK - 1) * stride + value_at(expr, {d: n - 1 for d, n in self.extents.items()}) + 1
        end = _BLOCK
        while end + _BLOCK < rows and end * stride - low + span <= lines:
            end += _BLOCK
        if end == _BLOCK or low > _BLOCK * stride or span - low > lines:
            return self._padded(parts, pad, edges, scalar, ops)

        def block(whole: Any, row: Any, count: int, line: Any, read: int, edge: tuple[int, int]) -> Any:
            around = [*edges[:dim], edge, *edges[dim + 1 :]]
            pieces = [part_of(image, dim, line, read), *others, part_of(whole, at, row, count)]
            return put_part(self._padded(pieces, pad, around, scalar, ops), whole, at, row, count)

        def middle(i: Any, whole: Any) -> Any:
            row = _arith.addi(i, index_value(_BLOCK))
            line = _arith.subi(_arith.muli(row, index_value(stride)), index_value(low))
            return block(whole, row, _BLOCK, line, span, (0, 0))

        first = block(start, index_value(0), _BLOCK, index_value(0), span - low, (low, 0))
        between = loop_over(end - _BLOCK, _BLOCK, first, middle)
        line = end * stride - low
        return block(between, index_value(end), rows - end, index_value(line), lines - line, (0, high))

    def _padded(
        self, parts: list[Any], pad: Any, edges: list[tuple[int, int]], scalar: Any, ops: list[Any]
    ) -> Any:
        image, *others, start = parts
        copy = pad.clone()
        copy.operands[0] = image
        copy.attributes["static_low"] = ir.DenseI64ArrayAttr.get([low for low, _ in edges])
        copy.attributes["static_high"] = ir.DenseI64ArrayAttr.get([high for _, high in edges])
        shape = [
            n if ir.ShapedType.is_dynamic_size(n) else n + low + high
            for n, (low, high) in zip(image.type.shape, edges, strict=True)
        ]
        copy.results[0].set_type(ir.RankedTensorType.get(shape, start.type.element_type))
        return self._unrolled([copy.results[0], *others], start, scalar, ops)

    def _looped(self, inputs: list[Any], start: Any, scalar: Any, ops: list[Any]) -> Any:
        """Write loops over the window around an op by elements, in loops over all but two of the result's."""

        def rows(loops: list[int], at: dict[int, Any], whole: Any) -> Any:
            if not loops:
                total = whole if scalar is None else named_op("FillOp", scalar, out=whole)
                return steps(list(self.extents), at, total)

            def write(i: Any, total: Any) -> Any:
                part = rows(loops[1:], {**at, loops[0]: i}, part_of(total, 0, i, None))
                return put_part(part, total, 0, i, None)

            return loop_over(extent_of(whole, 0), 1, whole, write)

        def steps(window: list[int], at: dict[int, Any], total: Any) -> Any:
            if not window:
                return self._elements(inputs, total, None, [at], ops)
            size = extent_of(*_read_along(window[0], inputs, self.maps))
            return loop_over(size, 1, total, lambda i, t: steps(window[1:], {**at, window[0]: i}, t))

        return rows([expr.position for expr in self.maps[-1][:-2]], {}, start)

    def _unrolled(self, inputs: list[Any], start: Any, scalar: Any, ops: list[Any]) -> Any:
        """Write the op that has all places of the window as operands."""
        every = itertools.product(*map(range, self.extents.values()))
        steps = [dict(zip(self.extents, at, strict=True)) for at in every]
        return self._elements(inputs, start, scalar, steps, ops)

    def _elements(
        self, inputs: list[Any], start: Any, scalar: Any, steps: list[dict[int, Any]], ops: list[Any]
    ) -> Any:
        """Write the op that adds up these places of the window, in what other loops leave of the result."""
        block = self.op.regions[0].blocks[0]
        used = [i for i in range(len(inputs)) if list(block.arguments[i].uses)]
        numbers = [i for i in used if not isinstance(inputs[i].type, ir.RankedTensorType)]
        result = [expr.position for expr in self.maps[-1] if expr.position not in steps[0]]
        # Loops of the window are gone from the maps.
        zero, count = ir.AffineConstantExpr.get(0), len(self.op.attributes["iterator_types"])
        left = [dim_expr(result.index(d)) if d in result else zero for d in range(count)]
        loops = ir.AffineMap.get(len(result), 0, left)
        sizes = dict(zip(result, sizes_of(start), strict=True))
        tensors = [i for i in used if i not in numbers]
        slices = {(i, n): self._slice(inputs[i], i, at, sizes) for n, at in enumerate(steps) for i in tensors}
        maps = [[e.compose(loops) for e in exprs] for _, exprs in slices.values()]
        # What is filled in is an operand too: ops can be moved only where nothing else is read.
        scalars = [*([] if scalar is None else [scalar]), *(inputs[i] for i in numbers)]
        whole = [dim_expr(i) for i in range(len(result))]

        def body(*arguments: Any) -> Any:
            total = arguments[-1] if scalar is None else arguments[0]
            same = dict(zip(numbers, arguments[len(scalars) - len(numbers) :], strict=False))
            known = dict(zip(slices, arguments[len(scalars) :], strict=False))
            for n in range(len(steps)):
                given = [same.get(i, known.get((i, n), total)) for i in range(len(inputs))]
                total = again(block, [*given, total])
            return total

        operands = [*scalars, *(value for value, _ in slices.values())]
        op = generic(operands, start, [*([] for _ in scalars), *maps, whole], ["parallel"] * len(result), body)
        ops.append(op.operation)
        return op.results[0]

    def _slice(
        self, value: Any, operand: int, at: Mapping[int, Any], sizes: Mapping[int, Any]
    ) -> tuple[Any, Any]:
        """Return what is read of an operand at a place of the window, with the loops of its dimensions."""
        exprs = self.maps[operand]
        read = [next((d for d in sizes if reads(expr, d)), None) for expr in exprs]
        offsets = [value_at(expr, at) for expr in exprs]
        strides = [1 if d is None else value_at(e, {d: 1}) for e, d in zip(exprs, read, strict=True)]
        extents = [1 if d is None else sizes[d] for d in read]
        part = slice_of(value, offsets, extents, strides, [d is not None for d in read])
        return part, [dim_expr(d) for d in read if d is not None]


def _read_along(loop: int, operands: Any, maps: list[list[Any]]) -> tuple[Any, int]:
    """Return the operand, and its dimension, of which a loop is all; (None, 0) where there is none."""
    found = [(v, e.index(dim_expr(loop))) for v, e in zip(operands, maps, strict=False) if dim_expr(loop) in e]
    return found[0] if found else (None, 0)


def _before(order: tuple[int, ...], dimensions: list[Any]) -> list[Any]:
    """Return what is known of each dimension in the order before a transpose, whose result i was order[i]."""
    return [dimensions[order.index(i)] for i in range(len(order))]


def _is_constant(pad: Any) -> bool:
    """Return True where edges are known and filled with one value, wherever they are."""
    return len(pad.operands) == 1 and not any(list(a.uses) for a in pad.regions[0].blocks[0].arguments)


def again(block: Any, arguments: list[Any]) -> Any:
    """Write the ops of a body once more, on other values; return what it yields."""
    known = dict(zip(block.arguments, arguments, strict=True))
    *body, last = [each.operation for each in block.operations]
    if [each.name for each in body] == ["arith.mulf", "arith.addf"]:
        product, total = body
        others = [o for o in total.operands if o != product.results[0]]
        is_wide = product.results[0].type in (ir.F32Type.get(), ir.F64Type.get())
        if is_wide and len(others) == 1 and total.results[0] == last.operands[0]:
            # As contractions of vectors are lowered.
            return _math.fma(*(known.get(o, o) for o in (*product.operands, *others)))
    for each in body:
        copy = each.clone()
        for i, operand in enumerate(each.operands):
            copy.operands[i] = known.get(operand, operand)
        known |= zip(each.results, copy.results, strict=True)
    return known.get(last.operands[0], last.operands[0])
