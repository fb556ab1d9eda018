"""Validation of the arguments of a builder call, as the form of a step."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compose.builder.blocks import BuiltHandle, error_here
from lhkit.compose.builder.op_functions import (
    BODY_ARGUMENTS,
    BUILT_REGIONS,
    FAILURES,
    RESERVED,
    Caller,
    Parameter,
    parameters_of,
    pattern_form,
)
from lhkit.compose.builder.step_results import attribute_data, typed
from lhkit.model.op_catalogue import CatalogueOp, OperandSpec
from lhkit.model.step_form import AttributeValue, Form, FormBlock, TypedName

Place = str | int | None


def read_call(builder: Caller, op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]) -> Form:
    """Return the form of a step without results and without the regions that are built."""
    reader = _Reader(builder, op)
    for parameter, value, place in _assigned(op, arguments, named):
        reader.take(parameter, value, place)
    return reader.form()


def _assigned(
    op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]
) -> list[tuple[Parameter, Any, Place]]:
    """Return each given parameter, with its value and its position in the call."""
    parameters = parameters_of(op)
    positional = [p for p in parameters if p.is_positional] or [p for p in parameters if p.is_required]
    found: list[tuple[Parameter, Any, Place]] = []
    for i, parameter in enumerate(positional[: len(arguments)]):
        if parameter.takes_rest and parameter is positional[-1] and isinstance(arguments[i], BuiltHandle):
            found.append((parameter, arguments[i:], i))
        else:
            found.append((parameter, arguments[i], i))
    rest = bool(found) and positional[-1].takes_rest and isinstance(arguments[len(positional) - 1 :][:1], tuple)
    if len(arguments) > len(positional) and not (
        rest and isinstance(arguments[len(positional) - 1], BuiltHandle)
    ):
        listed = ", ".join(p.name for p in positional) or "none"
        message = f"{op.name} takes {listed} without a name, and {len(arguments)} arguments are given so"
        raise error_here(message, argument=len(positional))
    known = {p.name: p for p in parameters}
    for name, value in named.items():
        is_body = name == BODY_ARGUMENTS and any(r.kind == "body" for r in op.regions)
        if name not in known and ((name in RESERVED and op.results) or is_body):
            continue
        if name not in known:
            raise _unknown(op, name, list(known))
        if any(p.name == name for p, _, _ in found):
            raise error_here(f"{op.name} is given {name!r} twice", argument=name)
        found.append((known[name], value, name))
    given = [(p, v, place) for p, v, place in found if v is not None]
    for parameter in parameters:
        if parameter.is_required and not any(p.name == parameter.name for p, _, _ in given):
            raise error_here(f"{op.name} needs {parameter.name!r}: {parameter.describe()}")
    return given


def _unknown(op: CatalogueOp, name: str, known: list[str]) -> Exception:
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    advice = f"It takes {', '.join(known) or 'none'}." + (f" Near it: {', '.join(near)}." if near else "")
    return error_here(f"{op.name} has no argument {name!r}", advice, argument=name)


class _Reader:
    """Takes the arguments of one call."""

    def __init__(self, builder: Caller, op: CatalogueOp) -> None:
        self._builder = builder
        self._op = op
        self._operands: dict[str, tuple[TypedName, ...]] = {}
        self._attributes: dict[str, AttributeValue] = {}
        self._regions: dict[str, FormBlock] = {}

    def form(self) -> Form:
        """Return the form, groups in the catalogue's order."""
        op = self._op
        failures = op.attribute(FAILURES)
        if failures is not None and failures.is_required:
            self._attributes.setdefault(FAILURES, failures.cases[0].name)
        return Form(
            op.name,
            tuple((o.name, self._operands[o.name]) for o in op.operands if self._operands.get(o.name)),
            tuple((a.name, self._attributes[a.name]) for a in op.attributes if a.name in self._attributes),
            regions=tuple(
                self._regions.get(r.name, FormBlock())
                for r in op.regions
                if r.name in self._regions or r.count == "one"
            )
            if not any(r.kind in BUILT_REGIONS for r in op.regions)
            else (),
        )

    def take(self, parameter: Parameter, value: Any, place: Place) -> None:
        """Take one argument."""
        try:
            self._take(parameter, value)
        except ValueError as error:
            message = f"{self._op.name}: {parameter.name!r} takes {parameter.describe()}; {error}"
            raise error_here(message, argument=place) from None

    def _take(self, parameter: Parameter, value: Any) -> None:
        spec = parameter.attribute
        if spec is not None:
            data, handles = attribute_data(value, spec)
            if data is not None and not (data is False and spec.kind == "flag"):
                self._attributes[spec.name] = data
            operand = parameter.operand
            if operand is None and handles:
                operand = next((o for o in self._op.operands if o.name == "dynamic_options"), None)
            if handles and operand is None:
                raise ValueError("a handle is not allowed there")
            if handles and operand is not None:
                self._operands[operand.name] = self._handles(handles, operand)
        elif parameter.operand is not None:
            many = parameter.operand.count == "many"
            given = value if many and isinstance(value, tuple | list) else (value,)
            self._operands[parameter.operand.name] = self._handles(given, parameter.operand)
        elif parameter.region is not None:
            self._regions[parameter.region.name] = self._region(parameter.region.kind, value)

    def _region(self, kind: str, value: Any) -> FormBlock:
        if isinstance(value, FormBlock):
            return value
        if kind == "payload":
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is not a string")
            return FormBlock(text=value)
        listed = value if isinstance(value, list | tuple) else (value,)
        return FormBlock(steps=tuple(pattern_form(self._builder, kind, v) for v in listed))

    def _handles(self, given: Sequence[Any], spec: OperandSpec) -> tuple[TypedName, ...]:
        for value in given:
            if isinstance(value, tuple | list):
                raise ValueError(f"{len(value)} results of a step are given; unpack them: a, b = …")
            if not isinstance(value, BuiltHandle):
                raise ValueError(f"{value!r} is not a handle")
            if value.kind is not None and value.kind not in spec.kinds:
                raise ValueError(f"{value} is a {value.kind} handle ({value.type})")
            if not self._builder.block.sees(value.block):
                raise ValueError(
                    f"{value} is not defined here: it belongs to another block or another schedule"
                )
        return typed(given)
