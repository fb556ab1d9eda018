"""Which package provides the MLIR bindings, what it can do, and where versions drift.

The only module that names a host. The others take ``ir``, ``passmanager``, … from here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import os
from types import ModuleType
from typing import Any

from lhkit.model.errors import usage_error

HOST_VARIABLE = "LHKIT_MLIR"
_HOSTS = ("mlir", "torch_mlir")
_MEND = (
    "Install bindings into this environment: pip install torch-mlir\n"
    "or the upstream ones: pip install 'mlir-python-bindings>=20260101' -f https://llvm.github.io/eudsl"
)


def find_host() -> str:
    """Return the name of the package that holds the bindings.

    ``LHKIT_MLIR`` names any; else ``mlir`` if a real one is installed; else ``torch_mlir``.

    Raises:
        UsageError: None is installed, or only the empty placeholder; with the command that mends it.
    """
    if named := os.environ.get(HOST_VARIABLE):
        if not _has_bindings(named):
            raise usage_error(f"{HOST_VARIABLE}={named} is not a package with MLIR bindings", _MEND)
        return named
    for host in _HOSTS:
        if _has_bindings(host):
            return host
    if importlib.util.find_spec("mlir_python_bindings"):
        raise usage_error("the installed mlir-python-bindings is the empty placeholder of that name", _MEND)
    raise usage_error("no MLIR bindings are installed", _MEND)


def _has_bindings(package: str) -> bool:
    try:
        return importlib.util.find_spec(f"{package}.ir") is not None
    except ModuleNotFoundError:
        return False


@functools.cache
def host_version(host: str) -> str:
    """Return the version of the distribution that holds a host package, or ``unknown``."""
    distributions = importlib.metadata.packages_distributions().get(host, [])
    return importlib.metadata.version(distributions[0]) if distributions else "unknown"


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
