"""Counting the arithmetic of a payload, and how it rounds: loop extents times what the body computes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.interpreter.application import parse_payload
from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.ir.extents import (
    Extents,
    Shape,
    accumulates,
    initial_values,
    is_loop,
    outputs_of,
    product,
    static_shape,
    trip_count,
)
from lhkit.compiler.ir.functions import function_ops, function_type, symbol_name
from lhkit.model.measurement import Work
from lhkit.worker.requests import Source

_ARITH = {f"arith.{name}{t}" for name in ("add", "sub", "mul", "cmp") for t in "if"}
_ARITH |= {f"arith.{name}" for name in ("divf", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi")}
_ARITH |= {f"arith.{name}" for name in ("remf", "remsi", "remui", "negf", "maximumf", "minimumf", "maxnumf")}
_ARITH |= {f"arith.{name}" for name in ("minnumf", "maxsi", "maxui", "minsi", "minui", "addui_extended")}
_ARITH |= {"arith.mulsi_extended", "arith.mului_extended", "memref.atomic_rmw"}
# Real operations of the textbook formulas.
_COMPLEX = {"add": 2, "sub": 2, "mul": 6, "div": 11, "neg": 2, "abs": 4, "conj": 1, "eq": 2, "neq": 2}
_COMPLEX |= dict.fromkeys(("create", "re", "im", "constant", "bitcast"), 0)
_BITS = ("math.ctlz", "math.cttz", "math.ctpop", "math.copysign")
_MOVES = ("arith.", "tensor.", "memref.", "vector.", "bufferization.", "index.", "ub.", "affine.", "math.")
_NO_WORK = {"func.return", "func.constant", "scf.yield", "linalg.yield", "linalg.index", "scf.reduce.return"}
_NO_WORK |= {"linalg.pack", "linalg.unpack", "builtin.unrealized_conversion_cast", "cf.assert"}
_ONCE = {"scf.execute_region", "memref.alloca_scope", "vector.mask", "memref.generic_atomic_rmw", "scf.reduce"}
_PER_ELEMENT = {"tensor.generate", "tensor.pad"}
# Maximum, difference, exp, sum and quotient for each element.
_SOFTMAX_FLOPS = 5


# Near 1 they are known to a rounding of 1, whatever is left of it afterwards, as in GELU below 0.
_TO_ONE, _CANCELS = ("math.erf", "math.tanh"), 4.0
# Float ops whose results are exact, and those that round and add nothing up.
_EXACT = {f"arith.{name}f" for name in ("maximum", "minimum", "maxnum", "minnum", "neg", "ext", "cmp", "rem")}
_EXACT |= {"arith.constant", "arith.select", "arith.bitcast", "math.absf", "math.copysign", "complex.constant"}
_EXACT |= {f"complex.{name}" for name in ("create", "re", "im", "neg", "conj", "bitcast")}
_CONVERSIONS = {"arith.truncf", "arith.sitofp", "arith.uitofp", "arith.scaling_truncf"}
_VECTOR_SUMS = {
    f"vector.{name}" for name in ("contract", "fma", "outerproduct", "reduction", "multi_reduction")
}
_VECTOR_SUMS.add("vector.scan")
_EPSILONS = {"f64": 2.0**-52, "f32": 2.0**-23, "tf32": 2.0**-10, "f16": 2.0**-10, "bf16": 2.0**-7}
_MANTISSA = re.compile(r"f\d+E\d+M(\d+)")


@dataclass(frozen=True, slots=True)
class Tally:
    """What a piece of a payload does: its operations, and how its results round.

    Attributes:
        flops: How many operations; None: unknown.
        rounding: The coarsest distance from 1 to the next number among the types that ops round to.
        summing: The largest of such distances of what is added up, times the root of the number of terms;
            None: an extent is unknown.
    """

    flops: int | None = 0
    rounding: float = 0.0
    summing: float | None = 0.0

    def __add__(self, other: Tally) -> Tally:
        is_known = self.summing is not None and other.summing is not None
        summing = max(self.summing or 0.0, other.summing or 0.0) if is_known else None
        return Tally(_add(self.flops, other.flops), max(self.rounding, other.rounding), summing)

    def times(self, count: int | None, *, summed: bool = False) -> Tally:
        """Return the tally of so many repetitions; ``summed`` if they add to the same elements."""
        summing = _root_of(count, self.summing) if summed else self.summing
        return Tally(product((self.flops, count)), self.rounding, summing)


_UNKNOWN = Tally(None, 0.0, None)


def _root_of(terms: int | None, error: float | None) -> float | None:
    if error is None or (terms is None and error):
        return None
    return error * math.sqrt(max(terms or 1, 1))


def _epsilon(type_: Any) -> float:
    """Return the distance from 1 to the next number of a float or complex type, or of elements; else 0."""
    while isinstance(type_, (*_SHAPED, ir.VectorType, ir.ComplexType)):
        type_ = type_.element_type
    text = str(type_)
    mantissa = _MANTISSA.match(text)
    return 2.0 ** -int(mantissa[1]) if mantissa else _EPSILONS.get(text, 0.0)


class FlopCounter:
    """Counts the operations of a module's functions; ``extents`` learns the shapes on the way."""

    def __init__(self, module: Any, extents: Extents) -> None:
        self._functions = {symbol_name(op): op for op in function_ops(module)}
        self._extents = extents
        self._active: list[str] = []

    def count_function(self, name: str, shapes: Sequence[Shape], numbers: Sequence[int | None]) -> Tally:
        """Return the tally of one call; unknown for a declaration, a recursion, or several blocks."""
        function = self._functions.get(name)
        blocks = list(function.regions[0].blocks) if function is not None else []
        if len(blocks) != 1 or name in self._active:
            return _UNKNOWN
        for argument, shape, number in zip(blocks[0].arguments, shapes, numbers, strict=True):
            self._extents.bind(argument, shape, number)
        self._active.append(name)
        try:
            return self._count_block(blocks[0])
        finally:
            self._active.pop()

    def _count_block(self, block: Any) -> Tally:
        tally = Tally()
        for op in block.operations:
            operation = op.operation
            if operation.name == "func.call":
                tally += self._count_call(operation)
                continue
            tally += self._count_op(operation)
            if not is_loop(operation) and operation.name != "scf.if":
                self._extents.visit(operation)
        return tally

    def _count_call(self, op: Any) -> Tally:
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        shapes = [self._extents.shape(o) for o in op.operands]
        tally = self.count_function(name, shapes, [self._extents.number(o) for o in op.operands])
        for result in op.results:
            self._extents.bind(result, None)
        if tally.flops is not None:
            returned = list(self._functions[name].regions[0].blocks[0].operations)[-1].operation.operands
            for result, value in zip(op.results, returned, strict=True):
                self._extents.bind(result, self._extents.shape(value), self._extents.number(value))
        return tally

    def _count_op(self, op: Any) -> Tally:
        if op.name in _NO_WORK:
            return Tally()
        if op.name.startswith("linalg."):
            return self._count_linalg(op)
        if is_loop(op):
            return self._count_loop(op)
        if op.name == "scf.if":
            return self._count_if(op)
        if op.name in _ONCE:
            return self._count_regions(op)
        if op.name in _PER_ELEMENT:
            self._extents.visit(op)
            return self._count_regions(op).times(product(self._extents.shape(op.results[0])))
        flops = op_flops(op, self._extents)
        if flops is None and len(op.regions) and op.name.startswith("scf."):
            inside = self._count_regions(op)
            return inside if inside.flops == 0 else _UNKNOWN
        dialect = op.name.partition(".")[0]
        rounds = op.name in _VECTOR_SUMS or (dialect in ("arith", "math", "complex") and op.name not in _EXACT)
        epsilon = max((_epsilon(r.type) for r in op.results), default=0.0) if rounds else 0.0
        rounding = epsilon * _CANCELS if op.name in _TO_ONE else epsilon
        return Tally(flops, rounding, 0.0 if op.name in _CONVERSIONS else epsilon)

    def _count_regions(self, op: Any) -> Tally:
        tally = Tally()
        for region in op.regions:
            blocks = list(region.blocks)
            tally += self._count_block(blocks[0]) if len(blocks) == 1 else Tally() if not blocks else _UNKNOWN
        return tally

    def _count_if(self, op: Any) -> Tally:
        """Return the tally of a conditional: of the branch that is taken, or of both if they are the same."""
        blocks = [block for region in op.regions for block in region.blocks]
        tallies = [self._count_block(block) for block in blocks]
        tallies += [Tally()] * (2 - len(tallies))  # without else there is nothing to do
        yielded = [[self._extents.shape(v) for v in list(b.operations)[-1].operation.operands] for b in blocks]
        condition = self._extents.number(op.operands[0])
        taken = None if condition is None else 0 if condition else 1
        for i, result in enumerate(op.results):
            shapes = [shapes[i] for shapes in yielded]
            known = shapes[taken] if taken is not None else shapes[0] if shapes[0] == shapes[1] else None
            self._extents.bind(result, known)
        if taken is not None:
            return tallies[taken]
        return tallies[0] if tallies[0] == tallies[1] else _UNKNOWN

    def _count_loop(self, op: Any) -> Tally:
        block = op.regions[0].blocks[0]
        initial = initial_values(op)
        variables = len(block.arguments) - len(initial)
        shapes = [*[None] * variables, *map(self._extents.shape, initial)]
        for argument, shape in zip(block.arguments, shapes, strict=True):
            self._extents.bind(argument, shape)
        before = [self._extents.shape(carried) for carried in list(block.arguments)[variables:]]
        body = self._count_block(block)
        yielded = list(list(block.operations)[-1].operation.operands)
        changes = op.name != "scf.forall" and [self._extents.shape(v) for v in yielded[: len(before)]] != before
        for result, shape in itertools.zip_longest(op.results, () if changes else before):
            self._extents.bind(result, shape)
        if changes:  # what a loop carries has another shape each time
            return body if body.flops == 0 else _UNKNOWN
        return body.times(trip_count(op, self._extents), summed=accumulates(op))

    def _count_linalg(self, op: Any) -> Tally:
        if op.name == "linalg.softmax":
            shape = self._extents.shape(op.operands[0])
            terms = shape[int(ir.IntegerAttr(op.attributes["dimension"]).value)]
            epsilon = _epsilon(op.operands[1].type)
            return Tally(product((_SOFTMAX_FLOPS, product(shape))), epsilon, _root_of(terms, epsilon))
        maps = host_module("dialects.linalg").get_indexing_maps(op)
        if maps is None:
            return _UNKNOWN
        affine_maps = [m.value for m in maps]
        extents = loop_extents(affine_maps, [self._extents.shape(o) for o in op.operands])
        if extents is None:
            return _UNKNOWN
        body = self._count_regions(op).times(product(extents))
        outputs = outputs_of(op)
        written = {d for m in affine_maps[-len(outputs) :] for e in m.results for d in _dimensions(e)}
        terms = product(n for d, n in enumerate(extents) if d not in written)
        # What is added up has the type of the result, whatever the type of its terms.
        own = max((_epsilon(o.type) for o in outputs), default=0.0)
        summing = _root_of(terms, (own or body.summing) if body.summing else body.summing)
        return Tally(body.flops, max(body.rounding, body.summing or 0.0), summing)


