"""Products of small matrices by the matrix tiles of x86 (AMX), for ops that a schedule has marked.

A tile register has 16 rows of 64 bytes. An instruction adds to 16x16 numbers of 32 bits the products of 16 rows
of the left-hand side, 64 bytes of each, and of 16 columns of the right-hand side, whose elements lie in groups
that fill 32 bits: pairs of bf16, or fours of i8.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
from typing import Any

from lhkit.compiler.ir.bindings import host_module, interpreter, ir
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.model.target import has_matrix_tiles

_linalg: Any = host_module("dialects.linalg")

# The mark of an op, ``transform.annotate %op "matrix_tiles"``.
MARK = "matrix_tiles"
_ROWS = 16
_PREFIX = "lhkit_matrix_tiles_"
_MAPS = ("(d0, d1, d2, d3) -> (d0, d2, d3)", "(d0, d1, d2, d3) -> (d2, d1, d3)", "(d0, d1, d2, d3) -> (d0, d1)")
# Names of the ops of a body → (type of both operands, elements in 32 bits, the instruction).
_INSTRUCTIONS = {
    ("arith.extf", "arith.extf", "arith.mulf", "arith.addf"): ("bf16", 2, "tdpbf16ps"),
    ("arith.extsi", "arith.extsi", "arith.muli", "arith.addi"): ("i8", 4, "tdpbssd"),
    ("arith.extui", "arith.extui", "arith.muli", "arith.addi"): ("i8", 4, "tdpbuud"),
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
# The system call on x86-64, what is asked of it, and for which state of the processor.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


@functools.cache
def may_use_matrix_tiles() -> bool:
    """Ask Linux for this process's use of tile registers; return whether the CPU has them and it was granted.

    The first call has to be made before system calls are filtered.
    """
    if not has_matrix_tiles() or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


def multiply_in_matrix_tiles(module: Any, *, may_use: bool) -> None:
    """Have marked ops on buffers, in place, computed in matrix tiles, where this process may use them.

    An op fits that adds to at most 32x32 numbers the products of operands in groups of 32 bits, 16 groups at a
    time: ``linalg.generic`` of (m, n, k, group). All others stay; their mark goes.
    """
    marked = [op for op in walk(module.operation) if MARK in op.attributes]
    for op in marked:
        del op.attributes[MARK]
    fitting = [op for op in marked if may_use and may_use_matrix_tiles() and _instruction(op) is not None]
    if not fitting:
        return
    # Panels are written in whole rows, not pair by pair.
    flatten = ir.Module.parse(_FLATTEN)
    interpreter.apply_named_sequence(module.operation, next(iter(sequence_ops(flatten))), flatten)
    names: dict[tuple[Any, ...], str] = {}
    texts = []
    shapes: list[tuple[Any, bytes]] = []
    for op in fitting:
        # Zeros in memory would have to be read again right away, in lines that are not written yet.
        zeros = _zeros_before(op)
        if zeros is not None:
            zeros.erase()
        types, instruction = tuple(value.type for value in op.operands), str(_instruction(op))
        key = (*map(str, types), instruction, zeros is not None)
        if key not in names:
            names[key] = f"{_PREFIX}{len(names)}"
            texts.append(_function(names[key], types, instruction, from_zeros=zeros is not None))
        shapes.append((_call(op, names[key], list(op.operands)), _shapes(*map(_halves, types[2].shape))))
        op.erase()
    for number, shape in enumerate(sorted({shape for _, shape in shapes})):
        name = f"{_PREFIX}shapes_{number}"
        texts.append(_shapes_function(name, shape))
        same = {call.operation for call, of_call in shapes if of_call == shape}
        for place in dict.fromkeys(_outermost_loop(call, same) for call in same):
            _call(place, name, [])
    for text in texts:
        for part in ir.Module.parse(text).body.operations:
            module.body.append(part.operation.clone())
    for entry in [f for f in function_ops(module) if "llvm.emit_c_interface" in f.attributes]:
        end = list(entry.regions[0].blocks[0].operations)[-1]
        release = ir.Operation.parse('llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()')
        ir.InsertionPoint(end).insert(release)


def _call(before: Any, name: str, operands: list[Any]) -> Any:
    with ir.InsertionPoint(before), before.location:
        return ir.Operation.create("func.call", [], operands, {"callee": ir.FlatSymbolRefAttr.get(name)})


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


def _instruction(op: Any) -> str | None:
    """Return the instruction that computes an op in tiles; None where none does."""
    if op.name != "linalg.generic" or len(op.operands) != 3 or not _linalg.isa_contraction_op(op):
        return None
    body = tuple(o.operation.name for o in op.regions[0].blocks[0].operations)[:-1]
    maps = tuple(str(ir.AffineMapAttr(m).value) for m in ir.ArrayAttr(op.attributes["indexing_maps"]))
    if body not in _INSTRUCTIONS or maps != _MAPS:
        return None
    element, group, instruction = _INSTRUCTIONS[body]
    lhs, rhs, result = (ir.MemRefType(value.type) for value in op.operands)
    if not all(t.has_static_shape and t.get_strides_and_offset()[0][-1] == 1 for t in (lhs, rhs, result)):
        return None
    fits = (
        [str(t.element_type) for t in (lhs, rhs)] == [element, element]
        and lhs.shape[2] == rhs.shape[2] == group
        and lhs.get_strides_and_offset()[0][1] == rhs.get_strides_and_offset()[0][1] == group
        and lhs.shape[1] % _ROWS == 0
        and max(result.shape) <= 2 * _ROWS
    )
    return instruction if fits else None


def _halves(extent: int) -> list[int]:
    return [min(extent, _ROWS), extent - _ROWS] if extent > _ROWS else [extent]


def _shapes(rows: list[int], columns: list[int]) -> bytes:
    """Return the shapes of all tiles: sums in 0 to 3, left-hand side in 4 and 5, right-hand side in 6 and 7."""
    tiles = {2 * i + j: (row, 4 * column) for i, row in enumerate(rows) for j, column in enumerate(columns)}
    tiles |= {4 + i: (row, 64) for i, row in enumerate(rows)} | {
        6 + j: (_ROWS, 4 * c) for j, c in enumerate(columns)
    }
    each = [tiles.get(i, (0, 0)) for i in range(16)]
    return struct.pack("<BB14x16H16B", 1, 0, *(width for _, width in each), *(height for height, _ in each))


def _shapes_function(name: str, shapes: bytes) -> str:
    """Return the text of a function that gives the tiles these shapes."""
    values = list(struct.unpack("64b", shapes))
    return f"""
      memref.global "private" constant @{name}_bytes : memref<64xi8> = dense<{values}>
      func.func private @{name}() {{
        %shapes = memref.get_global @{name}_bytes : memref<64xi8>
        %index = memref.extract_aligned_pointer_as_index %shapes : memref<64xi8> -> index
        %address = arith.index_cast %index : index to i64
        %pointer = llvm.inttoptr %address : i64 to !llvm.ptr
        llvm.call_intrinsic "llvm.x86.ldtilecfg"(%pointer) : (!llvm.ptr) -> ()
        return
      }}"""


def _function(name: str, types: tuple[Any, ...], instruction: str, *, from_zeros: bool) -> str:
    """Return the text of a function for an op on buffers of these types."""
    lhs, rhs, result = map(ir.MemRefType, types)
    rows, columns = (range(len(_halves(extent))) for extent in result.shape)
    tiles = [(2 * i + j, i, j) for i in rows for j in columns]
    sums = [(tile, "c", i, j) for tile, i, j in tiles]
    factors = [*((4 + i, "a", i, 0) for i in rows), *((6 + j, "b", 0, j) for j in columns)]
    zeros = "\n".join(f'llvm.call_intrinsic "llvm.x86.tilezero"(%t{tile}) : (i8) -> ()' for tile, *_ in tiles)
    products = "\n".join(
        f'llvm.call_intrinsic "llvm.x86.{instruction}"(%t{tile}, %t{4 + i}, %t{6 + j}) : (i8, i8, i8) -> ()'
        for tile, i, j in tiles
    )
    return f"""
      func.func private @{name}(%a: {lhs}, %b: {rhs}, %c: {result}) {{
        {" ".join(f"%t{i} = llvm.mlir.constant({i} : i8) : i8" for i in range(8))}
        %half = llvm.mlir.constant(64 : i64) : i64
        %sixteen = llvm.mlir.constant({_ROWS} : i64) : i64
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %steps = arith.constant {lhs.shape[1] // _ROWS} : index
        {_place("a", lhs)} {_place("b", rhs)} {_place("c", result)}
        {zeros if from_zeros else "".join(_move("tileloadd64", "at", *tile) for tile in sums)}
        %ends:2 = scf.for %step = %zero to %steps step %one
            iter_args(%a_now = %a_at, %b_now = %b_at) -> (i64, i64) {{
          {"".join(_move("tileloadd64", "now", *tile) for tile in factors)}
          {products}
          %a_next = arith.addi %a_now, %half : i64
          %b_next = arith.addi %b_now, %b_rows : i64
          scf.yield %a_next, %b_next : i64, i64
        }}
        {"".join(_move("tilestored64", "at", *tile) for tile in sums)}
        return
      }}"""


def _place(key: str, type_: Any) -> str:
    """Return text that gives an operand's address, and the bytes from a row to the next, and over sixteen."""
    indices = ", ".join(["index"] * (2 * type_.rank + 1))
    return f"""
      %{key}_base, %{key}_offset, %{key}_sizes:{type_.rank}, %{key}_strides:{type_.rank} =
        memref.extract_strided_metadata %{key} : {type_} -> memref<{type_.element_type}>, {indices}
      %{key}_bytes = arith.constant {type_.element_type.width // 8} : index
      %{key}_first = memref.extract_aligned_pointer_as_index %{key}_base : memref<{type_.element_type}> -> index
      %{key}_before = arith.muli %{key}_offset, %{key}_bytes : index
      %{key}_sum = arith.addi %{key}_first, %{key}_before : index
      %{key}_at = arith.index_cast %{key}_sum : index to i64
      %{key}_stride = arith.muli %{key}_strides#0, %{key}_bytes : index
      %{key}_row = arith.index_cast %{key}_stride : index to i64
      %{key}_rows = arith.muli %{key}_row, %sixteen : i64"""


def _move(instruction: str, start: str, tile: int, key: str, down: int, right: int) -> str:
    """Return text that loads or stores the tile of an operand so many halves down and to the right."""
    name = f"%{instruction[:6]}_{key}_{tile}"
    lines = [
        f"{name}_0 = llvm.mlir.constant({64 * right} : i64) : i64",
        f"{name}_1 = arith.addi %{key}_{start}, {name}_0 : i64",
    ]
    if down:
        lines.append(f"{name}_2 = arith.addi {name}_1, %{key}_rows : i64")
    lines += [
        f"{name}_at = llvm.inttoptr {name}_{2 if down else 1} : i64 to !llvm.ptr",
        f'llvm.call_intrinsic "llvm.x86.{instruction}"(%t{tile}, {name}_at, %{key}_row)',
        ": (i8, !llvm.ptr, i64) -> ()\n",
    ]
    return "\n".join(lines)
