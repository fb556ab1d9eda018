"""Timing in the worker: calls with everything in place, measured in rounds that the client orders."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any


class TimedCall:
    """A call without arguments, and how often it is repeated for one sample."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._repeats = 0

    @classmethod
    def of_function(cls, function: Callable[..., Any], arguments: Sequence[Any]) -> TimedCall:
        """Return the call of a Python function with these arguments."""
        return cls(lambda: function(*arguments))

    def sample_ns(self, target_ns: int) -> float:
        """Return the time of one call in ns, as the mean of a batch of about ``target_ns``."""
        if not self._repeats:
            self._batch_ns(1)  # warm up: first touch of pages, lazy binding
            once = max(self._batch_ns(1), 1)
            self._repeats = max(1, min(target_ns // once, 1_000_000))
        return self._batch_ns(self._repeats) / self._repeats

    def _batch_ns(self, repeats: int) -> int:
        call = self._call
        started = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        return time.perf_counter_ns() - started


def run_round(calls: Sequence[TimedCall], order: Sequence[int], target_ns: int) -> list[list[float]]:
    """Return [index, ns] for each call, measured in this order with the garbage collector off."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return [[i, calls[i].sample_ns(target_ns)] for i in order]
    finally:
        if was_enabled:
            gc.enable()
