"""Partial evaluation: bound arguments become constants, and what depends on constants alone is split off.

A schedule that packs, transposes, pads or casts a constant operand as a whole, before the loops that read it,
leaves a part that computes the same in every call. That part becomes a module of its own, which runs once when
the kernel is built; the kernel takes its results as further arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_ops, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.resource_constants import bound_name, element_array, resource_of
from lhkit.model.errors import usage_error

# Ops without effects that a part may consist of.
_PURE = ("affine.", "arith.", "index.", "linalg.", "math.", "scf.", "tensor.", "ub.", "vector.")
# They compute nothing: what they give is a view of their operand, or cheap to make again.
_VIEWS = {"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"}
# Larger results are not worth keeping if they are more than twice as large as what they come from: reading a
# broadcast matrix costs more than making it again. Ends of small matrices are filled up to vectors.
_SMALL_BYTES = 1 << 16
# Ops that put the elements of an operand in other places.
MOVES = {*_VIEWS, "linalg.copy", "linalg.pack", "linalg.transpose", "tensor.insert_slice", "tensor.pad"}


def bound_data(bound: Mapping[int, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the data of bound arguments by the names of their resources."""
    return {bound_name(i): array for i, array in bound.items()}


def bind_arguments(module: Any, function: Any, bound: Mapping[int, np.ndarray], first_name: int = 0) -> None:
    """Turn arguments of a function, in place, into constants whose data is a resource of `bound_name`.

    The names are numbered as the arguments, from ``first_name`` on.

    Raises:
        UsageError: Another function of the payload calls it.
    """
    if not bound:
        return
    name = symbol_name(function)
    if any(called_by(op) == name for op in walk(module.operation)):
        advice = "Bind the arguments of a function that nothing else calls."
        raise usage_error(f"arguments of @{name} cannot be bound: the payload calls it", advice)
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        for i, array in sorted(bound.items()):
            argument = block.arguments[i]
            shaped = ir.ShapedType(argument.type)
            type_ = ir.RankedTensorType.get(array.shape, shaped.element_type)
            value = ir.Attribute.parse(f'dense_resource<"{bound_name(first_name + i)}"> : {type_}')
            constant = ir.Operation.create("arith.constant", [type_], attributes={"value": value}).result
            if type_ != argument.type:
                constant = ir.Operation.create("tensor.cast", [argument.type], [constant]).result
            argument.replace_all_uses_with(constant)
    _drop_arguments(function, bound)


def split_constant_part(
    module: Any, name: str, first_constant: int, names: Collection[str] | None = None
) -> tuple[Any | None, list[tuple[str, tuple[int, ...]]]]:
    """Split off what a function computes from constants alone, in place.

    Args:
        module: A payload, scheduled or not.
        name: The function. Its arguments from ``first_constant`` on are constants too.
        first_constant: The number of arguments that calls give.
        names: The ops that the part may consist of; None for all without effects.

    Returns:
        A module in which the function of that name takes the constant arguments and returns what was computed
        from constants, and the dtypes and shapes of these tensors, which the function takes now after all other
        arguments. None and no types if there is no such part.
    """
    function = next(op for op in function_ops(module) if symbol_name(op) == name)
    block = function.regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    if len(block.arguments) == first_constant and not any(resource_of(op) is not None for op in ops):
        return None, []
    if len(function.regions[0].blocks) != 1 or any(called_by(op) == name for op in walk(module.operation)):
        return None, []
    part = _constant_ops(ops, set(list(block.arguments)[first_constant:]))
    if names is not None:
        part = {i: count for i, count in part.items() if ops[i].name in names}
    kept = _worth_keeping(ops, part)
    if not kept:
        return None, []
    places = [(index, number) for index, op in enumerate(ops) for number in kept.get(index, ())]
    # Parsed again, its resources would get other names.
    apart = ir.Module.create(ir.Location.unknown(module.context))
    for op in module.body.operations:
        op.operation.clone(ir.InsertionPoint(apart.body))
    _keep_only(apart, name, places, first_constant)
    values = [ops[index].results[number] for index, number in places]
    types = [element_array(value.type)[:2] for value in values]
    _take_as_arguments(function, values)
    for op in reversed(ops):
        if op.name.startswith(_PURE) and op.results and not any(list(r.uses) for r in op.results):
            op.erase()
    return apart, types


