"""``lhkit.prefetch_next_panel``: prefetches of the panel that the next strip reads."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_affine: Any = host_module("dialects.affine")
_arith: Any = host_module("dialects.arith")
_bufferization: Any = host_module("dialects.bufferization")
_memref: Any = host_module("dialects.memref")

_LINE_BYTES = 64


@transform_op("lhkit.prefetch_next_panel")
def prefetch_next_panel(target: Ops, *, rewriter: Rewriter) -> None:
    """Prefetch the panel of the next strip into the second-level cache, a line per iteration of a reduction.

    ::

        scf.for %row = %c0 to %rows step %c6 ... {
          scf.for %k = %c0 to %c1024 step %c4 ... {                            // target
            vector.transfer_read %panels[%strip, %k, %c0] : tensor<16x1024x64xf32>, vector<1x64xf32>
        // becomes, with the last 16 tiles of rows in the place of tile
            %panels_0 = bufferization.to_buffer %panels read_only : tensor<16x1024x64xf32> to memref<...>
            memref.prefetch %panels_0[%strip + 1, 0, tile * 4096 + %k * 4], read, locality<2>, data

    The panel of a strip lies in the third-level cache or in memory, and the first tile of rows would wait for
    each of its lines; the hardware's prefetcher starts again at every page. The lines are asked for in the last
    tiles of rows, as many as cover a panel, so that they are not evicted before they are read. The last strip
    asks for lines behind the panels: a prefetch of any address is allowed.

    Args:
        target: ``scf.for`` over a reduction, in a loop over tiles of rows, that reads a panel of a tensor of
            static panels at ``[strip, step, 0]``; the strip is not that of the loop over rows. Others are left
            as they are.
        rewriter: How the payload is changed.
    """
    for op in target:
        _prefetch_in(op.operation, rewriter)


def _prefetch_in(reduction: Any, rewriter: Rewriter) -> None:
    tiles = reduction.parent
    read = _panel_read(reduction)
    if read is None or tiles is None or tiles.name != "scf.for":
        return
    panels, strip = read.operands[0], read.operands[1]
    steps, height = _constant(reduction.operands[2]), _constant(tiles.operands[2])
    row, rows = tiles.regions[0].blocks[0].arguments[0], tiles.operands[1]
    _, extent, width = panels.type.shape
    in_line = _LINE_BYTES // (panels.type.element_type.width // 8)
    if steps is None or height is None or in_line % steps or _depends_directly(strip, row):
        return
    covering, whole = -(-width * steps // in_line), _constant(rows)
    count = covering if whole is None else min(covering, -(-whole // height))
    per_step = in_line // steps
    d0, d1 = ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1)
    tile = ir.AffineExpr.get_add(ir.AffineExpr.get_floor_div(d0 - d1, height), count)
    with rewriter.before(reduction):
        starts = ir.AffineMap.get(2, 0, [ir.AffineExpr.get_constant(0), tile * (extent * per_step)])
        start = _affine.AffineMaxOp(starts, [row, rows]).result
        following = _affine.AffineApplyOp(ir.AffineMap.get(1, 0, [d0 + 1]), [strip]).result
        zero = _arith.constant(ir.IndexType.get(), 0)
    with rewriter.before(read):
        buffer = ir.MemRefType.get(panels.type.shape, panels.type.element_type)
        source = _bufferization.to_buffer(buffer, panels, read_only=True)
        step = reduction.regions[0].blocks[0].arguments[0]
        place = _affine.AffineApplyOp(ir.AffineMap.get(2, 0, [d0 + d1 * per_step]), [start, step]).result
        _memref.prefetch(source, [following, zero, place], False, 2, True)


def _panel_read(reduction: Any) -> Any | None:
    """Return the first read of a panel at the step of a reduction."""
    block = reduction.regions[0].blocks[0]
    for op in block.operations:
        if op.operation.name == "vector.transfer_read":
            type_ = op.operands[0].type
            is_panel = isinstance(type_, ir.RankedTensorType) and type_.rank == 3 and type_.has_static_shape
            if is_panel and op.operands[2] == block.arguments[0]:
                return op.operation
    return None


def _constant(value: Any) -> int | None:
    """Return the value of an index that is a constant."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return int(owner.attributes["value"].value)


def _depends_directly(value: Any, on: Any) -> bool:
    owner = value.owner
    return value == on or (not isinstance(owner, ir.Block) and any(each == on for each in owner.operands))
