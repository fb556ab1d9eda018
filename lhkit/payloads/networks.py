"""Pieces of neural networks: a layer, three of them, attention."""

from __future__ import annotations

import itertools
import math

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import (
    broadcast,
    contraction,
    element_type,
    elementwise,
    filled,
    function,
    generate,
    tensor,
)
from lhkit.payloads.row_reductions import softmax_lines


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
    lhs, rhs, out = tensor(e, m, k), tensor(e, k, n), tensor(e, m, n)
    body = (
        f"  %zero = arith.constant 0.0 : {e}\n"
        + contraction("product", "matmul", "%lhs", lhs, "%rhs", rhs, out, e)
        + elementwise("sum", "add", out, "%product", "%bias")
        + filled("zeros", out, "%zero", e)
        + elementwise("relu", "max", out, "%sum", "%zeros")
        + f"  return %relu : {out}\n"
    )
    comment = "A fully connected layer with bias and ReLU: max(lhs * rhs + bias, 0)."
    text = function("fc_relu", {"lhs": lhs, "rhs": rhs, "bias": out}, out, body, comment)
    return generate("fc_relu", text, f"{m}x{n}x{k} {dtype}")


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
    body = f"  %zero = arith.constant 0.0 : {e}\n"
    value, value_type = "%x", arguments["x"]
    for i, (k, n) in enumerate(itertools.pairwise(sizes)):
        weights, bias, out = tensor(e, k, n), tensor(e, n), tensor(e, batch, n)
        arguments |= {f"w{i}": weights, f"b{i}": bias}
        body += contraction(f"product{i}", "matmul", value, value_type, f"%w{i}", weights, out, e)
        body += broadcast(f"bias{i}", f"%b{i}", bias, out, 0)
        body += elementwise(f"sum{i}", "add", out, f"%product{i}", f"%bias{i}")
        value, value_type = f"%sum{i}", out
        if i < len(sizes) - 2:
            body += filled(f"zeros{i}", out, "%zero", e)
            body += elementwise(f"relu{i}", "max", out, value, f"%zeros{i}")
            value = f"%relu{i}"
    body += f"  return {value} : {value_type}\n"
    text = function("mlp", arguments, value_type, body, "Three fully connected layers, ReLU between them.")
    return generate("mlp", text, f"{batch}x{'x'.join(map(str, sizes))} {dtype}")


def attention(s: int = 128, d: int = 64, dtype: str = "float32") -> Payload:
    """Return one head of attention: ``attention(q, k, v: s×d) -> s×d``, softmax(q·kᵀ/√d)·v.

    Args:
        s: Length of the sequence.
        d: Width of the head.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, s, d)
    rows, turned, scores = tensor(e, s, d), tensor(e, d, s), tensor(e, s, s)
    body = (
        f"  %zero = arith.constant 0.0 : {e}\n"
        f"  %scale = arith.constant {1 / math.sqrt(d)!r} : {e}\n"
        f"  %turned_empty = tensor.empty() : {turned}\n"
        f"  %turned = linalg.transpose ins(%k : {rows}) outs(%turned_empty : {turned}) permutation = [1, 0]\n"
        + contraction("raw", "matmul", "%q", rows, "%turned", turned, scores, e)
        + filled("scales", scores, "%scale", e)
        + elementwise("scores", "mul", scores, "%raw", "%scales")
        + softmax_lines("%scores", s, s, e)
        + contraction("result", "matmul", "%softmax", scores, "%v", rows, rows, e)
        + f"  return %result : {rows}\n"
    )
    comment = "One head of attention: softmax(q * transposed k / sqrt(d)) * v."
    text = function("attention", {"q": rows, "k": rows, "v": rows}, rows, body, comment)
    return generate("attention", text, f"{s}x{d} {dtype}")
