"""What the host of the bindings can do, found out by trying, and where its version drifts."""

from __future__ import annotations

import inspect
from typing import Any

from lhkit.compiler.ir.bindings import has_module, host_module, ir, new_context, passmanager
from lhkit.compiler.ir.elementwise_building import elementwise_spelling
from lhkit.compiler.ir.schedule_modules import SEQUENCE_MARK

_KNOB = """module attributes {%s} {
  transform.named_sequence @main(%%root: !transform.any_op) {
    %%k = transform.tune.knob<"k"> = 1 : i64 from options = [1, 2] -> !transform.param<i64>
    transform.yield
  }
}"""


def capabilities() -> dict[str, Any]:
    """Return what works here: each name is one of ``lhkit doctor``'s."""
    return {
        "jit": has_module("execution_engine"),
        "tune": _parses(_KNOB % SEQUENCE_MARK),
        "python_ops": has_module("dialects.ext"),
        "effects_takes_list": _effects_take_a_list(),
        "loads_from_file": hasattr(ir.Module, "parseFile"),
        "named_elementwise": elementwise_spelling().named,
        "passes": _runs("builtin.module(eliminate-empty-tensors,one-shot-bufferize,convert-to-llvm)"),
    }


def _parses(text: str) -> bool:
    with new_context():
        try:
            ir.Module.parse(text)
        except ir.MLIRError:
            return False
    return True


def _runs(pipeline: str) -> bool:
    with new_context():
        try:
            passmanager.PassManager.parse(pipeline).run(ir.Module.parse("").operation)
        except (ir.MLIRError, ValueError):
            return False
    return True


def _effects_take_a_list() -> bool | None:
    """Return True if effects models of Python-defined ops get a list to fill, False if they return one.

    The two forms, ``get_effects(op, effects)`` and ``get_effects(op)``, are told apart by the list type
    that only the first needs. None where ops cannot be defined in Python.
    """
    if not has_module("dialects.ext"):
        return None
    return inspect.isclass(getattr(host_module("ir"), "MemoryEffectsInstancesList", None)) or hasattr(
        ir, "MemoryEffectInstancesList"
    )
