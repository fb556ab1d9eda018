"""``lhkit.expand_tensor_shapes``: functions are given, and return, the sizes of dynamic tensors beside them."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import calls_of, function_type, other_references, symbol_name
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.tensor_parts import index_value
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")


@transform_op("lhkit.expand_tensor_shapes")
def expand_tensor_shapes(target: Ops, *, rewriter: Rewriter) -> None:
    """Pass the sizes of dynamic tensors to private functions, and return those of dynamic results.

    ::

        %y = call @f(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
        // becomes
        %n = tensor.dim %x, %c0
        %y, %m = call @f(%x, %n) : (tensor<?x2xf32>, index) -> (tensor<?x2xf32>, index)

    Sizes follow the other arguments and results, in their order. ``tensor.dim`` of an argument, and of what
    a call returns, becomes the size that is passed: sizes are values that are computed with, and no tensor has
    to be there to ask it. After ``ExpandTensorShapes`` of IREE, which expands globals too (those of
    ``ml_program`` stay as they are), and for outlined functions ``CaptureDispatchDynamicDims``.

    Args:
        target: Functions; those without dynamic tensors stay as they are. Handles to their calls point to the
            new calls, those to a ``tensor.dim`` that is known become empty.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Something else than a function; a public one or a declaration, whose callers or body
            are not here; one that something else than a call refers to. Nothing was changed then.
    """
    functions = [op.operation for op in target]
    chosen = [f for f in functions if f.name != "func.func" or _has_dynamic(f)]
    for function in chosen:
        _check(function)
    before = [list(function_type(f).results) for f in chosen]
    for function in chosen:
        _return_sizes(function, rewriter)
    calls = [(call, results) for f, results in zip(chosen, before, strict=True) for call in calls_of(f)]
    sizes = [size for call, results in calls for size in _pass_sizes(call, results, rewriter)]
    for function in chosen:
        sizes += _take_sizes(function)
    # Last, because what is passed and returned asks for sizes, too.
    for value, dim, size in sizes:
        _replace_dims(value, dim, size, rewriter)


def _dynamic_dims(type_: Any) -> list[int]:
    if not isinstance(type_, ir.RankedTensorType):
        return []
    return [i for i in range(type_.rank) if type_.is_dynamic_dim(i)]


def _has_dynamic(function: Any) -> bool:
    type_ = function_type(function)
    return any(_dynamic_dims(t) for t in (*type_.inputs, *type_.results))


def _check(function: Any) -> None:
    if function.name != "func.func":
        raise SilenceableError("this is no func.func, and only functions take sizes", at=function)
    private = ir.StringAttr.get("private")
    name = symbol_name(function)
    if "sym_visibility" not in function.attributes or function.attributes["sym_visibility"] != private:
        raise SilenceableError(
            f"@{name} is public, and what calls it from outside passes no sizes", at=function
        )
    if not function.regions[0].blocks:
        raise SilenceableError(f"@{name} is declared and has no body", at=function)
    if other := other_references(function):
        raise SilenceableError(f"{other[0].name} refers to @{name}, and is no call", at=other[0])


def _take_sizes(function: Any) -> list[tuple[Any, int, Any]]:
    """Add arguments for sizes to a function, and return for each the tensor and the dimension that it is of."""
    block = function.regions[0].blocks[0]
    sizes = [
        (argument, dim, block.add_argument(ir.IndexType.get(), function.location))
        for argument in list(block.arguments)
        for dim in _dynamic_dims(argument.type)
    ]
    _set_type(function, list(function_type(function).results))
    return sizes


def _return_sizes(function: Any, rewriter: Rewriter) -> None:
    results = list(function_type(function).results)
    count = sum(len(_dynamic_dims(t)) for t in results)
    if not count:
        return
    for block in function.regions[0].blocks:
        last = list(block.operations)[-1].operation
        if last.name == "func.return":
            with rewriter.before(last):
                values = list(last.operands)
                ir.Operation.create("func.return", operands=[*values, *_sizes_of(values)])
            rewriter.erase(last)
    _set_type(function, results + [ir.IndexType.get()] * count)


def _set_type(function: Any, results: list[Any]) -> None:
    """Let a function take what its body takes, and return values of these types."""
    inputs = [argument.type for argument in function.regions[0].blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for name, count in (("arg_attrs", len(inputs)), ("res_attrs", len(results))):
        if name in function.attributes:
            known = list(ir.ArrayAttr(function.attributes[name]))
            filled = [*known, *[ir.DictAttr.get({})] * (count - len(known))]
            function.attributes[name] = ir.ArrayAttr.get(filled)


def _pass_sizes(call: Any, results: list[Any], rewriter: Rewriter) -> list[tuple[Any, int, Any]]:
    """Let a call pass sizes, and have sizes besides these results; return these as `_take_sizes` does."""
    dynamic = [(i, dim) for i, type_ in enumerate(results) for dim in _dynamic_dims(type_)]
    with rewriter.before(call):
        operands = [*call.operands, *_sizes_of(call.operands)]
        attributes = {n: call.attributes[n] for n in call.attributes if n not in ("arg_attrs", "res_attrs")}
        types = [*results, *[ir.IndexType.get()] * len(dynamic)]
        new = ir.Operation.create("func.call", types, operands, attributes)
    values = list(new.results)
    rewriter.replace(call, values[: len(results)])
    return [(values[i], dim, size) for (i, dim), size in zip(dynamic, values[len(results) :], strict=True)]


def _sizes_of(values: Any) -> list[Any]:
    """Return the sizes of the dynamic tensors among values, asked for at the insertion point if need be."""
    return [_size_of(v, dim) for v in values for dim in _dynamic_dims(v.type)]


def _size_of(value: Any, dim: int) -> Any:
    """Return a size of a tensor: what an empty one was made with, seen through structured ops that fill it."""
    made = value
    while (producer := producer_of(made)) is not None and _linalg.get_indexing_maps(producer) is not None:
        outputs = list(producer.operands)[len(producer.operands) - len(producer.results) :]
        made = outputs[list(producer.results).index(made)]
    if producer is not None and producer.name == "tensor.empty":
        return producer.operands[_dynamic_dims(made.type).index(dim)]
    return _tensor.dim(value, index_value(dim))


def _replace_dims(value: Any, dim: int, size: Any, rewriter: Rewriter) -> None:
    """Let what asks a tensor for one of its sizes have it."""
    for use in list(value.uses):
        op = use.owner.operation
        if op.name != "tensor.dim":
            continue
        asked = producer_of(op.operands[1])
        if asked is not None and asked.name == "arith.constant" and _number(asked) == dim:
            rewriter.replace(op, [size])


def _number(constant: Any) -> int:
    return int(ir.IntegerAttr(constant.attributes["value"]).value)
