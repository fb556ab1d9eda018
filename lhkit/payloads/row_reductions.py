"""Payloads that work by rows: sums, softmax, layer normalization."""

from __future__ import annotations

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import FunctionText, element_type, tensor


def row_sum(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a reduction: ``row_sum(source: m×n) -> m``, the sum of each row.

    Args:
        m: Rows.
        n: Columns, the length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    text = FunctionText(e, source=tensor(e, m, n))
    text.constant("zero")
    text.reduced("sums", "arith.addf", "source", tensor(e, m), "zero")
    return text.payload("row_sum", f"{m}x{n} {dtype}", "The sum of each row.", "sums")


def softmax(m: int = 512, n: int = 512, dtype: str = "float32") -> Payload:
    """Return ``softmax(source: m×n) -> m×n``: exponentials of each row, less its maximum, over their sum.

    Args:
        m: Rows.
        n: Columns.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    text = FunctionText(e, source=tensor(e, m, n))
    add_softmax(text, "source", tensor(e, m))
    return text.payload("softmax", f"{m}x{n} {dtype}", "By rows.", "softmax")


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
    text = FunctionText(e, source=matrix, scale=row, shift=row)
    text.constant("zero")
    text.constant("count", float(n))
    text.constant("epsilon", "1.0e-5")
    text.reduced("sums", "arith.addf", "source", column, "zero")
    text.filled("counts", column, "count")
    text.elementwise("means", "div", "sums", "counts")
    text.broadcast("mean", "means", matrix, 1)
    text.elementwise("centered", "sub", "source", "mean")
    text.elementwise("squares", "mul", "centered", "centered")
    text.reduced("square_sums", "arith.addf", "squares", column, "zero")
    text.elementwise("variances", "div", "square_sums", "counts")
    text.filled("epsilons", column, "epsilon")
    text.elementwise("guarded", "add", "variances", "epsilons")
    text.elementwise("factors", "rsqrt", "guarded")
    text.broadcast("factor", "factors", matrix, 1)
    text.elementwise("normal", "mul", "centered", "factor")
    text.broadcast("scales", "scale", matrix, 0)
    text.elementwise("scaled", "mul", "normal", "scales")
    text.broadcast("shifts", "shift", matrix, 0)
    text.elementwise("shifted", "add", "scaled", "shifts")
    comment = "Rows with mean 0 and variance 1, scaled and shifted."
    return text.payload("layernorm", f"{m}x{n} {dtype}", comment, "shifted")


def add_softmax(text: FunctionText, operand: str, column: str) -> None:
    """Add ``%softmax`` of the rows of an operand; ``column`` is the type of one number per row."""
    lowest = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
    matrix = text.types[operand]
    text.constant("minus_infinity", lowest[text.element])
    text.constant("nothing")
    text.reduced("highest", "arith.maximumf", operand, column, "minus_infinity")
    text.broadcast("highests", "highest", matrix, 1)
    text.elementwise("shifted", "sub", operand, "highests")
    text.elementwise("powers", "exp", "shifted")
    text.reduced("power_sum", "arith.addf", "powers", column, "nothing")
    text.broadcast("power_sums", "power_sum", matrix, 1)
    text.elementwise("softmax", "div", "powers", "power_sums")