def _constant_ops(ops: list[Any], constant: set[Any]) -> dict[int, int]:
    """Return the ops that read constants alone, by index, with the bytes of the weights that they read."""
    found: dict[int, int] = {}
    weights = {value: _nbytes(value.type) for value in constant}  # Bytes of weights behind each value
    for index, op in enumerate(ops):
        inside = [op, *(o for o in walk(op) if o != op)]
        if not op.results or not all(o.name.startswith(_PURE) for o in inside):
            continue
        if any("memref<" in str(v.type) for o in inside for v in (*o.operands, *o.results)):
            continue
        captured = _values_from_outside(op, inside)
        if any(value not in weights for value in captured):
            continue
        is_weight = resource_of(op) is not None
        count = _nbytes(op.results[0].type) if is_weight else max((weights[v] for v in captured), default=0)
        weights.update(dict.fromkeys(op.results, count))
        if not is_weight and count:
            found[index] = count
    return found


def _values_from_outside(op: Any, inside: list[Any]) -> set[Any]:
    """Return the values that an op and those in it read and that are defined outside of it."""
    own = {result for o in inside for result in o.results if o != op}
    own |= {a for o in inside for region in o.regions for block in region.blocks for a in block.arguments}
    return {operand for o in inside for operand in o.operands} - own


def _worth_keeping(ops: list[Any], part: Mapping[int, int]) -> dict[int, list[int]]:
    """Return which results of which ops are to be kept: what other ops read, as far as something was computed.

    Where the last op of a part is a view, what it is a view of is kept; a result that is too large is computed
    again in every call, from what is kept.
    """
    order = {op: index for index, op in enumerate(ops)}
    inner = dict(part)
    kept: dict[int, list[int]] = {}
    for index in sorted(part, reverse=True):
        op = ops[index]
        read = [n for n, r in enumerate(op.results) if any(_top(u.owner, order) not in inner for u in r.uses)]
        if not read:
            continue
        static = all(_nbytes(op.results[n].type) for n in read)
        large = any(_nbytes(op.results[n].type) > max(2 * part[index], _SMALL_BYTES) for n in read)
        if op.name in _VIEWS or large or not static:
            del inner[index]
        else:
            kept[index] = read
    return kept


def _top(op: Any, order: Mapping[Any, int]) -> int:
    """Return the index of the op of the function's body that an op is or is in."""
    found = op.operation
    while found not in order:
        found = found.parent.operation
    return order[found]


def _nbytes(type_: Any) -> int:
    """Return how many bytes a tensor has; 0 for other types, and where it is not known."""
    if not isinstance(type_, ir.RankedTensorType) or not ir.ShapedType(type_).has_static_shape:
        return 0
    return element_array(type_)[2] or 0


def _keep_only(module: Any, name: str, places: list[tuple[int, int]], first_constant: int) -> None:
    """Reduce a function, in place, to these results of its ops, which it returns, and what they need."""
    function = next(op for op in function_ops(module) if symbol_name(op) == name)
    block = function.regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    values = [ops[index].results[number] for index, number in places]
    *others, terminator = ops
    with ir.InsertionPoint(terminator), ir.Location.unknown():
        ir.Operation.create("func.return", operands=values)
    terminator.erase()
    for op in reversed(others):
        if not any(list(r.uses) for r in op.results):
            op.erase()
    _set_type(function, [v.type for v in values])
    _drop_arguments(function, range(first_constant))


def _take_as_arguments(function: Any, values: list[Any]) -> None:
    block = function.regions[0].blocks[0]
    for value in values:
        value.replace_all_uses_with(block.add_argument(value.type, ir.Location.unknown(value.context)))
    _set_type(function, list(function_type(function).results))


def _drop_arguments(function: Any, dropped: Collection[int]) -> None:
    """Remove arguments that nothing reads from a function, in place."""
    for i in sorted(dropped, reverse=True):
        function.regions[0].blocks[0].erase_argument(i)
    _set_type(function, list(function_type(function).results))


def _set_type(function: Any, results: list[Any]) -> None:
    """Let a function take what its body takes, and return values of these types."""
    inputs = [argument.type for argument in function.regions[0].blocks[0].arguments]
    with function.context:
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for stale in ("arg_attrs", "res_attrs"):
        if stale in function.attributes:
            del function.attributes[stale]
