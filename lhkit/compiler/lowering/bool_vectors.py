"""Vectors of i1 in memory: a byte an element, as a memref holds them, and not a bit as LLVM would."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.sources import Source, failure_in
from lhkit.model.errors import error_for
from lhkit.model.failure import Diagnostic

_BITS = re.compile(r"vector<(\d+)xi1>")
_LOADS = ("llvm.load", "llvm.intr.masked.load")
_STORES = ("llvm.store", "llvm.intr.masked.store")
_MOVING = {*_LOADS, *_STORES, "llvm.alloca", "llvm.intr.masked.gather", "llvm.intr.masked.scatter"}


def widen_bool_vectors(module: Any, sources: Sequence[Source]) -> None:
    """Let loads and stores of i1 vectors move bytes, in place, in a module of the LLVM dialect.

    Raises:
        PayloadError: One of them cannot be widened; the message names the place.
    """
    for op in [op for op in walk(module.operation) if op.name in _MOVING]:
        if op.name in _LOADS and _is_bits(op.results[0].type):
            _widen_load(op)
        elif op.name in _STORES and _is_bits(op.operands[0].type):
            _widen_store(op)
        elif "xi1>" in _type_in_memory(op):
            what = "vectors of i1 are not moved this way; vectorize in one dimension, or use i8"
            message = f"{sources[0].name} cannot be lowered: {op.name}: {what} (stage: lower)"
            diagnostics = (Diagnostic("error", f"{op.name}: {what}", span_of(op.location)),)
            raise error_for(failure_in(sources, "lowering", message, diagnostics, stage="lower"))


def _is_bits(type_: Any) -> bool:
    return _BITS.fullmatch(str(type_)) is not None


def _type_in_memory(op: Any) -> str:
    if op.name == "llvm.alloca":
        return str(op.attributes["elem_type"])
    return str(op.results[0].type if len(op.results) else op.operands[0].type)


def _as_bytes(type_: Any) -> Any:
    return ir.Type.parse(str(type_).replace("xi1>", "xi8>"))


def _attributes(op: Any) -> dict[str, Any]:
    return {name: op.attributes[name] for name in op.attributes}


def _widen_load(op: Any) -> None:
    bits = op.results[0].type
    operands = list(op.operands)
    with ir.InsertionPoint(op), op.location:
        if op.name == "llvm.intr.masked.load" and len(operands) > 2:
            operands[2] = _zero_extend(operands[2])
        load = ir.Operation.create(op.name, [_as_bytes(bits)], operands, _attributes(op))
        short = ir.Operation.create("llvm.trunc", [bits], [load.result])
    op.results[0].replace_all_uses_with(short.result)
    op.erase()


def _widen_store(op: Any) -> None:
    operands = list(op.operands)
    with ir.InsertionPoint(op), op.location:
        operands[0] = _zero_extend(operands[0])
        ir.Operation.create(op.name, [], operands, _attributes(op))
    op.erase()


def _zero_extend(bits: Any) -> Any:
    return ir.Operation.create("llvm.zext", [_as_bytes(bits.type)], [bits]).result
