"""``lhkit.unroll_window``: convolutions of each channel for itself, and poolings, become elementwise ops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import permutation_of, producer_of
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
    value_at,
)
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_math: Any = host_module("dialects.math")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

_DYNAMIC = int(ir.ShapedType.get_dynamic_size())
# More places of a window than this would be too much code.
_MOST_PLACES = 64
# Rows of pixels with their channels are padded so many at once.
_BLOCK = 8


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
            every reduction is a loop of a window, of known extents; consumed.
        rewriter: How the payload is changed.

    Returns:
        The ops by elements.

    Raises:
        SilenceableError: Another op; buffers; sums over channels; a window of unknown extent, or of more than
            64 places.
    """
    windows = [_Window.of(op.operation) for op in target]
    results: list[Any] = []
    for op, window in zip(target, windows, strict=True):
        with rewriter.before(op.operation):
            written = window.written(results)
        rewriter.replace(op.operation, [written])
    return results


@dataclass(frozen=True, slots=True)
class _Window:
    """An op with the image that it reads, how it reads, and how often each loop of its window runs."""

    op: Any
    image: Any
    order: tuple[int, ...] | None  # In which the dimensions of the image were transposed
    maps: list[list[Any]]
    extents: Mapping[int, int]

    @classmethod
    def of(cls, op: Any) -> _Window:
        if op.name != "linalg.generic" or len(op.results) != 1 or not _linalg.isa_convolution_op(op):
            raise SilenceableError("this is no convolution or pooling of tensors as linalg.generic", at=op)
        kinds = _linalg.infer_convolution_dimensions(op)
        if kinds is None or list(kinds.input_channel):  # None: it reads more than an image and a filter
            raise SilenceableError("it sums over channels, and not over a window only", at=op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        extents = {}
        for loop in (int(d) for d in kinds.filter_loop):
            extents[loop] = next(
                value.type.shape[place]
                for value, exprs in zip(op.operands, maps, strict=True)
                for place, expr in enumerate(exprs)
                if isinstance(expr, ir.AffineDimExpr) and expr.position == loop
            )
        places = 1
        for extent in extents.values():
            places *= _MOST_PLACES + 1 if ir.ShapedType.is_dynamic_size(extent) else extent
        if places > _MOST_PLACES:
            raise SilenceableError(f"its window is not known to have {_MOST_PLACES} places at most", at=op)
        image, order = op.operands[0], None
        turned = producer_of(image)
        if turned is not None and (order := permutation_of(turned)) is not None:
            before = _before(order, maps[0])
            image, maps[0] = turned.operands[0], before
        return cls(op, image, order, maps, extents)

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

    def _unrolled(self, inputs: list[Any], start: Any, scalar: Any, ops: list[Any]) -> Any:
        """Write the op that has all places of the window as operands."""
        block = self.op.regions[0].blocks[0]
        used = [i for i in range(len(inputs)) if list(block.arguments[i].uses)]
        result = [expr.position for expr in self.maps[-1]]
        # Loops of the window are gone from the maps.
        loops = ir.AffineMap.get(
            len(result),
            0,
            [
                ir.AffineDimExpr.get(result.index(d)) if d in result else ir.AffineConstantExpr.get(0)
                for d in range(len(result) + len(self.extents))
            ],
        )
        sizes = dict(zip(result, sizes_of(start), strict=True))
        steps = [
            dict(zip(self.extents, at, strict=True))
            for at in itertools.product(*map(range, self.extents.values()))
        ]
        slices = {(i, n): self._slice(inputs[i], i, at, sizes) for n, at in enumerate(steps) for i in used}
        maps = [[e.compose(loops) for e in exprs] for _, exprs in slices.values()]
        # What is filled in is an operand too: ops can be moved only where nothing else is read.
        starts = [] if scalar is None else [scalar]
        whole = [ir.AffineDimExpr.get(i) for i in range(len(result))]

        def body(*arguments: Any) -> Any:
            total = arguments[-1] if scalar is None else arguments[0]
            known = dict(zip(slices, arguments[len(starts) :], strict=False))
            for n in range(len(steps)):
                given = [known.get((i, n), total) for i in range(len(inputs))]
                total = _again(block, [*given, total])
            return total

        operands = [*starts, *(value for value, _ in slices.values())]
        op = generic(operands, start, [*([] for _ in starts), *maps, whole], ["parallel"] * len(result), body)
        ops.append(op.operation)
        return op.results[0]

    def _slice(
        self, value: Any, operand: int, at: Mapping[int, int], sizes: Mapping[int, Any]
    ) -> tuple[Any, Any]:
        """Return what is read of an operand at a place of the window, with the loops of its dimensions."""
        offsets, strides, extents, left = [], [], [], []
        for expr in self.maps[operand]:
            loop = next((d for d in sizes if reads(expr, d)), None)
            offsets.append(value_at(expr, at))
            if loop is None:
                strides.append(1)
                extents.append(1)
            else:
                strides.append(value_at(expr, {**at, loop: 1}) - offsets[-1])
                extents.append(sizes[loop])
                left.append((loop, sizes[loop]))
        arrays = {
            "static_offsets": offsets,
            "static_sizes": [n if isinstance(n, int) else _DYNAMIC for n in extents],
            "static_strides": strides,
        }
        shape = [n if isinstance(n, int) else _DYNAMIC for _, n in left]
        type_ = ir.RankedTensorType.get(shape, value.type.element_type)
        dynamic = [n for n in extents if not isinstance(n, int)]
        part = _tensor.extract_slice(type_, value, [], dynamic, [], **arrays)
        return part, [ir.AffineDimExpr.get(loop) for loop, _ in left]


def _before(order: tuple[int, ...], dimensions: list[Any]) -> list[Any]:
    """Return what is known of each dimension in the order before a transpose, whose result i was order[i]."""
    return [dimensions[order.index(i)] for i in range(len(order))]


def _is_constant(pad: Any) -> bool:
    """Return True where edges are known and filled with one value, wherever they are."""
    return len(pad.operands) == 1 and not any(list(a.uses) for a in pad.regions[0].blocks[0].arguments)


def _again(block: Any, arguments: list[Any]) -> Any:
    """Write the ops of a body once more, on other values; gives what it yields."""
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
