"""The MLIR bindings: the only module that loads them, and where versions drift.

The others take ``ir``, ``passmanager``, … from here.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from lhkit.hosts import find_host

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


def new_context() -> Any:
    """Return a fresh context without threads; contexts reused for thousands of compiles grow.

    Payloads of real projects carry ops and attributes of dialects that are not here: they are let through,
    and what cannot be lowered is named when it is lowered.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    return context


def object_code(engine: Any, path: str) -> None:
    """Write the machine code of an execution engine as an object file."""
    engine.dump_to_object_file(path)
