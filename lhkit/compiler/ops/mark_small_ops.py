"""``lhkit.mark_small_ops``: an attribute on the ops of linalg that take few steps."""

from __future__ import annotations

import math
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ops.linalg_rewrites import producer_of
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op


@transform_op("lhkit.mark_small_ops")
def mark_small_ops(target: Ops, *, most: int, mark: str, windows: bool = False, rewriter: Rewriter) -> None:
    """Mark the ops that add up products of windows, or in four loops and more, in at most so many iterations.

    The compiler unrolls such loops, which takes less time than copies of operands in another layout, or filled
    up to vectors. Those of each channel for itself, and poolings, are not among them, nor are those of one
    channel with one filter, but for the smallest that add to what they are given. Upstream's matchers
    compare the extents of loops one by one, but not their product.

    ::

        linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x4x4xf32>, tensor<4x4x1xf32>) ...  // 2 * 4 * 4 * 4 * 1: 128

    Args:
        target: ``linalg.generic`` on tensors, or any other ops.
        most: How many iterations.
        mark: The name of the attribute that they get.
        windows: Only those that read an operand by a sum of loops, such as convolutions.
        rewriter: Not used; nothing is replaced.
    """
    del rewriter
    for op in target:
        if _is_small(op.operation, most, windows):
            op.operation.attributes[mark] = ir.UnitAttr.get(op.operation.context)


def _is_small(op: Any, most: int, windows: bool) -> bool:
    if op.name != "linalg.generic" or len(op.operands) < 3 or len(op.results) != 1:
        return False
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    plain = [{e.position: i for i, e in enumerate(m.results) if isinstance(e, ir.AffineDimExpr)} for m in maps]
    has_window = any(len(dims) < len(m.results) for dims, m in zip(plain, maps, strict=True))
    shapes = [value.type.shape if dims else [] for value, dims in zip(op.operands, plain, strict=True)]
    extents = {d: shape[i] for dims, shape in zip(plain, shapes, strict=True) for d, i in dims.items()}
    is_known = len(extents) == maps[0].n_dims and all(size > 0 for size in extents.values())
    of_each_channel = any(all(d in dims for dims in plain) for d in extents)
    sums = any("reduction" in str(kind) for kind in op.attributes["iterator_types"])
    multiplies = all(list(argument.uses) for argument in op.regions[0].blocks[0].arguments)
    steps = math.prod(extents.values())
    is_new = (start := producer_of(op.operands[-1])) is not None and start.name == "linalg.fill"
    if has_window and is_known and (is_new or steps > most // 8):
        # One channel and one filter make vectors of pixels, without copies: lhkit.unroll_window.
        is_known = any(extents[d] > 1 for d in plain[1] if d in plain[0] or d in plain[-1])
    is_small = is_known and steps <= most
    is_kind = has_window or (len(extents) > 3 and not windows)
    return bool(is_small and is_kind and sums and multiplies and not of_each_channel)
