"""NumPy references of the shipped payloads: one function a payload, for any shape and dtype.

Short floats are computed in float32 and rounded at the end, as one would do it by hand.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]


def _wide(*arrays: Array) -> list[Array]:
    """Return arrays of at least float32."""
    return [a.astype(np.float32) if a.dtype.itemsize < 4 else a for a in arrays]


def matmul(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs @ rhs``."""
    a, b = _wide(lhs, rhs)
    return (a @ b).astype(lhs.dtype, copy=False)


def batch_matmul(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs[i] @ rhs[i]`` for each i."""
    return matmul(lhs, rhs)


def matvec(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs @ rhs`` for a vector ``rhs``."""
    return matmul(lhs, rhs)


def matmul_dynamic(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs @ rhs``."""
    return matmul(lhs, rhs)


def matmul_i8_i32(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs @ rhs`` of 8-bit integers, exact in 32 bits."""
    # Exact in float64, whose product is BLAS's.
    return (lhs.astype(np.float64) @ rhs.astype(np.float64)).astype(np.int32)


def matmul_bf16_f32(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs @ rhs`` of bfloat16 as float32."""
    return lhs.astype(np.float32) @ rhs.astype(np.float32)


def fc_relu(lhs: Array, rhs: Array, bias: Array) -> Array:
    """Return ``max(lhs @ rhs + bias, 0)``, with as few temporaries as NumPy allows."""
    a, b, c = _wide(lhs, rhs, bias)
    result = a @ b
    np.add(result, c, out=result)
    return np.maximum(result, 0, out=result).astype(lhs.dtype, copy=False)


def mlp(x: Array, w0: Array, b0: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    """Return three layers, ReLU between them."""
    wide = _wide(x, w0, b0, w1, b1, w2, b2)
    result = np.maximum(wide[0] @ wide[1] + wide[2], 0)
    result = np.maximum(result @ wide[3] + wide[4], 0)
    return (result @ wide[5] + wide[6]).astype(x.dtype, copy=False)


def attention(q: Array, k: Array, v: Array) -> Array:
    """Return ``softmax(q @ k.T / sqrt(d)) @ v``."""
    a, b, c = _wide(q, k, v)
    scale = a.dtype.type(1 / np.sqrt(q.shape[1]))
    return (softmax((a @ b.T) * scale) @ c).astype(q.dtype, copy=False)


def elementwise_chain(a: Array, b: Array, c: Array) -> Array:
    """Return ``max(a * b + c, 0)``."""
    x, y, z = _wide(a, b, c)
    result = x * y
    np.add(result, z, out=result)
    return np.maximum(result, 0, out=result).astype(a.dtype, copy=False)


def op_chain(source: Array, shift: Array, scale: Array, low: Array, high: Array) -> Array:
    """Return ``source`` after 999 ops and a magnitude; like the payload's, each rounds its result."""
    stage = ((np.add, shift), (np.multiply, scale), (np.maximum, low), (np.minimum, high))
    result = source
    for i in range(999):
        op, operand = stage[i % 4]
        result = op(result, operand)
    return np.abs(result)


def transpose(source: Array) -> Array:
    """Return rows as columns, in memory too."""
    return np.ascontiguousarray(source.T)


def transpose_pack(weights: Array, inputs: Array) -> tuple[Array, Array, Array]:
    """Return ``weights.T @ inputs.T``, the transposed weights, and twice these."""
    turned = np.ascontiguousarray(weights.T)
    return matmul(turned, inputs.T), turned, turned + turned


def strided_window(source: Array) -> Array:
    """Return odd rows and even columns, doubled."""
    return source[1::2, ::2] + source[1::2, ::2]


def relu_dynamic(source: Array) -> Array:
    """Return ``max(source, 0)``."""
    return np.maximum(source, source.dtype.type(0))


def row_sum(source: Array) -> Array:
    """Return the sum of each row."""
    (wide,) = _wide(source)
    return wide.sum(axis=1).astype(source.dtype, copy=False)


def softmax(source: Array) -> Array:
    """Return the exponentials of each row over their sum."""
    (wide,) = _wide(source)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(source.dtype, copy=False)


def layernorm(source: Array, scale: Array, shift: Array) -> Array:
    """Return each row with mean 0 and variance 1, scaled and shifted."""
    wide, factor, offset = _wide(source, scale, shift)
    centered = wide - wide.mean(axis=1, keepdims=True)
    variance = np.mean(centered * centered, axis=1, keepdims=True)
    normal = centered / np.sqrt(variance + wide.dtype.type(1e-5))
    return (normal * factor + offset).astype(source.dtype, copy=False)


def conv2d_nhwc(image: Array, filter: Array, stride: int = 1) -> Array:
    """Return the convolution as one product a filter position, summed."""
    wide_image, wide_filter = _wide(image, filter)
    height, width = image.shape[1] - filter.shape[0] + 1, image.shape[2] - filter.shape[1] + 1
    parts = (
        wide_image[:, i : i + height : stride, j : j + width : stride] @ wide_filter[i, j]
        for i in range(filter.shape[0])
        for j in range(filter.shape[1])
    )
    return sum(parts).astype(image.dtype, copy=False)


def conv2d_nhwc_stride2(image: Array, filter: Array) -> Array:
    """Return the convolution at every second pixel, in every second row."""
    return conv2d_nhwc(image, filter, 2)


def depthwise_conv2d_nhwc(image: Array, filter: Array) -> Array:
    """Return the convolution of each channel alone."""
    wide_image, wide_filter = _wide(image, filter)
    height, width = image.shape[1] - filter.shape[0] + 1, image.shape[2] - filter.shape[1] + 1
    parts = (
        wide_image[:, i : i + height, j : j + width] * wide_filter[i, j]
        for i in range(filter.shape[0])
        for j in range(filter.shape[1])
    )
    return sum(parts).astype(image.dtype, copy=False)
