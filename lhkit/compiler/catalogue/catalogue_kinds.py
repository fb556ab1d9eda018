"""What kind of data an attribute of a transform op takes, by its class and the compiler's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lhkit.compiler.catalogue.op_classes import enum_classes
from lhkit.compiler.catalogue.op_queries import Trial, dynamic_of, is_always_written, role_of, scratch_op
from lhkit.compiler.ir.bindings import ir
from lhkit.model.op_catalogue import AttributeKind, AttributeSpec, EnumCase

_MOST_CASES = 16
_WORD = re.compile(r"[\w-]+|\S")

# Kind and storage by the class of attribute.
_BY_CLASS: Mapping[str, tuple[AttributeKind, str]] = {
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
_ARRAYS: tuple[tuple[str, AttributeKind, str], ...] = (
    ("64-bit integer array", "ints", "[i64]"),
    ("1-bit boolean array", "bools", "[i1]"),
    ("string array", "strings", ""),
    ("type array", "types", ""),
    ("symbol ref array", "symbols", ""),
    ("array of arrays of i64", "int-lists", ""),
)


def attribute_spec(name: str, cls: str, constraint: str, trial: Trial) -> AttributeSpec:
    """Return what an attribute is, from its class, the compiler's words, and trials of enumerations."""
    kind, storage = _BY_CLASS.get(cls, ("any", ""))
    cases: tuple[EnumCase, ...] = ()
    if cls == "IntegerAttr":
        kind, storage = "int", _integer_type(constraint)
    elif cls == "ArrayAttr":
        kind, storage = next(((k, s) for words, k, s in _ARRAYS if words in constraint), ("attributes", ""))
    elif cls == "Attribute" and constraint == "conversion":
        kind, cases, constraint = "enum", enum_cases(trial, name), ""
    dynamic = dynamic_of(trial.skeleton, name) if kind in ("ints", "int") else None
    default = () if is_always_written(trial.skeleton, name, cls) else None
    return AttributeSpec(name, kind, storage, False, default, cases, dynamic, constraint)


def _integer_type(constraint: str) -> str:
    """Return the type of integer that a constraint asks for, such as ``i64``."""
    match = re.search(r"(\d+)-bit (\w+) integer", constraint)
    if match is None:
        return "i64"
    return {"unsigned": "ui", "signed": "si"}.get(match[2], "i") + match[1]


def enum_cases(trial: Trial, name: str) -> tuple[EnumCase, ...]:
    """Return the values that an enumeration accepts, with the words by which MLIR prints them."""
    printed: dict[int, list[str]] = {}
    for number in range(_MOST_CASES):
        attempt = trial.with_changes(attributes={name: f"{number} : i32"})
        try:
            module = ir.Module.parse(attempt.text())
        except ir.MLIRError:
            continue
        op = scratch_op(module, role_of(trial.skeleton.name))
        printed[number] = _WORD.findall(op.get_asm(use_local_scope=True))
    return tuple(EnumCase(word, f"{number} : i32") for number, word in _words(printed).items())


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


def elided_bool(trial: Trial, name: str) -> bool | None:
    """Return the value of an optional attribute that MLIR leaves out when it prints, which is its default."""
    for value in (False, True):
        text = trial.with_changes(attributes={name: str(value).lower()}).text()
        module = ir.Module.parse(text)
        op = scratch_op(module, role_of(trial.skeleton.name))
        if name not in op.get_asm(use_local_scope=True):
            return value
    return None