def loop_extents(maps: Sequence[Any], shapes: Sequence[Shape]) -> list[int | None] | None:
    """Return the extent of each loop of an op: that of an operand's dimension that the loop alone indexes.

    ``maps`` are the affine maps of the operands, from loops to dimensions. None if a loop indexes no dimension
    alone.
    """
    extents: dict[int, int | None] = {}
    for affine_map, shape in zip(maps, shapes, strict=True):
        for expression, extent in zip(affine_map.results, shape, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                position = ir.AffineDimExpr(expression).position
                extents[position] = extents.get(position) if extent is None else extent
    loops = maps[0].n_dims
    return [extents[d] for d in range(loops)] if len(extents) == loops else None


def _dimensions(expression: Any) -> set[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return {ir.AffineDimExpr(expression).position}
    if isinstance(expression, ir.AffineConstantExpr | ir.AffineSymbolExpr):
        return set()
    binary = ir.AffineBinaryExpr(expression)
    return _dimensions(binary.lhs) | _dimensions(binary.rhs)


def op_flops(op: Any, extents: Extents) -> int | None:
    """Return the operations of an op without regions, None if what it computes is not known."""
    dialect, _, name = op.name.partition(".")
    operands = list(op.operands)
    if dialect == "vector":
        return _vector_flops(op, extents)
    if dialect == "complex":
        return product((_COMPLEX.get(name), product(extents.shape(op.results[0]))))
    counts = op.name in _ARITH or (dialect == "math" and op.name not in _BITS)
    if counts and not _is_index(operands[0].type):
        weight = 2 if op.name in ("math.fma", "math.sincos") else 1
        return product((weight, product(extents.shape(operands[0]))))
    return 0 if op.name.startswith(_MOVES) else None


def _vector_flops(op: Any, extents: Extents) -> int | None:
    operands = list(op.operands)
    sizes = [product(extents.shape(o)) for o in operands]
    if op.name == "vector.contract":
        maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
        loops = loop_extents(maps, [extents.shape(o) for o in operands[: len(maps)]])
        return None if loops is None else product((2, *loops))
    if op.name == "vector.fma":
        return product((2, sizes[0]))
    if op.name == "vector.outerproduct":
        return product((2 if len(operands) > 2 else 1, product(extents.shape(op.results[0]))))
    if op.name == "vector.reduction":  # the accumulator is optional
        return None if sizes[0] is None else sizes[0] + len(operands) - 2
    if op.name in ("vector.multi_reduction", "vector.scan"):
        return sizes[0]
    return 0


def _is_index(type_: Any) -> bool:
    is_shaped = isinstance(type_, ir.RankedTensorType | ir.VectorType)
    return isinstance(ir.ShapedType(type_).element_type if is_shaped else type_, ir.IndexType)


# The memory traffic that a function cannot avoid: what it reads and writes of its arguments, once each.


READ, WRITE = "r", "w"
_SHAPED = (ir.RankedTensorType, ir.MemRefType, ir.UnrankedTensorType, ir.UnrankedMemRefType)
_VIEWS = {f"memref.{n}" for n in ("cast", "subview", "expand_shape", "collapse_shape", "transpose", "view")}
_VIEWS |= {"memref.reinterpret_cast", "memref.memory_space_cast", "bufferization.to_buffer"}
_ALOOF = {"memref.dim", "tensor.dim", "memref.dealloc", "memref.assume_alignment", "memref.rank"}
_ALOOF |= {"memref.extract_strided_metadata"}
# What each op does to its operands, by position.
_EFFECTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("memref.load", "affine.load", "affine.vector_load", "vector.load"), (READ,)),
    **dict.fromkeys(("vector.maskedload", "vector.gather", "vector.transfer_read"), (READ,)),
    "bufferization.to_tensor": (READ,),
    **dict.fromkeys(("memref.store", "affine.store", "affine.vector_store", "vector.store"), (READ, WRITE)),
    **dict.fromkeys(("vector.transfer_write", "memref.copy"), (READ, WRITE)),
    "bufferization.materialize_in_destination": (READ, WRITE),
    **dict.fromkeys(("vector.maskedstore", "vector.scatter"), (WRITE,)),
    "memref.atomic_rmw": (READ, READ + WRITE),
    "memref.generic_atomic_rmw": (READ + WRITE,),
}
_NUMBER = re.compile(r"(?:f|bf|tf|i|si|ui)(\d+)|f8\w+")


