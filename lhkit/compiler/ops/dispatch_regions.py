"""``lhkit.form_dispatch_regions``: a function's linalg ops in groups that run as one piece of work each."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import functions_in
from lhkit.compiler.ir.parsing import producer_of, walk
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")

# Cheap to make again: each region gets a copy of its own.
_CLONED = {"arith.constant", "tensor.empty", "tensor.dim", "linalg.fill"}


@transform_op("lhkit.form_dispatch_regions")
def form_dispatch_regions(target: Ops, *, no_inline: bool = True, rewriter: Rewriter) -> Ops:
    """Put each reduction, with the elementwise ops that end it, into a region; then what is left, likewise.

    ::

        %f = linalg.fill ins(%zero) outs(%e)
        %p = linalg.matmul ins(%a, %b) outs(%f)
        %r = linalg.add ins(%p, %c) outs(%e)
        // becomes
        %r = scf.execute_region -> tensor<16x12xf32> no_inline {
          %f = linalg.fill ...
          %p = linalg.matmul ...
          %s = linalg.add ...
          scf.yield %s
        }

    A group is a chain: an op of linalg on tensors whose results are read by one elementwise op alone, which
    joins it, and so on; transposes and broadcasts that only the chain reads join it, too. Ops of linalg without
    maps, such as packs, are in none. Chains begin at ops with a reduction, in order; elementwise ops that no
    chain has taken begin their own. Fills, empty tensors, scalar constants and sizes that a group reads are
    cloned into its region.

    Nothing is tiled: ``tile_using_forall`` and ``fuse_into_containing_op`` make workgroups of a region, and
    ``lhkit.outline_ops`` makes it a function. After ``FormDispatchRegions`` of IREE, which also looks at maps.

    Args:
        target: Functions, or ops around them. Ops inside of loops stay. Handles to what moves stay valid.
        no_inline: Canonicalizations leave the regions; without it they take them apart again, which is of use
            once they are outlined.
        rewriter: How the payload is changed.

    Returns:
        The regions (``scf.execute_region``), in order; one that nothing was put into is not made.
    """
    functions = {f: None for op in target for f in functions_in(op.operation)}
    return [
        _region_of(chain, rewriter, no_inline=no_inline)
        for function in functions
        for block in function.regions[0].blocks
        for chain in _chains(block)
    ]


def _chains(block: Any) -> list[list[Any]]:
    """Return the groups of a block, each in order, ordered by their last ops."""
    order = {op.operation: i for i, op in enumerate(block.operations)}
    ops = [op for op in order if _result_maps(op)]
    taken: set[Any] = set()
    found = []
    for op in sorted(ops, key=lambda op: not _has_reduction(op)):  # the sort is stable
        if op in taken:
            continue
        chain = [op]
        while (reader := _only_reader(chain[-1])) in order and reader not in taken and _is_elementwise(reader):
            chain.append(reader)
        moved = [m for each in chain for v in each.operands if (m := _moves(v, chain)) in order]
        chain = sorted({*chain, *(m for m in moved if m not in taken)}, key=order.__getitem__)
        taken.update(chain)
        found.append(chain)
    return sorted(found, key=lambda chain: order[chain[-1]])


def _moves(value: Any, readers: list[Any]) -> Any:
    """Return what computes a value if it only moves elements and nothing else than some ops reads it."""
    op = producer_of(value)
    if op is None or not _is_elementwise(op) or len(op.results) != 1:
        return None
    (body,) = op.regions[0].blocks if op.regions else ((),)
    is_read_elsewhere = any(use.owner.operation not in readers for use in value.uses)
    return None if is_read_elsewhere or len(list(body)) != 1 else op


def _result_maps(op: Any) -> list[Any]:
    """Return the maps of the results of an op of linalg on tensors, nothing for any other op."""
    if not op.name.startswith("linalg.") or op.name in _CLONED or not op.results:
        return []
    # It moves down to the last op of its group, and a buffer may be written in between.
    if any(isinstance(v.type, ir.MemRefType) for each in (op, *walk(op)) for v in each.operands):
        return []
    maps = _linalg.get_indexing_maps(op)
    return [] if maps is None else [each.value for each in maps][-len(op.results) :]


def _has_reduction(op: Any) -> bool:
    """Return True where an op has a loop that a result does not have."""
    loops = [
        (m.n_dims, {e.position for e in m.results if isinstance(e, ir.AffineDimExpr)}) for m in _result_maps(op)
    ]
    return any(count > len(kept) for count, kept in loops)


def _is_elementwise(op: Any) -> bool:
    return bool(_result_maps(op)) and not _has_reduction(op)


def _only_reader(op: Any) -> Any:
    """Return the one op that reads the results of an op, None where there are several or none."""
    readers = {use.owner.operation for result in op.results for use in result.uses}
    return readers.pop() if len(readers) == 1 else None


def _region_of(chain: list[Any], rewriter: Rewriter, *, no_inline: bool) -> Any:
    last = chain[-1]
    with rewriter.before(last):
        types = [r.type for r in last.results]
        mark = {"no_inline": ir.UnitAttr.get()} if no_inline else {}
        region = ir.Operation.create("scf.execute_region", types, attributes=mark, regions=1)
        body = region.regions[0].blocks.append()
    for result, outside in zip(last.results, region.results, strict=True):
        result.replace_all_uses_with(outside)
    for op in chain:
        body.append(op)
    with ir.InsertionPoint(body), last.location:
        _scf.YieldOp(list(last.results))
    _clone_cheap(body, chain)
    return region


def _is_cheap(op: Any) -> bool:
    if op.name == "arith.constant" and isinstance(op.results[0].type, ir.ShapedType):
        value = op.attributes["value"]
        return isinstance(value, ir.DenseElementsAttr) and value.is_splat
    return op.name in _CLONED


def _clone_cheap(body: Any, chain: list[Any]) -> None:
    """Let ops of a region read copies, inside of it, of what is cheap to make again."""
    copies: dict[Any, Any] = {}

    def inside(value: Any) -> Any:
        producer = producer_of(value)
        if producer is None or not _is_cheap(producer) or producer.block == body:
            return value
        if producer not in copies:
            operands = [inside(v) for v in producer.operands]
            with ir.InsertionPoint(chain[0]):
                copies[producer] = producer.clone()
            for i, operand in enumerate(operands):
                copies[producer].operands[i] = operand
        return copies[producer].results[0]

    for op in chain:
        for each in (op, *walk(op)):
            for i, operand in enumerate(list(each.operands)):
                each.operands[i] = inside(operand)
