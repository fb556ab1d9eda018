"""``lhkit.contraction_to_matmul``: contractions in any order of dimensions become matrix products."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.add_up_in_f32 import map_elements, narrow_factors
from lhkit.compiler.ops.linalg_rewrites import named_op, permutation_of
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")
_tensor: Any = host_module("dialects.tensor")

_Dims = tuple[int, ...]
# How many elements a dynamic extent is taken for where layouts are compared.
_UNKNOWN_EXTENT = 64
_MOST_LANES = 16  # Elements of 32 bits in the widest vectors
_DYNAMIC_OFFSET = ir.ShapedType.get_dynamic_stride_or_offset()
_BODY = frozenset({"arith.mulf", "arith.addf", "arith.muli", "arith.addi", "linalg.yield"})
# What an operand's elements may become before they are multiplied.
_CASTS = frozenset({"arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp"})


@transform_op("lhkit.contraction_to_matmul", consumes=["target"])
def contraction_to_matmul(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write contractions as matrix products, so that one schedule of ``linalg.matmul`` takes all of them.

    ::

        linalg.generic {"bmk,bnk->bmn"} ins(%a, %b : tensor<8x6x5xf32>, tensor<8x7x5xf32>) ...
        // becomes
        %t = linalg.transpose ins(%b : tensor<8x7x5xf32>) ... permutation = [0, 2, 1]
        scf.for %i = %c0 to %c8 step %c1 iter_args(%all = %empty) -> (tensor<8x6x7xf32>) {
          linalg.fill, linalg.matmul ins(%a_i, %t_i : tensor<6x5xf32>, tensor<5x7xf32>), tensor.insert_slice }

    Dimensions that all three tensors have are loops. Those that the result shares with one operand, and those
    that are summed, are collapsed to one each, where they lie side by side and in one order; where they do
    not, a ``linalg.transpose`` brings them together. Of all orders, and of both ways to name the operands, the
    one that moves the fewest elements is taken. An operand that is itself a ``linalg.transpose`` is read from
    before it. An operand whose elements the body extends to the result's type is extended as a whole before the
    product, in the same ``linalg.generic`` that brings its dimensions together. Where rows or columns are
    collapsed, and the only op that reads the result works by elements, that becomes one on matrices too, if its
    other operands can be collapsed with the result. Every product and every sum stays what it was, in the
    order in which the schedule adds up.

    Args:
        target: Contractions of linalg on tensors, named or ``linalg.generic``: one product of two operands is
            added to the result, whose element type the operands have or are cast to in the body; consumed.
            Where one has the attribute ``bf16_dots`` or ``i8_dots``, and it is not 0, its operands of that type
            stay so if the extents are known and there are 16 rows, 16 columns and 32 steps or more; the product
            has the attribute ``factors`` then, which names the type. Where ``i8_dots`` is 3, operands of i8 are
            extended to i16, and those of i16 stay so.
        rewriter: How the payload is changed.

    Returns:
        The products, a ``linalg.matmul`` for each contraction.

    Raises:
        SilenceableError: Another op; buffers; tensors with an encoding; a body with more in it than casts of
            the operands, a product and a sum; a result of one row or column, which is better read as a
            reduction; a dimension that is summed in one operand only.
    """
    layouts = [_layout(op.operation) for op in target]
    products = []
    for op, layout in zip(target, layouts, strict=True):
        narrow = narrow_factors(op.operation)
        if narrow is None:
            products.append(_rewrite(op.operation, layout, rewriter))
        else:
            lhs, rhs = (_cast_to(narrow, t) for t in (layout.lhs, layout.rhs))
            products.append(_rewrite(op.operation, replace(layout, lhs=lhs, rhs=rhs), rewriter))
            products[-1].attributes["factors"] = ir.StringAttr.get(narrow)
    return products


