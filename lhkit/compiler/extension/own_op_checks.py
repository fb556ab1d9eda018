"""Own ops in a schedule, checked before anything runs: kinds of handles, attributes with their types."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.extension.own_op_registry import find_definition
from lhkit.compiler.extension.own_op_values import fits
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.parsing import failure_in, walk
from lhkit.model.errors import Diagnostic, error_for
from lhkit.model.own_op_definition import Definition, OwnOp
from lhkit.worker.requests import Source

_KINDS = {
    "!transform.any_op": "op",
    "!transform.op<": "op",
    "!pdl.operation": "op",
    "!transform.any_value": "value",
}
_WORDS = {"op": "a handle to ops", "value": "a handle to values", "param": "a parameter"}


def check_own_ops(module: Any, sources: Sequence[Source]) -> None:
    """Refuse a schedule with an own op that is not used as it is defined.

    Raises:
        ScheduleError: A handle of another kind, an attribute that is missing, unknown or of another type.
    """
    problems = []
    for op in walk(module.operation):
        definition = find_definition(op.name)
        if definition is None:
            continue
        for message in _problems(op, definition):
            notes = (Diagnostic("note", f"it is used as {form_of(definition.op)}"),)
            problems.append(Diagnostic("error", f"{op.name}: {message}", span_of(op.location), notes))
    if problems:
        message = f"{sources[0].name} does not verify"
        raise error_for(failure_in(sources, "schedule-verify", message, tuple(problems), stage="parse"))


def _problems(op: Any, definition: Definition) -> Iterator[str]:
    own = definition.op
    for operand, value in zip(own.operands, op.operands, strict=True):
        if (kind := _kind(value.type)) != operand.kind:
            wanted, given = _WORDS[operand.kind], _WORDS[kind]
            yield f"{operand.name} is to be {wanted}, and {value.type} is {given}"
    for i, (wanted_kind, result) in enumerate(zip(own.results, op.results, strict=True)):
        if (kind := _kind(result.type)) != wanted_kind:
            yield f"result {i} is {_WORDS[wanted_kind]}, and {result.type} is {_WORDS[kind]}"
    known = {a.name: t for a, t in zip(own.attributes, definition.attribute_types, strict=True)}
    for attribute in own.attributes:
        if attribute.default is None and attribute.name not in op.attributes:
            yield f"the attribute {attribute.name} ({attribute.type}) is missing"
    for name in op.attributes:
        if name in known:
            if not fits(op.attributes[name], known[name]):
                spelled = next(a.type for a in own.attributes if a.name == name)
                yield f"the attribute {name} is to be of type {spelled}, and {op.attributes[name]} is not"
        elif "." not in name:
            near = difflib.get_close_matches(name, known, 1)
            yield f"there is no attribute {name}" + (f"; is {near[0]} meant?" if near else "")


def _kind(type_: Any) -> str:
    text = str(type_)
    return next((kind for start, kind in _KINDS.items() if text.startswith(start)), "param")


def form_of(own: OwnOp) -> str:
    """Return how an own op is written in a schedule."""
    types = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.any_param"}
    operands = ", ".join(f"%{o.name}" for o in own.operands)
    attributes = ", ".join(f"{a.name} = {a.type}" + ("" if a.default is None else "?") for a in own.attributes)
    given = ", ".join(types[o.kind] for o in own.operands)
    results = ", ".join(types[r] for r in own.results)
    written = f" {{{attributes}}}" if attributes else ""
    return f'"{own.name}"({operands}){written} : ({given}) -> ({results})'
