"""Schedule modules: their sequences and knobs, libraries merged in, knobs set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from lhkit.compiler.extension.own_op_registry import attribute_of, check_own_ops, generation
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.functions import function_type, symbol_name
from lhkit.compiler.ir.parsing import failure_in, parse_module, span_of, walk, whole_bytecode
from lhkit.model.errors import Diagnostic, error_for, usage_error
from lhkit.model.knob import Bounds, Knob, KnobValue
from lhkit.model.schedule import NamedSequence
from lhkit.worker.requests import Source

SEQUENCE_MARK = "transform.with_named_sequence"
_ALTERNATIVES = "transform.tune.alternatives"
# The attributes by which ops refer to named sequences.
_REFERENCES = ("target", "actions", "matchers", "matcher")


# What the last schedules became with their libraries, as bytecode: merging verifies again and again what was
# merged, and a schedule is applied to many payloads, with many values of its knobs.
_MOST_MERGED = 4
_merged: dict[tuple[int, Sequence[Source]], Source] = {}


def parse_schedule(sources: Sequence[Source]) -> Any:
    """Return the module of a schedule, the first source, with the libraries after it merged in."""
    key = (generation(), tuple(sources))
    if key in _merged:
        return parse_module(_merged[key])
    module = parse_module(sources[0])
    try:
        _merge_in_pairs(_first_home(module), [parse_module(source) for source in sources[1:]])
    except (ValueError, ir.MLIRError):
        module = _merged_in_turn(sources)  # names the library that does not fit
    check_own_ops(module, sources)
    if len(sources) > 1:
        while len(_merged) >= _MOST_MERGED:
            del _merged[next(iter(_merged))]
        _merged[key] = replace(sources[0], content=whole_bytecode(module))
    return module


def _merge_in_pairs(home: Any, libraries: list[Any]) -> None:
    """Merge libraries into a module: neighbours first, since a merge verifies all that was merged before."""
    while len(libraries) > 1:
        for library, other in zip(libraries[::2], libraries[1::2], strict=False):
            interpreter.copy_symbols_and_merge_into(library.operation, other)
        libraries = libraries[::2]
    for library in libraries:
        interpreter.copy_symbols_and_merge_into(home, library)


def _merged_in_turn(sources: Sequence[Source]) -> Any:
    module = parse_module(sources[0])
    home = _first_home(module)
    for source in sources[1:]:
        try:
            interpreter.copy_symbols_and_merge_into(home, parse_module(source))
        except (ValueError, ir.MLIRError) as error:
            message = f"{source.name} cannot be merged into {sources[0].name}"
            diagnostics = (Diagnostic("error", str(error)),)
            raise error_for(failure_in(sources, "schedule-verify", message, diagnostics)) from None
    return module


def home_of(entry: Any) -> Any:
    """Return the (possibly nested) module operation that holds the sequences around an entry."""
    around = _modules_around(entry)
    return next((m for m in reversed(around) if SEQUENCE_MARK in m.attributes), around[-1])


def _first_home(module: Any) -> Any:
    ops = itertools.chain((module.operation,), walk(module.operation))
    homes = (op for op in ops if op.name == "builtin.module" and SEQUENCE_MARK in op.attributes)
    return next(homes, module.operation)


def sequence_ops(module: Any) -> list[Any]:
    """Return the ``transform.named_sequence`` operations of a module (or its operation), nested ones too."""
    return list(_sequences_in(module.operation))


def _sequences_in(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name == "transform.named_sequence":  # none is in another
                    yield op.operation
                else:
                    yield from _sequences_in(op.operation)


def sequence_path(op: Any) -> str:
    """Return the name of a named sequence with the names of the modules around it (``inner::main``)."""
    return "::".join((*_module_path(op), symbol_name(op)))


def _module_path(op: Any) -> list[str]:
    """Return the names of the modules around an op inside of the module of all sequences, outermost first."""
    around = _modules_around(op)
    marked = [i for i, module in enumerate(around) if SEQUENCE_MARK in module.attributes]
    inner = around[: marked[-1]] if marked else around
    return [symbol_name(module) for module in reversed(inner) if "sym_name" in module.attributes]


def _modules_around(op: Any) -> list[Any]:
    """Return the modules around an op, innermost first."""
    around = []
    while (op := op.parent) is not None:
        op = op.operation
        if op.name == "builtin.module":
            around.append(op)
    return around


def sequences_of(module: Any) -> tuple[NamedSequence, ...]:
    """Return the named sequences of a module, in order."""
    return tuple(_sequence(op) for op in sequence_ops(module))


def _sequence(op: Any) -> NamedSequence:
    span = span_of(op.location)
    visibility = op.attributes["sym_visibility"] if "sym_visibility" in op.attributes else None
    return NamedSequence(
        name=sequence_path(op),
        arguments=tuple(str(t) for t in function_type(op).inputs),
        line=span.line if span else 1,
        is_public=visibility is None or ir.StringAttr(visibility).value == "public",
        is_declaration=len(op.regions[0].blocks) == 0,
        refers_to=tuple(dict.fromkeys(s for o in walk(op) for s in referred_sequences(o))),
    )


def referred_sequences(op: Any, attributes: Iterable[str] = _REFERENCES) -> Iterator[str]:
    """Yield the paths of the sequences that an op refers to by these attributes."""
    around: list[str] | None = None
    for attribute in (op.attributes[name] for name in attributes if name in op.attributes):
        for each in ir.ArrayAttr(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]:
            if isinstance(each, ir.FlatSymbolRefAttr | ir.SymbolRefAttr):
                around = _module_path(op) if around is None else around
                parts = [each.value] if isinstance(each, ir.FlatSymbolRefAttr) else each.value
                yield "::".join((*around, *parts))


def _knob_ops(module: Any) -> list[tuple[str, Any]]:
    """Return the knobs of a module as (name, operation), several operations of one name among them.

    Alternatives that a parameter chooses from are not knobs.
    """
    return [
        (ir.StringAttr(op.attributes["name"]).value, op)
        for op in walk(module.operation)
        if op.name == "transform.tune.knob" or (op.name == _ALTERNATIVES and not len(op.operands))
    ]


def knobs_of(module: Any) -> tuple[Knob, ...]:
    """Return the knobs of a schedule in order, one for each name."""
    knobs: dict[str, Knob] = {}
    for name, op in _knob_ops(module):
        sequence = _sequence_around(op)
        if name not in knobs:
            knobs[name] = _knob(name, op, sequence)
        elif sequence not in knobs[name].sequences:
            knobs[name] = replace(knobs[name], sequences=(*knobs[name].sequences, sequence))
    return tuple(knobs.values())


def _sequence_around(op: Any) -> str:
    while op.name != "transform.named_sequence":
        op = op.parent.operation
    return sequence_path(op)


def _knob(name: str, op: Any, sequence: str) -> Knob:
    span = span_of(op.location)
    place = (span.line, span.column) if span else (1, 1)
    if op.name == _ALTERNATIVES:
        selected = op.attributes["selected_region_attr"] if "selected_region_attr" in op.attributes else None
        default = None if selected is None else ir.IntegerAttr(selected).value
        return Knob(name, tuple(range(len(op.regions))), default, *place, (sequence,))
    options = op.attributes["options"]
    default = _value(op.attributes["selected"]) if "selected" in op.attributes else None
    if isinstance(options, ir.DictAttr):
        bounds = _bounds(name, ir.DictAttr(options))
        return Knob(name, bounds.values(), default, *place, (sequence,), bounds)
    values = tuple(_value(o) for o in ir.ArrayAttr(options)) if isinstance(options, ir.ArrayAttr) else ()
    return Knob(name, values, default, *place, (sequence,))


def _bounds(name: str, options: Any) -> Bounds:
    known = [field.name for field in fields(Bounds)]
    entries = {entry.name: entry.attr for entry in options}
    for key, value in entries.items():
        if key not in known or not isinstance(value, ir.IntegerAttr):
            raise usage_error(
                f"knob {name!r} has the option {key!r} = {value}, which bounds nothing",
                f"Options are a list of values, or a dictionary of integers with any of {', '.join(known)}.",
            )
    bounds = Bounds(**{key: ir.IntegerAttr(value).value for key, value in entries.items()})
    if 0 in (bounds.divisible_by, bounds.divides):
        raise usage_error(f"knob {name!r} has the option 0 for divisible_by or divides, which nothing meets")
    return bounds


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
        if op.name == _ALTERNATIVES:
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
    return attribute_of(value, ir.IntegerType.get_signless(64))


def find_entry(module: Any, entry: str) -> Any:
    """Return the operation of the named sequence with that path."""
    return next(op for op in sequence_ops(module) if sequence_path(op) == entry and len(op.regions[0].blocks))
