"""How values show themselves: the package registers drawings and tables, values look them up when asked."""

from __future__ import annotations

import importlib
from typing import Any

from lhkit.model.errors import public
from lhkit.model.printable import printable

_DRAWINGS: dict[str, str] = {}
_FRAMES: dict[str, str] = {}
_METHODS: dict[tuple[str, str], str] = {}


def register_drawing(class_name: str, target: str) -> None:
    """Let values of a class draw themselves with ``target``, ``module:function``, imported on call.

    The function takes the value and returns a MIME bundle: {MIME type: data}.
    """
    _DRAWINGS[class_name] = target


@public
def draw(value: object) -> dict[str, Any]:
    """Return the MIME bundle of a value: what was registered for its class, else its text alone."""
    target = next((_DRAWINGS[c.__name__] for c in type(value).__mro__ if c.__name__ in _DRAWINGS), None)
    if target is None:
        return {"text/plain": repr(value)}
    module, _, function = target.partition(":")
    bundle: dict[str, Any] = getattr(importlib.import_module(module), function)(value)
    return bundle | {"text/plain": printable(bundle["text/plain"])}


def register_frames(class_name: str, module: str) -> None:
    """Let values of a class have pandas frames: ``NAME_frame(value)`` of a module, imported on call."""
    _FRAMES[class_name] = module


@public
def frame(value: object, name: str) -> Any:
    """Return a frame of a value, by its name."""
    module = importlib.import_module(_FRAMES[type(value).__name__])
    return getattr(module, f"{name}_frame")(value)


def register_method(class_name: str, method: str, target: str) -> None:
    """Let a method of a class be ``target``, ``module:function``, imported on call."""
    _METHODS[class_name, method] = target


@public
def call(value: object, method: str, *arguments: object, **options: object) -> Any:
    """Return what the registered method of a value's class returns."""
    module, _, function = _METHODS[type(value).__name__, method].partition(":")
    return getattr(importlib.import_module(module), function)(value, *arguments, **options)


class Showable:
    """Base of values that a notebook cell can show."""

    __slots__ = ()

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return draw(self)


class Printable(Showable):
    """Base of values that `print` shows as a notebook without pictures would, not field by field."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(draw(self)["text/plain"])