def compulsory_bytes(module: Any, name: str, shapes: Sequence[Shape], results: Sequence[Shape]) -> int | None:
    """Return the bytes that a call of function ``name``, which has one block, has to read and write at least.

    ``shapes`` and ``results`` are the shapes of its arguments and results. None if an extent, the size of an
    element, or what happens to a memref is not known.
    """
    functions = {symbol_name(op): op for op in function_ops(module)}
    block = functions[name].regions[0].blocks[0]
    total: int | None = 0
    for argument, shape in zip(block.arguments, shapes, strict=True):
        if isinstance(argument.type, _SHAPED):
            touched = _touched(argument, functions, frozenset({name}))
            count = None if touched is None else len(touched)
            total = _add(total, product((count, _bytes(argument.type, shape))))
    returned = list(block.operations)[-1].operation.operands
    for value, shape in zip(returned, results, strict=True):
        # No data moves for a memref argument that is returned.
        is_argument = isinstance(value.type, ir.MemRefType) and any(value == a for a in block.arguments)
        if isinstance(value.type, _SHAPED) and not is_argument:
            total = _add(total, _bytes(value.type, shape))
    return total


def _touched(value: Any, functions: dict[str, Any], active: frozenset[str]) -> set[str] | None:
    """Return what happens to the elements of a value: READ, WRITE, both or neither; None if not known."""
    touched: set[str] = set()
    for use in value.uses:
        found = _touch(use.owner.operation, use.operand_number, value, functions, active)
        if found is None:
            return None
        touched |= found
    return touched


