"""Fields of commands and questions, checked: what a screen sends is data like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lhkit.model.errors import usage_error


def integer(command: Mapping[str, Any], name: str) -> int:
    """Return an integer of a command.

    Raises:
        UsageError: There is none of that name.
    """
    value = command.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit(command, name, "an integer")
    return value


def text(command: Mapping[str, Any], name: str) -> str:
    """Return a text of a command.

    Raises:
        UsageError: There is none of that name.
    """
    value = command.get(name)
    if not isinstance(value, str):
        raise _misfit(command, name, "a text")
    return value


def mapping(command: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object of a command.

    Raises:
        UsageError: There is none of that name.
    """
    value = command.get(name)
    if not isinstance(value, Mapping):
        raise _misfit(command, name, "an object")
    return value


def flag(command: Mapping[str, Any], name: str) -> bool:
    """Return whether a command has a flag."""
    return command.get(name) is True


def _misfit(command: Mapping[str, Any], name: str, wanted: str) -> Exception:
    said = command.get("do", command.get("ask"))
    return usage_error(f"{said}: {name!r} is {wanted}, not {command.get(name)!r}")
