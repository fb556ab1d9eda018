"""Extents of values that types leave open, followed from the arguments' shapes through the ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk

Extent = int | None
Shape = tuple[Extent, ...]

_CASTS = {"tensor.cast", "memref.cast", "bufferization.clone"}
_CASTS |= {"bufferization.to_tensor", "bufferization.to_buffer"}
# Their destination is operand 1.
_INSERTIONS = ("tensor.insert", "tensor.insert_slice", "vector.transfer_write", "linalg.pack", "linalg.unpack")
_ALLOCATIONS = {"tensor.empty", "tensor.generate"}
_ALLOCATIONS |= {"memref.alloc", "memref.alloca", "bufferization.alloc_tensor"}
_SLICES = ("tensor.extract_slice", "memref.subview", "memref.reinterpret_cast")

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divui": lambda a, b: a // b,
    "arith.divsi": lambda a, b: int(math.copysign(abs(a) // abs(b), a * b)) if a else 0,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
}


class Extents:
    """What is known of shapes and index values, op by op in their order."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._shapes: dict[Any, Shape] = {}

    def shape(self, value: Any) -> Shape:
        """Return the shape of a value, None where an extent is not known; ``()`` for a scalar."""
        return self._shapes.get(value) or static_shape(value.type)

    def number(self, value: Any) -> int | None:
        """Return an integer or index value, None if it is not known."""
        return self._numbers.get(value)

    def bind(self, value: Any, shape: Sequence[Extent] | None, number: int | None = None) -> None:
        """Take note of what is known of a value: what its type says counts, the rest is filled in."""
        self._numbers.pop(value, None)
        self._shapes.pop(value, None)
        if number is not None:
            self._numbers[value] = number
        static = static_shape(value.type)
        if shape is not None and None in static and len(shape) == len(static):
            self._shapes[value] = tuple(s if s is not None else n for s, n in zip(static, shape, strict=True))

    def visit(self, op: Any) -> None:
        """Take note of the results of an op."""
        for i, result in enumerate(op.results):
            self.bind(result, self._result_shape(op, i), self._result_number(op))

    def sizes(self, op: Any, attribute: str, operands: Sequence[Any]) -> Shape:
        """Return mixed sizes: an attribute whose dynamic entries are the operands, in order."""
        dynamic = iter(operands)
        marker = ir.ShapedType.get_dynamic_size()
        static = ir.DenseI64ArrayAttr(op.attributes[attribute])
        return tuple(self.number(next(dynamic)) if n == marker else n for n in static)

    def _result_number(self, op: Any) -> int | None:
        operands = list(op.operands)
        if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr | ir.BoolAttr):
            return int(ir.IntegerAttr(op.attributes["value"]).value)
        if op.name in ("arith.index_cast", "arith.index_castui"):
            return self.number(operands[0])
        if op.name in ("tensor.dim", "memref.dim"):
            at, shape = self.number(operands[1]), self.shape(operands[0])
            return shape[at] if at is not None and 0 <= at < len(shape) else None
        if op.name in ("affine.apply", "affine.min", "affine.max"):
            values = self.affine_results(op, "map", operands)
            choose = max if op.name == "affine.max" else min
            return None if values is None else choose(values)
        if op.name in _ARITHMETIC:
            a, b = self.number(operands[0]), self.number(operands[1])
            divides = "div" in op.name
            return None if a is None or b is None or (divides and b == 0) else _ARITHMETIC[op.name](a, b)
        return None

    def affine_results(self, op: Any, attribute: str, operands: Sequence[Any]) -> list[int] | None:
        """Return the results of an op's affine map for these operands, None if one is not known."""
        affine_map = ir.AffineMapAttr(op.attributes[attribute]).value
        return affine_values(affine_map, [self.number(o) for o in operands])

    def _result_shape(self, op: Any, index: int) -> Shape | None:
        operands = list(op.operands)
        if op.name in _ALLOCATIONS:
            dynamic = iter(operands)
            static = static_shape(op.results[index].type)
            return tuple(self.number(next(dynamic)) if n is None else n for n in static)
        if op.name in _CASTS:
            return self.shape(operands[0])
        if op.name in _INSERTIONS:
            return self.shape(operands[1])
        if op.name in _SLICES:
            return self.sizes(op, "static_sizes", operand_groups(op)[2])
        if op.name == "tensor.pad":
            return self._padded(op)
        if op.name == "tensor.concat":
            return self._concatenated(op)
        if op.name in ("tensor.expand_shape", "memref.expand_shape"):
            return self.sizes(op, "static_output_shape", operands[1:])
        if op.name in ("tensor.collapse_shape", "memref.collapse_shape"):
            return self._collapsed(op)
        if op.name.startswith("linalg."):
            outs = outputs_of(op)
            return self.shape(outs[index]) if index < len(outs) else None
        if op.name.startswith(("arith.", "math.")) and operands:
            return self.shape(operands[-1])
        return None

    def _padded(self, op: Any) -> Shape:
        source, low, high = operand_groups(op)
        lows, highs = self.sizes(op, "static_low", low), self.sizes(op, "static_high", high)
        parts = zip(self.shape(source[0]), lows, highs, strict=True)
        return tuple(None if n is None or lo is None or hi is None else n + lo + hi for n, lo, hi in parts)

    def _concatenated(self, op: Any) -> Shape:
        shapes = [self.shape(o) for o in op.operands]
        at = int(ir.IntegerAttr(op.attributes["dim"]).value)
        along = [shape[at] for shape in shapes]
        total = None if None in along else sum(n for n in along if n is not None)
        return tuple(total if i == at else n for i, n in enumerate(shapes[0]))

    def _collapsed(self, op: Any) -> Shape:
        shape = self.shape(op.operands[0])
        groups = [[int(ir.IntegerAttr(i)) for i in group] for group in op.attributes["reassociation"]]
        return tuple(product(shape[i] for i in group) for group in groups)


