"""The catalogue of transform ops, asked of the bindings and of the compiler itself."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any

from lhkit.compiler.catalogue.corrections import ASSEMBLIES, correction_of
from lhkit.compiler.catalogue.form_reader import attribute_value
from lhkit.compiler.catalogue.op_classes import Skeleton, classless_skeletons, enum_classes, skeletons
from lhkit.compiler.catalogue.op_trials import (
    ANY_OP,
    Trial,
    ask_constraints,
    dynamic_of,
    first_trial,
    is_always_written,
    kinds_of,
    required_attributes,
    role_of,
    scratch_op,
    settle,
    type_for,
    with_examples,
)
from lhkit.compiler.extension.own_op_registry import known_ops
from lhkit.compiler.ir.bindings import HOST, ir, new_context
from lhkit.model import op_catalogue
from lhkit.model.bindings_host import host_version
from lhkit.model.op_catalogue import group_of, sentence_for

_MOST_CASES = 16
_WORD = re.compile(r"[\w-]+|\S")

# Kind and storage by the class of attribute.
_BY_CLASS: Mapping[str, tuple[op_catalogue.AttributeKind, str]] = {
    "flag": ("flag", ""),
    "BoolAttr": ("bool", ""),
    "StringAttr": ("string", ""),
    "SymbolRefAttr": ("symbol", ""),
    "DictAttr": ("dictionary", ""),
    "TypeAttr": ("type", ""),
    "DenseI64ArrayAttr": ("ints", "array<i64>"),
    "DenseI32ArrayAttr": ("ints", "array<i32>"),
    "DenseBoolArrayAttr": ("bools", "array<i1>"),
}
# Kind and storage of arrays by the compiler's words.
_ARRAYS: tuple[tuple[str, op_catalogue.AttributeKind, str], ...] = (
    ("64-bit integer array", "ints", "[i64]"),
    ("1-bit boolean array", "bools", "[i1]"),
    ("string array", "strings", ""),
    ("type array", "types", ""),
    ("symbol ref array", "symbols", ""),
    ("array of arrays of i64", "int-lists", ""),
)


def _attribute_spec(name: str, cls: str, constraint: str, trial: Trial) -> op_catalogue.AttributeSpec:
    """Return what an attribute is, from its class, the compiler's words, and trials of enumerations."""
    kind, storage = _BY_CLASS.get(cls, ("any", ""))
    cases: tuple[op_catalogue.EnumCase, ...] = ()
    if cls == "IntegerAttr":
        kind, storage = "int", _integer_type(constraint)
    elif cls == "ArrayAttr":
        kind, storage = next(((k, s) for words, k, s in _ARRAYS if words in constraint), ("attributes", ""))
    elif cls == "Attribute" and constraint == "conversion":
        kind, cases, constraint = "enum", _enum_cases(trial, name), ""
    dynamic = dynamic_of(trial.skeleton, name) if kind in ("ints", "int") else None
    default = () if is_always_written(trial.skeleton, name, cls) else None
    return op_catalogue.AttributeSpec(name, kind, storage, False, default, cases, dynamic, constraint)


def _integer_type(constraint: str) -> str:
    """Return the type of integer that a constraint asks for, such as ``i64``."""
    match = re.search(r"(\d+)-bit (\w+) integer", constraint)
    if match is None:
        return "i64"
    return {"unsigned": "ui", "signed": "si"}.get(match[2], "i") + match[1]


def _enum_cases(trial: Trial, name: str) -> tuple[op_catalogue.EnumCase, ...]:
    """Return the values that an enumeration accepts, with the words by which MLIR prints them."""
    printed: dict[int, list[str]] = {}
    for number in range(_MOST_CASES):
        attempt = trial.with_changes(attributes={name: f"{number} : i32"})
        try:
            module = ir.Module.parse(attempt.text())
        except ir.MLIRError:
            continue
        printed[number] = _WORD.findall(_printed(module, trial))
    return tuple(op_catalogue.EnumCase(word, f"{number} : i32") for number, word in _words(printed).items())


def _words(printed: Mapping[int, list[str]]) -> dict[int, str]:
    """Return the word of each case: as the enumeration whose words stand in the printed instances names it.

    An instance with the default may print without it, so the shortest says nothing where others are longer.
    """
    shortest = min(map(len, printed.values()), default=0)
    telling = {n: tokens for n, tokens in printed.items() if len(tokens) > shortest} or printed
    for cls in enum_classes().values():
        named = {int(case): str(case) for case in cls}
        if named.keys() == printed.keys() and all(named[n] in tokens for n, tokens in telling.items()):
            return named
    places = [i for i, words in enumerate(zip(*telling.values(), strict=False)) if len(set(words)) > 1]
    return {n: telling[n][places[0]] if places and n in telling else str(n) for n in printed}


