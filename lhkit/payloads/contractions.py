"""Products of matrices: plain, batched, with a vector, dynamic, and in mixed precision."""

from __future__ import annotations

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import FunctionText, check_extents, element_type, tensor


def matmul(m: int = 512, n: int = 512, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a matrix product: ``matmul(lhs: m×k, rhs: k×n) -> m×n``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n, k)
    text = _product("matmul", tensor(e, m, k), tensor(e, k, n), tensor(e, m, n), e)
    return text.payload("matmul", f"{m}x{n}x{k} {dtype}", f"{m}x{k} times {k}x{n}.", "product")


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
    text = _product("batch_matmul", tensor(e, b, m, k), tensor(e, b, k, n), tensor(e, b, m, n), e)
    comment = f"{b} products of {m}x{k} and {k}x{n}."
    return text.payload("batch_matmul", f"{b}x{m}x{n}x{k} {dtype}", comment, "product")


def matvec(m: int = 1024, k: int = 1024, dtype: str = "float32") -> Payload:
    """Return a product with a vector: ``matvec(lhs: m×k, rhs: k) -> m``.

    Args:
        m: Rows of the matrix.
        k: Length of the vector.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, k)
    text = _product("matvec", tensor(e, m, k), tensor(e, k), tensor(e, m), e)
    return text.payload("matvec", f"{m}x{k} {dtype}", f"{m}x{k} times a vector of {k}.", "product")


def matmul_i8_i32(m: int = 256, n: int = 256, k: int = 256) -> Payload:
    """Return an integer product: ``matmul_i8_i32(lhs: m×k of int8, rhs: k×n of int8) -> m×n of int32``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction; sums stay exact up to 2^17 terms.
    """
    check_extents(m, n, k)
    text = _product("matmul", tensor("i8", m, k), tensor("i8", k, n), tensor("i32", m, n), "i32")
    comment = f"{m}x{k} times {k}x{n}: 8-bit integers, summed in 32 bits."
    return text.payload("matmul_i8_i32", f"{m}x{n}x{k}", comment, "product")


def matmul_bf16_f32(m: int = 256, n: int = 256, k: int = 256) -> Payload:
    """Return a mixed product: ``matmul_bf16_f32(lhs: m×k, rhs: k×n of bfloat16) -> m×n of float32``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
    """
    check_extents(m, n, k)
    text = _product("matmul", tensor("bf16", m, k), tensor("bf16", k, n), tensor("f32", m, n), "f32")
    comment = f"{m}x{k} times {k}x{n}: bfloat16, summed in float32."
    return text.payload("matmul_bf16_f32", f"{m}x{n}x{k}", comment, "product")


def matmul_dynamic(dtype: str = "float32") -> Payload:
    """Return a product of any size: ``matmul_dynamic(lhs: ?×?, rhs: ?×?) -> ?×?``.

    Args:
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype)
    any_size = tensor(e, "?", "?")
    text = FunctionText(e, lhs=any_size, rhs=any_size)
    text.sizes("lhs", "rhs")
    text.constant("zero")
    text.filled("init", any_size, "zero")
    text.op("product", "matmul", ("lhs", "rhs"), "init", any_size)
    return text.payload("matmul_dynamic", dtype, "A matrix product of any size.", "product")


def _product(op: str, lhs: str, rhs: str, out: str, element: str) -> FunctionText:
    """Return a contraction that starts from zeros; ``element`` is that of the result."""
    text = FunctionText(element, lhs=lhs, rhs=rhs)
    text.constant("zero", "0" if element.startswith("i") else "0.0")
    text.contraction("product", op, "lhs", "rhs", out)
    return text


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
    text = _convolution("conv_2d_nhwc_hwcf", image, filters, out, e, stride)
    return text.payload(name, f"{n}x{h}x{w}x{c} {f} filters {k}x{k} {dtype}", _CONVOLUTION, "result")


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
    text = _convolution("depthwise_conv_2d_nhwc_hwc", image, filters, out, e)
    sizes = f"{n}x{h}x{w}x{c} {k}x{k} {dtype}"
    return text.payload("depthwise_conv2d_nhwc", sizes, _CONVOLUTION, "result")


_CONVOLUTION = "A convolution; the image comes with its border."


def _convolution(op: str, image: str, filters: str, out: str, element: str, stride: int = 1) -> FunctionText:
    text = FunctionText(element, image=image, filter=filters)
    text.constant("zero")
    text.filled("init", out, "zero")
    steps = f"{{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}"
    operands = f"ins(%image, %filter : {image}, {filters}) outs(%init : {out}) -> {out}"
    text.define("result", out, f"linalg.{op}\n    {steps}\n    {operands}")
    return text
