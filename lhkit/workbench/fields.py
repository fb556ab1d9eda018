"""Fields of commands and questions, checked: what a screen sends is data like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from lhkit.model.errors import usage_error

T = TypeVar("T")


def integer(command: Mapping[str, Any], name: str) -> int:
    """Return an integer of a command.

    Raises:
        UsageError: There is none of that name.
    """
    return _of_kind(int, "an integer", command, name)


def text(command: Mapping[str, Any], name: str) -> str:
    """Return a text of a command.

    Raises:
        UsageError: There is none of that name.
    """
    return _of_kind(str, "a text", command, name)


def mapping(command: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object of a command.

    Raises:
        UsageError: There is none of that name.
    """
    return _of_kind(dict, "an object", command, name)


def flag(command: Mapping[str, Any], name: str) -> bool:
    """Return whether a command has a flag."""
    return command.get(name) is True


def _of_kind(kind: type[T], wanted: str, command: Mapping[str, Any], name: str) -> T:
    value = command.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):  # to Python a bool is an int
        said = command.get("do", command.get("ask"))
        raise usage_error(f"{said}: {name!r} is {wanted}, not {value!r}")
    return value
