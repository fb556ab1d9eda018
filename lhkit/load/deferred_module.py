"""A module that others import and hardly use is loaded when something of it is used, not when they are."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module; while others are loaded, what is asked of it is a stand-in as well.

    They may name its classes in annotations, which evaluates them (`importlib.util.LazyLoader` would load the
    module at that). Later on attributes are those of the module, which is loaded for the first of them.
    """

    is_loading = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no attribute {name}")
        if self.is_loading:
            return _Deferred(f"{self.__name__}.{name}")
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def deferred(name: str) -> Iterator[None]:
    """Have what imports a module meanwhile load it at its first use after that, unless it is loaded already.

    Args:
        name: A package that is imported with ``import name`` only; what imports it may name its attributes in
            annotations, and must not call or subclass them while it is loaded.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        yield
        return
    stand_in = sys.modules[name] = _Deferred(name)
    stand_in.__spec__ = spec  # `importlib.util.find_spec` looks for it
    try:
        yield
    finally:
        stand_in.is_loading = False
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
