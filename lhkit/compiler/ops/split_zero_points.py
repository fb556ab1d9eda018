"""``lhkit.split_zero_points``: quantized products and convolutions become those of the numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.contraction_to_matmul import Cast
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.compiler.ops.tensor_parts import dim_expr, extent_of, generic, reads, sizes_of
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

_CASTS = frozenset({"arith.extsi", "arith.extui"})
_BODY = _CASTS | {"arith.subi", "arith.muli", "arith.addi", "linalg.yield"}


@transform_op("lhkit.split_zero_points", consumes=["target"])
def split_zero_points(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write sums of (a - p) * (b - q) as sums of a * b, less q times sums of a and p times sums of b.

    ::

        linalg.quantized_matmul ins(%a, %b, %p, %q : tensor<4x5xi8>, tensor<5x6xi8>, i32, i32) ...
        // becomes, where each line is a linalg.generic
        %ab = matrix product of %a and %b, extended to i32 as before
        %rows, %columns = sums of the rows of %a : tensor<4xi32>, of the columns of %b : tensor<6xi32>
        %r = %ab - q * %rows - p * %columns + 5 * p * q

    The numbers are the same, also where sums overflow. CPUs have instructions for what is left, a product of
    narrow integers. A zero point that is the constant 0 costs nothing.

    Args:
        target: Contractions and convolutions of integers on tensors as ``linalg.generic``, whose body subtracts
            a scalar from one factor, or from both, and adds up the products; consumed.
        rewriter: How the payload is changed.

    Returns:
        The products without zero points.

    Raises:
        SilenceableError: Another op, or body; no zero point; a dimension that is summed in one operand only;
            sums over a window only, of each channel for itself, where the sums cost as much as the products.
    """
    known = [_Quantized.of(op.operation) for op in target]
    products = []
    for op, quantized in zip(target, known, strict=True):
        with rewriter.before(op.operation):
            products.append(quantized.product())
            written = quantized.corrected(products[-1].results[0])
        rewriter.replace(op.operation, [written])
    return products


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor of the products: a tensor with its map, what extends its elements, and its zero point."""

    value: Any
    exprs: list[Any]
    cast: Cast | None
    point: tuple[Any, Cast | None] | None


@dataclass(frozen=True, slots=True)
class _Quantized:
    """An op that adds up products of two factors, with the loops of its result and those that it sums over."""

    factors: list[_Factor]
    start: Any
    result: list[int]
    sums: list[int]

    @classmethod
    def of(cls, op: Any) -> _Quantized:
        """Return what an op is; refused where it is something else."""
        if op.name != "linalg.generic" or len(op.results) != 1:
            raise SilenceableError("this is no linalg.generic on tensors with one result", at=op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        factors = _factors(op, maps)
        if all(factor.point is None for factor in factors):
            raise SilenceableError("it has no zero points", at=op)
        image, weights = (factor.exprs for factor in factors)
        sums = [d for d, kind in enumerate(op.attributes["iterator_types"]) if "reduction" in str(kind)]
        is_plain = all(isinstance(e, ir.AffineDimExpr) for e in (*weights, *maps[-1]))
        is_plain = is_plain and len(maps[-1]) + len(sums) == len(op.attributes["iterator_types"])
        if not is_plain or not all(any(reads(e, d) for e in image) and dim_expr(d) in weights for d in sums):
            raise SilenceableError("a dimension is summed in one factor only, or not read by itself", at=op)
        if not any(dim_expr(d) in image for d in sums):
            raise SilenceableError("it sums over a window only, of each channel for itself", at=op)
        return cls(factors, op.operands[-1], [e.position for e in maps[-1]], sums)

    def size(self, dim: int) -> Any:
        """Return how often a loop runs."""
        if dim in self.result:
            return extent_of(self.start, self.result.index(dim))
        return extent_of(self.factors[1].value, self.factors[1].exprs.index(dim_expr(dim)))

    def product(self) -> Any:
        """Write the op without zero points."""
        casts = [factor.cast for factor in self.factors]

        def body(x: Any, y: Any, total: Any) -> Any:
            both = (_extended(v, cast) for v, cast in zip((x, y), casts, strict=True))
            return _arith.addi(total, _arith.muli(*both))

        exprs = [*(f.exprs for f in self.factors), [dim_expr(d) for d in self.result]]
        kinds = ["reduction" if d in self.sums else "parallel" for d in range(len(self.result + self.sums))]
        return generic([f.value for f in self.factors], self.start, exprs, kinds, body)

    def corrected(self, product: Any) -> Any:
        """Write what takes the zero points into account; gives the result."""
        type_ = self.start.type.element_type
        points = [
            None if f.point is None or _is_zero(f.point[0]) else _extended(*f.point) for f in self.factors
        ]
        others = zip(self.factors, reversed(points), strict=True)
        taken = [(*self._sum_of(factor), point) for factor, point in others if point is not None]
        scalars = [point for *_, point in taken]
        if len(taken) == 2:
            for n in map(self.size, self.sums):
                count = _arith.constant(type_, n) if isinstance(n, int) else _arith.index_cast(type_, n)
                points[0] = _arith.muli(points[0], count)
            scalars.append(_arith.muli(*points))

        def body(value: Any, *given: Any) -> Any:
            for i in range(len(taken)):
                value = _arith.subi(value, _arith.muli(given[i], given[len(taken) + i]))
            return _arith.addi(value, given[-2]) if len(taken) == 2 else value

        loops = [dim_expr(i) for i in range(len(self.result))]
        read = [[loops[self.result.index(d)] for d in dims] for _, dims, _ in taken]
        inputs = [product, *(total for total, *_ in taken), *scalars]
        out = _tensor.empty(sizes_of(self.start), type_)
        exprs = [loops, *read, *([] for _ in scalars), loops]
        return generic(inputs, out, exprs, ["parallel"] * len(loops), body).results[0]

    def _sum_of(self, factor: _Factor) -> tuple[Any, list[int]]:
        """Write the sums of a factor, over channels and then windows; gives them and their loops."""
        value, exprs, cast = factor.value, factor.exprs, factor.cast
        is_own = [any(e == dim_expr(d) for d in self.sums) for e in exprs]
        if any(is_own):
            loops = [dim_expr(i) for i in range(len(exprs))]
            kept = [e for e, own in zip(loops, is_own, strict=True) if not own]
            sizes = [n for n, own in zip(sizes_of(value), is_own, strict=True) if not own]
            value = self._added([value], sizes, [loops, kept], cast)
            exprs, cast = [e for e, own in zip(exprs, is_own, strict=True) if not own], None
        window = [d for d in self.sums if any(reads(e, d) for e in exprs)]
        dims = [d for d in self.result if any(reads(e, d) for e in exprs)]
        if not window:
            return value, [e.position for e in exprs]
        place = {d: i for i, d in enumerate([*dims, *window])}
        number = [dim_expr(place.get(d, 0)) for d in range(len(self.result + self.sums))]
        renamed = ir.AffineMap.get(len(place), 0, number)
        places = _tensor.empty(list(map(self.size, window)), self.start.type.element_type)
        maps = [[e.compose(renamed) for e in exprs], [number[d] for d in window], [number[d] for d in dims]]
        return self._added([value, places], list(map(self.size, dims)), maps, cast), dims

    def _added(self, inputs: list[Any], sizes: list[Any], maps: list[list[Any]], cast: Cast | None) -> Any:
        """Write sums of the first input over all loops that are not the result's; the second is a window."""
        type_, count = self.start.type.element_type, len({e.position for each in maps[-2:] for e in each})
        zeros = named_op("FillOp", _arith.constant(type_, 0), out=_tensor.empty(sizes, type_))
        kinds = ["parallel" if dim_expr(d) in maps[-1] else "reduction" for d in range(count)]
        add = lambda x, *others: _arith.addi(others[-1], _extended(x, cast))  # noqa: E731
        return generic(inputs, zeros, maps, kinds, add).results[0]


