"""Prefetches around reductions that a schedule has marked: the next strip's panel, and what a tile ends with.

The panels of a product are read strip by strip, and a strip's first tile of rows waits for each line of its
panel, since the hardware's prefetcher starts again at every page. A tile's own lines, those of its result and
of a bias, lie in rows that are far apart, and are first asked for when the reduction is over. Marked loops ask
for both beforehand. A prefetch of any address is allowed, so that the last strip may ask for what is behind
the panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir, passmanager
from lhkit.compiler.ir.extents import constant_index
from lhkit.compiler.ir.parsing import walk

_arith: Any = host_module("dialects.arith")
_memref: Any = host_module("dialects.memref")

# The mark of a loop over a reduction, ``transform.annotate %reduction "prefetch"``.
MARK = "prefetch"
_LINE_BYTES = 64
# Of shorter reductions a tile's lines are not evicted before the next tile is near.
_LEAST_STEPS = 128
_SECOND_LEVEL = 2
_ACCESSES = ("vector.transfer_read", "vector.transfer_write")


def insert_marked_prefetches(module: Any) -> None:
    """Insert prefetches, in place, before and in the loops that are marked, and take the marks away.

    ::

        scf.for %row = %c0 to %rows step %c4 {
          scf.for %k = %c0 to %c1024 step %c4 {                                   // marked
            vector.transfer_read %panels[%strip, %k, %c0] : memref<42x1024x24xf32>, vector<1x8xf32>
          }
          vector.transfer_write %sum, %result[%row, %column] : vector<1x8xf32>, memref<1024x1024xf32>
        // becomes
          memref.prefetch %result[%row, %column], write, locality<2>, data
          scf.for %k = %c0 to %c1024 step %c4 {
            memref.prefetch %panels[%strip + 1, 0, %first + %k * 4], read, locality<2>, data

    Lines of the next panel, one per iteration, are asked for in the last tiles of rows, as many as cover it, so
    that they are not evicted before they are read.
    """
    if not _marked(module):
        return
    # One value for each index, so that accesses of one row are known to be that.
    passmanager.PassManager.parse("builtin.module(cse)").run(module.operation)
    for op in _marked(module):
        del op.attributes[MARK]
        _prefetch_next_panel(op)
        _prefetch_ends(op)


def _marked(module: Any) -> list[Any]:
    return [o for o in walk(module.operation) if o.name == "scf.for" and MARK in o.attributes]


def _prefetch_next_panel(reduction: Any) -> None:
    tiles = reduction.parent
    read = _panel_read(reduction)
    if read is None or tiles is None or tiles.name != "scf.for":
        return
    panels, strip = read.operands[0], read.operands[1]
    lower, upper, height = (tiles.operands[i] for i in range(3))
    row = tiles.regions[0].blocks[0].arguments[0]
    steps, step_m = constant_index(reduction.operands[2]), constant_index(height)
    _, extent, width = panels.type.shape
    in_line = _LINE_BYTES // (panels.type.element_type.width // 8)
    if steps is None or step_m is None or in_line % steps or _depends(strip, row) or constant_index(lower) != 0:
        return
    # As many tiles as have an iteration for each line.
    covering, whole = -(-width * steps // in_line), constant_index(upper)
    count = covering if whole is None else min(covering, -(-whole // step_m))
    per_step = in_line // steps
    with ir.InsertionPoint(reduction), reduction.location:
        rows = _arith.subi(upper, row)
        left = _arith.divui(rows, height)
        tile = _arith.subi(_index(count), left)
        start = _arith.maxsi(_arith.muli(tile, _index(extent * per_step)), _index(0))
        following = _arith.addi(strip, _index(1))
        zero = _index(0)
    with ir.InsertionPoint(read), read.location:
        step = reduction.regions[0].blocks[0].arguments[0]
        place = _arith.addi(start, _arith.muli(step, _index(per_step)))
        _memref.prefetch(panels, [following, zero, place], False, _SECOND_LEVEL, True)


def _panel_read(reduction: Any) -> Any | None:
    """Return the first read of a panel, of static shape, at the step of a reduction."""
    block = reduction.regions[0].blocks[0]
    for op in block.operations:
        if op.operation.name == "vector.transfer_read":
            type_ = op.operands[0].type
            is_panel = type_.rank == 3 and type_.has_static_shape and op.operands[2] == block.arguments[0]
            if is_panel and type_.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(3)):
                return op.operation
    return None


def _prefetch_ends(reduction: Any) -> None:
    """Ask for what the ops behind a reduction read and write, before it starts."""
    lower, upper = (constant_index(reduction.operands[i]) for i in (0, 1))
    if lower is not None and upper is not None and upper - lower < _LEAST_STEPS:
        return
    ops = [op.operation for op in reduction.block.operations]
    behind = ops[ops.index(reduction) :]
    for op in list(behind):
        is_index = op.name.startswith("arith.") and [r.type for r in op.results] == [ir.IndexType.get()]
        if is_index and _is_before(op.operands, behind):
            op.move_before(reduction)
            behind.remove(op)
    with ir.InsertionPoint(reduction), reduction.location:
        for name in _ACCESSES:
            found = [op for op in behind if op.name == name and _vector(op).rank]
            ends = [op for op in found if _is_before(_place(op), behind)]
            for op in _one_per_line(ends):
                memory, *indices = _place(op)
                in_line = _LINE_BYTES // max(1, _element_bytes(op))
                for column in range(0, _vector(op).shape[-1], in_line):
                    last = _arith.addi(indices[-1], _index(column)) if column else indices[-1]
                    place = [*indices[:-1], last]
                    _memref.prefetch(memory, place, name == _ACCESSES[1], _SECOND_LEVEL, True)


def _place(op: Any) -> list[Any]:
    """Return the memref that is read or written, and the indices."""
    operands = list(op.operands)[op.name == _ACCESSES[1] :]
    return operands[: 1 + operands[0].type.rank]


def _vector(op: Any) -> Any:
    return (op.operands[0] if op.name == _ACCESSES[1] else op.result).type


def _element_bytes(op: Any) -> int:
    return getattr(_vector(op).element_type, "width", 8 * _LINE_BYTES) // 8


def _one_per_line(ends: Sequence[Any]) -> Iterator[Any]:
    """Give accesses of short vectors without those between two of their row, less than a line from each."""
    rows = [_place(op)[:-1] for op in ends]
    for i, op in enumerate(ends):
        is_short = 2 * _vector(op).shape[-1] * _element_bytes(op) <= _LINE_BYTES
        is_between = 0 < i < len(ends) - 1 and rows[i - 1] == rows[i] == rows[i + 1]
        if not (is_short and is_between):
            yield op


def _is_before(values: Sequence[Any], behind: Sequence[Any]) -> bool:
    return not any(value.owner in behind for value in values)


def _depends(value: Any, on: Any) -> bool:
    """Return whether an index is computed from another one."""
    if value == on or isinstance(value.owner, ir.Block):
        return bool(value == on)
    return any(_depends(operand, on) for operand in value.owner.operands)


def _index(value: int) -> Any:
    return _arith.constant(ir.IndexType.get(), value)
