"""Index values and extents of a payload as terms: plain data that says what they are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import initial_values, is_loop, operand_groups, outputs_of, static_shape
from lhkit.model.tile_picture import Term, TermKind, computed

_ARITHMETIC: dict[str, TermKind] = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divui": "floordiv",
    "arith.divsi": "floordiv",  # of sizes and offsets, which are not negative
    "arith.floordivsi": "floordiv",
    "arith.ceildivsi": "ceildiv",
    "arith.ceildivui": "ceildiv",
    "arith.remsi": "mod",
    "arith.remui": "mod",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.maxsi": "max",
    "arith.maxui": "max",
}
_ALLOCATIONS = ("tensor.empty", "memref.alloc", "memref.alloca", "bufferization.alloc_tensor")
_SAME = (
    "tensor.cast",
    "memref.cast",
    "bufferization.to_tensor",
    "bufferization.to_buffer",
    "bufferization.clone",
)
_SLICES = ("tensor.extract_slice", "memref.subview")
_DESTINATIONS = {"tensor.insert": 1, "tensor.insert_slice": 1, "vector.transfer_write": 1}


def is_slice(op: Any) -> bool:
    """Return True for an op that takes a part of a value by offsets, sizes and strides."""
    return op.name in _SLICES


def same_value(value: Any) -> Any:
    """Return the value that lies in the same place: what was written into, cast, carried into a loop; or None.

    In destination-passing style an op's result, and what a loop carries, stand where their destination does.
    """
    if isinstance(value, ir.BlockArgument):
        owner = ir.BlockArgument(value).owner.owner.operation
        return (
            _carried(owner, _variables(owner), ir.BlockArgument(value).arg_number) if is_loop(owner) else None
        )
    result = ir.OpResult(value)
    op = result.owner.operation
    if op.name in _SAME:
        return op.operands[0]
    if op.name in _DESTINATIONS:
        return op.operands[_DESTINATIONS[op.name]]
    if op.name.startswith("linalg."):
        outputs = outputs_of(op)
        return outputs[result.result_number] if result.result_number < len(outputs) else None
    return _carried(op, 0, result.result_number) if is_loop(op) else None


def _carried(loop: Any, skipped: int, number: int) -> Any:
    initial = initial_values(loop) if loop.name != "scf.parallel" else []
    return initial[number - skipped] if 0 <= number - skipped < len(initial) else None


def _variables(loop: Any) -> int:
    """Return how many induction variables a loop has."""
    return len(loop.regions[0].blocks[0].arguments) - (
        0 if loop.name == "scf.parallel" else len(initial_values(loop))
    )


class IndexTerms:
    """The terms of a payload; the same computation has one term."""

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self._known: dict[Term, int] = {}
        self._values: dict[Any, int] = {}

    def term(self, kind: TermKind, operands: Sequence[int] = (), value: int = 0) -> int:
        """Return the position of a term, simplified where that is plain."""
        term = Term(kind, tuple(operands), value)
        if len(operands) == 2 and kind != "extent":
            folded = self._folded(kind, operands[0], operands[1])
            if folded is not None:
                return folded
        if term not in self._known:
            self._known[term] = len(self.terms)
            self.terms.append(term)
        return self._known[term]

    def constant(self, value: int) -> int:
        """Return the position of a number."""
        return self.term("constant", value=value)

    def unknown(self) -> int:
        """Return the position of a new term that nothing is known of."""
        return self.term("unknown", value=len(self.terms))

    def bind(self, value: Any, term: int) -> None:
        """Say which term a value is."""
        self._values[value] = term

    def number(self, value: Any) -> int:
        """Return the position of the term of an index value."""
        if value not in self._values:
            self._values[value] = self.unknown() if isinstance(value, ir.BlockArgument) else self._result(value)
        return self._values[value]

    def mixed(self, op: Any, attribute: str, operands: Sequence[Any]) -> list[int]:
        """Return mixed offsets or sizes: an attribute whose dynamic entries are the operands, in order."""
        dynamic, marker = iter(operands), ir.ShapedType.get_dynamic_size()
        static = ir.DenseI64ArrayAttr(op.attributes[attribute])
        return [self.number(next(dynamic)) if n == marker else self.constant(n) for n in static]

    def shape(self, value: Any) -> list[int]:
        """Return the positions of the extents of a value."""
        extents = static_shape(value.type)
        if None not in extents:
            return [self.constant(n) for n in extents if n is not None]
        found = self._dynamic_shape(value)
        if len(found) != len(extents):
            found = [self.unknown() for _ in extents]
        return [f if n is None else self.constant(n) for f, n in zip(found, extents, strict=True)]

    def affine(self, expression: Any, dimensions: Sequence[int], symbols: Sequence[int] = ()) -> int:
        """Return the position of an affine expression of terms."""
        if isinstance(expression, ir.AffineConstantExpr):
            return self.constant(int(ir.AffineConstantExpr(expression).value))
        if isinstance(expression, ir.AffineDimExpr):
            return dimensions[ir.AffineDimExpr(expression).position]
        if isinstance(expression, ir.AffineSymbolExpr):
            return symbols[ir.AffineSymbolExpr(expression).position]
        binary = ir.AffineBinaryExpr(expression)
        operands = [self.affine(e, dimensions, symbols) for e in (binary.lhs, binary.rhs)]
        kinds: dict[Any, TermKind] = {
            ir.AffineAddExpr: "add",
            ir.AffineMulExpr: "mul",
            ir.AffineModExpr: "mod",
            ir.AffineFloorDivExpr: "floordiv",
            ir.AffineCeilDivExpr: "ceildiv",
        }
        return self.term(next(kind for cls, kind in kinds.items() if isinstance(expression, cls)), operands)

    def map_results(self, map_attribute: Any, operands: Sequence[Any]) -> list[int]:
        """Return the positions of the results of an affine map of values."""
        affine_map = ir.AffineMapAttr(map_attribute).value
        numbers = [self.number(o) for o in operands]
        dimensions, symbols = numbers[: affine_map.n_dims], numbers[affine_map.n_dims :]
        return [self.affine(e, dimensions, symbols) for e in affine_map.results]

    def all_of(self, kind: TermKind, numbers: Sequence[int]) -> int:
        """Return the minimum, maximum, sum or product of terms."""
        at = numbers[0]
        for each in numbers[1:]:
            at = self.term(kind, (at, each))
        return at

    def _folded(self, kind: TermKind, a: int, b: int) -> int | None:
        left, right = self.terms[a], self.terms[b]
        if left.kind == right.kind == "constant":
            value = computed(kind, (left.value, right.value))
            return None if value is None else self.constant(value)
        if right.kind == "constant" and (kind, right.value) in (
            ("add", 0),
            ("sub", 0),
            ("mul", 1),
            ("floordiv", 1),
        ):
            return a
        if left.kind == "constant" and (kind, left.value) in (("add", 0), ("mul", 1)):
            return b
        return a if kind in ("min", "max") and a == b else None

    def _result(self, value: Any) -> int:
        op = ir.OpResult(value).owner.operation
        operands = list(op.operands)
        if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
            return self.constant(int(ir.IntegerAttr(op.attributes["value"]).value))
        if op.name in ("arith.index_cast", "arith.index_castui"):
            return self.number(operands[0])
        if op.name in ("tensor.dim", "memref.dim"):
            at, shape = self.terms[self.number(operands[1])], self.shape(operands[0])
            return shape[at.value] if at.kind == "constant" and at.value < len(shape) else self.unknown()
        if op.name == "affine.apply":
            return self.map_results(op.attributes["map"], operands)[0]
        if op.name in ("affine.min", "affine.max"):
            kind: TermKind = "min" if op.name == "affine.min" else "max"
            return self.all_of(kind, self.map_results(op.attributes["map"], operands))
        if op.name == "affine.delinearize_index":
            return self._delinearized(op, ir.OpResult(value).result_number)
        if op.name in _ARITHMETIC:
            return self.term(_ARITHMETIC[op.name], [self.number(o) for o in operands])
        return self.unknown()

    def _delinearized(self, op: Any, number: int) -> int:
        basis = self.mixed(op, "static_basis", list(op.operands)[1:])
        inner = basis[len(basis) - (len(op.results) - 1 - number) :]
        index = self.number(op.operands[0])
        if inner:
            index = self.term("floordiv", (index, self.all_of("mul", inner)))
        if number == 0:  # the outermost is what is left
            return index
        return self.term("mod", (index, basis[len(basis) - len(op.results) + number]))

    def _dynamic_shape(self, value: Any) -> list[int]:
        same = same_value(value)
        if same is not None:
            return self.shape(same)
        if isinstance(value, ir.BlockArgument):
            argument = ir.BlockArgument(value)
            if argument.owner.owner.operation.name != "func.func":
                return []
            rank = len(static_shape(value.type))
            return [self.term("extent", (argument.arg_number, d)) for d in range(rank)]
        op = ir.OpResult(value).owner.operation
        if op.name in _ALLOCATIONS:
            dynamic = iter(op.operands)
            extents = static_shape(value.type)
            return [self.number(next(dynamic)) if n is None else self.constant(n) for n in extents]
        if is_slice(op):
            sizes = self.mixed(op, "static_sizes", operand_groups(op)[2])
            return [sizes[d] for d in kept_dimensions(op, value)]
        if op.name == "tensor.pad":
            source, low, high = operand_groups(op)
            parts = (
                self.shape(source[0]),
                self.mixed(op, "static_low", low),
                self.mixed(op, "static_high", high),
            )
            return [self.all_of("add", each) for each in zip(*parts, strict=True)]
        if op.name in ("tensor.expand_shape", "memref.expand_shape"):
            return self.mixed(op, "static_output_shape", list(op.operands)[1:])
        return []


def kept_dimensions(op: Any, part: Any) -> list[int]:
    """Return the dimensions of the whole that a part has, for an op that takes or writes one.

    Those of size 1 may be dropped.
    """
    marker = ir.ShapedType.get_dynamic_size()
    sizes = [None if n == marker else int(n) for n in ir.DenseI64ArrayAttr(op.attributes["static_sizes"])]
    wanted = static_shape(part.type)
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        missing = len(wanted) - len(kept)
        if missing and (size != 1 or wanted[len(kept)] == 1 or len(sizes) - dimension == missing):
            kept.append(dimension)
    return kept
