"""Products of matrices: plain, batched, with a vector, dynamic, and in mixed precision."""

from __future__ import annotations

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import (
    check_extents,
    contraction,
    element_type,
    filled,
    function,
    generate,
    tensor,
)


def matmul(m: int = 512, n: int = 512, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a matrix product: ``matmul(lhs: m×k, rhs: k×n) -> m×n``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n, k)
    text = _product("matmul", "matmul", (m, k), (k, n), (m, n), (e, e), f"{m}x{k} times {k}x{n}.")
    return generate("matmul", text, f"{m}x{n}x{k} {dtype}")


def batch_matmul(b: int = 8, m: int = 128, n: int = 128, k: int = 128, dtype: str = "float32") -> Payload:
    """Return products of matrices: ``batch_matmul(lhs: b×m×k, rhs: b×k×n) -> b×m×n``.

    Args:
        b: How many products.
        m: Rows of a result.
        n: Columns of a result.
        k: Length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, b, m, n, k)
    comment = f"{b} products of {m}x{k} and {k}x{n}."
    text = _product("batch_matmul", "batch_matmul", (b, m, k), (b, k, n), (b, m, n), (e, e), comment)
    return generate("batch_matmul", text, f"{b}x{m}x{n}x{k} {dtype}")


def matvec(m: int = 1024, k: int = 1024, dtype: str = "float32") -> Payload:
    """Return a product with a vector: ``matvec(lhs: m×k, rhs: k) -> m``.

    Args:
        m: Rows of the matrix.
        k: Length of the vector.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, k)
    text = _product("matvec", "matvec", (m, k), (k,), (m,), (e, e), f"{m}x{k} times a vector of {k}.")
    return generate("matvec", text, f"{m}x{k} {dtype}")


def matmul_i8_i32(m: int = 256, n: int = 256, k: int = 256) -> Payload:
    """Return an integer product: ``matmul_i8_i32(lhs: m×k of int8, rhs: k×n of int8) -> m×n of int32``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction; sums stay exact up to 2^17 terms.
    """
    check_extents(m, n, k)
    comment = f"{m}x{k} times {k}x{n}: 8-bit integers, summed in 32 bits."
    text = _product("matmul_i8_i32", "matmul", (m, k), (k, n), (m, n), ("i8", "i32"), comment)
    return generate("matmul_i8_i32", text, f"{m}x{n}x{k}")


def matmul_bf16_f32(m: int = 256, n: int = 256, k: int = 256) -> Payload:
    """Return a mixed product: ``matmul_bf16_f32(lhs: m×k, rhs: k×n of bfloat16) -> m×n of float32``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
    """
    check_extents(m, n, k)
    comment = f"{m}x{k} times {k}x{n}: bfloat16, summed in float32."
    text = _product("matmul_bf16_f32", "matmul", (m, k), (k, n), (m, n), ("bf16", "f32"), comment)
    return generate("matmul_bf16_f32", text, f"{m}x{n}x{k}")


def matmul_dynamic(dtype: str = "float32") -> Payload:
    """Return a product of any size: ``matmul_dynamic(lhs: ?×?, rhs: ?×?) -> ?×?``.

    Args:
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype)
    any_size = tensor(e, "?", "?")
    body = f"""\
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %lhs, %c0 : {any_size}
  %n = tensor.dim %rhs, %c1 : {any_size}
  %zero = arith.constant 0.0 : {e}
  %init_empty = tensor.empty(%m, %n) : {any_size}
  %init = linalg.fill ins(%zero : {e}) outs(%init_empty : {any_size}) -> {any_size}
  %product = linalg.matmul ins(%lhs, %rhs : {any_size}, {any_size}) outs(%init : {any_size}) -> {any_size}
  return %product : {any_size}
