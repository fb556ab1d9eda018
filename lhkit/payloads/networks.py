"""Pieces of neural networks: layers, attention, and what works by rows."""

from __future__ import annotations

import itertools
import math

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


def fc_relu(m: int = 512, n: int = 512, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a layer: ``fc_relu(lhs: m×k, rhs: k×n, bias: m×n) -> m×n``, max(lhs·rhs + bias, 0).

    The shape of the layer in the transform dialect's tutorial, with a matrix for the bias.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n, k)
    out = tensor(e, m, n)
    text = FunctionText(e, lhs=tensor(e, m, k), rhs=tensor(e, k, n), bias=out)
    text.constant("zero")
    text.contraction("product", "matmul", "lhs", "rhs", out)
    text.elementwise("sum", "add", "product", "bias")
    text.filled("zeros", out, "zero")
    text.elementwise("relu", "max", "sum", "zeros")
    comment = "A fully connected layer with bias and ReLU: max(lhs * rhs + bias, 0)."
    return text.payload("fc_relu", f"{m}x{n}x{k} {dtype}", comment, "relu")


def mlp(
    batch: int = 128, sizes: tuple[int, int, int, int] = (128, 256, 256, 64), dtype: str = "float32"
) -> Payload:
    """Return three layers with ReLU between them: ``mlp(x, w0, b0, w1, b1, w2, b2) -> batch×sizes[3]``.

    Args:
        batch: Rows of ``x`` (batch×sizes[0]) and of the result.
        sizes: Columns of the input and of each layer; layer i has weights sizes[i]×sizes[i+1] and a bias
            of sizes[i+1].
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, batch, *sizes)
    arguments = {"x": tensor(e, batch, sizes[0])}
    for i, (k, n) in enumerate(itertools.pairwise(sizes)):
        arguments |= {f"w{i}": tensor(e, k, n), f"b{i}": tensor(e, n)}
    text = FunctionText(e, **arguments)
    text.constant("zero")
    value = "x"
    for i, n in enumerate(sizes[1:]):
        out = tensor(e, batch, n)
        text.contraction(f"product{i}", "matmul", value, f"w{i}", out)
        text.broadcast(f"bias{i}", f"b{i}", out, 0)
        text.elementwise(f"sum{i}", "add", f"product{i}", f"bias{i}")
        value = f"sum{i}"
        if i < len(sizes) - 2:
            text.filled(f"zeros{i}", out, "zero")
            text.elementwise(f"relu{i}", "max", value, f"zeros{i}")
            value = f"relu{i}"
    comment = "Three fully connected layers, ReLU between them."
    return text.payload("mlp", f"{batch}x{'x'.join(map(str, sizes))} {dtype}", comment, value)


def attention(s: int = 128, d: int = 64, dtype: str = "float32") -> Payload:
    """Return one head of attention: ``attention(q, k, v: s×d) -> s×d``, softmax(q·kᵀ/√d)·v.

    Args:
        s: Length of the sequence.
        d: Width of the head.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, s, d)
    rows, turned, scores = tensor(e, s, d), tensor(e, d, s), tensor(e, s, s)
    text = FunctionText(e, q=rows, k=rows, v=rows)
    text.constant("zero")
    text.constant("scale", 1 / math.sqrt(d))
    text.new("turned", "transpose", ("k",), turned, "permutation = [1, 0]")
    text.contraction("raw", "matmul", "q", "turned", scores)
    text.filled("scales", scores, "scale")
    text.elementwise("scores", "mul", "raw", "scales")
    add_softmax(text, "scores", tensor(e, s))
    text.contraction("result", "matmul", "softmax", "v", rows)
    comment = "One head of attention: softmax(q * transposed k / sqrt(d)) * v."
    return text.payload("attention", f"{s}x{d} {dtype}", comment, "result")
