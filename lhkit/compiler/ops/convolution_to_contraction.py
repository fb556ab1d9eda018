"""``lhkit.convolution_to_contraction``: convolutions become contractions of their copied windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import producer_of
from lhkit.model.own_op_definition import Ops, Params, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")
_tensor: Any = host_module("dialects.tensor")
_vector: Any = host_module("dialects.vector")

_DYNAMIC = int(ir.ShapedType.get_dynamic_size())
_DYNAMIC_OFFSET = ir.ShapedType.get_dynamic_stride_or_offset()
_BODY = frozenset({"arith.mulf", "arith.addf", "arith.muli", "arith.addi", "linalg.yield"})
# Rows of elements that lie so far apart are copied by way of vectors, of so many elements.
_SHUFFLED = range(2, 5)
_VECTOR = 32
# An extent or an offset: a number, or a value of type index.
_Size = Any


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
            and channels of the result, of one element type; consumed.
        elements: How many elements the windows of one block of rows should have at most.
        rewriter: How the payload is changed.

    Returns:
        The contractions, and each ``linalg.copy`` of a row of windows.

    Raises:
        SilenceableError: Another op; buffers; several element types; a convolution of each channel for itself
            (depthwise), or a pooling, which are no products.
    """
    if len(elements) != 1 or int(elements[0]) < 1:
        raise SilenceableError("the number of elements has to be one number of at least 1")
    known = [_Convolution.of(op.operation) for op in target]
    products: list[Any] = []
    copies: list[Any] = []
    for op, convolution in zip(target, known, strict=True):
        with rewriter.before(op.operation):
            written = _Writer(convolution, int(elements[0]), products, copies).whole()
        rewriter.replace(op.operation, [written])
    return products, copies


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A convolution: its operands with their maps, and its loops by what they are."""

    operands: list[Any]  # Image, filter, and what the result starts from
    maps: list[list[Any]]
    loops: int
    images: list[int]
    pixels: list[int]
    window: list[int]
    groups: list[int]
    strides: list[int]

    @classmethod
    def of(cls, op: Any) -> _Convolution:
        operands = list(op.operands)
        if len(operands) != 3 or len(op.results) != 1 or not _linalg.isa_convolution_op(op):
            raise SilenceableError("this is no convolution of a tensor with a filter", at=op)
        kinds = _linalg.infer_convolution_dimensions(op)
        found = {name: [int(d) for d in getattr(kinds, name)] for name in _KINDS}
        if not found["output_channel"] or (found["depth"] and not found["input_channel"]):
            raise SilenceableError("each channel is for itself, and no product sums over channels", at=op)
        types = {str(value.type.element_type) for value in operands}
        body = {each.operation.name for each in op.regions[0].blocks[0].operations}
        if len(types) != 1 or not body <= _BODY:
            raise SilenceableError("it works on several element types, or not by products and sums", at=op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        if not all(isinstance(e, ir.AffineDimExpr) for m in maps[1:] for e in m):
            raise SilenceableError("its filter or its result is not read by single loops", at=op)
        loops = 1 + max(d for ds in found.values() for d in ds)
        names = ("batch", "output_image", "filter_loop", "depth")
        strides = [int(s) for s in kinds.strides]
        return cls(operands, maps, loops, *(found[name] for name in names), strides)

    def dims(self, operand: int) -> list[int]:
        """Return the loop that each dimension of the filter or of the result is."""
        return [ir.AffineDimExpr(e).position for e in self.maps[operand]]

    def place(self, dim: int) -> int:
        """Return which dimension of the image an image's, pixel's or channel's loop goes along."""
        return next(i for i, e in enumerate(self.maps[0]) if reads(e, dim))

    def size(self, dim: int) -> _Size:
        """Return how often a loop runs."""
        operand = 2 if dim in self.dims(2) else 1
        return _extent(self.operands[operand], self.dims(operand).index(dim))

    def is_by_pixels(self) -> bool:
        """Return True where rows of pixels are contiguous in the result, and not channels."""
        return self.dims(2)[-1] in self.pixels

    def is_copied(self) -> bool:
        return any(self.size(d) != 1 for d in self.window) or any(s != 1 for s in self.strides)

    def order(self) -> list[int]:
        """Return the loops of the windows of one block, in the order that needs no transpose."""
        sums = [d for d in self.dims(1) if d in self.window or self._is_summed(d)]
        result = self.dims(2)
        if self.is_by_pixels():
            return [*self.groups, *sums, *(d for d in result if d in self.pixels)]
        return [*(d for d in result if d in (*self.images, *self.pixels)), *self.groups, *sums]

    def _is_summed(self, dim: int) -> bool:
        return dim not in self.dims(2)


