"""Gaussian process on the values of knobs: what variants cost that nothing else is known of (scikit-learn's).

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapters 2 and 5.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

# What is so much slower than the best, as a natural logarithm, is slow: how slow teaches nothing of the best.
_FAR = 1.5
# How much a point is preferred whose cost is uncertain, in standard deviations.
_OPTIMISM = 2.0
# Fitting takes time with the third power of the number of points: of more than this only the fastest count.
_MOST_POINTS = 128
# Bounds of length scales, where knobs have a standard deviation of 1, and of the noise, where costs have.
_LENGTHS, _NOISE = (0.3, 30.0), (1e-4, 0.3)


class KnobProcess:
    """Costs as a smooth function of the knobs, with a length scale for each."""

    def __init__(self, every: np.ndarray) -> None:
        """Take the rows of knobs (points × knobs) that the scale of each is read from."""
        spread = every.std(0)
        self._varied = spread > 0
        self._model: Any = None
        self._middle, self._spread = every.mean(0)[self._varied], spread[self._varied]

    def fit(self, rows: np.ndarray, logs: np.ndarray, *, again: bool = False) -> None:
        """Fit it, length scales and noise too, to the logarithms of costs of points.

        Args:
            rows: Their knobs (points × knobs).
            logs: The logarithms.
            again: Whether it was just fitted to nearly the same: length scales are looked for from those on,
                which takes half the time.
        """
        from sklearn.gaussian_process import GaussianProcessRegressor

        fastest = np.argsort(logs, kind="stable")[:_MOST_POINTS]
        rows, logs = self._scaled(rows[fastest]), np.minimum(logs[fastest], logs.min() + _FAR)
        self._level, self._range = logs.mean(), logs.std() or 1.0
        kernel = self._model.kernel_ if again and self._model is not None else _kernel(rows.shape[1])
        self._model = GaussianProcessRegressor(kernel)
        with _one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a knob explains nothing: its length scale is at its bound
            self._model.fit(rows, (logs - self._level) / self._range)

    def optimistic(self, rows: np.ndarray) -> np.ndarray:
        """Return a lower confidence bound of the logarithm of the cost of each point."""
        with _one_thread():
            middle, deviation = self._model.predict(self._scaled(rows), return_std=True)
        bound: np.ndarray = (middle - _OPTIMISM * deviation) * self._range + self._level
        return bound

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = (rows[:, self._varied] - self._middle) / self._spread
        return scaled


def _one_thread() -> Any:
    """Return a context in which linear algebra has one thread: those that wait for work keep a core busy."""
    return _pools().limit(limits=1)


@functools.cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _kernel(knobs: int) -> Any:
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    smooth = Matern(length_scale=np.ones(knobs), length_scale_bounds=_LENGTHS, nu=2.5)
    return ConstantKernel() * smooth + WhiteKernel(0.01, _NOISE)
