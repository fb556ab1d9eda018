"""The MLIR bindings: the only module that loads them, and where versions drift.

The others take ``ir``, ``passmanager``, … from here.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from lhkit.model.bindings_host import find_host

HOST = find_host()


def host_module(name: str) -> ModuleType:
    """Import a module of the host package, such as ``ir`` or ``dialects.transform``."""
    return importlib.import_module(f"{HOST}.{name}")


def has_module(name: str) -> bool:
    """Return True if the host package has that module and it loads."""
    try:
        host_module(name)
    except ImportError:
        return False
    return True


ir: Any = host_module("ir")
passmanager: Any = host_module("passmanager")
interpreter: Any = host_module("dialects.transform.interpreter")
# The dialects register their op classes when imported; transform ops need their extensions.
for _dialect in ("func", "transform", "transform.structured", "transform.loop"):
    host_module(f"dialects.{_dialect}")


def _let_dense_constants_through() -> None:
    """Give dense constants of elements without a class in the bindings (complex) the class of all of them.

    Otherwise looking at the attributes of their op raises a TypeError.
    """

    def cast(attribute: Any) -> Any:
        for known in (ir.DenseIntElementsAttr, ir.DenseFPElementsAttr, ir.DenseElementsAttr):
            with contextlib.suppress(ValueError):
                return known(attribute)
        return attribute

    with ir.Context():
        dense = ir.Attribute.parse("dense<0> : tensor<1xi32>")
        ir.register_type_caster(dense.typeid, replace=True)(cast)


_let_dense_constants_through()


_extensions: list[Callable[[Any], None]] = []


def extend_contexts(load: Callable[[Any], None]) -> None:
    """Let a function load dialects into every context that `new_context` returns."""
    _extensions.append(load)


def new_context() -> Any:
    """Return a fresh context without threads; contexts reused for thousands of compiles grow.

    Payloads of real projects carry ops and attributes of dialects that are not here: they are let through,
    and what cannot be lowered is named when it is lowered.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    for load in _extensions:
        load(context)
    return context


def expect_dialect(name: str) -> None:
    """Let the bindings find a Python module of a dialect that is defined at run time.

    They look for one at every op, and remember no failure.
    """
    # The package that the bindings think they are in, whatever name they were imported under.
    module = f"{ir.__name__.rpartition('.')[0]}.dialects.{name}"
    sys.modules.setdefault(module, ModuleType(module))
