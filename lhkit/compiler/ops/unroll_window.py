"""``lhkit.unroll_window``: convolutions of each channel for itself, and poolings, become elementwise ops."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import producer_of
from lhkit.compiler.ops.tensor_parts import generic, reads, sizes_of, value_at
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

_DYNAMIC = int(ir.ShapedType.get_dynamic_size())
# More places of a window than this would be too much code.
_MOST_PLACES = 64


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
    so that any layout becomes vectors along the dimension that is contiguous. Every result is computed by the
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
    results = []
    for op, window in zip(target, windows, strict=True):
        with rewriter.before(op.operation):
            unrolled = window.unrolled()
        rewriter.replace(op.operation, unrolled)
        results.append(unrolled.operation)
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

    def unrolled(self) -> Any:
        """Write the op that has all places of the window as operands."""
        *inputs, start = list(self.op.operands)
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
        fill = producer_of(start)
        scalar = fill.operands[0] if fill is not None and fill.name == "linalg.fill" else None
        if scalar is not None:
            start = _tensor.empty(list(sizes.values()), start.type.element_type)
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
        return generic(operands, start, [*([] for _ in starts), *maps, whole], ["parallel"] * len(result), body)

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
