"""Bases of values that show themselves at the end of a notebook cell and in `print`."""

from __future__ import annotations

import abc
from typing import Any

from lhkit.model.errors import public
from lhkit.model.printable import printable


class Showable:
    """Base of values with a MIME bundle; subclasses define ``_mime_bundle``."""

    __slots__ = ()

    def _mime_bundle(self) -> dict[str, Any]:
        """Return {MIME type: data}; methods import their drawing when called, so that values stay light."""
        return {"text/plain": repr(self)}

    @public
    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        bundle = self._mime_bundle()
        return bundle | {"text/plain": printable(bundle["text/plain"])}


class Printable(Showable):
    """Base of values that `print` shows as the text of their MIME bundle."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(self._repr_mimebundle_()["text/plain"])


class Described(Printable):
    """Base of values whose only form is the text of ``describe``."""

    __slots__ = ()

    @abc.abstractmethod
    def describe(self) -> str:
        """Return the value as text."""

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": self.describe()}
