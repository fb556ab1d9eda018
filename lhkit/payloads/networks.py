"""Pieces of neural networks: a layer, three of them, attention."""

from __future__ import annotations

import itertools
import math

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import FunctionText, element_type, tensor
from lhkit.payloads.row_reductions import add_softmax


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
