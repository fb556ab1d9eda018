"""Arguments of an entry beyond the root, bound to what the payload holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.elementwise_building import match_attributes
from lhkit.compiler.ir.functions import function_type, symbol_name
from lhkit.compiler.ir.sources import Places, Source
from lhkit.model.errors import UsageError, usage_error

_OP_HANDLE = re.compile(r"!transform\.(any_op|op<.*>)")
_ANY_VALUE = "!transform.any_value"
_INTEGERS = re.compile(r"#-?\d+(;-?\d+)*")


def bind_trailing_arguments(entry: Any, bind: Sequence[str], source: Source) -> list[Any]:
    """Give the trailing arguments of an entry their payload ops, in place; return what stands for each.

    The i-th argument after the root becomes what the i-th binding says: a handle to all payload ops of a
    name, with ``^`` before the name a handle to all their results, with ``#`` integers (``#8;16``). It is made
    before the first step, and spelled as in the pass option ``debug-bind-trailing-args``. (Calling the entry
    from a wrapper would not do: an include consumes the root first and so kills the other handles.)

    Raises:
        UsageError: No root, more or fewer names than arguments after it, or one that cannot be bound so.
    """
    types = list(function_type(entry).inputs)
    name, trailing = symbol_name(entry), types[1:]
    root = types[0] if types else "no argument"
    if not _OP_HANDLE.fullmatch(str(root)):
        raise _refusal(
            entry.location,
            source,
            f"@{name} of {source.name} takes {root} where the payload's root goes",
            "The first argument of an entry is a handle to ops: %root: !transform.any_op.",
        )
    if len(trailing) != len(bind):
        usage = " ".join("--bind OPNAME" for _ in trailing) or "no --bind"
        raise _refusal(
            entry.location,
            source,
            f"@{name} of {source.name} takes {len(trailing)} arguments after the root, "
            f"and {len(bind)} are bound",
            f"Give {usage} (bind=[…] in Python): one for each argument, in order.",
        )
    if not bind:
        return []
    block = entry.regions[0].blocks[0]
    for argument, binding in zip(list(block.arguments)[1:], bind, strict=True):
        if not _takes(argument.type, binding):
            raise _refusal(
                argument.location,
                source,
                f"@{name} of {source.name} has an argument of type {argument.type}, "
                f"to which {binding!r} cannot be bound",
                "OPNAME binds payload ops to an op handle, ^OPNAME their results to a value handle, "
                "#1;2;3 integers to a parameter.",
            )
    made = []
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        for argument, binding in zip(list(block.arguments)[1:], bind, strict=True):
            made.append(_bound(block.arguments[0], binding, argument.type))
            argument.replace_all_uses_with(made[-1])
    for i in reversed(range(1, len(types))):
        block.erase_argument(i)
    entry.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types[:1], []))
    if "arg_attrs" in entry.attributes:
        kept = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))[:1]
        entry.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    return made


def _refusal(location: Any, source: Source, message: str, advice: str) -> UsageError:
    place = span_of(location)
    at = None if place is None else Places([source]).known(place)
    return usage_error(message, advice, at=at, text=source.content.decode(errors="replace"))


def _takes(type_: Any, binding: str) -> bool:
    """Return True if an argument of that type can be bound so."""
    text = str(type_)
    if binding.startswith("#"):
        return _INTEGERS.fullmatch(binding) is not None and text.startswith("!transform.param<")
    return text == _ANY_VALUE if binding.startswith("^") else _OP_HANDLE.fullmatch(text) is not None


def _bound(root: Any, binding: str, type_: Any) -> Any:
    if binding.startswith("#"):
        return _integers([int(n) for n in binding[1:].split(";")], type_)
    if not binding.startswith("^"):
        return _match(root, binding, type_)
    return _results(_match(root, binding[1:], ir.Type.parse("!transform.any_op")), type_)


def _results(matched: Any, type_: Any) -> Any:
    """Return a value handle to all results of the payload ops of a handle."""
    attributes = {"raw_position_list": ir.DenseI64ArrayAttr.get([]), "is_all": ir.UnitAttr.get()}
    get = ir.Operation.create("transform.get_result", [type_], [matched], attributes)
    return get.results[0]


def _integers(numbers: Sequence[int], type_: Any) -> Any:
    i64 = ir.IntegerType.get_signless(64)
    each = [
        ir.Operation.create(
            "transform.param.constant", results=[type_], attributes={"value": ir.IntegerAttr.get(i64, n)}
        ).results[0]
        for n in numbers
    ]
    return ir.Operation.create("transform.merge_handles", results=[type_], operands=each).results[0]


def _match(root: Any, op_name: str, type_: Any) -> Any:
    """Return a handle to all payload ops of a name."""
    attributes = match_attributes(op_name)
    match = ir.Operation.create("transform.structured.match", [type_], [root], attributes)
    return match.results[0]
