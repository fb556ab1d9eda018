"""Values that would be written over by others in the buffers of loops get tensors of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk

_PLACE = ("static_offsets", "static_sizes", "static_strides")
_MOVES = ("linalg.pack", "linalg.unpack")
# Static offsets, sizes and strides, and the dynamic ones.
_Place = tuple[list[str], list[Any]]


def keep_iterations_apart(module: Any) -> None:
    """Have what an iteration computes beside its result written beside the shared tensor, in place.

    Fusing gives an op a slice of the loop's shared tensor as its destination. Where that slice is not the one
    that the iteration inserts, bufferization still writes there in place, over results of other iterations:
    of a softmax in tiles of columns, each recomputes whole rows of exponentials.
    """
    for loop in [o for o in walk(module.operation) if o.name == "scf.forall"]:
        block = loop.regions[0].blocks[0]
        inserts = [o.operation for o in list(block.operations)[-1].operation.regions[0].blocks[0].operations]
        for shared in list(block.arguments)[len(block.arguments) - len(loop.results) :]:
            places = [_place(o, 2) for o in inserts if o.operands[1] == shared]
            slices = [use.owner.operation for use in shared.uses]
            for each in (o for o in slices if o.name == "tensor.extract_slice"):
                mine = _place(each, 1)
                if any(_are_same(mine, other) for other in places):
                    continue
                for op, operand in list(_destinations(each.results[0])):
                    with ir.InsertionPoint(op), op.location:
                        op.operands[operand] = _empty_like(each)


def keep_carried_values_apart(module: Any) -> None:
    """Have what an ``scf.for`` computes written beside the empty tensor that the loop begins with, in place.

    Bufferization gives both the buffer of the empty tensor, since that has no contents, and what the iterations
    before have inserted is written over: of an op that was computed whole in a loop over its own users.
    """
    for loop in [o for o in walk(module.operation) if o.name == "scf.for"]:
        for start in list(loop.operands)[3:]:
            if isinstance(start, ir.BlockArgument) or start.owner.name != "tensor.empty":
                continue
            for op, operand in list(_destinations(start)):
                if _is_inside(op, loop):
                    with ir.InsertionPoint(op), op.location:
                        op.operands[operand] = start.owner.operation.clone().results[0]


def _is_inside(op: Any, loop: Any) -> bool:
    while (op := op.parent) is not None:
        if op == loop:
            return True
    return False


def _place(op: Any, first: int) -> _Place:
    """Return offsets, sizes and strides of a slice; the dynamic ones are operands from ``first`` on."""
    return [str(op.attributes[name]) for name in _PLACE], list(op.operands)[first:]


def _are_same(one: _Place, other: _Place) -> bool:
    """Return whether two places are equal, which is not known of all that are."""
    pairs = zip(one[1], other[1], strict=False)
    return one[0] == other[0] and len(one[1]) == len(other[1]) and all(_is_equal(a, b) for a, b in pairs)


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two indices are one value, or computed in the same way, as tiling leaves them."""
    if one == other:
        return True
    if isinstance(one, ir.BlockArgument) or isinstance(other, ir.BlockArgument):
        return False
    ops = one.owner, other.owner
    is_index = ops[0].name == ops[1].name and ops[0].name.startswith(("affine.", "arith.", "index."))
    if not is_index or len(ops[0].operands) != len(ops[1].operands):
        return False
    attributes = [{name: op.attributes[name] for name in op.attributes} for op in ops]
    operands = zip(ops[0].operands, ops[1].operands, strict=True)
    return attributes[0] == attributes[1] and all(_is_equal(a, b) for a, b in operands)


def _destinations(value: Any) -> Iterator[tuple[Any, int]]:
    """Yield the ops that write over a value without reading it, and which operand it is."""
    for use in value.uses:
        op, operand = use.owner.operation, use.operand_number
        if op.name in _MOVES and operand == 1:
            yield op, operand
        if not op.name.startswith("linalg.") or not op.regions or operand < len(op.operands) - len(op.results):
            continue
        argument = op.regions[0].blocks[0].arguments[operand]
        if not list(argument.uses):
            yield op, operand


def _empty_like(slice_: Any) -> Any:
    """Return a tensor without contents of the type of a slice."""
    type_ = ir.RankedTensorType(slice_.results[0].type)
    _, offsets, sizes, _ = ir.DenseI32ArrayAttr(slice_.attributes["operandSegmentSizes"])
    dynamic = list(slice_.operands)[1 + offsets : 1 + offsets + sizes]
    plain = ir.RankedTensorType.get(type_.shape, type_.element_type)
    return ir.Operation.create("tensor.empty", [plain], dynamic).results[0]
