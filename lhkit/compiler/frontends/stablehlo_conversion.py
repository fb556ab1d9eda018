"""StableHLO, as JAX and TensorFlow write it, as linalg on tensors."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir, passmanager
from lhkit.compiler.ir.parsing import failure_in, from_structured, parse_module, span_of, walk
from lhkit.model.errors import Diagnostic, LhkitError, error_for
from lhkit.worker.requests import Source

_OPS = re.compile(rb"\b(?:stablehlo|chlo)\.[a-z]")
# It declares the dialects, which the bindings have no other way to load.
_LOADS = "builtin.module(func.func(convert-torch-to-stablehlo))"
_PIPELINE = (
    "inline",
    "stablehlo-convert-to-signless",
    "stablehlo-legalize-to-linalg",
    "func.func(convert-elementwise-to-linalg)",
    "canonicalize",
    "cse",
    "symbol-dce",
)
# What the conversion leaves has an op of the same name for the elements of tensors.
_FUNCTIONS = ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "erfc", "sinh", "tan")
_ADVICE = "Write the operation with others, or compute it apart."


def parsed_as_linalg(source: Source) -> tuple[Any, bool]:
    """Return the module of a source, in the current context, and whether it was converted from StableHLO.

    Functions that others call are inlined by the conversion.

    Raises:
        PayloadError: It does not parse or verify, or has an op that cannot be converted, with its place.
    """
    if _may_be_stablehlo(source):
        _load_dialects(ir.Context.current)
    module = parse_module(source)
    if _first_left(module) is None:
        return module, False
    for op in [op for op in walk(module.operation) if op.name.startswith("chlo.")]:
        _write_with_math(op)
    for one in _PIPELINE:
        try:
            passmanager.PassManager.parse(f"builtin.module({one})").run(module.operation)
        except ir.MLIRError as error:
            raise _refused(source, from_structured(error)) from None
    if (left := _first_left(module)) is not None:
        what = f"{left.name} has no conversion to linalg"
        raise _refused(source, (Diagnostic("error", what, span_of(left.location)),))
    return module, True


def _may_be_stablehlo(source: Source) -> bool:
    return b"stablehlo" in source.content if source.is_bytecode else _OPS.search(source.content) is not None


def _first_left(module: Any) -> Any:
    """Return the first op of StableHLO in a module, or None."""
    names = (op for op in walk(module.operation) if op.name.startswith(("stablehlo.", "chlo.")))
    return next(names, None)


def _load_dialects(context: Any) -> None:
    with contextlib.suppress(
        ImportError, ir.MLIRError, ValueError
    ):  # then parsing says that the dialect is not there
        host_module("dialects.torch").register_dialect(context)
        passmanager.PassManager.parse(_LOADS).run(ir.Module.create(ir.Location.unknown()).operation)


def _write_with_math(op: Any) -> None:
    name = op.name.partition(".")[2]
    if name in _FUNCTIONS and len(op.operands) == 1:
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create(f"math.{name}", results=[op.results[0].type], operands=list(op.operands))
        op.results[0].replace_all_uses_with(made.result)
        op.erase()


def _refused(source: Source, diagnostics: tuple[Diagnostic, ...]) -> LhkitError:
    message = f"{source.name} cannot be converted from StableHLO"
    return error_for(failure_in([source], "lowering", message, diagnostics, advice=_ADVICE, stage="import"))
