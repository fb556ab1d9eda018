"""What own ops are given and what they return: payload and attributes as Python values, both ways."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import DefiniteError, Definition
from lhkit.model.trace_record import HandleKind


def arguments_of(definition: Definition, op: Any, state: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return what the operands and attributes of an op are, for the function that applies it."""
    ask = {"op": state.get_payload_ops, "value": state.get_payload_values}
    positional = []
    for operand, value in zip(definition.op.operands, op.operands, strict=True):
        if operand.kind == "param":
            positional.append([python_value(p) for p in state.get_params(value)])
        else:
            positional.append(list(ask[operand.kind](value)))
    typed = zip(definition.op.attributes, definition.attribute_types, strict=True)
    named = {
        a.name: op.attributes[a.name] if t is Any else python_value(op.attributes[a.name])
        for a, t in typed
        if a.name in op.attributes
    }
    return positional, named


def python_value(attribute: Any) -> Any:
    """Return an attribute as a number, string, bool or list of them; others as they are."""
    if isinstance(attribute, ir.UnitAttr):
        return True
    for cls in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr):
        if isinstance(attribute, cls):
            return cls(attribute).value
    if isinstance(attribute, ir.ArrayAttr):
        return [python_value(a) for a in attribute]
    if isinstance(attribute, ir.DenseI64ArrayAttr | ir.DenseI32ArrayAttr):
        return [int(n) for n in attribute]
    return attribute


def fits(attribute: Any, type_: Any) -> bool:
    """Return True if an attribute is of a Python type that an own op declares."""
    value = python_value(attribute)
    if type_ is Any:
        return True
    if type_ in (list[int], list[str]):
        (element,) = type_.__args__
        return isinstance(value, list) and all(type(v) is element for v in value)
    return type(value) is type_


def set_results(
    definition: Definition, op: Any, results: Any, returned: Any, is_gone: Callable[[Any], bool]
) -> None:
    """Hand on what the function of an own op returned as the op's results."""
    kinds = definition.op.results
    name = definition.op.name
    parts = (returned,) if len(kinds) == 1 else () if returned is None else returned
    if not isinstance(parts, tuple) or len(parts) != len(kinds):
        expected = "nothing" if not kinds else f"a tuple of {len(kinds)}"
        raise DefiniteError(f"{name} is to return {expected}, not {_described(returned)}")
    checked = [_checked(name, kind, part, is_gone) for kind, part in zip(kinds, parts, strict=True)]
    setters: Mapping[HandleKind, Any] = {
        "op": results.set_ops,
        "value": results.set_values,
        "param": results.set_params,
    }
    for result, kind, values in zip(op.results, kinds, checked, strict=True):
        setters[kind](result, [_attribute(v, result.type) for v in values] if kind == "param" else values)


def _checked(name: str, kind: HandleKind, part: Any, is_gone: Callable[[Any], bool]) -> list[Any]:
    """Return a part of what was returned as a list of what its kind of handle points to."""
    allowed: tuple[Any, ...] = {
        "op": (ir.Operation, ir.OpView),
        "value": (ir.Value,),
        "param": (int, float, str, ir.Attribute),
    }[kind]
    values = [part] if isinstance(part, allowed) else part
    if not isinstance(values, list | tuple) or not all(isinstance(v, allowed) for v in values):
        raise DefiniteError(f"{name} is to return a list for a handle of kind {kind}, not {_described(part)}")
    if kind == "op":
        values = [v.operation for v in values]
        if any(is_gone(v) for v in values):
            raise DefiniteError(f"{name} returns an operation that it has erased or replaced")
    return list(values)


def _described(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {', '.join(sorted({type(v).__name__ for v in value}))}"
    return "nothing" if value is None else type(value).__name__


def _attribute(value: Any, type_: Any) -> Any:
    """Return a parameter as an attribute of the type that the handle's type names, i64 where it names none."""
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    named = str(type_)
    inner = named.removeprefix("!transform.param<").removesuffix(">")
    integer = ir.IntegerType.get_signless(64) if inner == named else ir.Type.parse(inner)
    return ir.IntegerAttr.get(integer, value)


# The rewriter that own ops are given: the interpreter's, with the mistakes refused that end the process.


class TrackedRewriter:
    """Changes the payload so that handles follow; a `lhkit.model.own_op_definition.Rewriter`."""

    def __init__(self, rewriter: Any) -> None:
        self._rewriter = rewriter
        self._root: Any = None
        self._erased: list[Any] = []

    def erase(self, op: Any) -> None:
        """Erase an operation whose results nothing uses."""
        self._check(op, "erased")
        op = op.operation
        if any(list(result.uses) for result in op.results):
            raise DefiniteError(f"{op.name} cannot be erased: something uses what it computes", at=op)
        self._note(op)
        self._rewriter.erase_op(op)

    def replace(self, op: Any, by: Any) -> None:
        """Replace an operation by another, or by a sequence of values."""
        self._check(op, "replaced")
        op = op.operation
        is_op = isinstance(by, ir.Operation | ir.OpView)
        values = list(by.operation.results) if is_op else list(by)
        old, new = [r.type for r in op.results], [v.type for v in values]
        if old != new:
            spelled = [", ".join(map(str, types)) or "nothing" for types in (old, new)]
            message = f"{op.name} computes {spelled[0]} and cannot be replaced by what computes {spelled[1]}"
            raise DefiniteError(message, at=op)
        self._note(op)
        self._rewriter.replace_op(op, by.operation if is_op else values)

    @contextlib.contextmanager
    def before(self, op: Any) -> Iterator[None]:
        """Create operations before one, with its location."""
        self._check(op, "built before")
        with ir.InsertionPoint(op.operation), op.operation.location:
            yield

    def is_gone(self, op: Any) -> bool:
        """Return True if an operation was erased or replaced."""
        # Operations are the same if their addresses are, and addresses are used again.
        if not any(op.operation == gone for gone in self._erased):
            return False
        return not any(op.operation == other for other in (self._root, *walk(self._root)))

    def _note(self, op: Any) -> None:
        if self._root is None:
            self._root = op
            while self._root.parent is not None:
                self._root = self._root.parent.operation
        self._erased.append(op)

    def _check(self, op: Any, what: str) -> None:
        if not isinstance(op, ir.Operation | ir.OpView):
            raise DefiniteError(f"{type(op).__name__} is no payload operation and cannot be {what}")
        if self.is_gone(op):
            raise DefiniteError(f"an operation that is gone cannot be {what}")
