"""NumPy references of the payloads in ``suite_payloads``, each as one would spell it for speed.

The worker loads this file by itself, so it imports nothing but NumPy. The reference of an einsum has its
specification as its name: ``suite_references.py:mk,nk->mn``.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]


def __getattr__(name: str) -> Callable[[Array, Array], Array]:
    if "->" not in name:
        raise AttributeError(name)
    return functools.partial(np.einsum, name, optimize=True)


def row_sums(source: Array) -> Array:
    """Return the sum of each row."""
    return np.asarray(source.sum(axis=1))


def column_sums(source: Array) -> Array:
    """Return the sum of each column."""
    return np.asarray(source.sum(axis=0))


def sum_of_all(source: Array) -> Array:
    """Return the sum of all elements."""
    return np.asarray(source.sum())


def row_maxima(source: Array) -> Array:
    """Return the maximum of each row."""
    return np.asarray(source.max(axis=1))


def row_argmax(source: Array) -> Array:
    """Return the column of the maximum of each row."""
    return np.asarray(source.argmax(axis=1))


def nchw(image: Array, filters: Array) -> Array:
    """Return the convolution of n×c×h×w by f×c×k×k."""
    return _einsum("nchwij,fcij->nfhw", image, filters, (2, 3), 1)


def nchw_stride2(image: Array, filters: Array) -> Array:
    """Return the same with a stride of 2."""
    return _einsum("nchwij,fcij->nfhw", image, filters, (2, 3), 2)


def depthwise_nchw(image: Array, filters: Array) -> Array:
    """Return the convolution of each channel of n×c×h×w alone, by c×k×k."""
    return _einsum("nchwij,cij->nchw", image, filters, (2, 3), 1)


def depthwise_nchw_stride2(image: Array, filters: Array) -> Array:
    """Return the same with a stride of 2."""
    return _einsum("nchwij,cij->nchw", image, filters, (2, 3), 2)


def depthwise_nhwc(image: Array, filters: Array) -> Array:
    """Return the convolution of each channel of n×h×w×c alone, by k×k×c."""
    return _einsum("nhwcij,ijc->nhwc", image, filters, (1, 2), 1)


def depthwise_nhwc_stride2(image: Array, filters: Array) -> Array:
    """Return the same with a stride of 2."""
    return _einsum("nhwcij,ijc->nhwc", image, filters, (1, 2), 2)


def grouped_nchw(image: Array, filters: Array) -> Array:
    """Return the convolution of each group of n×g×c×h×w alone, by g×f×c×k×k."""
    return _einsum("ngchwij,gfcij->ngfhw", image, filters, (3, 4), 1)


def grouped_nhwc(image: Array, filters: Array) -> Array:
    """Return the convolution of each group of n×h×w×g×c alone, by g×f×k×k×c."""
    return _einsum("nhwgcij,gfijc->nhwgf", image, filters, (1, 2), 1)


def _einsum(spec: str, image: Array, filters: Array, axes: tuple[int, int], stride: int) -> Array:
    """Return a product with the windows of an image; ``i`` and ``j`` are places in a window, of 3 by 3."""
    every = [slice(None)] * image.ndim
    every[axes[0]] = every[axes[1]] = slice(None, None, stride)
    windows = sliding_window_view(image, (3, 3), axes)[tuple(every)]
    return np.asarray(np.einsum(spec, windows, filters, optimize=True))