def _layout(op: Any) -> _Layout:
    """Return the layout of a contraction's operands that moves the fewest elements."""
    operands = list(op.operands)
    if len(operands) != 3 or len(op.results) != 1 or not _linalg.isa_contraction_op(op):
        raise SilenceableError("this is no contraction of two tensors into a third", at=op)
    if any(ir.RankedTensorType(v.type).encoding is not None for v in operands):
        raise SilenceableError("its tensors have an encoding, which their parts would not have", at=op)
    casts = casts_of_factors(op)
    maps = _linalg.get_indexing_maps(op)
    dims = [tuple(ir.AffineDimExpr(e).position for e in map_.value.results) for map_ in maps]
    lhs, rhs = map(_Tensor.behind_transposes, operands[:2], dims[:2], casts)
    result = _Tensor(operands[2], dims[2])
    kinds = _linalg.infer_contraction_dimensions(op)
    rows, columns, steps = ({int(d) for d in found} for found in (kinds.m, kinds.n, kinds.k))
    batch = tuple(d for d in result.dims if d in lhs.dims and d in rhs.dims)
    known = {*rows, *columns, *steps, *batch}
    if any(len(set(t.dims)) != len(t.dims) or not known.issuperset(t.dims) for t in (lhs, rhs, result)):
        raise SilenceableError("a dimension is summed, or repeated, in one tensor only", at=op)
    for found, tensor, name in ((rows, lhs, "row"), (columns, rhs, "column"), (steps, lhs, "step")):
        if math.prod(tensor.extent(d) for d in found) == 1:
            raise SilenceableError(f"there is one {name} only: this is no product of matrices", at=op)
    layouts = [
        _Layout(a, b, result, batch, *orders)
        for a, b, m, n in ((lhs, rhs, rows, columns), (rhs, lhs, columns, rows))
        for orders in itertools.product(_orders(m, a, result), _orders(n, b, result), _orders(steps, a, b))
    ]
    return min(layouts, key=_Layout.moved)


def casts_of_factors(op: Any) -> list[Cast | None]:
    """Return the op applied to the elements of each operand before they are multiplied, or None."""
    block = op.regions[0].blocks[0]
    elements, type_ = list(block.arguments)[:2], op.results[0].type.element_type
    body = [each.operation for each in block.operations]
    products = [each for each in body if each.name in {"arith.mulf", "arith.muli"}]
    casts = {each.results[0]: each for each in body if each.name in _CASTS and each.results[0].type == type_}
    if len(products) != 1 or len(casts) + sum(each.name in _BODY for each in body) != len(body):
        raise SilenceableError("it has more in it than casts of its operands, a product and a sum", at=op)
    found: list[Cast | None] = [None, None]
    for factor in products[0].operands:
        cast = casts.get(factor)
        element = factor if cast is None else cast.operands[0]
        if element not in elements:
            raise SilenceableError("it multiplies something else than an element of each operand", at=op)
        found[elements.index(element)] = None if cast is None else Cast(cast.name, type_)
    return found


def _cast_to(name: str, operand: _Tensor) -> _Tensor:
    """Return an operand that is cast to another type than its cast's, or not at all if it has that one."""
    element = ir.Type.parse(name)
    if operand.cast is None or operand.value.type.element_type == element:
        return replace(operand, cast=None)
    return replace(operand, cast=replace(operand.cast, element=element))


def _orders(dims: set[int], *tensors: _Tensor) -> list[_Dims]:
    """Return the orders in which the tensors have these dimensions."""
    return list(dict.fromkeys(tuple(d for d in tensor.dims if d in dims) for tensor in tensors))


