"""Functions that return values become functions that write to destinations.

Each result of static shape gets a trailing memref argument that it is written to, and is computed there
where that is possible. A result of dynamic shape stays a result: a buffer that the caller owns and frees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_ops, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.destination_reuse import reuse_destinations

KERNEL_NAME = "lhkit_kernel"
# Of the entry: how many of its arguments, the last ones, are destinations; and the numbers of those that hold
# other values before their result: results start in them with the values of arguments, or buffers lie there.
_COUNT, _STARTED = "destinations", "started_destinations"


def make_kernel_entry(module: Any, name: str) -> None:
    """Add to a payload, in place, the entry of a kernel for function ``name``.

    The entry is called ``lhkit_kernel``, takes the function's arguments and then a memref a result of static
    shape, and returns the results of dynamic shape. A function that nothing else calls is turned into the
    entry itself; one that is called stays, and the entry calls it. Tensor arguments are read only: a value
    that the caller passed never changes.
    """
    function = next(op for op in function_ops(module) if symbol_name(op) == name)
    if any(called_by(op) == name for op in walk(module.operation)):
        function = _caller_of(module, function)
    function.attributes["sym_name"] = ir.StringAttr.get(KERNEL_NAME)
    function.attributes["sym_visibility"] = ir.StringAttr.get("public")
    function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    _write_results_to_arguments(function)
    _start_in_destinations(function)
    _protect_tensor_arguments(function)
    for other in function_ops(module):
        if symbol_name(other) != KERNEL_NAME:
            other.attributes["sym_visibility"] = ir.StringAttr.get("private")
    module.operation.verify()


def _caller_of(module: Any, function: Any) -> Any:
    """Return a new function, beside the others, that calls ``function`` and returns what it returns."""
    type_ = function_type(function)
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        attributes = {"sym_name": ir.StringAttr.get(KERNEL_NAME), "function_type": ir.TypeAttr.get(type_)}
        caller = ir.Operation.create("func.func", attributes=attributes, regions=1)
        inputs = list(type_.inputs)
        block = caller.regions[0].blocks.append(*inputs, arg_locs=[ir.Location.unknown()] * len(inputs))
        with ir.InsertionPoint(block):
            callee = {"callee": ir.FlatSymbolRefAttr.get(symbol_name(function))}
            call = ir.Operation.create("func.call", list(type_.results), list(block.arguments), callee)
            ir.Operation.create("func.return", operands=list(call.results))
    return caller


def _plain_memref(type_: Any) -> Any:
    """Return the memref without gaps that holds a value of this type."""
    if not isinstance(type_, ir.ShapedType):
        return ir.MemRefType.get([], type_)
    shaped = ir.ShapedType(type_)
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [dynamic if shaped.is_dynamic_dim(i) else shaped.get_dim_size(i) for i in range(shaped.rank)]
    return ir.MemRefType.get(shape, shaped.element_type)


def _is_dynamic(type_: Any) -> bool:
    """Return True for a tensor or memref with an extent that is not known."""
    return isinstance(type_, ir.ShapedType) and not ir.ShapedType(type_).has_static_shape


def _write_results_to_arguments(function: Any) -> None:
    type_ = function_type(function)
    blocks = list(function.regions[0].blocks)
    with ir.Location.unknown():
        destinations = [_plain_memref(t) for t in type_.results if not _is_dynamic(t)]
        returned = [_returned_type(t) for t in type_.results if _is_dynamic(t)]
        arguments = [blocks[0].add_argument(t, ir.Location.unknown()) for t in destinations]
        for block in blocks:
            terminator = list(block.operations)[-1].operation
            if terminator.name == "func.return":
                _replace_return(terminator, arguments)
    inputs = [*type_.inputs, *destinations]
    if destinations:
        function.attributes[_COUNT] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), len(destinations))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, returned))
    for stale in ("res_attrs", "arg_attrs"):
        if stale in function.attributes:
            del function.attributes[stale]


def _replace_return(terminator: Any, arguments: list[Any]) -> None:
    values = list(terminator.operands)
    stored = [v for v in values if not _is_dynamic(v.type)]
    with ir.InsertionPoint(terminator), terminator.location:
        for value, argument in zip(stored, arguments, strict=True):
            _store(value, argument)
        returned = [_without_gaps(v) for v in values if _is_dynamic(v.type)]
        ir.Operation.create("func.return", operands=returned)
    terminator.erase()


def _returned_type(type_: Any) -> Any:
    return _plain_memref(type_) if isinstance(type_, ir.MemRefType) else type_


def _without_gaps(value: Any) -> Any:
    """Return a value, or a copy of it if it is a memref of another layout: only buffers can be owned."""
    wanted = _returned_type(value.type)
    if value.type == wanted:
        return value
    index = ir.IndexType.get()
    sizes = []
    for i in filter(wanted.is_dynamic_dim, range(wanted.rank)):
        number = ir.Operation.create("arith.constant", [index], [], {"value": ir.IntegerAttr.get(index, i)})
        sizes.append(ir.Operation.create("memref.dim", [index], [value, number.result]).result)
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(sizes), 0])}
    copy = ir.Operation.create("memref.alloc", [wanted], sizes, segments).result
    ir.Operation.create("memref.copy", operands=[value, copy])
    return copy


def _store(value: Any, destination: Any) -> None:
    # A value that is only seen in another shape is written as it is, and not copied.
    while (shape := _written_shape(value)) is not None:
        name, value, reassociation = shape
        type_ = _plain_memref(value.type)
        block = destination.owner if isinstance(destination, ir.BlockArgument) else None
        with ir.InsertionPoint.at_block_begin(block) if block else ir.InsertionPoint.after(destination.owner):
            marks = {"reassociation": reassociation}
            if name == "memref.expand_shape":
                marks["static_output_shape"] = ir.DenseI64ArrayAttr.get(type_.shape)
            destination = ir.Operation.create(name, [type_], [destination], marks).results[0]
    if isinstance(value.type, ir.RankedTensorType):
        marks = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
        name = "bufferization.materialize_in_destination"
        ir.Operation.create(name, operands=[value, destination], attributes=marks)
    elif isinstance(value.type, ir.MemRefType):
        ir.Operation.create("memref.copy", operands=[value, destination])
    else:
        ir.Operation.create("memref.store", operands=[value, destination])


_INVERSE = {"tensor.expand_shape": "memref.collapse_shape", "tensor.collapse_shape": "memref.expand_shape"}


def _written_shape(value: Any) -> tuple[str, Any, Any] | None:
    """Return the reshape of a destination that undoes a value's, and what the value was before it; or None."""
    op = None if isinstance(value, ir.BlockArgument) else value.owner
    if op is None or op.name not in _INVERSE or _is_dynamic(op.operands[0].type):
        return None
    return _INVERSE[op.name], op.operands[0], op.attributes["reassociation"]


