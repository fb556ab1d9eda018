"""Serialization of frozen dataclasses to JSON values and back, by type hints."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import reprlib
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# Metadata of fields that are neither written nor read: what a user said in this process, which no file may say.
NOT_IN_FILES: Mapping[str, bool] = {"json": False}


def to_json(value: Any) -> Any:
    """Return ``value`` as dicts, lists and scalars; fields of dataclasses keep their names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in _fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    return value


def from_json(cls: type[T], data: Any) -> T:
    """Return the value of type ``cls`` that `to_json` wrote as ``data``."""
    return typing.cast(T, _decode(cls, data, cls.__name__))


def _fields(value: Any) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(value) if f.metadata.get("json", True)]


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(hint: Any, data: Any, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return _decode_union(args, data, where)
    if origin is typing.Literal:
        return _expect(data in args, data, where)
    if origin is tuple:
        _expect(isinstance(data, list | tuple), data, where)
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_decode(args[0], v, f"{where}[{i}]") for i, v in enumerate(data))
        _expect(len(data) == len(args), data, where)
        return tuple(_decode(a, v, f"{where}[{i}]") for i, (a, v) in enumerate(zip(args, data, strict=True)))
    if origin is not None and issubclass(origin, Mapping):
        _expect(isinstance(data, Mapping), data, where)
        return {k: _decode(args[1], v, f"{where}[{k!r}]") for k, v in data.items()}
    if dataclasses.is_dataclass(hint):
        return _decode_dataclass(typing.cast(type, hint), data, where)
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        with contextlib.suppress(OverflowError):
            return float(data)
    fits = isinstance(data, hint) and not (hint in (int, float) and isinstance(data, bool))
    return _expect(fits, data, where)


def _decode_union(args: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in args:
        return None
    *others, last = (arg for arg in args if arg is not type(None))
    for arg in others:
        with contextlib.suppress(ValueError):
            return _decode(arg, data, where)
    return _decode(last, data, where)


def _decode_dataclass(cls: type, data: Any, where: str) -> Any:
    _expect(isinstance(data, Mapping), data, where)
    fields = {f.name for f in _fields(cls)}
    if unknown := set(data) - fields:
        raise ValueError(f"{where}: unknown field {sorted(unknown)[0]!r}")
    hints = _hints(cls)
    try:
        return cls(**{k: _decode(hints[k], v, f"{where}.{k}") for k, v in data.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _expect(fits: bool, data: Any, where: str) -> Any:
    if not fits:
        raise ValueError(f"{where}: {reprlib.repr(data)} does not fit")
    return data
