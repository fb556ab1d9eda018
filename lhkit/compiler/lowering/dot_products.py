"""Products of small matrices by dot products of narrow numbers, for ops that a schedule has marked.

Such an instruction adds to numbers of 32 bits the products of groups that fill 32 bits: pairs of bf16 or of
i16, or fours of i8. x86 has them for vectors (AVX512-BF16; AVX2 and AVX-512 for i16; AVX512-VNNI, AVX-VNNI for
i8) and for matrix tiles (AMX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import host_module, interpreter, ir
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.compiler.lowering.dot_operands import DotProduct
from lhkit.compiler.lowering.matrix_tiles import (
    TILE_STEPS,
    may_use_matrix_tiles,
    release_tiles,
    tile_function,
    tile_shapes,
    tile_shapes_function,
)
from lhkit.compiler.lowering.vector_dots import Instruction, vector_dot_function, vector_dot_instruction
from lhkit.model.target import code_flags

_linalg: Any = host_module("dialects.linalg")

# The mark of an op, ``transform.annotate %op "dot_products" = %way``: 2 for matrix tiles, else for vectors.
MARK = "dot_products"
IN_TILES = 2
_LARGEST = 32
_PREFIX = "lhkit_dot_products_"
_MAPS = ("(d0, d1, d2, d3) -> (d0, d2, d3)", "(d0, d1, d2, d3) -> (d2, d1, d3)", "(d0, d1, d2, d3) -> (d0, d1)")
# Names of the ops of a body → the types that both operands may have.
_BODIES = {
    ("arith.extf", "arith.extf", "arith.mulf", "arith.addf"): {"bf16"},
    ("arith.extsi", "arith.extsi", "arith.muli", "arith.addi"): {"i8", "i16"},
    ("arith.extui", "arith.extui", "arith.muli", "arith.addi"): {"i8"},
}
_ANY = "!transform.any_op"
_FLATTEN = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @flatten(%root: {_ANY} {{transform.readonly}}) {{
    %functions = transform.structured.match ops{{["func.func"]}} in %root : ({_ANY}) -> {_ANY}
    transform.apply_patterns to %functions {{
      transform.apply_patterns.vector.flatten_vector_transfer_ops
    }} : {_ANY}
    transform.yield
  }}
}}"""


def multiply_by_dot_products(module: Any, target: str) -> None:
    """Have marked ops on buffers, in place, computed by instructions for dot products, where a target has them.

    An op fits that adds to at most 32x32 numbers the products of operands in groups of 32 bits:
    ``linalg.generic`` of (m, n, k, group). Matrix tiles take 16 groups at a time. All others stay; their mark
    goes. An empty target is this CPU.
    """
    flags = code_flags(target)
    marked = [
        (op, ir.IntegerAttr(op.attributes[MARK]).value)
        for op in walk(module.operation)
        if MARK in op.attributes
    ]
    fitting: list[tuple[Any, DotProduct, Instruction | None]] = []
    for op, way in marked:
        del op.attributes[MARK]
        product = _product(op)
        if product is None:
            continue
        fits_tiles = not target and product.element != "i16" and product.steps % TILE_STEPS == 0
        in_tiles = way == IN_TILES and fits_tiles and may_use_matrix_tiles()
        instruction = None if in_tiles else vector_dot_instruction(product, flags)
        if in_tiles or instruction is not None:
            fitting.append((op, product, instruction))
    if not fitting:
        return
    # Panels are written in whole rows, not group by group.
    flatten = ir.Module.parse(_FLATTEN)
    interpreter.apply_named_sequence(module.operation, next(iter(sequence_ops(flatten))), flatten)
    functions = _Functions()
    calls_in_tiles = [
        (_replace(op, product, functions, None), product)
        for op, product, instruction in fitting
        if instruction is None
    ]
    for op, product, instruction in fitting:
        if instruction is not None:
            _replace(op, product, functions, instruction)
    _set_shapes(calls_in_tiles, functions)
    for text in functions.texts:
        for part in ir.Module.parse(text).body.operations:
            module.body.append(part.operation.clone())
    if calls_in_tiles:
        release_tiles(module)


