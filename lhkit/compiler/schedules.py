"""Schedule modules: their sequences and knobs, libraries merged in, knobs set, arguments bound."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compiler.bindings import interpreter, ir
from lhkit.compiler.diagnostics import span_of
from lhkit.compiler.parsing import parse_module, walk
from lhkit.compiler.signatures import function_type, symbol_name
from lhkit.compiler.sources import Source, failure_in
from lhkit.model.errors import error_for, usage_error
from lhkit.model.failure import Diagnostic
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.schedule import NamedSequence

SEQUENCE_MARK = "transform.with_named_sequence"
_OP_HANDLE = re.compile(r"!transform\.(any_op|op<.*>)")
_ANY_VALUE = "!transform.any_value"
_INTEGERS = re.compile(r"#-?\d+(;-?\d+)*")


def parse_schedule(sources: Sequence[Source]) -> Any:
    """Return the module of a schedule, the first source, with the libraries after it merged in."""
    module = parse_module(sources[0])
    home = home_of(module)
    for source in sources[1:]:
        library = parse_module(source)
        try:
            interpreter.copy_symbols_and_merge_into(home, library)
        except (ValueError, ir.MLIRError) as error:
            message = f"{source.name} cannot be merged into {sources[0].name}"
            diagnostics = (Diagnostic("error", str(error)),)
            raise error_for(failure_in(sources, "schedule-verify", message, diagnostics)) from None
    return module


def home_of(module: Any) -> Any:
    """Return the (possibly nested) module operation that holds the named sequences."""
    for op in (module.operation, *walk(module.operation)):
        if op.name == "builtin.module" and SEQUENCE_MARK in op.attributes:
            return op
    return module.operation


def sequence_ops(module: Any) -> list[Any]:
    """Return the ``transform.named_sequence`` operations of a module (or its operation), nested ones too."""
    return [op for op in walk(module.operation) if op.name == "transform.named_sequence"]


def sequences_of(module: Any) -> tuple[NamedSequence, ...]:
    """Return the named sequences of a module, in order."""
    return tuple(_sequence(op) for op in sequence_ops(module))


def _sequence(op: Any) -> NamedSequence:
    span = span_of(op.location)
    visibility = op.attributes["sym_visibility"] if "sym_visibility" in op.attributes else None
    return NamedSequence(
        name=symbol_name(op),
        arguments=tuple(str(t) for t in function_type(op).inputs),
        line=span.line if span else 1,
        is_public=visibility is None or ir.StringAttr(visibility).value == "public",
        is_declaration=len(op.regions[0].blocks) == 0,
    )


def _knob_ops(module: Any) -> list[tuple[str, Any]]:
    """Return the knobs of a module as (name, operation), several operations of one name among them."""
    names = {"transform.tune.knob", "transform.tune.alternatives"}
    return [
        (ir.StringAttr(op.attributes["name"]).value, op) for op in walk(module.operation) if op.name in names
    ]


def knobs_of(module: Any) -> tuple[Knob, ...]:
    """Return the knobs of a schedule in order, one for each name."""
    knobs: dict[str, Knob] = {}
    for name, op in _knob_ops(module):
        if name not in knobs:
            knobs[name] = _knob(name, op)
    return tuple(knobs.values())


def _knob(name: str, op: Any) -> Knob:
    span = span_of(op.location)
    line = span.line if span else 1
    if op.name == "transform.tune.alternatives":
        selected = op.attributes["selected_region_attr"] if "selected_region_attr" in op.attributes else None
        default = None if selected is None else ir.IntegerAttr(selected).value
        return Knob(name, tuple(range(len(op.regions))), default, line)
    options = op.attributes["options"]
    values = tuple(_value(o) for o in ir.ArrayAttr(options)) if isinstance(options, ir.ArrayAttr) else ()
    return Knob(name, values, _value(op.attributes["selected"]) if "selected" in op.attributes else None, line)


def _value(attribute: Any) -> KnobValue:
    for cls in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr):
        if isinstance(attribute, cls):
            return cls(attribute).value
    return str(attribute)


def set_knobs(module: Any, values: Mapping[str, KnobValue]) -> None:
    """Select a value for every knob, in place."""
    for name, op in _knob_ops(module):
        if name not in values:
            continue
        if op.name == "transform.tune.alternatives":
            i32 = ir.IntegerType.get_signless(32)
            op.attributes["selected_region_attr"] = ir.IntegerAttr.get(i32, int(values[name]))
        else:
            op.attributes["selected"] = _attribute(op, values[name])


def _attribute(op: Any, value: KnobValue) -> Any:
    options = op.attributes["options"]
    if isinstance(options, ir.ArrayAttr):
        for option in ir.ArrayAttr(options):
            if _value(option) == value:
                return option
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return ir.FloatAttr.get(ir.F64Type.get(), value)


def find_entry(module: Any, entry: str) -> Any:
    """Return the operation of the named sequence called ``entry``."""
    return next(op for op in sequence_ops(module) if symbol_name(op) == entry and len(op.regions[0].blocks))


def bind_trailing_arguments(entry: Any, bind: Sequence[str], *, source: str) -> list[Any]:
    """Give the trailing arguments of an entry their payload ops, in place; return what stands for each.

    The i-th argument after the root becomes what the i-th binding says: a handle to all payload ops of a
    name, with ``^`` before the name a handle to all their results, with ``#`` integers (``#8;16``). It is made
    before the first step, and spelled as in the pass option ``debug-bind-trailing-args``. (Calling the entry
    from a wrapper would not do: an include consumes the root first and so kills the other handles.)

    Raises:
        UsageError: More or fewer names than trailing arguments, or an argument that cannot be bound so.
    """
    types = list(function_type(entry).inputs)
    name, trailing = symbol_name(entry), types[1:]
    if len(trailing) != len(bind):
        usage = " ".join("--bind OPNAME" for _ in trailing) or "no --bind"
        raise usage_error(
            f"@{name} of {source} takes {len(trailing)} arguments after the root, and {len(bind)} are bound",
            f"Give {usage} (bind=[…] in Python): one for each argument, in order.",
        )
    if not bind:
        return []
    for type_, binding in zip(trailing, bind, strict=True):
        if not _takes(type_, binding):
            raise usage_error(
                f"@{name} of {source} has an argument of type {type_}, to which {binding!r} cannot be bound",
                "OPNAME binds payload ops to an op handle, ^OPNAME their results to a value handle, "
                "#1;2;3 integers to a parameter.",
            )
    block = entry.regions[0].blocks[0]
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


def _takes(type_: Any, binding: str) -> bool:
    """Return True if an argument of that type can be bound so."""
    text = str(type_)
    if binding.startswith("#"):
        return _INTEGERS.fullmatch(binding) is not None and text.startswith("!transform.param<")
    return text == _ANY_VALUE if binding.startswith("^") else _OP_HANDLE.fullmatch(text) is not None


def _bound(root: Any, binding: str, type_: Any) -> Any:
    """Make what a binding says and return it."""
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
    """Return a parameter with these integers."""
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
    ops = ir.ArrayAttr.get([ir.StringAttr.get(op_name)])
    match = ir.Operation.create(
        "transform.structured.match", results=[type_], operands=[root], attributes={"ops": ops}
    )
    return match.results[0]
