"""``lhkit.interchange_reductions``: the loops of reductions go inside, those of the results outside."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op


@transform_op("lhkit.interchange_reductions", consumes=["target"])
def interchange_reductions(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Order the loops of ``linalg.generic`` ops: parallel ones first, reductions last, else as they were.

    ::

        indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1)], iterator_types = ["reduction", "parallel"]
        // becomes
        indexing_maps = [(d0, d1) -> (d1, d0), (d0, d1) -> (d0)], iterator_types = ["parallel", "reduction"]

    ``transform.structured.interchange`` does it where the permutation is known when the schedule is written;
    here it follows from each op. After ``InterchangeGenericOps`` of IREE.

    Args:
        target: ``linalg.generic`` ops; consumed.
        rewriter: How the payload is changed.

    Returns:
        The ops, those in order already unchanged.

    Raises:
        SilenceableError: Another op, or one whose body asks for the number of an iteration.
    """
    for op in target:
        if op.operation.name != "linalg.generic":
            raise SilenceableError("only the loops of a linalg.generic can be ordered", at=op)
        if any(o.operation.name == "linalg.index" for o in op.operation.regions[0].blocks[0].operations):
            raise SilenceableError("its body asks for loop numbers (linalg.index), which would change", at=op)
    return [_ordered(op.operation, rewriter) for op in target]


def _ordered(op: Any, rewriter: Rewriter) -> Any:
    kinds = [str(k) for k in ir.ArrayAttr(op.attributes["iterator_types"])]
    order = sorted(range(len(kinds)), key=lambda loop: "reduction" in kinds[loop])
    if order == list(range(len(kinds))):
        return op
    with rewriter.before(op):
        new = op.clone()
        maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
        new.attributes["indexing_maps"] = ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(_permuted(m, order)) for m in maps]
        )
        iterators = list(ir.ArrayAttr(op.attributes["iterator_types"]))
        new.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[loop] for loop in order])
    rewriter.replace(op, new)
    return new.operation


def _permuted(affine_map: Any, order: list[int]) -> Any:
    """Return a map whose loop number ``i`` is what was loop ``order[i]``."""
    places = [ir.AffineDimExpr.get(order.index(loop)) for loop in range(len(order))]
    renumbered = ir.AffineMap.get(len(order), 0, places)
    return ir.AffineMap.get(len(order), 0, [e.compose(renumbered) for e in affine_map.results])
