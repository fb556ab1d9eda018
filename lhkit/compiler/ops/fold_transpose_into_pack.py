"""``lhkit.fold_transpose_into_pack``: a pack of a transpose becomes a pack of what was transposed.

Upstream's pattern of this kind (``apply_patterns.tensor.fold_into_pack_and_unpack``) folds whatever else uses
the transpose. Then the transpose stays, the pack no longer reads it, and a later step that wants to fuse the
two finds no producer. Here the schedule says when to fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op


@transform_op("lhkit.fold_transpose_into_pack")
def fold_transpose_into_pack(
    target: Ops, *, single_use: bool = False, goes_away: bool = False, rewriter: Rewriter
) -> Ops:
    """Let packs of a transpose pack its source, in the order of dimensions that comes to the same.

    ::

        %t = linalg.transpose ins(%x) permutation = [1, 0]
        linalg.pack %t inner_dims_pos = [0, 1] inner_tiles = [8, 1] into %d
        // becomes
        linalg.pack %x outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 1] into %d

    A transpose is a ``linalg.transpose``, or a ``linalg.generic`` that only permutes. One that nothing uses
    any more is erased. Folding a second time changes nothing.

    Args:
        target: Where packs are looked for: the ops themselves and what is inside of them.
        single_use: Fold only where the pack is the one use of the transpose, so that the transpose is gone
            afterwards and never left behind beside the pack.
        goes_away: Fold only where all uses of the transpose are packs that fold, however many.
        rewriter: How the payload is changed.

    Returns:
        The packs that were folded, as they are now.

    Raises:
        SilenceableError: Both conditions are asked for.
    """
    if single_use and goes_away:
        raise SilenceableError("single_use is the stricter of the two conditions: leave goes_away out")
    folded = []
    for pack in [op for root in target for op in walk(root.operation) if op.name == "linalg.pack"]:
        transpose = _transpose_of(pack)
        if transpose is None:
            continue
        permutation = permutation_of(transpose)
        if permutation is None or not _may_fold(transpose, single_use=single_use, goes_away=goes_away):
            continue
        folded.append(_fold(pack, transpose, permutation, rewriter))
        if not list(transpose.results[0].uses):
            rewriter.erase(transpose)
    return folded


def permutation_of(op: Any) -> tuple[int, ...] | None:
    """Return which dimension of the input each dimension of the result is; None if the op is no transpose."""
    if op.name == "linalg.transpose":
        return tuple(int(d) for d in op.attributes["permutation"])
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    block = op.regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    if len(list(block.operations)) != 1 or last.operands[0] != block.arguments[0]:
        return None
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
    loops = [_loops(m) for m in maps]
    if any(sorted(found) != list(range(m.n_dims)) for found, m in zip(loops, maps, strict=True)):
        return None
    source, result = loops
    return tuple(source.index(loop) for loop in result)


def _loops(affine_map: Any) -> list[int]:
    """Return the loop that each result of a map is; nothing for a map that computes."""
    results = list(affine_map.results)
    if not all(isinstance(r, ir.AffineDimExpr) for r in results):
        return []
    return [ir.AffineDimExpr(r).position for r in results]


def _transpose_of(pack: Any) -> Any:
    """Return the op that computes what a pack reads, None for an argument of a block."""
    owner = pack.operands[0].owner
    return owner.operation if isinstance(owner, ir.Operation | ir.OpView) else None


def _may_fold(transpose: Any, *, single_use: bool, goes_away: bool) -> bool:
    users = [use.owner.operation for use in transpose.results[0].uses]
    if single_use:
        return len(users) == 1
    return not goes_away or all(u.name == "linalg.pack" and _transpose_of(u) == transpose for u in users)


def _fold(pack: Any, transpose: Any, permutation: Sequence[int], rewriter: Rewriter) -> Any:
    """Return the pack of a transpose's source that takes the place of a pack of the transpose."""
    inner = [permutation[d] for d in _dimensions(pack, "inner_dims_pos")]
    outer = [permutation[d] for d in _dimensions(pack, "outer_dims_perm") or range(len(permutation))]
    with rewriter.before(pack):
        folded = pack.clone()
        folded.operands[0] = transpose.operands[0]
        folded.attributes["inner_dims_pos"] = ir.DenseI64ArrayAttr.get(inner)
        # In order is what the attribute says by being empty.
        folded.attributes["outer_dims_perm"] = ir.DenseI64ArrayAttr.get([] if outer == sorted(outer) else outer)
    rewriter.replace(pack, folded)
    return folded.operation


def _dimensions(op: Any, name: str) -> list[int]:
    return [int(d) for d in op.attributes[name]] if name in op.attributes else []
