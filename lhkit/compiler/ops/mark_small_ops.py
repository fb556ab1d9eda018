"""``lhkit.mark_small_ops``: an attribute on the ops of linalg that take few steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op


@transform_op("lhkit.mark_small_ops")
def mark_small_ops(
    target: Ops, *, most: int, mark: str, windows: bool = False, most_in_each: int = 0, rewriter: Rewriter
) -> None:
    """Mark the ops that add up products of windows, or in four loops and more, in at most so many iterations.

    The compiler unrolls such loops, which takes less time than copies of operands in another layout, or filled
    up to vectors. Those of each channel for itself, and poolings, are not among them, nor are those of one
    channel with one filter, but for the smallest that add to what they are given. Upstream's matchers
    compare the extents of loops one by one, but not their product.

    Functions of several ops that take a few iterations each are left whole: the compiler unrolls all of it, and
    hands on in registers what vectors of uneven sizes would write to memory.

    ::

        linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x4x4xf32>, tensor<4x4x1xf32>) ...  // 2 * 4 * 4 * 4 * 1: 128

    Args:
        target: ``linalg.generic`` on tensors, or any other ops.
        most: How many iterations.
        mark: The name of the attribute that they get.
        windows: Only those that read an operand by a sum of loops, such as convolutions.
        most_in_each: How many iterations each op of a function may take for all of them to be marked.
        rewriter: Not used; nothing is replaced.
    """
    del rewriter
    ops = [op.operation for op in target]
    small = [op for op in ops if _is_small(op, most, windows)]
    together: dict[Any, list[Any]] = {}
    for op in ops if most_in_each else ():
        together.setdefault(op.parent, []).append(op)
    for group in together.values():
        if all(_is_tiny(op, most_in_each) for op in group) and not all(map(_is_by_elements, group)):
            small += group if len(group) > 1 else ()
    for op in small:
        op.attributes[mark] = ir.UnitAttr.get(op.context)


def _is_by_elements(op: Any) -> bool:
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    return all(m == ir.AffineMap.get_identity(m.n_dims) for m in maps)


def _is_tiny(op: Any, most: int) -> bool:
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    calls = any(each.operation.name.startswith("math.") for each in op.regions[0].blocks[0])
    return not calls and 0 < math.prod(_Loops.of(op).extents.values()) <= most


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops that index each operand by themselves, by dimension, and their extents: 0 where not known."""

    plain: list[dict[int, int]]
    extents: dict[int, int]
    has_window: bool

    @classmethod
    def of(cls, op: Any) -> _Loops:
        maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
        plain = [
            {e.position: i for i, e in enumerate(m.results) if isinstance(e, ir.AffineDimExpr)} for m in maps
        ]
        shapes = [value.type.shape if dims else [] for value, dims in zip(op.operands, plain, strict=True)]
        extents = dict.fromkeys(range(maps[0].n_dims), 0)
        for dims, shape in zip(plain, shapes, strict=True):
            extents |= {d: max(shape[i], 0) for d, i in dims.items()}
        has_window = any(len(dims) < len(m.results) for dims, m in zip(plain, maps, strict=True))
        return cls(plain, extents, has_window)


def _is_small(op: Any, most: int, windows: bool) -> bool:
    if op.name != "linalg.generic" or len(op.operands) < 3 or len(op.results) != 1:
        return False
    loops = _Loops.of(op)
    plain, extents, has_window = loops.plain, loops.extents, loops.has_window
    is_known = all(extents.values())
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