@dataclass(frozen=True, slots=True)
class Cast:
    """The op applied to each element of an operand before the product, and the type it gives."""

    name: str
    element: Any

    def of(self, value: Any) -> Any:
        """Write the op for a value; gives the result."""
        return ir.Operation.create(self.name, results=[self.element], operands=[value]).results[0]


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor with the dimension of the contraction that each of its own is, and what its elements become."""

    value: Any
    dims: _Dims
    cast: Cast | None = None

    @classmethod
    def behind_transposes(cls, value: Any, dims: _Dims, cast: Cast | None) -> _Tensor:
        """Read what transposes of a value read, in its own order."""
        producer = producer_of(value)
        permutation = None if producer is None else permutation_of(producer)
        if producer is None or permutation is None:
            return cls(value, dims, cast)
        before = tuple(dims[permutation.index(d)] for d in range(len(dims)))
        return cls.behind_transposes(producer.operands[0], before, cast)

    def extent(self, dim: int) -> int:
        return int(self.value.type.shape[self.dims.index(dim)])

    def mixed_extent(self, dim: int) -> Any:
        """Return an extent: a number, or a value where it is dynamic."""
        extent = self.extent(dim)
        if not ir.ShapedType.is_dynamic_size(extent):
            return extent
        return _tensor.dim(self.value, _index(self.dims.index(dim)))

    def elements(self) -> int:
        extents = map(self.extent, self.dims)
        return math.prod(_UNKNOWN_EXTENT if ir.ShapedType.is_dynamic_size(n) else n for n in extents)

    def is_constant(self) -> bool:
        """Return True for a constant, which is moved once, when the kernel is built."""
        producer = producer_of(self.value)
        return producer is not None and producer.name == "arith.constant"

    def is_matrix(self, batch: _Dims, *groups: _Dims) -> bool:
        """Return True where the groups follow each other, each in one piece, and end the tensor."""
        if tuple(d for d in self.dims if d not in batch) != sum(groups, ()) or self.dims[-1] in batch:
            return False
        starts = [self.dims.index(group[0]) for group in groups]
        return all(self.dims[i : i + len(g)] == g for i, g in zip(starts, groups, strict=True))

    def transposed(self, dims: _Dims) -> _Tensor:
        """Return the tensor with its dimensions in this order and its elements cast."""
        cast = self.cast
        if cast is not None:
            type_ = ir.RankedTensorType.get([self.extent(d) for d in dims], cast.element)
            out = _tensor.empty([self.mixed_extent(d) for d in dims], cast.element)
            maps = [[dims.index(d) for d in self.dims], list(range(len(dims)))]
            return _Tensor(map_elements([self.value], out, maps, type_, cast.of), dims)
        if dims == self.dims:
            return self
        out = _empty([self.mixed_extent(d) for d in dims], self.value)
        moved = _linalg.transpose(self.value, outs=[out], permutation=[self.dims.index(d) for d in dims])
        return _Tensor(_result_of(moved), dims)

    def groups(self, *groups: _Dims) -> list[_Dims]:
        """Return the dimensions, those of a group together."""
        group_of = {d: group for group in groups for d in group}
        return list(dict.fromkeys(group_of.get(d, (d,)) for d in self.dims))

    def collapsed(self, *groups: _Dims) -> _Tensor:
        """Return the tensor with one dimension, called as the first, for each group."""
        together = self.groups(*groups)
        dims = tuple(group[0] for group in together)
        if dims == self.dims:
            return self
        shape = [_product([self.extent(d) for d in group]) for group in together]
        type_ = ir.RankedTensorType.get(shape, self.value.type.element_type)
        return _Tensor(_tensor.collapse_shape(type_, self.value, self.places(together)), dims)

    def places(self, groups: list[_Dims]) -> list[list[int]]:
        return [[self.dims.index(d) for d in group] for group in groups]

    def slice(self, dim: int, place: Any, put: Any = None) -> _Tensor:
        """Return the tensor at a place of a dimension; with ``put``, all of it with that put there."""
        at = self.dims.index(dim)
        rest = self.dims[:at] + self.dims[at + 1 :]
        sizes = [1 if d == dim else self.mixed_extent(d) for d in self.dims]
        arrays = {
            "static_offsets": [_DYNAMIC_OFFSET if d == dim else 0 for d in self.dims],
            "static_sizes": [n if isinstance(n, int) else ir.ShapedType.get_dynamic_size() for n in sizes],
            "static_strides": [1] * len(sizes),
        }
        geometry: tuple[list[Any], list[Any], list[Any]] = (
            [place],
            [n for n in sizes if not isinstance(n, int)],
            [],
        )
        if put is not None:
            return _Tensor(_tensor.insert_slice(put, self.value, *geometry, **arrays), self.dims)
        type_ = ir.RankedTensorType.get([self.extent(d) for d in rest], self.value.type.element_type)
        return _Tensor(_tensor.extract_slice(type_, self.value, *geometry, **arrays), rest)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which operand is which, and the order of the dimensions of each kind."""

    lhs: _Tensor
    rhs: _Tensor
    result: _Tensor
    batch: _Dims
    rows: _Dims
    columns: _Dims
    steps: _Dims

    def matrices(self) -> list[tuple[_Tensor, _Dims, _Dims]]:
        return [
            (self.lhs, self.rows, self.steps),
            (self.rhs, self.steps, self.columns),
            (self.result, self.rows, self.columns),
        ]

    def moved(self) -> tuple[int, int]:
        """Return how many elements are moved before and after the products in each call, and ahead of calls."""
        moves = [t for t, *groups in self.matrices() if self.order(t, *groups) != t.dims]
        ahead = sum(t.elements() for t in moves if t.is_constant())
        return sum(t.elements() for t in moves) - ahead, ahead

    def order(self, tensor: _Tensor, *groups: _Dims) -> _Dims:
        """Return the order in which a tensor is read or written."""
        wanted = sum(groups, self.batch)
        # Rows with a loop's dimension between them are read as they are, and written so where they are whole
        # vectors: upstream folds slices of others into masked writes whose masks then have the wrong shape.
        is_whole = math.prod(map(tensor.extent, groups[-1])) % _MOST_LANES == 0
        may_stay = (tensor is not self.result or is_whole) and tensor.is_matrix(self.batch, *groups)
        return tensor.dims if may_stay else wanted


