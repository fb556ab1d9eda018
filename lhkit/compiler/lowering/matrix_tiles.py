"""Products of small matrices in the matrix tiles of x86 (AMX), as text of functions.

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

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.lowering.dot_operands import DotProduct, halves, place_text
from lhkit.model.target import has_matrix_tiles

_ROWS = 16
# Groups of 32 bits in a row of a tile.
TILE_STEPS = 16
_INSTRUCTIONS = {"arith.extf": "tdpbf16ps", "arith.extsi": "tdpbssd", "arith.extui": "tdpbuud"}
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


def release_tiles(module: Any) -> None:
    """Have every entry of a kernel, in place, give the tiles back when it ends."""
    for entry in [f for f in function_ops(module) if "llvm.emit_c_interface" in f.attributes]:
        end = list(entry.regions[0].blocks[0].operations)[-1]
        release = ir.Operation.parse('llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()')
        ir.InsertionPoint(end).insert(release)


def tile_shapes(product: DotProduct) -> bytes:
    """Return the shapes of all tiles: sums in 0 to 3, left-hand side in 4 and 5, right-hand side in 6 and 7."""
    rows, columns = (halves(extent, _ROWS) for extent in (product.rows, product.columns))
    tiles = {2 * i + j: (row, 4 * column) for i, row in enumerate(rows) for j, column in enumerate(columns)}
    tiles |= {4 + i: (row, 64) for i, row in enumerate(rows)} | {
        6 + j: (_ROWS, 4 * c) for j, c in enumerate(columns)
    }
    each = [tiles.get(i, (0, 0)) for i in range(16)]
    return struct.pack("<BB14x16H16B", 1, 0, *(width for _, width in each), *(height for height, _ in each))


def tile_shapes_function(name: str, shapes: bytes) -> str:
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


def tile_function(name: str, product: DotProduct) -> str:
    """Return the text of a function that computes a product in tiles, which have their shapes."""
    lhs, rhs, result = product.types
    instruction = _INSTRUCTIONS[product.extension]
    rows, columns = (range(len(halves(extent, _ROWS))) for extent in (product.rows, product.columns))
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
        %steps = arith.constant {product.steps // TILE_STEPS} : index
        {place_text("a", lhs)} {place_text("b", rhs)} {place_text("c", result)}
        {" ".join(f"%{key}_rows = arith.muli %{key}_row, %sixteen : i64" for key in "abc")}
        {zeros if product.from_zeros else "".join(_move("tileloadd64", "at", *tile) for tile in sums)}
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