def show_writes_to_destinations(module: Any) -> None:
    """Have bufferization see, in place, that results are written to destinations that are used as tensors.

    To be run when ``eliminate-empty-tensors`` has made a destination the tensor that a result is computed in:
    where another result starts from the same tensor, that write may not come before its last read.
    """
    for op in [o for o in walk(module.operation) if o.name == "bufferization.materialize_in_destination"]:
        destination = op.operands[1]
        uses = [use.owner for use in destination.uses] if isinstance(destination.type, ir.MemRefType) else []
        tensors = [user for user in uses if user.name == "bufferization.to_tensor"]
        is_argument = isinstance(destination, ir.BlockArgument)
        if not tensors or not (is_argument or destination.owner.name.endswith("_shape")):
            continue
        marks = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
        owner = destination.owner
        first = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint.after(owner)
        with first, op.location:
            type_ = tensors[0].results[0].type
            tensor = ir.Operation.create("bufferization.to_tensor", [type_], [destination], marks).results[0]
        for same in tensors:
            same.results[0].replace_all_uses_with(tensor)
            same.erase()
        with ir.InsertionPoint(op), op.location:
            # Asked for only now: what is written may have been one of the tensors.
            value = op.operands[0]
            ir.Operation.create("bufferization.materialize_in_destination", [tensor.type], [value, tensor])
        op.erase()