def _rewrite(op: Any, layout: _Layout, rewriter: Rewriter) -> Any:
    with rewriter.before(op):
        lhs, rhs = (t.transposed(layout.order(t, *g)).collapsed(*g) for t, *g in layout.matrices()[:2])
        result, *groups = layout.matrices()[2]
        order, fill = layout.order(result, *groups), producer_of(result.value)
        extent = {d: result.mixed_extent(d) for d in order}
        if fill is not None and fill.name == "linalg.fill":
            scalar = fill.operands[0]
            start = _Tensor(_empty([extent[d] for d in order], result.value), order).collapsed(*groups)
        else:
            scalar, start = None, result.transposed(order).collapsed(*groups)
        together = _Tensor(None, order).groups(*groups)
        places = _Tensor(None, order).places(together)
        reader = _reader_by_elements(op)
        is_whole = order == result.dims and not layout.batch
        is_collapsed = (
            is_whole
            and 2 == len(places) < len(order)
            and reader is not None
            and _has_groups(reader, op, places)
        )
        is_matrix = is_collapsed or (order == start.dims == result.dims and reader is not None)
        product, total = _products([lhs, rhs, start], layout.batch, scalar, is_read_as_matrix=is_matrix)

        def expanded(value: Any) -> Any:
            if len(places) == len(order):
                return value
            type_ = ir.RankedTensorType.get([result.extent(d) for d in order], value.type.element_type)
            sizes = [n for n in extent.values() if not isinstance(n, int)]
            return _tensor.expand_shape(type_, value, places, sizes, list(type_.shape))

        back = total if is_collapsed else _Tensor(expanded(total), order).transposed(result.dims).value
    if is_collapsed:
        with rewriter.before(reader):
            ended = expanded(_collapsed(reader, op, total, places))
        rewriter.replace(reader, [ended])
        rewriter.erase(op)
    else:
        rewriter.replace(op, [back])
    return product


def _has_groups(reader: Any, op: Any, places: list[list[int]]) -> bool:
    """Return True if each operand of what reads an op has all loops of a group, side by side, or none."""
    loops = tuple(d for group in places for d in group)
    for value, dims in zip(reader.operands, _dims(reader), strict=True):
        if dims is None or (value == op.results[0] and dims != loops):
            return False
        # Each group where its first loop is, which has to be all that there is.
        if dims != tuple(d for first in dims for group in places if group[0] == first for d in group):
            return False
    has_indices = any(each.operation.name == "linalg.index" for each in reader.regions[0].blocks[0].operations)
    return _dims(reader)[-1] == loops and not has_indices


