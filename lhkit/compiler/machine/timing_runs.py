"""Timing in the worker: calls with everything in place, calibrated, warmed up, sampled one batch at a time."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lhkit.worker.worker_caches import Eviction

Call = Callable[[], Any]
Batches = Callable[[int], Call]

_LEAD_IN_NS = 100_000_000
_WARM_UP_NS = 500_000_000
_MOST_WARM_UP_BATCHES = 12
_STABLE = 0.02
_MOST_CALLS = 1 << 24
# A batch lasts at least this many ticks of the clock, so that reading it errs by less than 0.1 %.
_TICKS = 1000


class TimedCall:
    """A call without arguments that is timed in batches.

    Args:
        call: Makes one call.
        batches: Returns what makes so many calls in a row.
        restore: Puts back the arguments that calls write to; runs before every sample, untimed.
    """

    def __init__(self, call: Call, batches: Batches, restore: Call) -> None:
        self._call, self._batches, self._restore = call, batches, restore
        self._calls = 1
        self._batch = call
        self._once_ns = 0.0

    def warm_up(self, batch_ns: int) -> dict[str, Any]:
        """Find how many calls make a batch, then repeat batches until two in a row agree within 2 %.

        Returns:
            ``calls`` in a batch, and whether it became ``stable`` within half a second.
        """
        least_ns = max(batch_ns, _TICKS * clock_resolution_ns())
        self._restore()
        self._call()  # first touch of pages, lazy binding
        taken = self._resize(1)
        while taken < least_ns and self._calls < _MOST_CALLS:
            wanted = self._calls * least_ns / max(taken, 1)
            taken = self._resize(int(min(max(wanted * 1.05, self._calls + 1), 16 * self._calls)))
        stable = self._settle(taken)
        return {"calls": self._calls, "stable": stable}

    def adopt(self, other: TimedCall) -> None:
        """Take the batch size of the same call on other arguments, and make one call to warm up."""
        self._calls, self._once_ns = other._calls, other._once_ns
        self._batch = self._batches(self._calls)
        self._restore()
        self._call()

    def _resize(self, calls: int) -> int:
        self._calls = min(calls, _MOST_CALLS)
        self._batch = self._batches(self._calls)
        self._restore()
        taken = time_call(self._batch)
        self._once_ns = taken / self._calls
        return taken

    def _settle(self, before: int) -> bool:
        if before > _WARM_UP_NS:  # so long a call warms up by itself
            return True
        spent = 0
        for _ in range(_MOST_WARM_UP_BATCHES):
            if spent > _WARM_UP_NS:
                return False
            self._restore()
            taken = time_call(self._batch)
            if abs(taken - before) <= _STABLE * before:
                return True
            before, spent = taken, spent + taken
        return False

    def sample_warm_ns(self) -> float:
        """Return the time of one call in ns, as the mean of a batch, right after another call."""
        self._restore()
        if self._once_ns < _LEAD_IN_NS:
            self._call()
        return time_call(self._batch) / self._calls

    def sample_cold_ns(self, eviction: Eviction, nothing: Call) -> float:
        """Return the time of a single call in ns with nothing of its data in the caches.

        Evicting also forgets how to make a call, so an empty one goes first: what is timed besides the
        kernel is about half a microsecond.
        """
        self._restore()
        eviction.evict()
        time_call(nothing)
        return float(time_call(self._call))


def python_batches(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Call, Batches]:
    """Return one call of a Python function with these arguments, and batches of it."""

    def batches(count: int) -> Call:
        def batch() -> None:
            for _ in itertools.repeat(None, count):
                function(*arguments)

        return batch

    return functools.partial(function, *arguments), batches


def time_call(call: Call) -> int:
    """Return how long a call took, in nanoseconds."""
    started = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - started


@functools.cache
def clock_resolution_ns() -> int:
    """Return the smallest step of the clock that was seen."""
    steps = []
    for _ in range(20):
        started = now = time.perf_counter_ns()
        while now == started:
            now = time.perf_counter_ns()
        steps.append(now - started)
    return min(steps)


@contextlib.contextmanager
def without_garbage_collector() -> Iterator[None]:
    """Keep Python's garbage collector from running."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