def _factors(op: Any, maps: list[list[Any]]) -> list[_Factor]:
    """Return both factors of the products that a body adds up, the image of a convolution first."""
    block = op.regions[0].blocks[0]
    body, arguments = [each.operation for each in block.operations], list(block.arguments)
    products, totals = ([o for o in body if o.name == f"arith.{name}"] for name in ("muli", "addi"))
    is_sum = len(products) == len(totals) == 1 and _BODY.issuperset(o.name for o in body)
    is_sum = is_sum and set(totals[0].operands) == {products[0].results[0], arguments[-1]}
    if not is_sum or body[-1].operands[0] != totals[0].results[0]:
        raise SilenceableError("it does not add up products of integers", at=op)
    factors = []
    for factor in products[0].operands:
        maker = producer_of(factor)
        minuend, *points = maker.operands if maker is not None and maker.name == "arith.subi" else [factor]
        element, cast = _before_cast(minuend)
        outer = [_before_cast(point) for point in points]
        places = [arguments.index(point) for point, _ in outer if point in arguments]
        if element not in arguments[:-1] or any(maps[place] for place in places):
            raise SilenceableError("its factors are not elements less a scalar", at=op)
        outer = [(op.operands[places[0]] if places else point, how) for point, how in outer]
        number = arguments.index(element)
        factors.append(_Factor(op.operands[number], maps[number], cast, outer[0] if outer else None))
    return sorted(factors, key=lambda factor: all(isinstance(e, ir.AffineDimExpr) for e in factor.exprs))


def _before_cast(value: Any) -> tuple[Any, Cast | None]:
    cast = producer_of(value)
    is_cast = cast is not None and cast.name in _CASTS
    return (cast.operands[0], Cast(cast.name, value.type)) if is_cast else (value, None)


def _extended(value: Any, cast: Cast | None) -> Any:
    return value if cast is None else cast.of(value)


def _is_zero(value: Any) -> bool:
    maker = producer_of(value)
    return maker is not None and maker.name == "arith.constant" and maker.attributes["value"].value == 0