def _collapsed(reader: Any, op: Any, matrix: Any, places: list[list[int]]) -> Any:
    """Write an op by elements for the matrix that an op it reads computes; gives its result."""
    groups = [tuple(group) for group in places]
    number = {group[0]: i for i, group in enumerate(groups)}
    tensors = [
        _Tensor(matrix, tuple(number))
        if value == op.results[0]
        else _Tensor(value, dims or ()).collapsed(*groups)
        for value, dims in zip(reader.operands, _dims(reader), strict=True)
    ]
    operands = [t.value for t in tensors]
    maps = [ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(number[d]) for d in t.dims]) for t in tensors]
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    ended = ir.Operation.create(
        "linalg.generic",
        results=[operands[-1].type],
        operands=operands,
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
            "iterator_types": ir.ArrayAttr.get([parallel, parallel]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
        },
        regions=1,
    )
    reader.regions[0].blocks[0].append_to(ended.regions[0])
    return ended.results[0]


def _dims(op: Any) -> list[_Dims | None]:
    """Return the loops that index each operand; None for one that other expressions index."""
    maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
    return [
        tuple(ir.AffineDimExpr(e).position for e in exprs)
        if all(isinstance(e, ir.AffineDimExpr) for e in exprs)
        else None
        for exprs in maps
    ]


def _products(tensors: list[_Tensor], batch: _Dims, fill: Any, *, is_read_as_matrix: bool) -> tuple[Any, Any]:
    """Return the ``linalg.matmul`` and the whole result, which loops over the batch fill in."""
    lhs, rhs, start = tensors
    if not batch:
        zeros = start.value if fill is None else named_op("FillOp", fill, out=start.value)
        product = _linalg.matmul(lhs.value, rhs.value, outs=[zeros])
        total = product if is_read_as_matrix else _passed_on(product, start)
        return product.owner.operation, total
    dim, *inner = batch
    extent = lhs.mixed_extent(dim)
    end = _index(extent) if isinstance(extent, int) else extent
    loop = _scf.ForOp(_index(0), end, _index(1), [start.value])
    with ir.InsertionPoint(loop.body):
        place, whole = loop.induction_variable, replace(start, value=loop.inner_iter_args[0])
        parts = [tensor.slice(dim, place) for tensor in (lhs, rhs, whole)]
        product, part = _products(parts, tuple(inner), fill, is_read_as_matrix=False)
        _scf.yield_([whole.slice(dim, place, put=part).value])
    return product, loop.results[0]


def _reader_by_elements(op: Any) -> Any | None:
    """Return the only op that reads an op's result, if it works by elements and has one result itself."""
    readers = [use.owner.operation for use in op.results[0].uses]
    if len(readers) != 1 or readers[0].name != "linalg.generic" or len(readers[0].results) != 1:
        return None
    kinds = ir.ArrayAttr(readers[0].attributes["iterator_types"])
    return readers[0] if all("parallel" in str(kind) for kind in kinds) else None


def _passed_on(value: Any, start: _Tensor) -> Any:
    """Return a matrix of dynamic width by way of an op that works by elements, any other as it is.

    Only with such an op at their end do strips of columns of unknown width become vectors. Adding nothing,
    which is -0.0 where 0.0 would turn -0.0 around, is not folded away while that is an operand.
    """
    type_ = value.type
    if not ir.ShapedType.is_dynamic_size(type_.shape[1]):
        return value
    element = type_.element_type
    is_float = isinstance(element, ir.FloatType)
    nothing = _arith.constant(element, -0.0 if is_float else 0)
    # Of what it starts from: only an op that alone reads a product ends it.
    out = _empty([start.mixed_extent(d) for d in start.dims], value)
    add = _arith.addf if is_float else _arith.addi
    return map_elements([value, nothing], out, [[0, 1], [], [0, 1]], type_, add)


def _result_of(op: Any) -> Any:
    return op.results[0] if isinstance(op, ir.OpView | ir.Operation) else op


def _product(extents: list[int]) -> int:
    is_dynamic = any(map(ir.ShapedType.is_dynamic_size, extents))
    return int(ir.ShapedType.get_dynamic_size()) if is_dynamic else math.prod(extents)


def _empty(extents: list[Any], like: Any) -> Any:
    return _tensor.empty(extents, like.type.element_type)


def _index(value: int) -> Any:
    return _arith.constant(ir.IndexType.get(), value)
