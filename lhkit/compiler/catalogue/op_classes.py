"""What the generated Python classes of transform ops say about them, before the compiler is asked."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
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
        name: Its full name.
        extension: The part of the dialect that brings it.
        documentation: The dialect's documentation.
        operands, results, regions: In order.
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
    """Return all transform ops that have a Python class, by name in order."""
    found = [_skeleton(cls, extension) for extension, cls in _op_classes()]
    return sorted(found, key=lambda s: s.name)


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


def _skeleton(cls: Any, extension: str) -> Skeleton:
    """Return what a class says; the properties of generated classes stand in the dialect's order."""
    operands, results, regions, attributes = [], [], [], []
    for name, member in vars(cls).items():
        if not isinstance(member, property):
            continue
        hint: Any = getattr(member.fget, "__annotations__", {}).get("return")
        inner: Any = next((t for t in get_args(hint) if t is not type(None)), None)
        kind = (inner or hint).__name__
        count: Count = "optional" if inner else "one"
        plain = name.removesuffix("_")
        if kind == "Value":
            operands.append(Argument(plain, count))
        elif kind == "OpOperandList":
            operands.append(Argument(plain, "many"))
        elif kind in ("OpResult", "OpResultList"):
            results.append(Argument(plain, "many" if kind == "OpResultList" else count))
        elif kind in ("Region", "RegionSequence"):
            regions.append(Argument(plain, "many" if kind == "RegionSequence" else "one"))
        else:
            attributes.append((plain, "flag" if kind == "bool" else kind))
    return Skeleton(
        name=cls.OPERATION_NAME,
        extension=extension,
        documentation=(inspect.getdoc(cls) or "") if cls.__doc__ else "",
        operands=tuple(operands),
        results=tuple(results),
        regions=tuple(regions),
        attributes=tuple(attributes),
        segments=(cls._ODS_OPERAND_SEGMENTS is not None, cls._ODS_RESULT_SEGMENTS is not None),
    )
