"""``lhkit.collapse_reduced_dims``: what is reduced along several short dimensions is reduced along one."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ops.tensor_parts import dim_expr, generic
from lhkit.compiler.ops.unroll_window import again
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")
_SHORT = 16  # Elements of 32 bits in the widest vectors


@transform_op("lhkit.collapse_reduced_dims", consumes=["target"])
def collapse_reduced_dims(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Reduce the last dimensions of a tensor as one, where the very last is shorter than a vector.

    ::

        linalg.generic {(f, c, y, x) -> (f)} ins(%x : tensor<7x5x3x3xi8>) ...  // the sums of filters
        // becomes
        %flat = tensor.collapse_shape %x [[0], [1, 2, 3]] : tensor<7x5x3x3xi8> into tensor<7x45xi8>
        linalg.generic {(f, i) -> (f)} ins(%flat : tensor<7x45xi8>) ...

    Args:
        target: ``linalg.generic``, or any other ops; consumed.
        rewriter: How the payload is changed.

    Returns:
        The reductions that were written anew: those of one operand, read in the order of the loops, without
        ``linalg.index``, whose last two loops and more reduce.
    """
    written: list[Any] = []
    for op in target:
        if (kept := _kept_loops(op.operation)) is not None:
            with rewriter.before(op.operation):
                written.append(_collapsed(op.operation, kept))
            rewriter.replace(op.operation, [written[-1].results[0]])
    return written


def _kept_loops(op: Any) -> int | None:
    """Return how many loops come before those that are reduced; None where an op is another one."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    kept = kinds.count(False)
    read, write = (m.value for m in _linalg.get_indexing_maps(op))
    in_order = ir.AffineMap.get_identity(len(kinds))
    if len(kinds) - kept < 2 or any(kinds[:kept]) or read != in_order:
        return None
    is_first = write == ir.AffineMap.get(len(kinds), 0, [dim_expr(d) for d in range(kept)])
    shape = op.operands[0].type.shape
    is_known = not any(map(ir.ShapedType.is_dynamic_size, shape[kept:]))
    by_index = any(each.operation.name == "linalg.index" for each in op.regions[0].blocks[0])
    return kept if is_first and is_known and shape[-1] < _SHORT and not by_index else None


def _collapsed(op: Any, kept: int) -> Any:
    image, start = op.operands
    shape, count = image.type.shape, 1
    for extent in shape[kept:]:
        count *= extent
    flat = ir.RankedTensorType.get([*shape[:kept], count], image.type.element_type)
    groups = [*([d] for d in range(kept)), [*range(kept, len(shape))]]
    every = [dim_expr(d) for d in range(kept + 1)]
    kinds = ["parallel"] * kept + ["reduction"]
    block = op.regions[0].blocks[0]
    given = _tensor.collapse_shape(flat, image, groups)
    return generic([given], start, [every, every[:-1]], kinds, lambda *of: again(block, list(of))).operation