def _touch(
    op: Any, position: int, value: Any, functions: dict[str, Any], active: frozenset[str]
) -> set[str] | None:
    if op.name in _ALOOF:
        return set()
    if op.name.startswith("linalg."):
        return _linalg_touch(op, position, isinstance(value.type, ir.MemRefType))
    if op.name == "func.call":
        return _callee_touch(op, position, functions, active)
    if isinstance(value.type, ir.RankedTensorType):
        return {READ}
    if op.name in _VIEWS:
        return _touched(op.results[0], functions, active)
    if op.name == "func.return":
        return set()
    effects = _EFFECTS.get(op.name, ())
    return set(effects[position]) if position < len(effects) else None


def _linalg_touch(op: Any, position: int, is_buffer: bool) -> set[str]:
    """Return what a linalg op does to an operand; an output is read where the body uses its old value."""
    outputs = outputs_of(op)
    first = len(list(op.operands)) - len(outputs)
    if position < first or op.name in ("linalg.pack", "linalg.unpack"):
        return {READ}
    touched = {WRITE} if is_buffer else set()
    blocks = [b for r in op.regions for b in r.blocks]
    if blocks and any(True for _ in list(blocks[0].arguments)[position].uses):
        touched.add(READ)
    return touched


def _callee_touch(op: Any, position: int, functions: dict[str, Any], active: frozenset[str]) -> set[str] | None:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    blocks = list(functions[name].regions[0].blocks) if name in functions else []
    if not blocks or name in active:
        return None
    return _touched(blocks[0].arguments[position], functions, active | {name})