def _start_in_destinations(function: Any) -> None:
    """Have results that start from the values of an argument, in place, start from a copy in an empty tensor.

    ``eliminate-empty-tensors`` makes of it the destination of the result; a copy that bufferization adds has a
    buffer of its own, which would be copied there in the end.
    """
    entry, started = function.regions[0].blocks[0], set()
    for op in [o for o in walk(function) if o.name == "bufferization.materialize_in_destination"]:
        if _starts_anew(op, entry):
            destination = op.operands[1]
            while not isinstance(destination, ir.BlockArgument):
                destination = destination.owner.operands[0]
            started.add(destination.arg_number)
    if started:
        function.attributes[_STARTED] = ir.DenseI64ArrayAttr.get(sorted(started))


def _starts_anew(op: Any, entry: Any) -> bool:
    """Make what an op materializes start from a copy; return False if it does not start from an argument."""
    value, first, place = op.operands[0], op, 0
    while not isinstance(value, ir.BlockArgument) and (start := _start_of(value)) is not None:
        first, place = value.owner, start
        value = first.operands[place]
    if first is op or not _is_of_argument(value, entry):
        return False
    with ir.InsertionPoint(first), first.location:
        start = ir.Operation.create("tensor.empty", [value.type]).result
        if _is_read(first, place):
            name = "bufferization.materialize_in_destination"
            start = ir.Operation.create(name, [value.type], [value, start]).result
    first.operands[place] = start
    return True


def compute_in_destinations(module: Any) -> None:
    """Have buffers of a kernel use, in place, the memory of later results; see `reuse_destinations`."""
    for function in [f for f in function_ops(module) if _COUNT in f.attributes]:
        count = ir.IntegerAttr(function.attributes[_COUNT]).value
        del function.attributes[_COUNT]
        reused = reuse_destinations(function, count)
        if reused:
            started = function.attributes[_STARTED] if _STARTED in function.attributes else ()
            function.attributes[_STARTED] = ir.DenseI64ArrayAttr.get(sorted(reused.union(started)))


def started_destinations(module: Any) -> list[int]:
    """Return which arguments of a function of the LLVM dialect are of destinations with other values first.

    To be asked of the function of memrefs that it is made of. Of a memref it has two pointers, of which the
    second is used, an offset, and the sizes and strides.
    """
    found = []
    for function in function_ops(module):
        if _STARTED in function.attributes:
            widths = [
                3 + 2 * t.rank if isinstance(t, ir.MemRefType) else 1 for t in function_type(function).inputs
            ]
            found += [sum(widths[:number]) + 1 for number in function.attributes[_STARTED]]
    return found


def keep_destinations_apart(module: Any, places: Sequence[int]) -> None:
    """Tell LLVM, in place, that these arguments overlap with no others; of buffers it knows that.

    Callers give each result a place of its own.
    """
    entry = next(o.operation for o in module.body.operations if _STARTED in o.operation.attributes)
    with module.context:
        apart, plain = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
        count = len(entry.regions[0].blocks[0].arguments)
        entry.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [apart if i in places else plain for i in range(count)]
        )


def _is_read(op: Any, place: int) -> bool:
    """Return False if a structured op computes with no element of what it writes to."""
    if not op.name.startswith("linalg.") or not len(op.regions) or not op.regions[0].blocks:
        return True
    elements = op.regions[0].blocks[0].arguments  # a linalg.map may have none for what it writes to
    return place < len(elements) and any(True for _ in elements[place].uses)


def _is_of_argument(value: Any, entry: Any) -> bool:
    """Return True for an argument of a function, in whatever shape."""
    while not isinstance(value, ir.BlockArgument) and value.owner.name in _INVERSE:
        value = value.owner.operands[0]
    return isinstance(value, ir.BlockArgument) and value.owner == entry


# Of these the destination is the second operand, and not the last: a padding value or sizes may follow.
_SECOND = ("linalg.pack", "linalg.unpack", "tensor.insert", "tensor.insert_slice", "vector.transfer_write")


def _start_of(value: Any) -> int | None:
    """Return which operand of its op a tensor of static shape starts from, None if that is not known."""
    op = value.owner
    if _is_dynamic(value.type):
        return None
    if op.name in _SECOND:
        return 1
    if op.name in ("scf.for", "scf.forall") or op.name.startswith("linalg."):
        return len(op.operands) - len(op.results) + value.result_number
    return None


def _protect_tensor_arguments(function: Any) -> None:
    read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
    plain = ir.DictAttr.get({})
    inputs = function_type(function).inputs
    attributes = [read_only if isinstance(t, ir.RankedTensorType) else plain for t in inputs]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
