"""Steps from the fields of a form: what a reader typed, as the arguments of the builder's functions."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lhkit.compose.builder.blocks import BuiltHandle
from lhkit.compose.builder.bodies import Body
from lhkit.compose.builder.parameters import BUILT_REGIONS, Parameter, parameters_of
from lhkit.compose.builder.schedule_builder import Builder
from lhkit.compose.form_text import mixed_entries
from lhkit.model.errors import usage_error
from lhkit.model.op_catalogue import AttributeKind, Catalogue, CatalogueOp
from lhkit.model.step_form import Form, FormBlock, TypedName, attribute_text
from lhkit.text.brackets import split_list
from lhkit.text.lexer import lex, without_trivia

Fields = Mapping[str, Any]
Reader = Callable[[Any, Mapping[str, BuiltHandle]], Any]
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^,\s]+')
# What a form holds beside the parameters of its op.
NAMES, RESULTS = "names", "results"


def has_body(op: CatalogueOp) -> bool:
    """Return whether an op has steps inside, which no form can hold."""
    return any(region.kind in BUILT_REGIONS for region in op.regions)


def built_form(
    op: CatalogueOp, fields: Fields, handles: Sequence[TypedName], catalogue: Catalogue, old: Form | None = None
) -> Form:
    """Return the step that the fields of a form describe.

    Args:
        op: Its op.
        fields: What was typed or chosen, by the names of the parameters; empty ones are left out.
        handles: The handles that may be given.
        catalogue: The ops that there are.
        old: The step that it takes the place of: its results keep their names, patterns their settings.

    Raises:
        UsageError: A field is missing, or cannot be that.
    """
    stand_ins = {f"%given{i}": handle for i, handle in enumerate(handles)}
    builder = Builder(catalogue, arguments={name[1:]: h.type for name, h in stand_ins.items()})
    known = {h.name: built for h, built in zip(handles, builder.arguments, strict=True)}
    named: dict[str, Any] = {}
    for parameter in parameters_of(op):
        value = _argument(parameter, fields.get(parameter.name), known, old)
        if value is not None:
            named[parameter.name] = value
    if count := str(fields.get(RESULTS, "")).strip():
        named[RESULTS] = _integer(count)
    if names := _items(fields.get(NAMES, "")):
        named[NAMES] = names
    made = builder.call(op, (), named)
    if isinstance(made, Body):
        with made as choice:
            if made.op.regions[0].kind == "alternatives":
                with choice.region():
                    pass
    form = builder.block.nodes[-1].as_form()
    return _with_results_of(_renamed(form, stand_ins), old)


def _argument(parameter: Parameter, value: Any, known: Mapping[str, BuiltHandle], old: Form | None) -> Any:
    """Return a field as the argument that the builder takes; None where it was left out."""
    if value is None or value in ("", []):
        return None
    if parameter.attribute is not None:
        read: Reader = _READERS.get(parameter.attribute.kind, _text)
        return read(value, known)
    if parameter.operand is not None:
        names = _items(value)
        given = [_handle(name, known) for name in names]
        return tuple(given) if parameter.operand.count == "many" else _single(parameter, given)
    if parameter.region is not None and parameter.region.kind == "payload":
        return str(value)
    return _patterns(value, old)


def _single(parameter: Parameter, given: list[BuiltHandle]) -> BuiltHandle:
    if len(given) != 1:
        raise usage_error(f"{parameter.name!r} is one handle, and {len(given)} are given")
    return given[0]


def _patterns(value: Any, old: Form | None) -> Any:
    names = _items(value)
    for block in old.regions if old is not None else ():
        if [_last(step.op) for step in block.steps] == [_last(name) for name in names]:
            return block  # their own settings stay
    return names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _handle(name: str, known: Mapping[str, BuiltHandle]) -> BuiltHandle:
    if name not in known:
        listed = ", ".join(list(known)[:8]) or "none"
        raise usage_error(f"there is no handle {name} to be read there", f"There are: {listed}.")
    return known[name]


def _items(value: Any) -> list[str]:
    """Return the items of a list as they are written: ``[8, 32]`` or ``8 32``, ``"linalg.add"``."""
    if isinstance(value, list):
        return [str(item) for item in value]
    text = str(value).strip()
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}", "()") else text
    return [item.strip('"') if item.startswith('"') else item for item in _ITEM.findall(inside)]


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise usage_error(f"{text!r} is no integer") from None


def _int(value: Any, known: Mapping[str, BuiltHandle]) -> Any:
    text = str(value).strip()
    return _handle(text, known) if text.startswith("%") else _integer(text)


def _ints(value: Any, known: Mapping[str, BuiltHandle]) -> list[Any]:
    return [_int(item, known) for item in _items(value)]


def _bool(value: Any, _: Mapping[str, BuiltHandle]) -> bool:
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if str(value).strip() not in words:
        raise usage_error(f"{value!r} is neither true nor false")
    return words[str(value).strip()]


def _bools(value: Any, known: Mapping[str, BuiltHandle]) -> list[bool]:
    return [_bool(item, known) for item in _items(value)]


def _strings(value: Any, known: Mapping[str, BuiltHandle]) -> list[Any]:
    return [known.get(item, item) for item in _items(value)]


def _attributes(value: Any, _: Mapping[str, BuiltHandle]) -> list[str]:
    # An attribute may hold spaces (``0.0 : f32``) and commas in brackets.
    text = str(value).strip()
    inside = text[1:-1] if text[:1] + text[-1:] == "[]" else text
    return [inside[item[0].start : item[-1].end] for item in split_list(without_trivia(lex(inside)))]


def _literal(value: Any, _: Mapping[str, BuiltHandle]) -> Any:
    try:
        return ast.literal_eval(str(value))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
        raise usage_error(f"{value!r} cannot be read", "Lists in lists are written [[0, 1], [2]].") from None


def _dictionary(value: Any, known: Mapping[str, BuiltHandle]) -> dict[str, Any]:
    pairs = (item.partition("=") for item in _attributes(str(value).strip("{} "), known))
    return {name.strip(): _entry(text.strip(), known) for name, _, text in pairs}


def _entry(text: str, known: Mapping[str, BuiltHandle]) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    return known.get(text, text.strip('"'))


def _text(value: Any, _: Mapping[str, BuiltHandle]) -> str:
    return str(value).strip()


_READERS: Mapping[AttributeKind, Reader] = {
    "flag": _bool,
    "bool": _bool,
    "int": _int,
    "ints": _ints,
    "bools": _bools,
    "strings": _strings,
    "symbols": _strings,
    "types": _attributes,
    "attributes": _attributes,
    "int-lists": _literal,
    "dictionary": _dictionary,
}


def _renamed(form: Form, stand_ins: Mapping[str, TypedName]) -> Form:
    """Return a form with the handles that the stand-ins stand for."""

    def real(values: tuple[TypedName, ...]) -> tuple[TypedName, ...]:
        return tuple(stand_ins.get(v.name, v) for v in values)

    operands = tuple((name, real(values)) for name, values in form.operands)
    regions = tuple(
        FormBlock(b.arguments, tuple(_renamed(s, stand_ins) for s in b.steps), b.text) for b in form.regions
    )
    return dataclasses.replace(form, operands=operands, regions=regions)


def _with_results_of(form: Form, old: Form | None) -> Form:
    """Return a form with the results of another one, if it has as many of each."""
    if old is None or [(n, len(v)) for n, v in form.results] != [(n, len(v)) for n, v in old.results]:
        return form
    return dataclasses.replace(form, results=old.results)


def written_fields(form: Form, op: CatalogueOp) -> dict[str, Any]:
    """Return what a form's fields hold for a step that is there: the other way round of `built_form`."""
    operands, attributes = dict(form.operands), dict(form.attributes)
    fields: dict[str, Any] = {}
    for parameter in parameters_of(op):
        spec = parameter.attribute
        if spec is None:
            values = operands.get(parameter.operand.name, ()) if parameter.operand else ()
            fields[parameter.name] = ", ".join(v.name for v in values)
            if parameter.region is not None:
                names = [_last(s.op) for block in form.regions for s in block.steps]
                fields[parameter.name] = ", ".join(names) or "".join(b.text for b in form.regions)
        elif spec.kind == "ints":
            entries = mixed_entries(form, spec) if spec.name in attributes else ()
            fields[parameter.name] = ", ".join(e.name if isinstance(e, TypedName) else str(e) for e in entries)
        elif spec.kind in ("flag", "bool"):
            fields[parameter.name] = attributes.get(spec.name, "")
        elif spec.name in attributes:
            value = attributes[spec.name]
            fields[parameter.name] = _written(value, spec.kind, spec.storage)
        elif spec.dynamic and operands.get(spec.dynamic):
            fields[parameter.name] = operands[spec.dynamic][0].name
    return fields


def _written(value: Any, kind: str, storage: str) -> str:
    if kind == "int-lists":
        return str([list(v) for v in value])
    if kind == "dictionary":
        return attribute_text(value, kind, storage)
    if kind == "bools":
        # One for each size, most often all false: who changes the sizes should not have to count them.
        return ", ".join(str(v).lower() for v in value) if any(value) else ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
