"""Transform ops as the generated Python classes of the bindings declare them, and those without a class."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand, result or region of a skeleton."""

    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class Skeleton:
    """An op as its Python class describes it."""

    name: str
    extension: str  # of the transform dialect that brings it
    documentation: str
    operands: tuple[Argument, ...] = ()
    results: tuple[Argument, ...] = ()
    regions: tuple[Argument, ...] = ()
    # Pairs of a name and the class, such as ``IntegerAttr``; ``flag`` for those that are there or not.
    attributes: tuple[tuple[str, str], ...] = ()
    segments: tuple[bool, bool] = (False, False)  # whether it keeps the sizes of groups of operands, results


def skeletons() -> Iterator[Skeleton]:
    """Yield all transform ops that have a Python class."""
    for module, match in _generated_modules(r"_(\w*?)_?transform(?:_(\w+?)_extension)?_ops_gen"):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, ir.OpView) and value.__module__ == module.__name__:
                yield _skeleton(value, match[1] or match[2] or "transform")


def enum_classes() -> dict[str, Any]:
    """Return the enumerations that the bindings define, by name."""
    return {
        name: value
        for module, _ in _generated_modules(r"_(\w+_)?(transform|bufferization)_enum_gen")
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def _generated_modules(pattern: str) -> Iterator[tuple[Any, re.Match[str]]]:
    """Yield the modules of the bindings' dialects whose name matches a pattern, with the match."""
    dialects = host_module("dialects")
    for module in pkgutil.iter_modules(dialects.__path__):
        if match := re.fullmatch(pattern, module.name):
            yield importlib.import_module(f"{dialects.__name__}.{module.name}"), match


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


def classless_skeletons() -> list[Skeleton]:
    """Return the ops without a Python class that the current context knows."""
    text = Path(__file__).with_name("classless_ops.toml").read_text(encoding="utf-8")
    found = [_op(name, **fields) for name, fields in tomllib.loads(text).items()]
    return [s for s in found if ir.Context.current.is_registered_operation(s.name)]
