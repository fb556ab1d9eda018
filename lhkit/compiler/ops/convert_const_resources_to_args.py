"""``lhkit.convert_const_resources_to_args``: constants whose data is a resource become function arguments.

The data itself is no part of this: it lives with the payload, by the names of the resources, which the new
arguments keep as attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import (
    NAME_MARK,
    RESOURCE_MARK,
    called_by,
    callees_first,
    calls_of,
    function_type,
    functions_in,
    other_references,
    symbol_name,
)
from lhkit.compiler.ir.parsing import span_of, walk
from lhkit.compiler.ir.resource_constants import resource_of
from lhkit.compiler.ops.constant_roles import Callee, Role, Roles
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_C_INTERFACE = "llvm.emit_c_interface"
_MOST_NAMED = 4


@transform_op("lhkit.convert_const_resources_to_args")
def convert_const_resources_to_args(target: Ops, *, append_untied: bool = False, rewriter: Rewriter) -> Ops:
    """Turn tensors whose data is a resource (``dense_resource``) into arguments of their functions.

    The arguments are appended in the order of the ops that multiply and add up, the anchors: what is combined
    with the data of the first before it (``matmul_0_prologue``), its operands (``matmul_0_A``,
    ``matmul_0_B``), what it adds to (``matmul_0_C``), what is combined with its result
    (``matmul_0_epilogue``), then those of the next. Anchors are products of matrices and vectors, and
    convolutions, named or ``linalg.generic`` (``matmul``, ``batch_matmul``, ``matvec``, ``dot``, ``conv``);
    transposes, reshapes, casts, packs and broadcasts in between do not matter. Several constants with one
    resource become one argument. The names stand at the arguments as ``lhkit.name``, those of the resources
    as ``lhkit.resource``; the functions get ``llvm.emit_c_interface``. Where one function calls another, the
    arguments are handed on. A second application finds nothing to do.

    Args:
        target: Modules, or functions (``func.func``).
        append_untied: Append constants that lead to no anchor, in program order, as ``constant_0``, …;
            otherwise they are an error.
        rewriter: How the payload is changed.

    Returns:
        The functions of the target that have a body.

    Raises:
        SilenceableError: A constant leads to no anchor; a function that gets arguments is recursive, or
            referred to otherwise than by calls.
    """
    functions = [f for op in target for f in functions_in(op.operation)]
    ordered, recursive = callees_first(functions)
    _check(ordered, recursive, append_untied)
    callees: dict[str, Callee] = {}
    for function in ordered:
        _convert(function, Roles(function, callees), rewriter)
        callees[symbol_name(function)] = _as_callee(function, Roles(function, callees))
    return functions


def _check(ordered: Sequence[Any], recursive: Sequence[Any], append_untied: bool) -> None:
    """Refuse what cannot be converted, before anything is changed."""
    for function in _that_get_arguments(ordered):
        name = symbol_name(function)
        if function in recursive:
            raise SilenceableError(f"@{name} calls itself, and cannot be given arguments", at=function)
        if others := other_references(function):
            notes = [(f"{op.name} refers to it", op) for op in others]
            raise SilenceableError(
                f"@{name} is not only called, and cannot be given arguments", function, notes
            )
    callees: dict[str, Callee] = {}
    for function in ordered:
        roles = Roles(function, callees)
        callees[symbol_name(function)] = _as_callee(function, roles)
        if not append_untied:
            _refuse_untied(function, [c for c in _constants(function) if roles.role_of(c.results[0]) is None])


def _that_get_arguments(functions: Sequence[Any]) -> list[Any]:
    """Return the functions that have constants, or call others that do."""
    calls = {symbol_name(f): {called_by(op) for op in walk(f)} for f in functions}
    getting = {symbol_name(f) for f in functions if _constants(f)}
    while more := {n for n, called in calls.items() if n not in getting and called & getting}:
        getting |= more
    return [f for f in functions if symbol_name(f) in getting]


def _refuse_untied(function: Any, constants: Sequence[Any]) -> None:
    if not constants:
        return
    first = constants[0]
    users: list[Any] = []
    for use in first.results[0].uses:
        users += [] if use.owner.operation in users else [use.owner.operation]
    named = ", ".join(_with_line(op) for op in users[:_MOST_NAMED]) or "nothing"
    more = f" and {len(users) - _MOST_NAMED} more" if len(users) > _MOST_NAMED else ""
    message = (
        f"the constant {resource_of(first)} of @{symbol_name(function)} leads to no product of matrices and no"
        f" convolution; it is used by {named}{more}. With append_untied = true it becomes an argument after the"
        " others"
    )
    notes = [(f"used here by {op.name}", op) for op in users[:_MOST_NAMED]]
    notes += [(f"the constant {resource_of(c)} leads to none either", c) for c in constants[1:]]
    raise SilenceableError(message, first, notes)


def _with_line(op: Any) -> str:
    span = span_of(op.location)
    return op.name if span is None else f"{op.name} (line {span.line})"


def _constants(function: Any) -> list[Any]:
    """Return the tensors of a function whose data is a resource; a vector is no argument that has a buffer."""
    found = (op for op in walk(function) if resource_of(op) is not None)
    return [op for op in found if isinstance(op.results[0].type, ir.RankedTensorType)]


def _as_callee(function: Any, roles: Roles) -> Callee:
    marked = _marks(function)
    names: list[str | None] = []
    for argument, marks in zip(function.regions[0].blocks[0].arguments, marked, strict=True):
        role = None if NAME_MARK in marks else roles.role_of(argument)
        names.append(role.name if role else _name_in(marks))
    return Callee(tuple(names), roles.has_anchors)


def _name_in(marks: Mapping[str, Any]) -> str | None:
    return ir.StringAttr(marks[NAME_MARK]).value if NAME_MARK in marks else None


def _convert(function: Any, roles: Roles, rewriter: Rewriter) -> None:
    """Replace the constants of a function by arguments, and hand constants on from its callers."""
    constants = _constants(function)
    if not constants:
        return
    # Several constants with one resource are one argument, with the first of their roles.
    shared: dict[str, list[Any]] = {}
    for op in constants:
        shared.setdefault(str(op.attributes["value"]), []).append(op)
    tied: list[tuple[Role, int, list[Any]]] = []
    untied: list[list[Any]] = []
    for i, ops in enumerate(shared.values()):
        found = [r for op in ops if (r := roles.role_of(op.results[0])) is not None]
        if found:
            tied.append((min(found), i, ops))
        else:
            untied.append(ops)
    named = [(role.name, ops) for role, _, ops in sorted(tied, key=lambda t: t[:2])]
    named += [(f"constant_{i}", ops) for i, ops in enumerate(untied)]
    calls = calls_of(function)
    values = [ops[0].attributes["value"] for _, ops in named]
    _append(function, named, rewriter)
    for call in calls:
        _hand_on(call, values, rewriter)


def _append(function: Any, named: Sequence[tuple[str, Sequence[Any]]], rewriter: Rewriter) -> None:
    block = function.regions[0].blocks[0]
    marks = _marks(function)
    taken = {_name_in(m) for m in marks}
    for wanted, ops in named:
        name, number = wanted, 0
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        place = ir.Location.name(name, childLoc=ops[0].location)
        argument = block.add_argument(ops[0].results[0].type, place)
        resource = ir.StringAttr.get(resource_of(ops[0]))
        marks.append({NAME_MARK: ir.StringAttr.get(name), RESOURCE_MARK: resource})
        for op in ops:
            op.results[0].replace_all_uses_with(argument)
            rewriter.erase(op)
    type_ = function_type(function)
    inputs = [a.type for a in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(type_.results)))
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marks])
    function.attributes[_C_INTERFACE] = ir.UnitAttr.get()


def _marks(function: Any) -> list[dict[str, Any]]:
    """Return the attributes of each argument of a function."""
    if "arg_attrs" not in function.attributes:
        return [{} for _ in function_type(function).inputs]
    listed = ir.ArrayAttr(function.attributes["arg_attrs"])
    return [{entry.name: entry.attr for entry in ir.DictAttr(a)} for a in listed]


def _hand_on(call: Any, values: Sequence[Any], rewriter: Rewriter) -> None:
    """Give a call more operands: constants of its function, which become arguments of that in turn."""
    with rewriter.before(call):
        constants = [
            ir.Operation.create("arith.constant", [v.type], attributes={"value": v}).result for v in values
        ]
        attributes = {n: call.attributes[n] for n in call.attributes}
        results = [r.type for r in call.results]
        new = ir.Operation.create("func.call", results, [*call.operands, *constants], attributes)
    rewriter.replace(call, new)