def constant_index(value: Any) -> int | None:
    """Return the value of an index or integer that is a constant, None for any other."""
    is_constant = not isinstance(value.owner, ir.Block) and value.owner.name == "arith.constant"
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value) if is_constant else None


def static_shape(type_: Any) -> Shape:
    """Return the shape that a type gives, None where it is dynamic or there is no rank."""
    for cls in (ir.RankedTensorType, ir.MemRefType, ir.VectorType):
        if isinstance(type_, cls):
            shaped = cls(type_)
            scalable = shaped.scalable_dims if cls is ir.VectorType else [False] * shaped.rank
            unknown = [shaped.is_dynamic_dim(i) or scalable[i] for i in range(shaped.rank)]
            return tuple(None if unknown[i] else shaped.get_dim_size(i) for i in range(shaped.rank))
    is_unranked = isinstance(type_, ir.UnrankedTensorType | ir.UnrankedMemRefType)
    return (None,) if is_unranked else ()


def operand_groups(op: Any) -> list[list[Any]]:
    """Return the operands of an op by the groups of its definition."""
    operands = iter(op.operands)
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(n)] for n in sizes]


def outputs_of(op: Any) -> list[Any]:
    """Return the operands that a linalg op writes to."""
    if "operandSegmentSizes" in op.attributes:
        return operand_groups(op)[-1]
    operands = list(op.operands)
    return operands[len(operands) // 2 :] if op.name == "linalg.reduce" else operands[-1:]


def product(extents: Any) -> int | None:
    """Return the product of extents: 0 if one is 0, else None if one is not known."""
    values = list(extents)
    if 0 in values:
        return 0
    return None if None in values else math.prod(values)


def affine_values(affine_map: Any, numbers: Sequence[int | None]) -> list[int] | None:
    """Return the results of an affine map for dimensions and then symbols, None if one is not known."""
    dimensions, symbols = numbers[: affine_map.n_dims], numbers[affine_map.n_dims :]
    values = [_affine_value(e, dimensions, symbols) for e in affine_map.results]
    known = [v for v in values if v is not None]
    return known if len(known) == len(values) else None


def _affine_value(
    expression: Any, dimensions: Sequence[int | None], symbols: Sequence[int | None]
) -> int | None:
    if isinstance(expression, ir.AffineConstantExpr):
        return int(ir.AffineConstantExpr(expression).value)
    if isinstance(expression, ir.AffineDimExpr):
        return dimensions[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[ir.AffineSymbolExpr(expression).position]
    binary = ir.AffineBinaryExpr(expression)
    lhs = _affine_value(binary.lhs, dimensions, symbols)
    rhs = _affine_value(binary.rhs, dimensions, symbols)
    if lhs is None or rhs is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(expression, ir.AffineMulExpr):
        return lhs * rhs
    if rhs == 0:
        return None
    if isinstance(expression, ir.AffineModExpr):
        return lhs % rhs
    return lhs // rhs if isinstance(expression, ir.AffineFloorDivExpr) else -(-lhs // rhs)


# Loops of a payload: how often they run, and whether they accumulate.


# Where the operands begin that say where a write goes.
_WRITES = {"memref.store": 1, "affine.store": 1, "memref.copy": 1}
_WRITES |= {"vector.store": 0, "vector.transfer_write": 1}
_SLICE_INSERTIONS = dict.fromkeys(
    ("tensor.insert", "tensor.insert_slice", "tensor.parallel_insert_slice", "vector.transfer_write"), 1
)


def trip_count(op: Any, extents: Extents) -> int | None:
    """Return how often a loop's body runs, None if that is not known."""
    return product(trip_counts(op, extents))


def trip_counts(op: Any, extents: Extents) -> list[int | None]:
    """Return the trip count of each induction variable of a loop, None where it is not known."""
    return _TRIPS[op.name](op, extents)


def is_loop(op: Any) -> bool:
    """Return True for a loop whose trip count can be asked for."""
    return op.name in _TRIPS


def initial_values(op: Any) -> list[Any]:
    """Return the operands that a loop's carried values start from, one a block argument at the end."""
    if op.name == "scf.for":
        return list(op.operands)[3:]
    groups = operand_groups(op) if op.name in ("affine.for", "scf.forall") else []
    return groups[-1] if groups else []


def accumulates(op: Any) -> bool:
    """Return True if a loop adds up: it carries a value from iteration to iteration, or writes to one place.

    A tensor that is carried only to be filled piece by piece, and a buffer written to at places that
    follow the induction variables, are not added up.
    """
    block = op.regions[0].blocks[0]
    initial = initial_values(op)
    variables = list(block.arguments)[: len(block.arguments) - len(initial)]
    varying = _derived_from(variables, op)
    if op.name == "scf.parallel":
        return len(op.results) > 0 or _writes_to_one_place(op, varying)
    if op.name == "scf.forall":
        return False
    if any(not isinstance(v.type, ir.RankedTensorType | ir.MemRefType) for v in initial):
        return True
    if initial and not any(_goes_to(o, _SLICE_INSERTIONS, varying) for o in walk(op)):
        return True
    return _writes_to_one_place(op, varying)


def _writes_to_one_place(op: Any, varying: set[Any]) -> bool:
    writes = (o for o in walk(op) if o.name in _WRITES and not len(o.results))  # with results: of a tensor
    return any(not _goes_to(o, _WRITES, varying) for o in writes)


def _goes_to(op: Any, places: dict[str, int], varying: set[Any]) -> bool:
    """Return True if an op is a write whose place follows the induction variables."""
    return op.name in places and any(o in varying for o in list(op.operands)[places[op.name] :])


def _derived_from(variables: Iterable[Any], loop: Any) -> set[Any]:
    """Return the values inside a loop that are computed from some values."""
    derived = set(variables)
    for op in walk(loop):
        if any(o in derived for o in op.operands):
            derived.update(op.results)
    return derived


def _for_trips(op: Any, extents: Extents) -> list[int | None]:
    lower, upper, step = (extents.number(o) for o in list(op.operands)[:3])
    return [_steps(lower, upper, step)]


def _forall_trips(op: Any, extents: Extents) -> list[int | None]:
    lower, upper, step, _ = operand_groups(op)
    bounds = zip(
        extents.sizes(op, "staticLowerBound", lower),
        extents.sizes(op, "staticUpperBound", upper),
        extents.sizes(op, "staticStep", step),
        strict=True,
    )
    return [_steps(*b) for b in bounds]


def _parallel_trips(op: Any, extents: Extents) -> list[int | None]:
    groups = [[extents.number(o) for o in group] for group in operand_groups(op)[:3]]
    return [_steps(*bounds) for bounds in zip(*groups, strict=True)]


def _affine_trips(op: Any, extents: Extents) -> list[int | None]:
    lower, upper, _ = operand_groups(op)
    lows = extents.affine_results(op, "lowerBoundMap", lower)
    highs = extents.affine_results(op, "upperBoundMap", upper)
    if lows is None or highs is None:
        return [None]
    return [_steps(max(lows), min(highs), int(ir.IntegerAttr(op.attributes["step"]).value))]


def _steps(lower: int | None, upper: int | None, step: int | None) -> int | None:
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return max(0, -(-(upper - lower) // step))


_TRIPS: dict[str, Callable[[Any, Extents], list[int | None]]] = {
    "scf.for": _for_trips,
    "scf.forall": _forall_trips,
    "scf.parallel": _parallel_trips,
    "affine.for": _affine_trips,
}