"""
    arguments = {"lhs": any_size, "rhs": any_size}
    text = function("matmul_dynamic", arguments, any_size, body, "A matrix product of any size.")
    return generate("matmul_dynamic", text, dtype)


def _product(
    name: str,
    op: str,
    lhs_shape: tuple[int, ...],
    rhs_shape: tuple[int, ...],
    out_shape: tuple[int, ...],
    elements: tuple[str, str],
    comment: str,
) -> str:
    """Return a contraction that starts from zeros; ``elements`` are the types of operands and result."""
    operand, result = elements
    lhs, rhs, out = tensor(operand, *lhs_shape), tensor(operand, *rhs_shape), tensor(result, *out_shape)
    zero = "0" if result.startswith("i") else "0.0"
    body = (
        f"  %zero = arith.constant {zero} : {result}\n"
        + contraction("product", op, "%lhs", lhs, "%rhs", rhs, out, result)
        + f"  return %product : {out}\n"
    )
    return function(name, {"lhs": lhs, "rhs": rhs}, out, body, comment)


# Convolutions of images: batch, height, width, channels.


def conv2d_nhwc(
    n: int = 1,
    h: int = 28,
    w: int = 28,
    c: int = 32,
    f: int = 32,
    k: int = 3,
    dtype: str = "float32",
    stride: int = 1,
) -> Payload:
    """Return a convolution: ``conv2d_nhwc(image: n×(h+k-1)×(w+k-1)×c, filter: k×k×c×f) -> n×h×w×f``.

    The image comes with its border: nothing is padded. With a stride of 2 it is n×(2h+k-2)×(2w+k-2)×c, and the
    function is called ``conv2d_nhwc_stride2``.

    Args:
        n: Images.
        h: Height of the result.
        w: Width of the result.
        c: Channels of the image.
        f: Filters, the channels of the result.
        k: Height and width of a filter.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
        stride: How far a filter moves from one pixel of the result to the next: 1 or 2.

    Raises:
        UsageError: An extent below 1, another dtype or stride.
    """
    if stride not in (1, 2):
        raise usage_error(f"no convolution with a stride of {stride!r}", "Strides: 1, 2.")
    e = element_type(dtype, n, h, w, c, f, k)
    image = tensor(e, n, (h - 1) * stride + k, (w - 1) * stride + k, c)
    filters, out = tensor(e, k, k, c, f), tensor(e, n, h, w, f)
    name = "conv2d_nhwc" if stride == 1 else "conv2d_nhwc_stride2"
    text = _convolution(name, "conv_2d_nhwc_hwcf", image, filters, out, e, stride)
    return generate(name, text, f"{n}x{h}x{w}x{c} {f} filters {k}x{k} {dtype}")


def depthwise_conv2d_nhwc(
    n: int = 1, h: int = 56, w: int = 56, c: int = 32, k: int = 3, dtype: str = "float32"
) -> Payload:
    """Return a convolution of each channel alone.

    ``depthwise_conv2d_nhwc(image: n×(h+k-1)×(w+k-1)×c, filter: k×k×c) -> n×h×w×c``

    Args:
        n: Images.
        h: Height of the result.
        w: Width of the result.
        c: Channels.
        k: Height and width of a filter.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, n, h, w, c, k)
    image, filters, out = tensor(e, n, h + k - 1, w + k - 1, c), tensor(e, k, k, c), tensor(e, n, h, w, c)
    text = _convolution("depthwise_conv2d_nhwc", "depthwise_conv_2d_nhwc_hwc", image, filters, out, e)
    return generate("depthwise_conv2d_nhwc", text, f"{n}x{h}x{w}x{c} {k}x{k} {dtype}")


def _convolution(name: str, op: str, image: str, filters: str, out: str, element: str, stride: int = 1) -> str:
    body = (
        f"  %zero = arith.constant 0.0 : {element}\n"
        + filled("init", out, "%zero", element)
        + f"  %result = linalg.{op}\n"
        + f"    {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}\n"
        + f"    ins(%image, %filter : {image}, {filters}) outs(%init : {out}) -> {out}\n"
        + f"  return %result : {out}\n"
    )
    comment = "A convolution; the image comes with its border."
    return function(name, {"image": image, "filter": filters}, out, body, comment)
