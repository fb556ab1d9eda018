"""Parts of tensors, loops over them and ops by maps, as several rewrites of linalg ops write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")
_tensor: Any = host_module("dialects.tensor")

DYNAMIC = int(ir.ShapedType.get_dynamic_size())
_DYNAMIC_OFFSET = ir.ShapedType.get_dynamic_stride_or_offset()
# An extent or an offset: a number, or a value of type index.
Size = Any


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


def loop_over(extent: Size, step: int, start: Any, body: Callable[[Any, Any], Any]) -> Any:
    """Write a loop that carries one value; the body gets the iteration and the value, and returns the next."""
    end = index_value(extent) if isinstance(extent, int) else extent
    loop = _scf.ForOp(index_value(0), end, index_value(step), [start])
    with ir.InsertionPoint(loop.body):
        _scf.yield_([body(loop.induction_variable, loop.inner_iter_args[0])])
    return loop.results[0]


def slice_of(value: Any, offsets: list[Size], sizes: list[Size], strides: list[int], kept: list[bool]) -> Any:
    """Return a part of a tensor, without the dimensions that are not kept."""
    shape = [n if isinstance(n, int) else DYNAMIC for n, is_kept in zip(sizes, kept, strict=True) if is_kept]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    values, arrays = _mixed(offsets, sizes, strides)
    return _tensor.extract_slice(type_, value, *values, **arrays)


def put_slice(part: Any, value: Any, offsets: list[Size], sizes: list[Size], strides: list[int]) -> Any:
    """Return a tensor with a part put in."""
    values, arrays = _mixed(offsets, sizes, strides)
    return _tensor.insert_slice(part, value, *values, **arrays)


def _mixed(
    offsets: list[Size], sizes: list[Size], strides: list[int]
) -> tuple[list[list[Any]], dict[str, list[int]]]:
    arrays = {
        "static_offsets": [n if isinstance(n, int) else _DYNAMIC_OFFSET for n in offsets],
        "static_sizes": [n if isinstance(n, int) else DYNAMIC for n in sizes],
        "static_strides": strides,
    }
    return [[n for n in each if not isinstance(n, int)] for each in (offsets, sizes, [])], arrays


def _along(value: Any, dim: int, place: Any, count: int | None) -> list[list[Size]]:
    sizes = sizes_of(value)
    sizes[dim] = 1 if count is None else count
    return [[place if i == dim else 0 for i in range(len(sizes))], sizes, [1] * len(sizes)]


def part_of(value: Any, dim: int, place: Any, count: int | None) -> Any:
    """Return so much of a tensor from a place of a dimension on; None for one, without the dimension."""
    if count is None and (places := _without_single(value, dim)):
        shape = [n for i, n in enumerate(value.type.shape) if i != dim]
        type_ = ir.RankedTensorType.get(shape, value.type.element_type)
        return _tensor.collapse_shape(type_, value, places)
    offsets, sizes, strides = _along(value, dim, place, count)
    return slice_of(value, offsets, sizes, strides, [i != dim or count is not None for i in range(len(sizes))])


def put_part(part: Any, value: Any, dim: int, place: Any, count: int | None) -> Any:
    """Return a tensor with so much of it replaced from a place of a dimension on."""
    if count is None and (places := _without_single(value, dim)):
        # All of it: nothing has to be copied.
        return _tensor.expand_shape(value.type, part, places, [], list(value.type.shape))
    offsets, sizes, strides = _along(value, dim, place, count)
    return put_slice(part, value, offsets, sizes, strides)


def _without_single(value: Any, dim: int) -> list[list[int]]:
    """Return how a tensor of known extents is reshaped to lose a dimension of extent 1; [] where it is not."""
    shape = list(value.type.shape)
    if shape[dim] != 1 or len(shape) < 2 or any(map(ir.ShapedType.is_dynamic_size, shape)):
        return []
    first = max(dim, 1)  # A dimension goes with the one before it, the first with the second
    return [[i] if i != first else [i - 1, i] for i in range(len(shape)) if i != first - 1]


def without(value: Any, dims: list[int]) -> Any:
    """Return a tensor without dimensions of extent 1."""
    sizes = sizes_of(value)
    kept = [i not in dims for i in range(len(sizes))]
    return slice_of(value, [0] * len(sizes), sizes, [1] * len(sizes), kept)


def sizes_of(value: Any) -> list[Size]:
    """Return the extents of a tensor: numbers, and values where they are dynamic."""
    return [extent_of(value, i) for i in range(len(value.type.shape))]


def extent_of(value: Any, dim: int) -> Size:
    """Return an extent of a tensor: a number, or a value where it is dynamic."""
    extent = value.type.shape[dim]
    return _tensor.dim(value, index_value(dim)) if ir.ShapedType.is_dynamic_size(extent) else int(extent)


def dim_expr(number: int) -> Any:
    """Return the expression of a map that is one loop."""
    return ir.AffineDimExpr.get(number)


def index_value(value: int) -> Any:
    """Return a constant of type ``index``."""
    return _arith.constant(ir.IndexType.get(), value)


def value_at(expr: Any, at: Mapping[int, Any]) -> Size:
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
    values = [index_value(each) if isinstance(each, int) else each for each in (lhs, rhs)]
    return _arith.muli(*values) if is_product else _arith.addi(*values)


def reads(expr: Any, dim: int) -> bool:
    """Return True where an expression of a map has this loop in it."""
    if isinstance(expr, ir.AffineDimExpr):
        return bool(expr.position == dim)
    return isinstance(expr, ir.AffineBinaryExpr) and (reads(expr.lhs, dim) or reads(expr.rhs, dim))
