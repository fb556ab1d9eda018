"""NumPy that writes to arrays that are there, where the reference makes new ones.

The setting ``dot`` is the method of that name, which costs a quarter of what ``np.matmul`` does to call.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


def prepare(task: Any) -> Callable[[Sequence[Array]], Callable[[], Any]]:
    """Return what binds the arguments of a family to a call."""
    make = matmul_by_dot if task.setting == "dot" else FAMILIES[task.family]
    words = [part for part in task.shape if isinstance(part, str)]
    return lambda arrays: make(*words, *arrays)


def matmul(lhs: Array, rhs: Array) -> Callable[[], Array]:
    """Return a call of the product."""
    out = np.empty((lhs.shape[0], rhs.shape[1]), lhs.dtype)
    return functools.partial(np.matmul, lhs, rhs, out)


def matmul_by_dot(lhs: Array, rhs: Array) -> Callable[[], Array]:
    """Return a call of the product by the method of the left-hand side."""
    return functools.partial(lhs.dot, rhs, np.empty((lhs.shape[0], rhs.shape[1]), lhs.dtype))


def batch_matmul(lhs: Array, rhs: Array) -> Callable[[], Array]:
    """Return a call of the products."""
    return functools.partial(np.matmul, lhs, rhs, np.empty((*lhs.shape[:2], rhs.shape[2]), lhs.dtype))


def matmul_i8_i32(lhs: Array, rhs: Array) -> Callable[[], Array]:
    """Return a call of the product of integers in f32, which is exact for such small ones."""
    out, result = (np.empty((lhs.shape[0], rhs.shape[1]), dtype) for dtype in (np.float32, np.int32))

    def call() -> Array:
        np.matmul(lhs.astype(np.float32), rhs.astype(np.float32), out)
        np.copyto(result, out, casting="unsafe")
        return result

    return call


def einsum(spec: str, lhs: Array, rhs: Array) -> Callable[[], Array]:
    """Return a call of the einsum by the products that it consists of."""
    if spec == "abcd,dbe->ace":
        return lambda: np.tensordot(lhs, rhs, ((3, 1), (0, 1)))
    left, right = {
        "mk,nk->mn": (lhs, rhs.T),
        "km,kn->mn": (lhs.T, rhs),
        "mk,kn->nm": (rhs.T, lhs.T),
        "bhnd,bhmd->bhnm": (lhs, rhs.mT if rhs.ndim > 1 else rhs),
    }.get(spec, (lhs, rhs))
    return functools.partial(np.matmul, left, right, np.matmul(left, right))


def reduction(what: str, source: Array) -> Callable[[], Array]:
    """Return a call of the reduction."""
    method, axis = {
        "row_sums": ("sum", 1),
        "column_sums": ("sum", 0),
        "sum_of_all": ("sum", (0, 1)),
        "row_maxima": ("max", 1),
        "row_argmax": ("argmax", 1),
    }[what]
    call = getattr(source, method)
    return functools.partial(call, axis, out=np.empty_like(call(axis)))


def fc_relu(lhs: Array, rhs: Array, bias: Array) -> Callable[[], Array]:
    """Return a call of the layer."""
    out = np.empty_like(bias)
    zero = lhs.dtype.type(0)

    def call() -> Array:
        np.matmul(lhs, rhs, out=out)
        np.add(out, bias, out=out)
        return np.maximum(out, zero, out=out)

    return call


def mlp(x: Array, *weights: Array) -> Callable[[], Array]:
    """Return a call of three layers, ReLU between them."""
    w0, b0, w1, b1, w2, b2 = weights
    first, second, last = (np.empty((x.shape[0], w.shape[1]), x.dtype) for w in (w0, w1, w2))
    zero = x.dtype.type(0)

    def call() -> Array:
        for source, w, b, out in ((x, w0, b0, first), (first, w1, b1, second), (second, w2, b2, last)):
            np.matmul(source, w, out=out)
            np.add(out, b, out=out)
            if out is not last:
                np.maximum(out, zero, out=out)
        return last

    return call


def softmax(source: Array) -> Callable[[], Array]:
    """Return a call of softmax along rows."""
    out = np.empty_like(source)
    row = np.empty((source.shape[0], 1), source.dtype)

    def call() -> Array:
        np.max(source, axis=1, keepdims=True, out=row)
        np.subtract(source, row, out=out)
        np.exp(out, out=out)
        np.sum(out, axis=1, keepdims=True, out=row)
        return np.divide(out, row, out=out)

    return call


def layernorm(source: Array, scale: Array, shift: Array) -> Callable[[], Array]:
    """Return a call of layer normalization along rows."""
    out, squares = np.empty_like(source), np.empty_like(source)
    row = np.empty((source.shape[0], 1), source.dtype)
    epsilon = source.dtype.type(1e-5)

    def call() -> Array:
        np.mean(source, axis=1, keepdims=True, out=row)
        np.subtract(source, row, out=out)
        np.multiply(out, out, out=squares)
        np.mean(squares, axis=1, keepdims=True, out=row)
        np.add(row, epsilon, out=row)
        np.sqrt(row, out=row)
        np.divide(out, row, out=out)
        np.multiply(out, scale, out=out)
        return np.add(out, shift, out=out)

    return call


def elementwise_chain(a: Array, b: Array, c: Array) -> Callable[[], Array]:
    """Return a call of the chain."""
    out = np.empty_like(c)
    zero = a.dtype.type(0)

    def call() -> Array:
        np.multiply(a, b, out=out)
        np.add(out, c, out=out)
        return np.maximum(out, zero, out=out)

    return call


FAMILIES = {
    "matmul": matmul,
    "fc_relu": fc_relu,
    "mlp": mlp,
    "softmax": softmax,
    "layernorm": layernorm,
    "elementwise_chain": elementwise_chain,
    "batch_matmul": batch_matmul,
    "matmul_i8_i32": matmul_i8_i32,
    "einsum": einsum,
    "reduction": reduction,
}
