"""A function with its scheduled parts put into it, on demand with clocks between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.interpreter.application import apply_schedule, parse_payload
from lhkit.compiler.ir.bindings import host_module, ir, new_context, passmanager
from lhkit.compiler.ir.functions import called_by, function_ops, function_type, functions_of, symbol_name
from lhkit.compiler.ir.parsing import producer_of, walk
from lhkit.compiler.ir.resource_constants import resource_of, resource_uses
from lhkit.compiler.ops.debug_ops import read_clock
from lhkit.model.errors import LhkitError
from lhkit.worker.requests import AppliedPayload, AssembleParts, ScheduledPart

_func: Any = host_module("dialects.func")


def assemble_parts(request: AssembleParts) -> AppliedPayload:
    """Return a payload whose function has its scheduled parts in it."""
    with new_context():
        module = parse_payload(request.payload)
        names = {part.name for part in request.parts}
        function = next(f for f in function_ops(module) if symbol_name(f) == request.function)
        calls = [
            o.operation for o in function.regions[0].blocks[0].operations if called_by(o.operation) in names
        ]
        bound = [function.regions[0].blocks[0].arguments[i] for i in request.bound]
        for part in request.parts:
            constants = _constant_operands([call for call in calls if called_by(call) == part.name], bound)
            _take(module, part.name, _scheduled(part, constants))
        if request.added == "clocks":
            _return_too(function, [_seconds(calls, function)])
        elif request.added == "operands":
            first = {called_by(call): call for call in reversed(calls)}
            _return_too(function, [v for part in request.parts for v in first[part.name].operands])
        passmanager.PassManager.parse("builtin.module(inline,symbol-dce)").run(module.operation)
        return AppliedPayload(
            text=str(module), functions=functions_of(module), resources=tuple(resource_uses(module))
        )


def _constant_operands(calls: Sequence[Any], bound: Sequence[Any]) -> list[int]:
    """Return the operands that are tensors and constant, or arguments that are bound, in each of the calls."""
    return [
        i
        for i, values in enumerate(zip(*(call.operands for call in calls), strict=True))
        if isinstance(values[0].type, ir.RankedTensorType)
        and all(value in bound or _is_constant(value) for value in values)
    ]


def _is_constant(value: Any) -> bool:
    producer = producer_of(value)
    return producer is not None and producer.name == "arith.constant"


def _scheduled(part: ScheduledPart, constants: Sequence[int]) -> Any:
    """Apply a part's schedule while constants stand for arguments that are constant, of whatever value.

    A schedule sees by them what may be computed ahead of calls. Where it does not apply so, as one that was
    proposed for arguments may not, or where one ends up in another function, which the argument does not reach,
    it is applied to the arguments themselves.
    """
    scheduled = parse_payload(part.payload)
    function = next(f for f in function_ops(scheduled) if symbol_name(f) == part.name)
    arguments = list(function.regions[0].blocks[0].arguments)
    place_of: dict[str | None, int] = {}
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), ir.Location.unknown():
        for i in constants:
            value = ir.Attribute.parse(f'dense_resource<"lhkit.stand_in.{i}"> : {arguments[i].type}')
            attributes = {"value": value}
            constant = ir.Operation.create("arith.constant", [arguments[i].type], attributes=attributes)
            arguments[i].replace_all_uses_with(constant.result)
            # A context numbers the name of a resource that it has already.
            place_of[resource_of(constant)] = i
    try:
        apply_schedule(scheduled, part.payload, part.application)
    except LhkitError:
        if not constants:
            raise
        return _scheduled(part, [])
    if not constants:
        return scheduled
    function = next(f for f in function_ops(scheduled) if symbol_name(f) == part.name)
    stand_ins = [op for op in walk(function) if resource_of(op) in place_of]
    if sum(resource_of(op) in place_of for op in walk(scheduled.operation)) > len(stand_ins):
        return _scheduled(part, [])
    for op in stand_ins:
        place = place_of[resource_of(op)]
        op.results[0].replace_all_uses_with(function.regions[0].blocks[0].arguments[place])
        op.erase()
    return scheduled


def _take(module: Any, name: str, scheduled: Any) -> None:
    """Put a scheduled part in the place of the part as it was, with what it refers to."""
    there = {symbol_name(op.operation): op.operation for op in module.body.operations}
    there.pop(name).erase()
    for op in [o.operation for o in scheduled.body.operations if "sym_name" in o.operation.attributes]:
        symbol = symbol_name(op)
        if symbol != name and symbol in there:
            free = next(n for i in itertools.count() if (n := f"{symbol}_{i}") not in there)
            ir.SymbolTable.replace_all_symbol_uses(symbol, free, scheduled.operation)
            op.attributes["sym_name"] = ir.StringAttr.get(free)
            symbol = free
        if symbol == name:
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        there[symbol] = op
        op.detach_from_parent()
        module.body.append(op)


def _seconds(calls: Sequence[Any], function: Any) -> Any:
    """Read the clock of dispatch tracing before each call and at the end; return the readings as a tensor."""
    end = function.regions[0].blocks[0].operations[len(function.regions[0].blocks[0].operations) - 1]
    readings = []
    for call in (*calls, end.operation):
        with ir.InsertionPoint(call), call.location:
            readings.append(read_clock(call))
    with ir.InsertionPoint(end), function.location:
        type_ = ir.RankedTensorType.get([len(readings)], ir.F64Type.get())
        return ir.Operation.create("tensor.from_elements", [type_], readings).results[0]


def _return_too(function: Any, values: Sequence[Any]) -> None:
    """Let a function return more values."""
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    with ir.InsertionPoint(end), end.location:
        _func.ReturnOp([*end.operands, *values])
    end.erase()
    type_ = function_type(function)
    results = [*type_.results, *(v.type for v in values)]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(type_.inputs), results))
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
