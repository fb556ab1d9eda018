"""``lhkit.convolution_to_contraction``: convolutions become contractions of their copied windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.contraction_to_matmul import Cast, casts_of_factors
from lhkit.compiler.ops.copied_windows import copy_windows
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.compiler.ops.tensor_parts import (
    Size,
    dim_expr,
    extent_of,
    generic,
    index_value,
    loop_over,
    part_of,
    put_part,
    reads,
    sizes_of,
    without,
)
from lhkit.model.own_op_definition import Ops, Params, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

# More places of a window than this would be too much code where each is an operand.
MOST_PLACES = 64
_KINDS = ("batch", "output_image", "output_channel", "filter_loop", "input_channel", "depth")


@transform_op("lhkit.convolution_to_contraction", consumes=["target"])
def convolution_to_contraction(target: Ops, elements: Params, *, rewriter: Rewriter) -> tuple[Ops, Ops]:
    """Write convolutions as contractions of the filter with copies of the windows that it is laid over.

    ::

        linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>) ...
        // becomes
        scf.for %n = %c0 to %c1 step %c1 iter_args(...) {
          // windows[c, i, j, y, x] = image[c, y + i, x + j], in loops over c, i, j, and y
          ... linalg.copy ins(%row : tensor<7xf32>) outs(%windows_row : tensor<7xf32>) ...
          linalg.generic  // result[f, y, x] += windows[c, i, j, y, x] * filter[f, c, i, j]
            ins(%windows, %filter : tensor<4x3x3x7x7xf32>, tensor<8x4x3x3xf32>) ... }

    The windows have their dimensions in the order of the filter and of the result, so that
    ``lhkit.contraction_to_matmul`` has nothing to transpose: where rows of pixels are contiguous in the result,
    channels and window come first, image by image; otherwise pixels come first. Images whose windows have more
    elements than asked for are cut into blocks of rows, one copy each. A window of one pixel with strides of 1
    is not copied. Strides, dilations, groups and any number and order of dimensions are taken.

    Args:
        target: Convolutions of linalg on tensors, named or ``linalg.generic``, with channels that are summed
            and channels of the result; their elements are multiplied as they are, or extended to the result's
            type before, as those of the contraction then are; consumed.
        elements: How many elements the windows of one block of rows should have at most.
        rewriter: How the payload is changed.

    Returns:
        The contractions, and each ``linalg.copy`` of a row of windows.

    Raises:
        SilenceableError: Another op; buffers; a body with more in it than casts of the operands, a product and
            a sum; a convolution of each channel for itself (depthwise), of one channel with one filter, or a
            pooling, which are no products.
    """
    if len(elements) != 1 or int(elements[0]) < 1:
        raise SilenceableError("the number of elements has to be one number of at least 1")
    known = [Convolution.of(op.operation) for op in target]
    products: list[Any] = []
    copies: list[Any] = []
    for op, convolution in zip(target, known, strict=True):
        with rewriter.before(op.operation):
            written = _Writer(convolution, int(elements[0]), products, copies).whole()
        rewriter.replace(op.operation, [written])
    return products, copies


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of linalg on tensors: its operands with their maps, and its loops by what they are."""

    operands: list[Any]  # Image, filter, and what the result starts from
    maps: list[list[Any]]
    loops: int
    images: list[int]
    pixels: list[int]
    window: list[int]
    groups: list[int]
    strides: list[int]
    casts: list[Cast | None]  # What elements of image and filter become before they are multiplied

    @classmethod
    def of(cls, op: Any) -> Convolution:
        """Return what an op is; refused where it is no product."""
        operands = list(op.operands)
        if len(operands) != 3 or len(op.results) != 1 or not _linalg.isa_convolution_op(op):
            raise SilenceableError("this is no convolution of a tensor with a filter", at=op)
        if (kinds := _linalg.infer_convolution_dimensions(op)) is None:  # a product read by pairs, for one
            raise SilenceableError("its loops are not those of a convolution", at=op)
        found = {name: [int(d) for d in getattr(kinds, name)] for name in _KINDS}
        if not found["output_channel"] or (found["depth"] and not found["input_channel"]):
            raise SilenceableError("each channel is for itself, and no product sums over channels", at=op)
        casts = casts_of_factors(op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        if not all(isinstance(e, ir.AffineDimExpr) for m in maps[1:] for e in m):
            raise SilenceableError("its filter or its result is not read by single loops", at=op)
        loops = 1 + max(d for ds in found.values() for d in ds)
        names = ("batch", "output_image", "filter_loop", "depth")
        strides = [int(s) for s in kinds.strides]
        images, pixels, window, groups = (found[name] for name in names)
        known = cls(operands, maps, loops, images, pixels, window, groups, strides, casts)
        if known.is_single() and known.is_copied():
            raise SilenceableError("it has one channel and one filter: lhkit.unroll_window takes it", at=op)
        return known

    def dims(self, operand: int) -> list[int]:
        """Return the loop that each dimension of the filter or of the result is."""
        return [ir.AffineDimExpr(e).position for e in self.maps[operand]]

    def place(self, dim: int) -> int:
        """Return which dimension of the image an image's, pixel's or channel's loop goes along."""
        return next(i for i, e in enumerate(self.maps[0]) if reads(e, dim))

    def size(self, dim: int) -> Size:
        """Return how often a loop runs."""
        operand = 2 if dim in self.dims(2) else 1
        return extent_of(self.operands[operand], self.dims(operand).index(dim))

    def is_by_pixels(self) -> bool:
        """Return True where rows of pixels are contiguous in the result, and not channels."""
        return self.dims(2)[-1] in self.pixels

    def is_copied(self) -> bool:
        """Return True where windows overlap or lie apart, and are not the image itself."""
        return any(self.size(d) != 1 for d in self.window) or any(s != 1 for s in self.strides)

    def is_single(self) -> bool:
        """Return True where one channel meets one filter, so that no vector of channels can be filled."""
        weights = self.operands[1].type
        others = [n for n, d in zip(weights.shape, self.dims(1), strict=True) if d not in self.window]
        is_small = weights.has_static_shape and math.prod(weights.shape) <= MOST_PLACES
        return is_small and all(n == 1 for n in others)

    def order(self) -> list[int]:
        """Return the loops of the windows of one block, in the order that needs no transpose."""
        sums = [d for d in self.dims(1) if d in self.window or d not in self.dims(2)]
        result = self.dims(2)
        if self.is_by_pixels():
            return [*self.groups, *sums, *(d for d in result if d in self.pixels)]
        return [*self.groups, *(d for d in result if d in (*self.images, *self.pixels)), *sums]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes a convolution as loops over blocks, each a copy of windows and a contraction."""

    conv: Convolution
    most: int
    products: list[Any]
    copies: list[Any]

    def whole(self) -> Any:
        conv = self.conv
        image, _, start = conv.operands
        fill = producer_of(start)
        scalar = None if fill is None or fill.name != "linalg.fill" else fill.operands[0]
        if scalar is not None:
            start = _tensor.empty(sizes_of(start), start.type.element_type)
        return self._images(list(conv.images) if self._is_by_image() else [], image, start, [], scalar)

    def _is_by_image(self) -> bool:
        if self.conv.is_by_pixels():
            return True
        return self.conv.is_copied() and self._elements(self.conv.order()) > self.most

    def _elements(self, dims: Sequence[int]) -> float:
        sizes = [self.conv.size(d) for d in dims]
        return math.prod(sizes) if all(isinstance(n, int) for n in sizes) else math.inf

    def _images(self, loops: list[int], image: Any, start: Any, fixed: list[int], scalar: Any) -> Any:
        """Write a loop over each of these dimensions, and in them blocks of rows."""
        if not loops:
            return self._blocks(image, start, fixed, scalar)
        dim, *rest = loops
        at = [d for d in self.conv.dims(2) if d not in fixed].index(dim)
        # Dimensions before it that are fixed are gone from the image.
        place = self.conv.place(dim) - sum(self.conv.place(d) < self.conv.place(dim) for d in fixed)

        def write(i: Any, whole: Any) -> Any:
            one, part = part_of(image, place, i, None), part_of(whole, at, i, None)
            return put_part(self._images(rest, one, part, [*fixed, dim], scalar), whole, at, i, None)

        return loop_over(self.conv.size(dim), 1, start, write)

    def _blocks(self, image: Any, start: Any, fixed: list[int], scalar: Any) -> Any:
        conv = self.conv
        dims = [d for d in conv.dims(2) if d not in fixed]
        row = next(d for d in dims if d in conv.pixels)
        rows, each = conv.size(row), self._elements([d for d in conv.order() if d not in (row, *fixed)])
        if not conv.is_copied() or not isinstance(rows, int) or rows * each <= self.most or math.isinf(each):
            return self._contract(image, start, fixed, scalar)
        most = max(1, self.most // int(each))
        even = max(n for n in range(1, most + 1) if rows % n == 0)
        block = even if 2 * even >= most else most
        place, at = conv.place(row) - sum(conv.place(d) < conv.place(row) for d in fixed), dims.index(row)
        number = conv.pixels.index(row)
        # What lies in the image beside the first pixels of the windows is read with each block.
        beside = image.type.shape[place] - (rows - 1) * conv.strides[number] - 1

        def write(i: Any, whole: Any, count: int = block) -> Any:
            first = _arith.muli(i, index_value(conv.strides[number]))
            lines = part_of(image, place, first, (count - 1) * conv.strides[number] + 1 + beside)
            part = self._contract(lines, part_of(whole, at, i, count), fixed, scalar)
            return put_part(part, whole, at, i, count)

        total = loop_over(rows - rows % block, block, start, write)
        return write(index_value(rows - rows % block), total, rows % block) if rows % block else total

    def _contract(self, image: Any, start: Any, fixed: list[int], scalar: Any) -> Any:
        """Write the copy of windows and the contraction of what is left of image and result."""
        conv = self.conv
        order = [d for d in conv.order() if d not in fixed]
        dims = [d for d in conv.dims(2) if d not in fixed]
        maps = [e for i, e in enumerate(conv.maps[0]) if i not in [conv.place(d) for d in fixed]]
        weights, filter_dims = conv.operands[1], conv.dims(1)
        if conv.is_copied():
            sizes = {d: conv.size(d) for d in order}
            sizes |= {d: extent_of(start, dims.index(d)) for d in dims if d in sizes and d not in conv.groups}
            windows, copies = copy_windows(image, maps, sizes, conv.window)
            self.copies.extend(copies)
        else:
            windows = image
            read = [next(d for d in range(conv.loops) if d not in conv.window and reads(e, d)) for e in maps]
            weights = without(weights, [filter_dims.index(d) for d in conv.window])
            filter_dims = [d for d in filter_dims if d not in conv.window]
            order = read
        if scalar is not None:
            start = named_op("FillOp", scalar, out=start)
        loops = dims + [d for d in filter_dims if d not in dims]
        exprs = [[dim_expr(loops.index(d)) for d in each] for each in (order, filter_dims, dims)]
        kinds = ["parallel" if d in dims else "reduction" for d in loops]
        op = generic([windows, weights], start, exprs, kinds, self._multiply_add)
        self.products.append(op)
        return op.results[0]

    def _multiply_add(self, x: Any, y: Any, total: Any) -> Any:
        x, y = (v if cast is None else cast.of(v) for v, cast in zip((x, y), self.conv.casts, strict=True))
        if isinstance(total.type, ir.FloatType):
            return _arith.addf(total, _arith.mulf(x, y))
        return _arith.addi(total, _arith.muli(x, y))