def _elided_bool(trial: Trial, name: str) -> bool | None:
    """Return the value of an optional attribute that MLIR leaves out when it prints, which is its default."""
    for value in (False, True):
        module = ir.Module.parse(trial.with_changes(attributes={name: str(value).lower()}).text())
        if name not in _printed(module, trial):
            return value
    return None


def _printed(module: Any, trial: Trial) -> str:
    return str(scratch_op(module, role_of(trial.skeleton.name)).get_asm(use_local_scope=True))


@functools.cache
def introspect(lhkit_version: str) -> op_catalogue.Catalogue:
    """Return the catalogue of the bindings that are installed."""
    found, specs = _described_ops(), op_specs()
    with new_context():
        ops = tuple(with_examples(op, trial, specs) for op, trial in found.values())
    return op_catalogue.Catalogue((HOST, host_version(HOST), lhkit_version), ops)


def op_specs() -> Mapping[str, op_catalogue.CatalogueOp]:
    """Return the catalogue's ops by name, without examples, and those that are defined in Python."""
    own = {op.name: op_catalogue.catalogue_op(op) for op in known_ops()}
    return {name: op for name, (op, _) in _described_ops().items()} | own


@functools.cache
def _described_ops() -> Mapping[str, tuple[op_catalogue.CatalogueOp, Trial | None]]:
    with new_context():
        all_ops = sorted([*skeletons(), *classless_skeletons()], key=lambda s: s.name)
        return {s.name: _introspect_op(s) for s in {s.name: s for s in all_ops}.values()}


def _introspect_op(skeleton: Skeleton) -> tuple[op_catalogue.CatalogueOp, Trial | None]:
    """Return an op without examples, and the smallest instance that is valid, if it may stand as a step."""
    correction = correction_of(skeleton.name)
    role: op_catalogue.Role = "structural" if correction.structural else role_of(skeleton.name)
    types = {group: list(given) for group, given in correction.start_types.items()}
    trial = first_trial(skeleton, correction.regions)
    trial = trial.with_changes(types=types, attributes=correction.start_attributes)
    problem = "structural" if role == "structural" else settle(trial)
    asked = {} if problem else ask_constraints(trial)
    op = _described(skeleton, role, asked, trial)
    if role == "structural":
        note = f"{skeleton.name} {correction.structural}"
        return dataclasses.replace(op, note=note, assembly=ASSEMBLIES.get(skeleton.name)), None
    if problem:
        return dataclasses.replace(op, note=f"no valid instance found: {problem}"), None
    module = ir.Module.parse(trial.text())  # its ops do not keep it alive
    instance = scratch_op(module, role)
    required = required_attributes(trial)
    attributes = tuple(
        dataclasses.replace(_with_default(a, trial, instance), is_required=a.name in required)
        for a in op.attributes
    )
    return dataclasses.replace(op, attributes=attributes), trial


def _described(
    skeleton: Skeleton, role: op_catalogue.Role, asked: Mapping[str, str], trial: Trial
) -> op_catalogue.CatalogueOp:
    body: op_catalogue.RegionKind = "body"
    kinds = correction_of(skeleton.name).region_kinds or (body,) * len(skeleton.regions)
    return op_catalogue.CatalogueOp(
        name=skeleton.name,
        extension=skeleton.extension,
        group=group_of(skeleton.name, role),
        role=role,
        sentence=sentence_for(skeleton.name, skeleton.documentation),
        documentation=skeleton.documentation,
        operands=tuple(
            op_catalogue.OperandSpec(a.name, kinds_of(c), a.count, type_for(c) if c else ANY_OP, None, c)
            for a in skeleton.operands
            for c in [asked.get(a.name, "")]
        ),
        attributes=tuple(_attribute_spec(n, cls, asked.get(n, ""), trial) for n, cls in skeleton.attributes),
        results=tuple(
            op_catalogue.ResultSpec(a.name, kinds_of(c), a.count, type_for(c) if c else ANY_OP, c)
            for a in skeleton.results
            for c in [asked.get(f"->{a.name}", "")]
        ),
        regions=tuple(
            op_catalogue.RegionSpec(r.name, kind, r.count)
            for r, kind in zip(skeleton.regions, kinds, strict=True)
        ),
        segments=skeleton.segments,
    )


def _with_default(spec: op_catalogue.AttributeSpec, trial: Trial, instance: Any) -> op_catalogue.AttributeSpec:
    if spec.name in trial.attributes:
        return spec
    if spec.name in instance.attributes:
        return dataclasses.replace(spec, default=attribute_value(instance.attributes[spec.name], spec))
    return dataclasses.replace(spec, default=_elided_bool(trial, spec.name)) if spec.kind == "bool" else spec
