"""Payloads that work by rows: sums, softmax, layer normalization."""

from __future__ import annotations

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import (
    broadcast,
    element_type,
    elementwise,
    filled,
    function,
    generate,
    tensor,
)


def row_sum(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a reduction: ``row_sum(source: m×n) -> m``, the sum of each row.

    Args:
        m: Rows.
        n: Columns, the length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    source, out = tensor(e, m, n), tensor(e, m)
    body = (
        f"  %zero = arith.constant 0.0 : {e}\n"
        + reduced("sums", "arith.addf", "%source", source, out, "%zero", e)
        + f"  return %sums : {out}\n"
    )
    text = function("row_sum", {"source": source}, out, body, "The sum of each row.")
    return generate("row_sum", text, f"{m}x{n} {dtype}")


def softmax(m: int = 512, n: int = 512, dtype: str = "float32") -> Payload:
    """Return ``softmax(source: m×n) -> m×n``: exponentials of each row, less its maximum, over their sum.

    Args:
        m: Rows.
        n: Columns.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    matrix = tensor(e, m, n)
    lines = softmax_lines("%source", m, n, e)
    text = function("softmax", {"source": matrix}, matrix, f"{lines}  return %softmax : {matrix}\n", "By rows.")
    return generate("softmax", text, f"{m}x{n} {dtype}")


def layernorm(m: int = 512, n: int = 512, dtype: str = "float32") -> Payload:
    """Return ``layernorm(source: m×n, scale: n, shift: n) -> m×n``.

    Each row less its mean, over its standard deviation (with 1e-5 under the root), scaled and shifted.

    Args:
        m: Rows.
        n: Columns.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    matrix, column, row = tensor(e, m, n), tensor(e, m), tensor(e, n)
    body = (
        f"  %zero = arith.constant 0.0 : {e}\n"
        f"  %count = arith.constant {float(n)} : {e}\n"
        f"  %epsilon = arith.constant 1.0e-5 : {e}\n"
        + reduced("sums", "arith.addf", "%source", matrix, column, "%zero", e)
        + filled("counts", column, "%count", e)
        + elementwise("means", "div", column, "%sums", "%counts")
        + broadcast("mean", "%means", column, matrix, 1)
        + elementwise("centered", "sub", matrix, "%source", "%mean")
        + elementwise("squares", "mul", matrix, "%centered", "%centered")
        + reduced("square_sums", "arith.addf", "%squares", matrix, column, "%zero", e)
        + elementwise("variances", "div", column, "%square_sums", "%counts")
        + filled("epsilons", column, "%epsilon", e)
        + elementwise("guarded", "add", column, "%variances", "%epsilons")
        + elementwise("factors", "rsqrt", column, "%guarded")
        + broadcast("factor", "%factors", column, matrix, 1)
        + elementwise("normal", "mul", matrix, "%centered", "%factor")
        + broadcast("scales", "%scale", row, matrix, 0)
        + elementwise("scaled", "mul", matrix, "%normal", "%scales")
        + broadcast("shifts", "%shift", row, matrix, 0)
        + elementwise("shifted", "add", matrix, "%scaled", "%shifts")
        + f"  return %shifted : {matrix}\n"
    )
    arguments = {"source": matrix, "scale": row, "shift": row}
    text = function(
        "layernorm", arguments, matrix, body, "Rows with mean 0 and variance 1, scaled and shifted."
    )
    return generate("layernorm", text, f"{m}x{n} {dtype}")


def reduced(name: str, op: str, operand: str, from_type: str, to_type: str, start: str, element: str) -> str:
    """Return the lines that make ``%name``: each row of an operand reduced with ``op``, from ``start``."""
    return filled(f"{name}_init", to_type, start, element) + (
        f"  %{name} = linalg.reduce {{ {op} }} ins({operand} : {from_type})"
        f" outs(%{name}_init : {to_type}) dimensions = [1]\n"
    )


def softmax_lines(operand: str, m: int, n: int, e: str) -> str:
    """Return the lines that make ``%softmax`` of an m×n operand with element type ``e``."""
    matrix, column = tensor(e, m, n), tensor(e, m)
    lowest = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}[e]
    return (
        f"  %minus_infinity = arith.constant {lowest} : {e}\n"
        f"  %nothing = arith.constant 0.0 : {e}\n"
        + reduced("highest", "arith.maximumf", operand, matrix, column, "%minus_infinity", e)
        + broadcast("highests", "%highest", column, matrix, 1)
        + elementwise("shifted", "sub", matrix, operand, "%highests")
        + elementwise("powers", "exp", matrix, "%shifted")
        + reduced("power_sum", "arith.addf", "%powers", matrix, column, "%nothing", e)
        + broadcast("power_sums", "%power_sum", column, matrix, 1)
        + elementwise("softmax", "div", matrix, "%powers", "%power_sums")
    )