def _bytes(type_: Any, shape: Shape) -> int | None:
    return product((element_bytes(type_.element_type), *shape))


def element_bytes(type_: Any) -> int | None:
    """Return the bytes of an element in memory: i1 takes one, i48 eight; None for one of no known size."""
    if isinstance(type_, ir.IndexType):
        return 8
    if isinstance(type_, ir.ComplexType):
        return product((2, element_bytes(ir.ComplexType(type_).element_type)))
    if isinstance(type_, ir.VectorType):
        vector = ir.VectorType(type_)
        return product((element_bytes(vector.element_type), *vector.shape))
    match = _NUMBER.fullmatch(str(type_))
    if match is None:
        return None
    bits = int(match[1] or 8)
    return 1 << (-(-bits // 8) - 1).bit_length()


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


# How much work a payload's function does, read off its ops before anything is scheduled.


def work_of(payload: Source, function: str, shapes: Sequence[Shape] | None = None) -> Work:
    """Return the work of one call of a function of the unscheduled payload; dynamic extents need ``shapes``."""
    with new_context():
        module = parse_payload(payload)
        op = next(op for op in function_ops(module) if symbol_name(op) == function)
        given = shapes or [static_shape(t) for t in function_type(op).inputs]
        extents = Extents()
        tally = FlopCounter(module, extents).count_function(function, given, [None] * len(given))
        blocks = list(op.regions[0].blocks)
        if tally.summing is None:
            rounding = _coarsest(op) * math.sqrt(_most_terms(given))
        else:
            rounding = max(tally.rounding, tally.summing)
        if len(blocks) != 1:
            return Work(tally.flops, None, rounding)
        returned = list(blocks[0].operations)[-1].operation.operands
        traffic = compulsory_bytes(module, function, given, [extents.shape(v) for v in returned])
        return Work(tally.flops, traffic, rounding)


def _coarsest(function: Any) -> float:
    """Return the coarsest distance from 1 to the next number among the types of all results of ops."""
    found = [0.0]

    def visit(op: Any) -> Any:
        if op.name not in _EXACT:
            found.extend(_epsilon(r.type) for r in op.results)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return max(found)


def _most_terms(shapes: Sequence[Shape]) -> int:
    """Return the elements of the largest argument, which no reduction of it can exceed."""
    return max((product(n for n in shape if n) or 1 for shape in shapes), default=1)
