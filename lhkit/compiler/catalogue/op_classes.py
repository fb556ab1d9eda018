"""Transform ops as the generated Python classes of the bindings declare them, and those without a class."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lhkit.compiler.ir.bindings import host_module, ir

Count = Literal["one", "optional", "many"]
_OPS_MODULE = re.compile(r"_(\w*?)_?transform(?:_(\w+?)_extension)?_ops_gen")


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand, result or region of a skeleton."""

    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class Skeleton:
    """An op as its Python class describes it.

    Attributes:
        extension: The extension of the transform dialect that brings it.
        attributes: Pairs of a name and the class of attribute, such as ``IntegerAttr``; ``flag`` for those
            that are there or not.
        segments: Whether the op keeps the sizes of its groups of operands, and of results.
    """

    name: str
    extension: str
    documentation: str
    operands: tuple[Argument, ...] = ()
    results: tuple[Argument, ...] = ()
    regions: tuple[Argument, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    segments: tuple[bool, bool] = (False, False)


def skeletons() -> list[Skeleton]:
    """Return all transform ops that have a Python class, sorted by name."""
    return sorted((_skeleton(cls, extension) for extension, cls in _op_classes()), key=lambda s: s.name)


def enum_classes() -> dict[str, Any]:
    """Return the enumerations that the bindings define, by name."""
    dialects = host_module("dialects")
    classes = {}
    for module in pkgutil.iter_modules(dialects.__path__):
        if re.fullmatch(r"_(\w+_)?(transform|bufferization)_enum_gen", module.name):
            members = vars(importlib.import_module(f"{dialects.__name__}.{module.name}"))
            classes.update(
                {n: c for n, c in members.items() if isinstance(c, type) and c.__module__.endswith(module.name)}
            )
    return classes


def _op_classes() -> Iterator[tuple[str, Any]]:
    dialects = host_module("dialects")
    for module in pkgutil.iter_modules(dialects.__path__):
        match = _OPS_MODULE.fullmatch(module.name)
        if match is None:
            continue
        loaded = importlib.import_module(f"{dialects.__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, ir.OpView) and value.__module__ == loaded.__name__:
                yield match[1] or match[2] or "transform", value


# Which arguments a property gives, by the class of what it returns; True for any number of them.
_ARGUMENT_KINDS = {
    "Value": ("operands", False),
    "OpOperandList": ("operands", True),
    "OpResult": ("results", False),
    "OpResultList": ("results", True),
    "Region": ("regions", False),
    "RegionSequence": ("regions", True),
}


def _skeleton(cls: Any, extension: str) -> Skeleton:
    """Return what a class says; the properties of generated classes stand in the dialect's order."""
    found: dict[str, list[Argument]] = {"operands": [], "results": [], "regions": []}
    attributes = []
    for name, member in vars(cls).items():
        if not isinstance(member, property):
            continue
        hint: Any = getattr(member.fget, "__annotations__", {}).get("return")
        inner: Any = next((t for t in get_args(hint) if t is not type(None)), None)
        kind = (inner or hint).__name__
        count: Count = "optional" if inner else "one"
        plain = name.removesuffix("_")
        if kind in _ARGUMENT_KINDS:
            side, is_many = _ARGUMENT_KINDS[kind]
            found[side].append(Argument(plain, "many" if is_many else count))
        else:
            attributes.append((plain, "flag" if kind == "bool" else kind))
    return Skeleton(
        name=cls.OPERATION_NAME,
        extension=extension,
        documentation=(inspect.getdoc(cls) or "") if cls.__doc__ else "",
        operands=tuple(found["operands"]),
        results=tuple(found["results"]),
        regions=tuple(found["regions"]),
        attributes=tuple(attributes),
        segments=(cls._ODS_OPERAND_SEGMENTS is not None, cls._ODS_RESULT_SEGMENTS is not None),
    )


# Families of ops whose names begin with the family, then the extension.
_FAMILIES = ("apply_conversion_patterns", "apply_patterns", "match")


def _op(
    name: str,
    documentation: str,
    operands: str = "",
    results: str = "",
    attributes: str = "",
    regions: str = "",
) -> Skeleton:
    """Return an op without a Python class, from its fields in ``classless_ops.toml``."""
    split = (word.partition(":") for word in attributes.split())
    return Skeleton(
        name=f"transform.{name}",
        extension=next(part for part in name.split(".") if part not in _FAMILIES),
        documentation=documentation,
        operands=_arguments(operands),
        results=_arguments(results),
        regions=_arguments(regions),
        attributes=tuple((attribute, cls or "flag") for attribute, _, cls in split),
        segments=("?" in operands, False),
    )


def _arguments(names: str) -> tuple[Argument, ...]:
    counts: dict[str, Count] = {"?": "optional", "*": "many"}
    return tuple(Argument(name.rstrip("?*"), counts.get(name[-1], "one")) for name in names.split())


@functools.cache
def _classless() -> list[Skeleton]:
    text = Path(__file__).with_name("classless_ops.toml").read_text(encoding="utf-8")
    return [_op(name, **fields) for name, fields in tomllib.loads(text).items()]


def classless_skeletons() -> list[Skeleton]:
    """Return the ops without a Python class that the current context knows."""
    return [s for s in _classless() if ir.Context.current.is_registered_operation(s.name)]
