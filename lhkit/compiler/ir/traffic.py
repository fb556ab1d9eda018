"""The memory traffic that a function cannot avoid: what it reads and writes of its arguments, once each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import Shape, outputs_of, product
from lhkit.compiler.ir.functions import function_ops, symbol_name

READ, WRITE = "read", "write"
_VIEWS = {f"memref.{n}" for n in ("cast", "subview", "expand_shape", "collapse_shape", "transpose", "view")}
_VIEWS |= {"memref.reinterpret_cast", "memref.memory_space_cast", "bufferization.to_buffer"}
_ALOOF = {"memref.dim", "tensor.dim", "memref.dealloc", "memref.assume_alignment", "memref.rank"}
_ALOOF |= {"memref.extract_strided_metadata"}
# What each op does to its operands, by position.
_EFFECTS = {
    "memref.load": (READ,),
    "affine.load": (READ,),
    "affine.vector_load": (READ,),
    "vector.load": (READ,),
    "vector.maskedload": (READ,),
    "vector.gather": (READ,),
    "vector.transfer_read": (READ,),
    "bufferization.to_tensor": (READ,),
    "memref.store": (READ, WRITE),
    "affine.store": (READ, WRITE),
    "affine.vector_store": (READ, WRITE),
    "vector.store": (READ, WRITE),
    "vector.maskedstore": (WRITE,),
    "vector.scatter": (WRITE,),
    "vector.transfer_write": (READ, WRITE),
    "memref.copy": (READ, WRITE),
    "bufferization.materialize_in_destination": (READ, WRITE),
    "memref.atomic_rmw": (READ, READ + WRITE),
    "memref.generic_atomic_rmw": (READ + WRITE,),
}
_NUMBER = re.compile(r"(?:f|bf|tf|i|si|ui)(\d+)|f8\w+")


def compulsory_bytes(module: Any, name: str, shapes: Sequence[Shape], results: Sequence[Shape]) -> int | None:
    """Return the bytes that a call of function ``name`` has to read and write at least.

    Args:
        module: The payload.
        name: A function with one block.
        shapes: Shapes of its arguments.
        results: Shapes of its results.

    Returns:
        None if an extent, an element's size, or what happens to a memref is not known.
    """
    functions = {symbol_name(op): op for op in function_ops(module)}
    block = functions[name].regions[0].blocks[0]
    total: int | None = 0
    for argument, shape in zip(block.arguments, shapes, strict=True):
        if _is_shaped(argument.type):
            touched = _touched(argument, functions, frozenset({name}))
            count = None if touched is None else (READ in touched) + (WRITE in touched)
            total = _add(total, product((count, _bytes(argument.type, shape))))
    returned = list(block.operations)[-1].operation.operands
    for value, shape in zip(returned, results, strict=True):
        if _is_shaped(value.type) and not _is_written_argument(value, block):
            total = _add(total, _bytes(value.type, shape))
    return total


def _is_written_argument(value: Any, block: Any) -> bool:
    """Return True for a memref argument that is returned: no data moves for that."""
    return isinstance(value.type, ir.MemRefType) and any(value == a for a in block.arguments)


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
    effects = _EFFECTS.get(op.name)
    if effects is None or position >= len(effects):
        return None
    return {kind for kind in (READ, WRITE) if kind in effects[position]}


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


def _is_shaped(type_: Any) -> bool:
    shaped = (ir.RankedTensorType, ir.MemRefType, ir.UnrankedTensorType, ir.UnrankedMemRefType)
    return isinstance(type_, shaped)


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