class _Functions:
    """Texts of the functions to call, one for equal ones."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self.texts: list[str] = []

    def name_of(self, key: Any, text: Callable[[str], str]) -> str:
        if key not in self._names:
            self._names[key] = f"{_PREFIX}{len(self._names)}"
            self.texts.append(text(self._names[key]))
        return self._names[key]


def _replace(op: Any, product: DotProduct, functions: _Functions, instruction: Instruction | None) -> Any:
    """Call a function of vectors, or without an instruction of tiles, instead of an op; return the call."""
    zeros = _zeros_before(op)
    if zeros is not None:
        # Zeros in memory would have to be read again right away, in lines that are not written yet.
        zeros.erase()

    def text(name: str) -> str:
        return vector_dot_function(name, product, instruction) if instruction else tile_function(name, product)

    key = (*map(str, product.types), product.extension, product.from_zeros, instruction)
    call = _call(op, functions.name_of(key, text), list(op.operands))
    op.erase()
    return call


def _set_shapes(calls: list[tuple[Any, DotProduct]], functions: _Functions) -> None:
    """Set the tiles' shapes before the outermost loops that need no others."""
    shapes = [tile_shapes(product) for _, product in calls]
    for shape in sorted(set(shapes)):
        name = functions.name_of(shape, lambda name, shape=shape: tile_shapes_function(name, shape))  # type: ignore[misc]
        same = {call.operation for (call, _), other in zip(calls, shapes, strict=True) if other == shape}
        for place in dict.fromkeys(_outermost_loop(call, same) for call in same):
            _call(place, name, [])


def _call(before: Any, name: str, operands: list[Any]) -> Any:
    with ir.InsertionPoint(before), before.location:
        return ir.Operation.create("func.call", [], operands, {"callee": ir.FlatSymbolRefAttr.get(name)})


def _product(op: Any) -> DotProduct | None:
    """Return what an op computes in dot products; None where it is something else."""
    if op.name != "linalg.generic" or len(op.operands) != 3 or not _linalg.isa_contraction_op(op):
        return None
    body = tuple(o.operation.name for o in op.regions[0].blocks[0].operations)[:-1]
    maps = tuple(str(ir.AffineMapAttr(m).value) for m in ir.ArrayAttr(op.attributes["indexing_maps"]))
    if body not in _BODIES or maps != _MAPS:
        return None
    lhs, rhs, result = (ir.MemRefType(value.type) for value in op.operands)
    if not all(t.has_static_shape and t.get_strides_and_offset()[0][-1] == 1 for t in (lhs, rhs, result)):
        return None
    group = 32 // lhs.element_type.width
    fits = (
        lhs.element_type == rhs.element_type
        and str(lhs.element_type) in _BODIES[body]
        and lhs.shape[2] == rhs.shape[2] == group
        and lhs.get_strides_and_offset()[0][1] == rhs.get_strides_and_offset()[0][1] == group
        and max(result.shape) <= _LARGEST
    )
    return DotProduct((lhs, rhs, result), body[0], _zeros_before(op) is not None) if fits else None


def _zeros_before(op: Any) -> Any | None:
    """Return the op right before that fills the result with zeros."""
    block = list(op.operation.block.operations)
    place = next(i for i, other in enumerate(block) if other.operation == op.operation)
    before = block[place - 1].operation if place else None
    if before is None or before.name != "linalg.fill" or before.operands[1] != op.operands[2]:
        return None
    value = before.operands[0].owner
    is_zero = getattr(value, "name", "") == "arith.constant" and value.attributes["value"].value == 0
    return before if is_zero else None


def _outermost_loop(call: Any, same: set[Any]) -> Any:
    """Return the outermost ``scf.for`` around a call that calls nothing but these; without one, the call."""
    place = call
    while place.parent.name == "scf.for":
        if any(o.name == "func.call" and o.operation not in same for o in walk(place.parent)):
            break
        place = place.parent
    return place
