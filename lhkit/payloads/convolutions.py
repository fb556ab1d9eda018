"""Convolutions of images: batch, height, width, channels."""

from __future__ import annotations

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import element_type, filled, function, generate, tensor


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
