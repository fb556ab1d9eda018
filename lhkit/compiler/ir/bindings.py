"""The MLIR bindings: the only module that loads them, and where versions drift.

The others take ``ir``, ``passmanager``, … from here.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import typing
from collections.abc import Callable
from importlib.abc import InspectLoader
from types import ModuleType
from typing import Any

from lhkit.model.bindings_host import NEWEST_TRIED, find_host, host_version

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


# Names in the language of the builders that are generated, too.
_OF_BUILDERS = ("BinaryFn", "TernaryFn", "TypeFn", "UnaryFn", "index")


def _load_linalg() -> None:
    """Load the linalg dialect; the builders of its named ops are made when one is asked for.

    To make them all takes a quarter of a second. Only the bindings that the tests ran with are known to read
    nothing else from their module.
    """
    builders = f"{HOST}.dialects.linalg.opdsl.ops.core_named_ops"
    if host_version(HOST) != str(NEWEST_TRIED) or builders in sys.modules:
        return
    stand_in = sys.modules[builders] = ModuleType(builders)
    vars(stand_in).update({n: getattr(typing, n) for n in ("List", "Optional", "Sequence", "Union")}, ir=ir)
    linalg = host_module("dialects.linalg")
    del sys.modules[builders]
    # The star puts them in the place of what is generated for the ops of these names.
    generated = vars(host_module("dialects._linalg_enum_gen")) | vars(host_module("dialects._linalg_ops_gen"))
    spec = importlib.util.find_spec(builders)
    code = spec.loader.get_code(builders) if spec and isinstance(spec.loader, InspectLoader) else None
    for name in (*_OF_BUILDERS, *(() if code is None else code.co_names)):
        if name in generated and vars(linalg).get(name) is generated[name]:
            delattr(linalg, name)

    def find(name: str) -> Any:
        del linalg.__getattr__  # the next name that is missing is missing
        for each, builder in vars(importlib.import_module(builders)).items():
            vars(linalg).setdefault(each, builder)
        return getattr(linalg, name)

    vars(linalg)["__getattr__"] = find


ir: Any = host_module("ir")
passmanager: Any = host_module("passmanager")
interpreter: Any = host_module("dialects.transform.interpreter")
# The dialects register their op classes when imported; transform ops need their extensions.
for _dialect in ("func", "transform", "transform.structured", "transform.loop"):
    host_module(f"dialects.{_dialect}")
_load_linalg()


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
