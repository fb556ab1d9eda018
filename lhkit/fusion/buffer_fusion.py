"""Two ops that meet in a buffer: whether one loop over tiles of both computes the same."""

from __future__ import annotations

import re

from lhkit.fusion.fusion_case import FusionCase, indexing_maps
from lhkit.model.fatal_attributes import ELEMENTWISE, KINDS
from lhkit.traces.record.placed_ops import PlacedOps

_SHARED = re.compile(r"memref<[^>]*>")
_HARMLESS = ("arith.", "memref.alloc", "memref.dim", "memref.subview", "linalg.yield")


def shared_buffer(case: FusionCase, placed: PlacedOps) -> str | None:
    """Return the type of a buffer that the producer writes and the consumer reads, both element by element.

    With equal tiles each tile of it is written before it is read, as long as nothing between the two touches
    memory. None where that is not so, or is not known.
    """
    writer, reader = (case.number(placed, op) for op in (case.producer, case.consumer))
    ops = placed.ir.ops
    between = [ops[n] for n in range(writer + 1, reader) if ops[n].parent != writer]
    if ops[writer].parent != ops[reader].parent or not all(op.name.startswith(_HARMLESS) for op in between):
        return None
    written, read = ops[writer].values[0], ops[reader].values[0][:-1]
    if not written or written[-1] not in read:
        return None
    if _is_identity(placed, writer, len(written) - 1) and _is_identity(placed, reader, read.index(written[-1])):
        return str(_SHARED.findall(ops[writer].shapes[0])[-1])
    return None


def _is_identity(placed: PlacedOps, number: int, operand: int) -> bool:
    """Return whether an op has parallel loops alone, and uses an operand at the indices of these loops."""
    op = placed.ir.ops[number]
    if op.name != "linalg.generic":
        return op.name in (*KINDS, ELEMENTWISE, "linalg.fill", "linalg.copy")
    maps = indexing_maps(placed, number)
    return "reduction" not in op.shapes[0] and operand < len(maps) and maps[operand][0] == maps[operand][1]
