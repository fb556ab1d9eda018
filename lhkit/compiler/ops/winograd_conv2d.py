"""``lhkit.winograd_conv2d``: convolutions with windows of 3x3 by Winograd's F(2x2, 3x3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.model.own_op_definition import Ops, Params, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")
_tensor: Any = host_module("dialects.tensor")
_vector: Any = host_module("dialects.vector")

# Which numbers of a column are added, with which sign, for each number of its transform.
_FROM_IMAGE = (((0, 1), (2, -1)), ((1, 1), (2, 1)), ((2, 1), (1, -1)), ((1, 1), (3, -1)))
_TO_RESULT = (((0, 1), (1, 1), (2, 1)), ((1, 1), (2, -1), (3, -1)))
_PIXELS = ((0, 0), (0, 1), (1, 0), (1, 1))
# Addresses so far apart share the sets of a first-level cache.
_SETS_BYTES = 4096
_Sums = tuple[tuple[tuple[int, int], ...], ...]


@transform_op("lhkit.winograd_conv2d", consumes=["target"])
def winograd_conv2d(
    target: Ops, lanes: Params, strip: Params, tiles: Params, threads: Params, *, rewriter: Rewriter
) -> Ops:
    """Compute convolutions with windows of 3x3 with 4 multiplications for each pixel of a result instead of 9.

    ::

        linalg.conv_2d_nhwc_hwcf ins(%image, %filter : tensor<1x58x58x64xf32>, tensor<3x3x64x64xf32>) ...
        // becomes, with a strip of 32 and 56 tiles
        %u = scf.for ... vector.transfer_write ... : tensor<16x2x64x32xf32>        // transformed filters
        scf.for %y = ... {                                                         // blocks of 2 rows of tiles
          %v = scf.for ... : tensor<16x56x64xf32>                                  // transformed image
          %m = scf.for %point = ... { scf.for %filters = ... {
            linalg.fill, linalg.matmul ins(%v_point, %u_point : tensor<56x64xf32>, tensor<64x32xf32>) } }
          scf.for ... : tensor<1x56x56x64xf32>                                     // 2x2 pixels of each tile
        }

    A tile of 4x4 pixels of the image gives 2x2 of the result: both operands are transformed, multiplied point
    by point, which sums over the channels make 16 products of matrices, and transformed back (A. Lavin,
    S. Gray: Fast Algorithms for Convolutional Neural Networks, 2015). The transforms are vector code; the
    products are left for the schedule to tile. Results are rounded in other places than those of the direct
    sum: of normally distributed f32 and 64 to 256 channels the largest error was 0.3 to 0.4 of that of one sum
    over the window and the channels in a row, since each product sums over the channels only.

    Args:
        target: ``linalg.conv_2d_nhwc_hwcf`` of f32 or f64 on tensors, with a window of 3x3, strides and
            dilations of 1, static extents, and an even number of rows and columns of the result; consumed.
        lanes: Elements of a vector; divides channels and filters.
        strip: Filters whose transforms lie together, the columns of each product; a multiple of ``lanes`` that
            divides the filters.
        tiles: About how many tiles a block has, the rows of each product: whole rows of tiles, of the numbers
            that divide those of a thread the one that comes nearest by ratio.
        threads: How many share the rows of tiles, equally, in an ``scf.forall``; of one no loop is made.
        rewriter: How the payload is changed.

    Returns:
        The products: a ``linalg.matmul`` for each convolution, in the loops over blocks, points and strips.

    Raises:
        SilenceableError: Another op, window, stride, extent or type.
    """
    given = [*lanes, *strip, *tiles, *threads]
    if len(given) != 4 or any(not isinstance(n, int) or n < 1 for n in given):
        raise SilenceableError(f"lanes, strip, tiles and threads are positive numbers, not {given}")
    sizes = tuple(given)
    for op in target:
        _check(op.operation, sizes[0], sizes[1], sizes[3])
    return [_Rewrite(op.operation, *sizes).apply(rewriter) for op in target]


def _check(op: Any, lanes: int, strip: int, threads: int) -> None:
    if op.name != "linalg.conv_2d_nhwc_hwcf" or len(op.results) != 1:
        raise SilenceableError("only linalg.conv_2d_nhwc_hwcf on tensors is computed so", at=op)
    shapes = [list(value.type.shape) for value in op.operands]
    # A dynamic extent is a negative number.
    if any(n < 1 for shape in shapes for n in shape):
        raise SilenceableError("its extents are dynamic or 0, and only others are cut into tiles", at=op)
    (_, rows, pixels, filters), window = shapes[2], shapes[1][:2]
    if window != [3, 3]:
        raise SilenceableError(
            f"its window is {window[0]}x{window[1]}, and only one of 3x3 is transformed", at=op
        )
    apart = [
        int(n)
        for name in ("strides", "dilations")
        if name in op.attributes
        for n in ir.DenseIntElementsAttr(op.attributes[name])
    ]
    if any(n != 1 for n in apart):
        raise SilenceableError("its strides or dilations are not 1: windows do not overlap as tiles do", at=op)
    if rows % 2 or pixels % 2:
        raise SilenceableError(f"its result has {rows}x{pixels} pixels, and tiles are 2x2", at=op)
    if rows // 2 % threads:
        raise SilenceableError(f"its {rows // 2} rows of tiles are no equal shares of {threads} threads", at=op)
    types = {str(value.type.element_type) for value in op.operands}
    if types not in ({"f32"}, {"f64"}):
        raise SilenceableError(
            f"it is of {', '.join(sorted(types))}, and only f32 and f64 are transformed", at=op
        )
    if strip % lanes or filters % strip or shapes[1][2] % lanes:
        have = f"its {shapes[1][2]} channels and {filters} filters"
        raise SilenceableError(f"{have} are not whole vectors of {lanes} and strips of {strip}", at=op)


class _Rewrite:
    """The ops that one convolution becomes."""

    def __init__(self, conv: Any, lanes: int, strip: int, tiles: int, threads: int) -> None:
        self._conv, self._lanes, self._strip, self._threads = conv, lanes, strip, threads
        self._image, self._filter, self._start = conv.operands
        self._images, rows, pixels, self._filters = self._start.type.shape
        self._channels = self._filter.type.shape[2]
        # Rows of tiles of a thread, and of a block; tiles of a row.
        self._rows, self._pixels = rows // 2 // threads, pixels // 2
        whole = (n for n in range(1, self._rows + 1) if self._rows % n == 0)
        self._block = min(whole, key=lambda n: abs(math.log(n * self._pixels / tiles)))
        self._element = self._start.type.element_type
        self._vector = ir.VectorType.get([lanes], self._element)
        self._product: Any = None

    def apply(self, rewriter: Rewriter) -> Any:
        with rewriter.before(self._conv):
            self._zero = _arith.constant(self._element, 0.0)
            filters = self._transformed_filters()
            start, self._is_added = _zeros_left_out(self._start)
            result = self._in_shares(start, filters)
        rewriter.replace(self._conv, [result])
        return self._product

    def _in_shares(self, start: Any, filters: Any) -> Any:
        """Return the result with the share of each thread filled in."""
        if self._threads == 1:
            return self._blocks(start, filters, _index(0))
        shares = _scf.ForallOp([0], [self._threads], [1], [start])
        sizes = [self._images, 2 * self._rows, 2 * self._pixels, self._filters]
        with ir.InsertionPoint(shares.body):
            first = _times(shares.induction_variables[0], self._rows)
            shared, place = shares.inner_iter_args[0], [0, _times(first, 2), 0, 0]
            share = self._blocks(_part(shared, place, sizes, 0), filters, first)
            with ir.InsertionPoint(_scf.InParallelOp().block):
                offsets, arrays = _geometry(place, sizes)
                _tensor.parallel_insert_slice(share, shared, offsets, [], [], **arrays)
        return shares.results[0]

    def _blocks(self, result: Any, filters: Any, first: Any) -> Any:
        """Return a share of the result, which begins with a row of tiles, filled in block by block."""

        def block(image: Any, y: Any, whole: Any) -> Any:
            transformed = self._transformed_image(image, _add(first, y))
            return self._transformed_back(image, y, self._products(transformed, filters), whole)

        return _nest([(self._images, 1), (self._rows, self._block)], result, block)

    def _transformed_filters(self) -> Any:
        """Return what is read of the filters: point, strip, channel, filter of the strip."""
        half = _vector.broadcast(self._vector, _arith.constant(self._element, 0.5))

        def transform(values: Sequence[Any]) -> list[Any]:
            first, second, third = values
            outer = _arith.addf(first, third)
            return [
                first,
                _arith.mulf(half, _arith.addf(outer, second)),
                _arith.mulf(half, _arith.subf(outer, second)),
                third,
            ]

        def vector(strip: Any, channel: Any, lane: Any, whole: Any) -> Any:
            place = _add(_times(strip, self._strip), lane)
            columns = [
                transform([self._read(self._filter, [_index(i), _index(j), channel, place]) for i in range(3)])
                for j in range(3)
            ]
            for a in range(4):
                for b, value in enumerate(transform([column[a] for column in columns])):
                    whole = self._write(value, whole, [_index(4 * a + b), strip, channel, lane])
            return whole

        strips = self._filters // self._strip
        whole = self._points(strips, self._channels, self._strip)
        return _nest([(strips, 1), (self._channels, 1), (self._strip, self._lanes)], whole, vector)

    def _transformed_image(self, image: Any, block: Any) -> Any:
        """Return the tiles of a block: point, tile, channel."""

        def vector(y: Any, x: Any, channel: Any, whole: Any) -> Any:
            top, left = _times(_add(block, y), 2), _times(x, 2)
            tile = _add(_times(y, self._pixels), x)

            def read(i: int, j: int) -> Any:
                return self._read(self._image, [image, _add(top, _index(i)), _add(left, _index(j)), channel])

            # Row by row of the transform, so that few vectors are alive at a time.
            for a, terms in enumerate(_FROM_IMAGE):
                sums = [_sum([(read(i, j), sign) for i, sign in terms]) for j in range(4)]
                for b, value in enumerate(_sums(sums, _FROM_IMAGE)):
                    whole = self._write(value, whole, [_index(4 * a + b), tile, channel])
            return whole

        whole = self._points(self._block * self._pixels, self._channels)
        return _nest([(self._block, 1), (self._pixels, 1), (self._channels, self._lanes)], whole, vector)

    def _products(self, image: Any, filters: Any) -> Any:
        """Return the sums over channels: point, tile, filter."""
        tiles = self._block * self._pixels

        def product(point: Any, strip: Any, whole: Any) -> Any:
            left = _part(image, [point, 0, 0], [1, tiles, self._channels], 1)
            right = _part(filters, [point, strip, 0, 0], [1, 1, self._channels, self._strip], 2)
            place = [point, 0, _times(strip, self._strip)]
            zeros = named_op("FillOp", self._zero, out=_part(whole, place, [1, tiles, self._strip], 1))
            value = _linalg.matmul(left, right, outs=[zeros])
            self._product = value.owner.operation
            return _put(value, whole, place, [1, tiles, self._strip])

        whole = self._points(tiles, self._filters)
        return _nest([(16, 1), (self._filters // self._strip, 1)], whole, product)

    def _transformed_back(self, image: Any, block: Any, products: Any, result: Any) -> Any:
        """Return the result with the pixels of a block filled in."""

        def vector(y: Any, x: Any, place: Any, whole: Any) -> Any:
            top, left = _times(_add(block, y), 2), _times(x, 2)
            tile = _add(_times(y, self._pixels), x)
            pixels = [[image, _add(top, _index(a)), _add(left, _index(b)), place] for a, b in _PIXELS]
            # Before the first is written: one-shot bufferization takes a first vector of constant place for all
            # of a tensor whose first extent it covers, and what was there before would be lost.
            starts = [self._read(whole, pixel) for pixel in pixels] if self._is_added else []
            values = []
            for terms in _TO_RESULT:
                sums = [
                    _sum([(self._read(products, [_index(4 * i + j), tile, place]), sign) for i, sign in terms])
                    for j in range(4)
                ]
                values += _sums(sums, _TO_RESULT)
            for value, pixel, *start in zip(values, pixels, *([starts] if starts else []), strict=True):
                whole = self._write(_arith.addf(value, *start) if start else value, whole, pixel)
            return whole

        return _nest([(self._block, 1), (self._pixels, 1), (self._filters, self._lanes)], result, vector)

    def _points(self, *shape: int) -> Any:
        """Return a tensor for the numbers of each of the 16 points.

        A point's are followed by unused rows where it needs them to begin at other sets of the first-level
        cache than the next ones: all 16 are written, or read, at a time.
        """
        *outer, rows, columns = shape
        row = math.prod(outer) * columns * (self._element.width // 8)
        unused = min(range(16), key=lambda n: math.gcd((rows + n) * row, _SETS_BYTES))
        return _tensor.empty([16, *outer, rows + unused, columns], self._element)

    def _read(self, tensor: Any, place: Sequence[Any]) -> Any:
        return _vector.transfer_read(self._vector, tensor, place, _last(tensor), self._zero, in_bounds=[True])

    def _write(self, value: Any, tensor: Any, place: Sequence[Any]) -> Any:
        return _vector.transfer_write(tensor.type, value, tensor, place, _last(tensor), in_bounds=[True])


def _zeros_left_out(start: Any) -> tuple[Any, bool]:
    """Return what a result is written into, and whether it is added to what is there."""
    fill = start.owner.operation if isinstance(start.owner, ir.Operation | ir.OpView) else None
    if fill is None or fill.name != "linalg.fill":
        return start, True
    constant = fill.operands[0].owner
    is_zero = not isinstance(constant, ir.Block) and constant.operation.name == "arith.constant"
    if is_zero and ir.FloatAttr(constant.operation.attributes["value"]).value == 0.0:
        return fill.operands[1], False
    return start, True


def _loop(extent: int, step: int, carried: Any, body: Callable[[Any, Any], Any]) -> Any:
    """Return what a loop from 0 carries out of its last iteration; of one iteration no loop is made."""
    if extent == step:
        return body(_index(0), carried)
    loop = _scf.ForOp(_index(0), _index(extent), _index(step), [carried])
    with ir.InsertionPoint(loop.body):
        _scf.yield_([body(loop.induction_variable, loop.inner_iter_args[0])])
    return loop.results[0]


def _nest(loops: Sequence[tuple[int, int]], carried: Any, body: Callable[..., Any]) -> Any:
    """Return what a nest of loops (extent, step), the outermost first, carries out."""
    if not loops:
        return body(carried)
    (extent, step), *inner = loops
    return _loop(extent, step, carried, lambda i, value: _nest(inner, value, lambda *rest: body(i, *rest)))


def _sums(values: Sequence[Any], sums: _Sums) -> list[Any]:
    return [_sum([(values[i], sign) for i, sign in terms]) for terms in sums]


def _sum(terms: Sequence[tuple[Any, int]]) -> Any:
    (total, _), *rest = terms
    for value, sign in rest:
        total = _arith.addf(total, value) if sign > 0 else _arith.subf(total, value)
    return total


def _index(value: int) -> Any:
    return _arith.constant(ir.IndexType.get(), value)


def _add(a: Any, b: Any) -> Any:
    return _arith.addi(a, b)


def _times(a: Any, factor: int) -> Any:
    return _arith.muli(a, _index(factor))


def _last(tensor: Any) -> Any:
    """Return the map of a vector that lies along the last dimension."""
    rank = tensor.type.rank
    return ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)]))


def _geometry(place: Sequence[Any], sizes: Sequence[int]) -> tuple[list[Any], dict[str, Any]]:
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets = [n if isinstance(n, int) else dynamic for n in place]
    arrays = {"static_offsets": offsets, "static_sizes": list(sizes), "static_strides": [1] * len(sizes)}
    return [n for n in place if not isinstance(n, int)], arrays


def _part(tensor: Any, place: Sequence[Any], sizes: Sequence[int], dropped: int) -> Any:
    """Return a slice without the first dimensions, which are of size 1."""
    type_ = ir.RankedTensorType.get(list(sizes)[dropped:], tensor.type.element_type)
    offsets, arrays = _geometry(place, sizes)
    return _tensor.extract_slice(type_, tensor, offsets, [], [], **arrays)


def _put(value: Any, tensor: Any, place: Sequence[Any], sizes: Sequence[int]) -> Any:
    offsets, arrays = _geometry(place, sizes)
    return _tensor.insert_slice(value, tensor, offsets, [], [], **arrays)
