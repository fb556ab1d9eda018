"""Results that are written past the caches: non-temporal stores, for functions that a schedule has marked.

A line that is written is read first, unless the store goes past the caches; where a result is larger than
these, nothing is lost by it. Such stores need aligned addresses, which is checked once a call: the function
becomes two, one for aligned results, and the plain one.
"""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import function_ops, symbol_name
from lhkit.compiler.ir.parsing import walk

# The mark of a function, ``transform.annotate %function "stream_results" = %bytes``: from what size on.
MARK = "stream_results"
_LINE_BYTES = 64


def stream_marked_results(module: Any, *, is_x86: bool) -> None:
    """Have marked functions, in place, write large results with non-temporal stores where they are aligned.

    It is about ``vector.transfer_write`` of whole lines into arguments of static shape; other writes stay.
    """
    for function in list(function_ops(module)):
        if MARK not in function.attributes:
            continue
        least = ir.IntegerAttr(function.attributes[MARK]).value
        del function.attributes[MARK]
        results = {w.operands[1] for w in _writes(function, least)}
        if results:
            _split(function, [v.arg_number for v in map(ir.BlockArgument, results)], least, is_x86)


def _writes(function: Any, least: int) -> list[Any]:
    found = [op for op in walk(function) if op.name == "vector.transfer_write"]
    arguments = list(function.regions[0].blocks[0].arguments)
    return [op for op in found if op.operands[1] in arguments and _is_streamable(op, least)]


def _is_streamable(op: Any, least: int) -> bool:
    """Return whether a write is of whole lines, one after the other, of an array of at least so many bytes."""
    vector, target = op.operands[0].type, ir.MemRefType(op.operands[1].type)
    element_bytes = vector.element_type.width // 8 if hasattr(vector.element_type, "width") else 0
    is_plain = target.has_static_shape and target.layout == ir.AffineMapAttr.get(
        ir.AffineMap.get_identity(target.rank)
    )
    if not is_plain or vector.rank != 1 or not element_bytes or len(op.operands) != 2 + target.rank:
        return False
    count = _LINE_BYTES // element_bytes
    size = element_bytes
    for extent in target.shape:
        size *= extent
    bounds = [bool(ir.BoolAttr(b).value) for b in ir.ArrayAttr(op.attributes["in_bounds"])]
    is_along_rows = ir.AffineMapAttr(op.attributes["permutation_map"]) == ir.AffineMapAttr.get(
        ir.AffineMap.get(target.rank, 0, [ir.AffineDimExpr.get(target.rank - 1)])
    )
    return (
        size >= least
        and all(bounds)
        and is_along_rows
        and vector.shape[0] % count == target.shape[-1] % count == 0
        and _is_multiple(op.operands[1 + target.rank], count)
    )


def _is_multiple(value: Any, count: int) -> bool:
    """Return whether an index is certainly a multiple of ``count``: of constants, sums, products and loops."""
    if isinstance(value.owner, ir.Block):
        loop = value.owner.owner
        is_index = loop.name == "scf.for" and ir.BlockArgument(value).arg_number == 0
        return is_index and _is_multiple(loop.operands[0], count) and _is_multiple(loop.operands[2], count)
    op = value.owner
    if op.name == "arith.constant":
        return bool(ir.IntegerAttr(op.attributes["value"]).value % count == 0)
    parts = [_is_multiple(operand, count) for operand in op.operands]
    return (op.name == "arith.addi" and all(parts)) or (op.name == "arith.muli" and any(parts))


def _split(function: Any, results: list[int], least: int, is_x86: bool) -> None:
    """Make two functions of one, and of itself one that calls the first where the results are aligned."""
    name, type_ = symbol_name(function), function.attributes["function_type"].value
    copies = []
    for suffix in ("streamed", "plain"):
        copy = function.operation.clone(ir.InsertionPoint(function))
        copy.attributes["sym_name"] = ir.StringAttr.get(f"{name}_{suffix}")
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        if "llvm.emit_c_interface" in copy.attributes:
            del copy.attributes["llvm.emit_c_interface"]
        copies.append(copy)
    for write in _writes(copies[0], least):
        _stream(write)
    block = function.regions[0].blocks[0]
    if is_x86:
        end = list(copies[0].regions[0].blocks[0].operations)[-1]
        fence = ir.Operation.parse('llvm.call_intrinsic "llvm.x86.sse.sfence"() : () -> ()')
        ir.InsertionPoint(end).insert(fence)
    for op in reversed(list(block.operations)):
        op.operation.erase()
    index, bit = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    with ir.InsertionPoint(block), function.location:

        def constant(value: int) -> Any:
            attributes = {"value": ir.IntegerAttr.get(index, value)}
            return ir.Operation.create("arith.constant", [index], [], attributes).result

        addresses = [
            ir.Operation.create("memref.extract_aligned_pointer_as_index", [index], [block.arguments[i]]).result
            for i in results
        ]
        low_bits = addresses[0]
        for address in addresses[1:]:
            low_bits = ir.Operation.create("arith.ori", [index], [low_bits, address]).result
        rest = ir.Operation.create("arith.remui", [index], [low_bits, constant(_LINE_BYTES)]).result
        equal = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)}
        is_aligned = ir.Operation.create("arith.cmpi", [bit], [rest, constant(0)], equal).result
        choice = ir.Operation.create("scf.if", [], [is_aligned], regions=2)
        for region, copy in zip(choice.regions, copies, strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                callee = {"callee": ir.FlatSymbolRefAttr.get(symbol_name(copy))}
                ir.Operation.create("func.call", type_.results, list(block.arguments), callee)
                ir.Operation.create("scf.yield", [], [])
        ir.Operation.create("func.return", [], [])


def _stream(write: Any) -> None:
    attributes = {
        "nontemporal": ir.BoolAttr.get(True),
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _LINE_BYTES),
    }
    with ir.InsertionPoint(write), write.location:
        ir.Operation.create("vector.store", [], list(write.operands), attributes)
    write.erase()
