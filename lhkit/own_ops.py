"""What a Python file with transform ops of one's own imports; such a file is loaded in the worker.

::

    from lhkit.own_ops import Ops, transform_op

    @transform_op("my.reverse", consumes=["target"])
    def reverse(target: Ops) -> Ops:
        return target[::-1]

``lhkit.load_ops("my_ops.py")``, or ``--ops my_ops.py`` on the command line, makes ``"my.reverse"(%handle)``
an op of schedules. ``ir`` and ``dialect("linalg")`` are modules of the MLIR bindings, loaded when they are
first used.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from lhkit.model.own_op_definition import (
    DefiniteError,
    Ops,
    Params,
    Rewriter,
    SilenceableError,
    Values,
    transform_op,
)

if TYPE_CHECKING:
    ir: Any

__all__ = [
    "DefiniteError",
    "Ops",
    "Params",
    "Rewriter",
    "SilenceableError",
    "Values",
    "dialect",
    "ir",
    "transform_op",
]


def dialect(name: str) -> ModuleType:
    """Return the module of a dialect of the bindings, such as ``arith``, that has its ops as classes."""
    from lhkit.compiler.ir.bindings import host_module

    return host_module(f"dialects.{name}")


def __getattr__(name: str) -> Any:
    if name == "ir":
        from lhkit.compiler.ir import bindings

        return bindings.ir
    raise AttributeError(f"module 'lhkit.own_ops' has no attribute {name!r}")
