"""``lhkit.memrefs_to_tensors``: functions that compute on memrefs compute on tensors in between."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import WRITTEN_APART, called_by, calls_of, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ops.tensor_parts import dim_expr, generic
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_bufferization: Any = host_module("dialects.bufferization")
_tensor: Any = host_module("dialects.tensor")

_ALLOCATIONS = ("memref.alloc", "memref.alloca")
_BUFFERS = (*_ALLOCATIONS, "memref.get_global")
_KNOWN = (*_BUFFERS, "memref.copy", "memref.dealloc", "memref.dim", "func.return")


@transform_op("lhkit.memrefs_to_tensors")
def memrefs_to_tensors(target: Ops, *, rewriter: Rewriter) -> None:
    """Let ops of linalg on memrefs take tensors, which are read from arguments and written to them at the end.

    ::

        linalg.matmul ins(%a, %b) outs(%c)          // %c: memref<128x128xf32>, an argument
        // becomes
        %0 = bufferization.to_tensor %c restrict writable
        %1 = linalg.matmul ins(%a_0, %b_0) outs(%0)
        bufferization.materialize_in_destination %1 in restrict writable %c

    Bufferization computes in the same buffers again. Those that a function allocates become tensors. Arguments
    that are written are taken to share no memory with others, which is checked when a kernel is called, and of
    calls in the same module.

    Args:
        target: Functions; those without memrefs stay as they are. Handles lose the ops that are rewritten.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Something else than an op of linalg, a copy, a deallocation or a return uses a memref;
            an op reads other elements of a memref than it writes, or what it wrote before; a constant is
            written, an argument returned, a buffer returned to a call, or one argument copied into another and
            written; all ops are generics by elements that call no function, and one writes over an argument
            that it reads; a call passes other buffers than different ones of its own function, or is not the
            only one there that passes memrefs. Nothing was changed then.
    """
    functions = [op.operation for op in target]
    chosen = [f for f in functions if any(map(_is_memref, _values_in(f)))]
    for function in chosen:
        _check(function)
    for function in chosen:
        _rewrite(function, rewriter)


def _values_in(operation: Any) -> list[Any]:
    return [v for op in walk(operation) for v in (*op.operands, *op.results)]


def _is_memref(value: Any) -> bool:
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)


def _defined_by(value: Any) -> str:
    """Return the name of the op that gives a value, nothing for an argument."""
    return "" if isinstance(value.owner, ir.Block) else str(value.owner.operation.name)


def _is_structured(op: Any) -> bool:
    return op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes


def _outputs(op: Any) -> list[Any]:
    """Return the operands of a linalg op that it writes."""
    count = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[-1]
    return list(op.operands)[len(op.operands) - count :]


def _written(op: Any) -> list[Any]:
    """Return the memrefs that an op writes."""
    if op.name == "memref.copy":
        return [op.operands[1]]
    return [v for v in _outputs(op) if _is_memref(v)] if _is_structured(op) else []


def _check(function: Any) -> None:
    """Raise a `SilenceableError` for what cannot be rewritten."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise SilenceableError(f"@{symbol_name(function)} has {len(blocks)} blocks, not one", at=function)
    for op in (each.operation for each in blocks[0].operations):
        if (why := _why_not(op)) is not None:
            raise SilenceableError(f"{op.name} {why}", at=op)
    _check_ends(function)
    _check_places(function)
    if calls_of(function) and any(map(_is_memref, list(blocks[0].operations)[-1].operands)):
        # Two calls that are inlined give equal tensors, which become one buffer, and a caller may write both.
        raise SilenceableError(f"@{symbol_name(function)} returns a buffer to a call", at=function)
    for call in calls_of(function):
        given = [v for v in call.operands if _is_memref(v)]
        apart = all(_defined_by(v) in _BUFFERS for v in given)
        if not apart or any(given.count(v) > 1 for v in given):
            raise SilenceableError(f"@{symbol_name(function)} may be given one buffer twice", at=call)
        # Inlined, each call would read buffers as tensors for itself, which bufferization takes to be apart.
        caller = call.parent.operation
        beside = [op for op in walk(caller) if called_by(op) is not None and any(map(_is_memref, op.operands))]
        if len(beside) > 1 or caller.name != "func.func" or calls_of(caller):
            raise SilenceableError(f"@{symbol_name(function)} is called beside others, or in a loop", at=call)


def _why_not(op: Any) -> str | None:
    """Return why an op keeps its function on memrefs, None if it does not."""
    used = [v for v in (*op.operands, *op.results) if _is_memref(v)]
    if any(map(_is_memref, _values_in(op))) or (used and not _is_structured(op) and op.name not in _KNOWN):
        return "uses a memref, and is no op of linalg on whole ones"
    for type_ in (v.type for v in used):
        if isinstance(type_, ir.UnrankedMemRefType) or type_.memory_space is not None:
            return "uses a memref without a rank, or in a memory space"
    if _is_structured(op) and any(isinstance(v.type, ir.RankedTensorType) for v in op.operands) and used:
        return "has both tensors and memrefs"
    if op.name == "memref.copy" and op.operands[0].type.shape != op.operands[1].type.shape:
        return "copies between memrefs of different types"
    if any(_defined_by(v) == "memref.get_global" for v in _written(op)):
        return "writes a constant"
    if op.name == "func.return" and any(_defined_by(v) not in _ALLOCATIONS for v in used):
        return "returns a buffer that is not the function's own"
    if _is_structured(op) and not _reads_what_it_writes(op):
        return "reads other elements of a memref than it writes, or may"
    return None


