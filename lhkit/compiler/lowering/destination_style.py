"""Functions that return values become functions that write to destinations.

Each result of static shape gets a trailing memref argument that it is written to, and is computed there
where that is possible. A result of dynamic shape stays a result: a buffer that the caller owns and frees.
"""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_ops, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk

KERNEL_NAME = "lhkit_kernel"


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


def _written_shape(value: Any) -> tuple[str, Any, Any] | None:
    """Return the reshape of a destination that undoes a value's, and what the value was before it; or None."""
    inverse = {"tensor.expand_shape": "memref.collapse_shape", "tensor.collapse_shape": "memref.expand_shape"}
    op = None if isinstance(value, ir.BlockArgument) else value.owner
    if op is None or op.name not in inverse or _is_dynamic(op.operands[0].type):
        return None
    return inverse[op.name], op.operands[0], op.attributes["reassociation"]


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


def _protect_tensor_arguments(function: Any) -> None:
    read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
    plain = ir.DictAttr.get({})
    inputs = function_type(function).inputs
    attributes = [read_only if isinstance(t, ir.RankedTensorType) else plain for t in inputs]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
