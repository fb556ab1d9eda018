"""``lhkit.split_zero_points``: quantized products and convolutions become those of the numbers as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.linalg_rewrites import named_op, producer_of
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
        %rows = sums of the rows of %a : tensor<4xi32>
        %columns = sums of the columns of %b : tensor<6xi32>
        %r = %ab - q * %rows - p * %columns + 5 * p * q

    The numbers are the same, also where sums overflow, whatever p and q are. What is left is a product of
    narrow integers, for which CPUs have instructions, and which other ops take. In a convolution, the sums of
    the image are taken over channels first, and then over windows. A zero point that is the constant 0 costs
    nothing.

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
    cast: str | None
    point: Any | None
    point_cast: str | None

    def extended(self, element: Any, type_: Any) -> Any:
        return _extended(element, self.cast, type_)


def _extended(value: Any, cast: str | None, type_: Any) -> Any:
    if cast is None:
        return value
    return ir.Operation.create(cast, results=[type_], operands=[value]).results[0]


@dataclass(frozen=True, slots=True)
class _Quantized:
    """An op that adds up products of two factors, with the loops that it sums over."""

    factors: list[_Factor]
    start: Any
    result: list[int]
    kinds: list[str]

    @classmethod
    def of(cls, op: Any) -> _Quantized:
        """Return what an op is; refused where it is something else."""
        if op.name != "linalg.generic" or len(op.results) != 1:
            raise SilenceableError("this is no linalg.generic on tensors with one result", at=op)
        maps = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        factors = _factors(op, maps)
        if all(factor.point is None for factor in factors):
            raise SilenceableError("it has no zero points", at=op)
        if not all(isinstance(e, ir.AffineDimExpr) for e in (*factors[1].exprs, *maps[-1])):
            raise SilenceableError("its second factor or its result is not read by single loops", at=op)
        kinds = ["reduction" if "reduction" in str(k) else "parallel" for k in op.attributes["iterator_types"]]
        found = cls(factors, op.operands[-1], [e.position for e in maps[-1]], kinds)
        image, weights = (factor.exprs for factor in factors)
        if not all(any(reads(e, d) for e in image) and dim_expr(d) in weights for d in found.sums()):
            raise SilenceableError("a dimension is summed in one factor only", at=op)
        if found.sums() and not any(dim_expr(d) in image for d in found.sums()):
            raise SilenceableError("it sums over a window only, of each channel for itself", at=op)
        return found

    def sums(self) -> list[int]:
        return [d for d, kind in enumerate(self.kinds) if kind == "reduction"]

    def size(self, dim: int) -> Any:
        """Return how often a loop runs."""
        if dim in self.result:
            return extent_of(self.start, self.result.index(dim))
        return extent_of(self.factors[1].value, self.factors[1].exprs.index(dim_expr(dim)))

    def product(self) -> Any:
        """Write the op without zero points."""
        type_ = self.start.type.element_type

        def body(x: Any, y: Any, total: Any) -> Any:
            both = (f.extended(v, type_) for f, v in zip(self.factors, (x, y), strict=True))
            return _arith.addi(total, _arith.muli(*both))

        exprs = [*(f.exprs for f in self.factors), [dim_expr(d) for d in self.result]]
        return generic([f.value for f in self.factors], self.start, exprs, self.kinds, body)

    def corrected(self, product: Any) -> Any:
        """Write what takes the zero points into account; gives the result."""
        type_, points = self.start.type.element_type, [self._point(f) for f in self.factors]
        taken = [
            (self._sum_of(f), p) for f, p in zip(self.factors, reversed(points), strict=True) if p is not None
        ]
        scalars = [p for _, p in taken]
        if len(scalars) == 2:
            for size in (self.size(d) for d in self.sums()):
                count = (
                    _arith.constant(type_, size) if isinstance(size, int) else _arith.index_cast(type_, size)
                )
                points[0] = _arith.muli(points[0], count)
            scalars.append(_arith.muli(*points))
        return self._map(product, taken, scalars, type_)

    def _map(self, product: Any, taken: list[Any], scalars: list[Any], type_: Any) -> Any:
        def body(value: Any, *others: Any) -> Any:
            sums, points = others[: len(taken)], others[len(taken) : -1]
            for total, point in zip(sums, points, strict=False):
                value = _arith.subi(value, _arith.muli(total, point))
            return _arith.addi(value, points[-1]) if len(points) > len(sums) else value

        loops = [dim_expr(i) for i in range(len(self.result))]
        read = [[loops[self.result.index(d)] for d in dims] for (_, dims), _ in taken]
        exprs = [loops, *read, *([] for _ in scalars), loops]
        out = _tensor.empty(sizes_of(self.start), type_)
        inputs = [product, *(total for (total, _), _ in taken), *scalars]
        return generic(inputs, out, exprs, ["parallel"] * len(loops), body).results[0]

    def _point(self, factor: _Factor) -> Any | None:
        """Return the zero point of a factor in the type of the result; None where it is 0."""
        if factor.point is None:
            return None
        maker = producer_of(factor.point)
        if maker is not None and maker.name == "arith.constant" and not maker.attributes["value"].value:
            return None
        return _extended(factor.point, factor.point_cast, self.start.type.element_type)

    def _sum_of(self, factor: _Factor) -> tuple[Any, list[int]]:
        """Write the sums of a factor; gives them with the loops of their dimensions."""
        type_ = self.start.type.element_type
        value, exprs, cast = factor.value, factor.exprs, factor.cast
        own = [i for i, e in enumerate(exprs) if any(e == dim_expr(d) for d in self.sums())]
        if own:
            every = [dim_expr(i) for i in range(len(exprs))]
            kept = [i for i in range(len(exprs)) if i not in own]
            sizes = sizes_of(value)
            kinds = ["reduction" if i in own else "parallel" for i in range(len(exprs))]
            start = self._zeros([sizes[i] for i in kept])
            value = generic(
                [value],
                start,
                [every, [every[i] for i in kept]],
                kinds,
                lambda x, total: _arith.addi(total, _extended(x, cast, type_)),
            ).results[0]
            exprs, cast = [exprs[i] for i in kept], None
        window = [d for d in self.sums() if any(reads(e, d) for e in exprs)]
        if not window:
            return value, [e.position for e in exprs]
        dims = [d for d in self.result if any(reads(e, d) for e in exprs)]
        loops = [*dims, *window]
        number = [
            dim_expr(loops.index(d)) if d in loops else ir.AffineConstantExpr.get(0)
            for d, _ in enumerate(self.kinds)
        ]
        renamed = ir.AffineMap.get(len(loops), 0, number)
        places = _tensor.empty([self.size(d) for d in window], type_)
        maps = [[e.compose(renamed) for e in exprs], [number[d] for d in window], [number[d] for d in dims]]
        kinds = ["parallel"] * len(dims) + ["reduction"] * len(window)
        total = generic(
            [value, places],
            self._zeros([self.size(d) for d in dims]),
            maps,
            kinds,
            lambda x, _, total: _arith.addi(total, _extended(x, cast, type_)),
        )
        return total.results[0], dims

    def _zeros(self, sizes: list[Any]) -> Any:
        type_ = self.start.type.element_type
        return named_op("FillOp", _arith.constant(type_, 0), out=_tensor.empty(sizes, type_))


def _factors(op: Any, maps: list[list[Any]]) -> list[_Factor]:
    """Return both factors of the products that a body adds up."""
    block = op.regions[0].blocks[0]
    body = {each.operation.name: each.operation for each in block.operations}
    names = [each.operation.name for each in block.operations]
    arguments, tensors = list(block.arguments), []
    if not _BODY.issuperset(names) or any(names.count(n) != 1 for n in ("arith.muli", "arith.addi")):
        raise SilenceableError("it does not add up products of integers", at=op)
    product, total = body["arith.muli"], body["arith.addi"]
    if (
        set(total.operands) != {product.results[0], arguments[-1]}
        or body["linalg.yield"].operands[0] != total.results[0]
    ):
        raise SilenceableError("it does not add up products of integers", at=op)
    for factor in product.operands:
        difference = _made_by(factor, {"arith.subi"})
        minuend, point = (factor, None) if difference is None else difference.operands
        element, cast = _before_cast(minuend)
        if element not in arguments[:-1]:
            raise SilenceableError("its factors are not elements less a scalar", at=op)
        number = arguments.index(element)
        outer, point_cast = (None, None) if point is None else _before_cast(point)
        if outer is not None and outer in arguments:
            place = arguments.index(outer)
            if maps[place]:
                raise SilenceableError("its factors are not elements less a scalar", at=op)
            outer = op.operands[place]
        tensors.append(_Factor(op.operands[number], maps[number], cast, outer, point_cast))
    # A convolution's image is read by more than single loops.
    return sorted(tensors, key=lambda factor: all(isinstance(e, ir.AffineDimExpr) for e in factor.exprs))


def _made_by(value: Any, names: Any) -> Any | None:
    """Return the op of a body that gives a value, if it is one of these."""
    maker = producer_of(value)
    return maker if maker is not None and maker.name in names else None


def _before_cast(value: Any) -> tuple[Any, str | None]:
    cast = _made_by(value, _CASTS)
    return (value, None) if cast is None else (cast.operands[0], cast.name)
