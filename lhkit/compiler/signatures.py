"""Signatures of payload functions, read off their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.diagnostics import span_of
from lhkit.model.signature import ArrayType, Function

_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "index": "int64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
_INTEGER = re.compile(r"(si|ui|i)(8|16|32|64)")


def dtype_of(element_type: Any) -> str:
    """Return NumPy's spelling of an element type; MLIR's own where NumPy has none."""
    text = str(element_type)
    if match := _INTEGER.fullmatch(text):
        return f"{'u' if match[1] == 'ui' else ''}int{match[2]}"
    return _DTYPES.get(text, text)


def array_type(type_: Any) -> ArrayType:
    """Return the model's form of an argument or result type."""
    for cls, kind in ((ir.RankedTensorType, "tensor"), (ir.MemRefType, "memref")):
        if isinstance(type_, cls):
            shaped = cls(type_)
            extents = (None if shaped.is_dynamic_dim(i) else shaped.get_dim_size(i) for i in range(shaped.rank))
            return ArrayType(kind, tuple(extents), dtype_of(shaped.element_type), str(type_))  # type: ignore[arg-type]
    return ArrayType("scalar", (), dtype_of(type_), str(type_))


def functions_of(module: Any) -> tuple[Function, ...]:
    """Return the functions of a module in order, those of nested modules left out."""
    return tuple(_function(op) for op in function_ops(module))


def function_ops(module: Any) -> Iterator[Any]:
    """Yield the ``func.func`` operations at the top of a module."""
    for op in module.body.operations:
        if op.operation.name == "func.func":
            yield op.operation


def _function(op: Any) -> Function:
    type_ = function_type(op)
    span = span_of(op.location)
    return Function(
        name=symbol_name(op),
        arguments=tuple(array_type(t) for t in type_.inputs),
        results=tuple(array_type(t) for t in type_.results),
        line=span.line if span else 1,
        is_declaration=len(op.regions[0].blocks) == 0,
    )


def function_type(op: Any) -> Any:
    """Return the function type of a ``func.func`` operation."""
    return ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)


def symbol_name(op: Any) -> str:
    """Return the symbol name of an operation, without ``@``."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)