_KINDS = ("batch", "output_image", "output_channel", "filter_loop", "input_channel", "depth")


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes a convolution as loops over blocks, each a copy of windows and a contraction."""

    conv: _Convolution
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
            one, part = _part(image, place, i, None), _part(whole, at, i, None)
            return _put(self._images(rest, one, part, [*fixed, dim], scalar), whole, at, i, None)

        return _loop(self.conv.size(dim), 1, start, write)

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
            first = _arith.muli(i, _index(conv.strides[number]))
            lines = _part(image, place, first, (count - 1) * conv.strides[number] + 1 + beside)
            part = self._contract(lines, _part(whole, at, i, count), fixed, scalar)
            return _put(part, whole, at, i, count)

        total = _loop(rows - rows % block, block, start, write)
        return write(_index(rows - rows % block), total, rows % block) if rows % block else total

    def _contract(self, image: Any, start: Any, fixed: list[int], scalar: Any) -> Any:
        """Write the copy of windows and the contraction of what is left of image and result."""
        conv = self.conv
        order = [d for d in conv.order() if d not in fixed]
        dims = [d for d in conv.dims(2) if d not in fixed]
        maps = [e for i, e in enumerate(conv.maps[0]) if i not in [conv.place(d) for d in fixed]]
        weights, filter_dims = conv.operands[1], conv.dims(1)
        if conv.is_copied():
            windows = self._copy(image, start, maps, dims, order)
        else:
            windows = image
            read = [next(d for d in range(conv.loops) if d not in conv.window and reads(e, d)) for e in maps]
            weights = _without(weights, [filter_dims.index(d) for d in conv.window])
            filter_dims = [d for d in filter_dims if d not in conv.window]
            order = read
        if scalar is not None:
            start = _linalg.fill(scalar, outs=[start])
        loops = dims + [d for d in filter_dims if d not in dims]
        exprs = [[_dim(loops.index(d)) for d in each] for each in (order, filter_dims, dims)]
        kinds = ["parallel" if d in dims else "reduction" for d in loops]
        op = generic([windows, weights], start, exprs, kinds, _multiply_add)
        self.products.append(op)
        return op.results[0]

    def _copy(self, image: Any, start: Any, exprs: list[Any], dims: list[int], order: list[int]) -> Any:
        """Write loops that copy the windows row by row, a row being the last dimension, or the last two."""
        conv = self.conv
        sizes = {
            d: _extent(start, dims.index(d)) if d in dims and d not in conv.groups else conv.size(d)
            for d in order
        }
        row = self._row(exprs, order, sizes)
        outer = order[: -len(row)]
        length = math.prod(sizes[d] for d in row) if len(row) > 1 else sizes[row[0]]
        element = image.type.element_type

        def write(loops: list[int], at: dict[int, Any], whole: Any) -> Any:
            if loops:
                dim, *rest = loops
                return _loop(sizes[dim], 1, whole, lambda i, inner: write(rest, {**at, dim: i}, inner))
            offsets = [value_at(expr, at) for expr in exprs]
            read = [next((d for d in row if reads(expr, d)), None) for expr in exprs]
            extents = [1 if d is None else sizes[d] for d in read]
            steps = [
                1 if d is None else value_at(e, dict.fromkeys(at, 0) | {d: 1})
                for e, d in zip(exprs, read, strict=True)
            ]
            source = _slice(image, offsets, extents, steps, [d is not None for d in read])
            if len(row) > 1:
                source = _tensor.collapse_shape(ir.RankedTensorType.get([length], element), source, [[0, 1]])
            step = next(n for n, d in zip(steps, read, strict=True) if d == row[-1])
            if len(row) == 1 and isinstance(length, int) and step in _SHUFFLED and read[-1] == row[0]:
                return _copy_apart(image, offsets, whole, [at[d] for d in outer], length, step)
            place = [[at[d] for d in outer] + [0], [1] * len(outer) + [length], [1] * (len(outer) + 1)]
            copy = _linalg.copy(source, outs=[_slice(whole, *place, [False] * len(outer) + [True])])
            self.copies.append(copy.owner.operation)
            return _put_slice(copy, whole, *place)

        total = write(outer, {}, _tensor.empty([*(sizes[d] for d in outer), length], element))
        if len(row) == 1:
            return total
        shape = [n if isinstance(n, int) else _DYNAMIC for n in (sizes[d] for d in order)]
        places = [[i] for i in range(len(outer))] + [[len(outer), len(outer) + 1]]
        values = [n for n in (sizes[d] for d in order) if not isinstance(n, int)]
        return _tensor.expand_shape(ir.RankedTensorType.get(shape, element), total, places, values, shape)

    def _row(self, exprs: list[Any], order: list[int], sizes: dict[int, _Size]) -> list[int]:
        """Return the last loop, or the last two where they are in one piece in the image and in the windows."""
        pair = order[-2:]
        last_two = len(pair) == 2 and all(isinstance(sizes[d], int) for d in pair) and len(exprs) > 1
        if not last_two or pair[0] not in self.conv.window or not _is_loop(exprs[-1], pair[1]):
            return pair[-1:]
        others = dict.fromkeys(order, 0)
        return (
            pair if reads(exprs[-2], pair[0]) and value_at(exprs[-2], others | {pair[0]: 1}) == 1 else pair[-1:]
        )


def _copy_apart(
    image: Any, offsets: list[_Size], whole: Any, place: list[_Size], length: int, step: int
) -> Any:
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
        to = [_sum(n, 0) for n in place] + [_index(first)]
        whole = _vector.transfer_write(whole.type, kept, whole, to, _minor(result + 1), in_bounds=[True])
    return whole


def _minor(rank: int) -> Any:
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)])


def _sum(value: _Size, more: int) -> Any:
    if isinstance(value, int):
        return _index(value + more)
    return _arith.addi(value, _index(more)) if more else value


def _is_loop(expr: Any, dim: int) -> bool:
    return isinstance(expr, ir.AffineDimExpr) and expr.position == dim


def value_at(expr: Any, at: Mapping[int, Any]) -> _Size:
    """Return the value of an expression of a map, where loops that are not given are at 0."""
    if isinstance(expr, ir.AffineDimExpr):
        return at.get(expr.position, 0)
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    lhs, rhs = value_at(expr.lhs, at), value_at(expr.rhs, at)
    is_product = isinstance(expr, ir.AffineMulExpr)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs if is_product else lhs + rhs
    if (1 if is_product else 0) in (lhs, rhs):
        return next(each for each in (lhs, rhs) if not isinstance(each, int))
    values = [_index(each) if isinstance(each, int) else each for each in (lhs, rhs)]
    return _arith.muli(*values) if is_product else _arith.addi(*values)


def reads(expr: Any, dim: int) -> bool:
    """Return True where an expression of a map has this loop in it."""
    if isinstance(expr, ir.AffineDimExpr):
        return bool(expr.position == dim)
    return isinstance(expr, ir.AffineBinaryExpr) and (reads(expr.lhs, dim) or reads(expr.rhs, dim))


def _multiply_add(x: Any, y: Any, total: Any) -> Any:
    if isinstance(x.type, ir.FloatType):
        return _arith.addf(total, _arith.mulf(x, y))
    return _arith.addi(total, _arith.muli(x, y))


def generic(
    inputs: list[Any], out: Any, exprs: list[list[Any]], kinds: list[str], body: Callable[..., Any]
) -> Any:
    """Write a ``linalg.generic`` with these maps, the last of which is the result's."""
    maps = [ir.AffineMapAttr.get(ir.AffineMap.get(len(kinds), 0, each)) for each in exprs]
    op = ir.Operation.create(
        "linalg.generic",
        results=[out.type],
        operands=[*inputs, out],
        attributes={
            "indexing_maps": ir.ArrayAttr.get(maps),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse(f"#linalg.iterator_type<{k}>") for k in kinds]
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    block = op.regions[0].blocks.append(*[getattr(v.type, "element_type", v.type) for v in (*inputs, out)])
    with ir.InsertionPoint(block):
        _linalg.YieldOp([body(*block.arguments)])
    return op


def _loop(extent: _Size, step: int, start: Any, body: Callable[[Any, Any], Any]) -> Any:
    end = _index(extent) if isinstance(extent, int) else extent
    loop = _scf.ForOp(_index(0), end, _index(step), [start])
    with ir.InsertionPoint(loop.body):
        _scf.yield_([body(loop.induction_variable, loop.inner_iter_args[0])])
    return loop.results[0]


def _slice(value: Any, offsets: list[_Size], sizes: list[_Size], strides: list[int], kept: list[bool]) -> Any:
    """Return a part of a tensor, without the dimensions that are not kept."""
    shape = [n if isinstance(n, int) else _DYNAMIC for n, is_kept in zip(sizes, kept, strict=True) if is_kept]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    values, arrays = _mixed(offsets, sizes, strides)
    return _tensor.extract_slice(type_, value, *values, **arrays)


def _put_slice(part: Any, value: Any, offsets: list[_Size], sizes: list[_Size], strides: list[int]) -> Any:
    values, arrays = _mixed(offsets, sizes, strides)
    return _tensor.insert_slice(part, value, *values, **arrays)


def _mixed(
    offsets: list[_Size], sizes: list[_Size], strides: list[int]
) -> tuple[list[list[Any]], dict[str, list[int]]]:
    arrays = {
        "static_offsets": [n if isinstance(n, int) else _DYNAMIC_OFFSET for n in offsets],
        "static_sizes": [n if isinstance(n, int) else _DYNAMIC for n in sizes],
        "static_strides": strides,
    }
    return [[n for n in each if not isinstance(n, int)] for each in (offsets, sizes, [])], arrays


def _along(value: Any, dim: int, place: Any, count: int | None) -> list[list[_Size]]:
    sizes = sizes_of(value)
    sizes[dim] = 1 if count is None else count
    return [[place if i == dim else 0 for i in range(len(sizes))], sizes, [1] * len(sizes)]


def _part(value: Any, dim: int, place: Any, count: int | None) -> Any:
    """Return so much of a tensor from a place of a dimension on; None for one, without the dimension."""
    along = _along(value, dim, place, count)
    return _slice(value, *along, [i != dim or count is not None for i in range(len(along[0]))])


def _put(part: Any, value: Any, dim: int, place: Any, count: int | None) -> Any:
    return _put_slice(part, value, *_along(value, dim, place, count))


def _without(value: Any, dims: list[int]) -> Any:
    """Return a tensor without dimensions of extent 1."""
    sizes = sizes_of(value)
    kept = [i not in dims for i in range(len(sizes))]
    return _slice(value, [0] * len(sizes), sizes, [1] * len(sizes), kept)


def sizes_of(value: Any) -> list[_Size]:
    """Return the extents of a tensor: numbers, and values where they are dynamic."""
    return [_extent(value, i) for i in range(len(value.type.shape))]


def _extent(value: Any, dim: int) -> _Size:
    extent = value.type.shape[dim]
    return _tensor.dim(value, _index(dim)) if ir.ShapedType.is_dynamic_size(extent) else int(extent)


def _dim(number: int) -> Any:
    return ir.AffineDimExpr.get(number)


def _index(value: int) -> Any:
    return _arith.constant(ir.IndexType.get(), value)