def _reads_what_it_writes(op: Any) -> bool:
    """Return whether an op that has a memref twice, once as an output, has one map for both, of all loops."""
    operands, written = list(op.operands), _written(op)
    twice = [v for v in written if operands.count(v) > 1]
    if not twice or "indexing_maps" not in op.attributes:
        return not twice
    maps = [str(each) for each in op.attributes["indexing_maps"]]
    used = [{m for v, m in zip(operands, maps, strict=True) if v == each} for each in twice]
    return all(len(found) == 1 and _visits_once(*found) for found in used)


def _visits_once(map_: str) -> bool:
    """Return whether a map's results are its loops, in any order: what is read was not written before then."""
    loops, results = (
        set(part.strip("()>").split(", ")) for part in map_.removeprefix("affine_map<").split(" -> ")
    )
    return loops == results


def _check_ends(function: Any) -> None:
    """Refuse an argument that may end as what another one began with, which may be overwritten by then."""
    block = function.regions[0].blocks[0]
    ops = [each.operation for each in block.operations]
    written = [v for op in ops for v in _written(op)]
    held = {v: {v} for v in block.arguments if _is_memref(v)}
    for op in ops:
        forwarded: set[Any] = set()
        # A copy; what yields an operand may become one.
        if op.name == "memref.copy" or (_is_structured(op) and _yields_an_operand(op)):
            forwarded = {first for v in op.operands for first in held.get(v, ())}
        held |= dict.fromkeys(_written(op), forwarded)
    for v in block.arguments:
        if any(first != v and first in written for first in held.get(v, ())):
            raise SilenceableError("an argument takes the place of another one", at=function)


def _check_places(function: Any) -> None:
    """Refuse ops by elements alone where one computes in the place of what an argument is given with.

    Vectors of a tensor that is read and written are computed in a copy, which takes longer than the loops on
    memrefs, of which LLVM makes vectors too where they call no function.
    """
    ops = [each.operation for each in function.regions[0].blocks[0].operations]
    structured = [op for op in ops if _is_structured(op) and _written(op)]
    for op in structured:
        calls = any(each.operation.name.startswith("math.") for each in op.regions[0].blocks[0].operations)
        if calls or op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"]):
            return
    begun: set[Any] = set()
    for op in structured:
        if any(list(op.operands).count(v) > 1 and not _defined_by(v) and v not in begun for v in _written(op)):
            raise SilenceableError("it works by elements, in the place of what it reads", at=op)
        begun |= set(_written(op))


def _yields_an_operand(op: Any) -> bool:
    terminator = list(op.regions[0].blocks[0].operations)[-1]
    return any(_defined_by(v) == "" for v in terminator.operands)


def _rewrite(function: Any, rewriter: Rewriter) -> None:
    block = function.regions[0].blocks[0]
    ops = [each.operation for each in block.operations]
    written = [v for op in ops for v in _written(op)]
    arguments = [v for v in block.arguments if _is_memref(v)]
    numbers = [i for i, v in enumerate(block.arguments) if v in written]
    function.attributes[WRITTEN_APART] = ir.DenseI64ArrayAttr.get(numbers)
    with rewriter.before(ops[0]):
        before = {v: _read(v, is_written=v in written) for v in arguments}
    # What each buffer holds at this place.
    held = dict(before)
    for op, following in zip(ops, [*ops[1:], ops[-1]], strict=True):
        with rewriter.before(following if op.name == "memref.get_global" else op):
            if op.name in _ALLOCATIONS:
                held[op.results[0]] = _empty(op)
            elif op.name == "memref.get_global":
                held[op.results[0]] = _read(op.results[0], is_written=False)
            elif op.name == "memref.copy":
                held[op.operands[1]] = _copy(*(held[v] for v in op.operands))
            elif op.name == "memref.dim" and op.operands[0] not in arguments:
                rewriter.replace(op, _tensor.DimOp(held[op.operands[0]], op.operands[1]))
            elif _is_structured(op) and _written(op):
                results = _on_tensors(op, [held.get(v, v) for v in op.operands])
                held |= dict(zip(_written(op), results, strict=True))
            elif op.name == "func.return":
                for v in arguments:
                    _write_back(held[v], before[v], v)
                for i in (i for i, v in enumerate(op.operands) if v in held):
                    op.operands[i] = _bufferization.ToBufferOp(op.operands[i].type, held[op.operands[i]]).result
    for op in reversed(ops):
        if op.name in (*_ALLOCATIONS, "memref.copy", "memref.dealloc") or (_is_structured(op) and _written(op)):
            rewriter.erase(op)


def _read(buffer: Any, *, is_written: bool) -> Any:
    type_ = ir.RankedTensorType.get(buffer.type.shape, buffer.type.element_type)
    return _bufferization.ToTensorOp(type_, buffer, restrict=True, writable=is_written or None).result


def _write_back(tensor: Any, before: Any, buffer: Any) -> None:
    if tensor != before:
        _bufferization.MaterializeInDestinationOp(None, tensor, buffer, restrict=True, writable=True)


def _empty(allocation: Any) -> Any:
    type_ = allocation.results[0].type
    given = iter(allocation.operands)
    sizes = [next(given) if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    return _tensor.EmptyOp(sizes, type_.element_type).result


def _copy(source: Any, to: Any) -> Any:
    rank = ir.RankedTensorType(to.type).rank
    dims = [dim_expr(i) for i in range(rank)]
    return generic([source], to, [dims, dims], ["parallel"] * rank, lambda value, _: value).results[0]


def _on_tensors(op: Any, operands: list[Any]) -> list[Any]:
    """Write an op of linalg with these operands, with the body of the one before, and return its results."""
    types = [v.type for v in operands[len(operands) - len(_written(op)) :]]
    attributes = {name: op.attributes[name] for name in op.attributes}
    new = ir.Operation.create(op.name, types, operands, attributes, regions=1)
    op.regions[0].blocks[0].append_to(new.regions[0])
    return list(new.results)
