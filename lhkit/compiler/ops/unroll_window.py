"""``lhkit.unroll_window``: convolutions of each channel for itself, and poolings, become elementwise ops."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import producer_of
from lhkit.compiler.ops.tensor_parts import (
    extent_of,
    generic,
    loop_over,
    part_of,
    put_part,
    reads,
    sizes_of,
    value_at,
)
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

_DYNAMIC = int(ir.ShapedType.get_dynamic_size())
# More places of a window than this would be too much code.
_MOST_PLACES = 64
# Channels that are contiguous are padded so many at once: a line of the cache of f32.
_PIECE = 16


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
    is cut into images and channels, in a loop that pads each before it is read. Every result is computed by the
    same steps in the same order.

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
    """An op with the loops of its window, and how often each runs."""

    op: Any
    maps: list[list[Any]]
    extents: Mapping[int, int]

    @classmethod
    def of(cls, op: Any) -> _Window:
        if op.name != "linalg.generic" or len(op.results) != 1 or not _linalg.isa_convolution_op(op):
            raise SilenceableError("this is no convolution or pooling of tensors as linalg.generic", at=op)
        kinds = _linalg.infer_convolution_dimensions(op)
        if list(kinds.input_channel):
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
        return cls(op, maps, extents)

    def written(self, ops: list[Any]) -> Any:
        """Write what takes the op's place, and collect the ops by elements; gives the result.

        An image that is padded is cut along what is not padded, so that each piece is padded just before it is
        read, and stays in the caches.
        """
        *inputs, start = list(self.op.operands)
        fill = producer_of(start)
        scalar = fill.operands[0] if fill is not None and fill.name == "linalg.fill" else None
        if scalar is not None:
            start = _tensor.empty(sizes_of(start), start.type.element_type)
        pad = producer_of(inputs[0])
        if pad is None or pad.name != "tensor.pad" or len(pad.operands) != 1:
            return self._unrolled(inputs, start, scalar, ops)
        inputs[0] = pad.operands[0]
        return self._pieces(self._cut(pad), pad, inputs, start, scalar, ops)

    def _cut(self, pad: Any) -> list[tuple[int, int]]:
        """Return along which loops the image is cut, and how long the pieces are."""
        edges = zip(pad.attributes["static_low"], pad.attributes["static_high"], strict=True)
        plain = [
            (expr.position, int(pad.operands[0].type.shape[i]), i == len(self.maps[0]) - 1)
            for i, (expr, (low, high)) in enumerate(zip(self.maps[0], edges, strict=True))
            if isinstance(expr, ir.AffineDimExpr) and int(low) == int(high) == 0
        ]
        lengths = [(loop, _PIECE if is_last else 1, extent) for loop, extent, is_last in plain]
        return [(loop, n) for loop, n, extent in lengths if extent > n and extent % n == 0]

    def _pieces(
        self, cut: list[tuple[int, int]], pad: Any, inputs: list[Any], start: Any, scalar: Any, ops: list[Any]
    ) -> Any:
        if not cut:
            padded = pad.clone()
            padded.operands[0] = inputs[0]
            edges = zip(pad.attributes["static_low"], pad.attributes["static_high"], strict=True)
            shape = [
                n if ir.ShapedType.is_dynamic_size(n) else n + int(low) + int(high)
                for n, (low, high) in zip(inputs[0].type.shape, edges, strict=True)
            ]
            padded.results[0].set_type(ir.RankedTensorType.get(shape, start.type.element_type))
            return self._unrolled([padded.results[0], *inputs[1:]], start, scalar, ops)
        (dim, count), *rest = cut
        places = [
            next(
                (i for i, e in enumerate(exprs) if isinstance(e, ir.AffineDimExpr) and e.position == dim), None
            )
            for exprs in self.maps
        ]

        at = [expr.position for expr in self.maps[-1]].index(dim)

        def write(i: Any, whole: Any) -> Any:
            parts = [
                value if place is None else part_of(value, place, i, count)
                for value, place in zip([*inputs, whole], places, strict=True)
            ]
            piece = self._pieces(rest, pad, parts[:-1], parts[-1], scalar, ops)
            return put_part(piece, whole, at, i, count)

        return loop_over(extent_of(start, at), count, start, write)

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


def _again(block: Any, arguments: list[Any]) -> Any:
    """Write the ops of a body once more, on other values; gives what it yields."""
    known = dict(zip(block.arguments, arguments, strict=True))
    *body, last = [each.operation for each in block.operations]
    for each in body:
        copy = each.clone()
        for i, operand in enumerate(each.operands):
            copy.operands[i] = known.get(operand, operand)
        known |= zip(each.results, copy.results, strict=True)
    return known.get(last.operands[0], last.operands[0])
