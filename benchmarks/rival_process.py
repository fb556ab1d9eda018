"""``python -m benchmarks.rival_process``: the process of a rival, which prepares a task, runs and times it.

It has no sandbox: it runs a program that the user named (PyTorch, IREE), and such programs start processes and
write caches.

A rival is a function ``FILE.py:FUNCTION`` that takes a `RivalTask` and compiles what it needs to. It returns a
function that takes the arguments as NumPy arrays, once for each place that they lie in, and returns a call
without arguments; that call is timed. What it returns has to be something that ``numpy.asarray`` takes, or a
tuple of such things.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite import RivalTask
from lhkit.compiler.machine.python_references import load_function
from lhkit.compiler.machine.timing_runs import Call, TimedCall, python_batches, without_garbage_collector
from lhkit.model.errors import Failure, LhkitError, error_for
from lhkit.worker.kernel_requests import WarmUpAnswer
from lhkit.worker.requests import Answer, Request
from lhkit.worker.serving import Ask, Send, serve
from lhkit.worker.shared_arrays import Array, ArrayPlace, MappedFiles, inline, placed_empty
from lhkit.worker.timing_conditions import pinned_to, timing_sign

_PLACES_BYTES = 96 << 20
_MOST_PLACES = 8
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s]+)+[\\/]")


class PreparedAnswer(Answer, frozen=True):
    """The results of a prepared task, and how long it took until it could be repeated."""

    results: tuple[ArrayPlace, ...]
    compile_ns: int


class PrepareRival(Request[PreparedAnswer], frozen=True, tag="prepare"):
    """Prepare a task with a rival, the function of a file, for these arguments."""

    place: str
    task: RivalTask
    arguments: tuple[ArrayPlace, ...]
    alignment_bytes: int
    core: int | None = None


class WarmUpRival(Request[WarmUpAnswer], frozen=True, tag="warm_up"):
    """Calibrate and warm up the task."""

    batch_ns: int
    core: int | None


class SampleAnswer(Answer, frozen=True):
    """The time of one call, and whether another process was timing on this machine."""

    ns: float
    is_disturbed: bool


class SampleRival(Request[SampleAnswer], frozen=True, tag="sample"):
    """Take the sample of a round."""

    round: int
    core: int | None


class RivalHandlers:
    """Answers requests by type; it holds one task at a time."""

    request_types: tuple[type[Request[Any]], ...] = (PrepareRival, WarmUpRival, SampleRival)

    def __init__(self, _send: Send, _ask: Ask) -> None:
        self._files = MappedFiles()
        self._calls: list[Call] = []
        self._timed: list[TimedCall] = []

    def release(self, kernels: Sequence[int]) -> None:
        """Do nothing: there are no kernels here."""

    def answer(self, request: Request[Any]) -> Answer:
        """Return the answer to a request."""
        if isinstance(request, PrepareRival):
            return self._prepare(request)
        if isinstance(request, WarmUpRival):
            return self._warm_up(request)
        assert isinstance(request, SampleRival)
        return self._sample(request)

    def _prepare(self, request: PrepareRival) -> PreparedAnswer:
        given = [self._files.array(place) for place in request.arguments]
        nbytes = sum(a.nbytes for a in given)
        places = min(max(_PLACES_BYTES // max(nbytes, 1), 1), _MOST_PLACES)
        self._calls, self._timed = [], []
        where = request.place
        with pinned_to(request.core):
            started = time.perf_counter_ns()
            bind = _guarded(where, load_function(where), request.task)
            arguments = [_placed(given, request.alignment_bytes) for _ in range(places)]
            self._calls = [_guarded(where, bind, each) for each in arguments]
            value = _guarded(where, self._calls[0])
            taken = time.perf_counter_ns() - started
            started = time.perf_counter_ns()
            _guarded(where, self._calls[0])
            once = time.perf_counter_ns() - started
        results = value if isinstance(value, tuple) else (value,)
        answered = tuple(inline(np.asarray(r)) for r in results)
        return PreparedAnswer(results=answered, compile_ns=max(taken - once, 0))

    def _warm_up(self, request: WarmUpRival) -> WarmUpAnswer:
        self._timed = [TimedCall(call, python_batches(call, ())[1], _nothing) for call in self._calls]
        first, *others = self._timed
        with timing_sign(), pinned_to(request.core), without_garbage_collector():
            calls, stable = first.warm_up(request.batch_ns)
            for timed in others:
                timed.adopt(first)
        return WarmUpAnswer(calls=calls, stable=stable)

    def _sample(self, request: SampleRival) -> SampleAnswer:
        timed = self._timed[request.round % len(self._timed)]
        with timing_sign() as is_another_timing, pinned_to(request.core), without_garbage_collector():
            is_disturbed = is_another_timing()
            taken = timed.sample_warm_ns()
            is_disturbed |= is_another_timing()
        return SampleAnswer(ns=taken, is_disturbed=is_disturbed)


def _placed(arrays: Sequence[Array], alignment_bytes: int) -> list[Array]:
    """Return copies of arrays, aligned as the arguments of kernels are that they are compared with."""
    places = placed_empty([(a.shape, a.dtype) for a in arrays], alignment_bytes)
    for place, array in zip(places, arrays, strict=True):
        place[...] = array
    return places


def _guarded(place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of a rival's returns."""
    try:
        return function(*arguments)
    except LhkitError:
        raise
    except Exception as error:  # noqa: BLE001 - another program may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = str(error).strip().partition("\n")[0] or "no message"
        # Results are published: no folder of this machine is in them.
        at, where = Path(place).name, f"{Path(last.filename).name}:{last.lineno}"
        what = f"{at} raised {type(error).__name__}: {re.sub(_FOLDERS, '', said)} ({where})"
        raise error_for(Failure("usage", what, output=traceback.format_exc())) from None


def _nothing() -> None:
    """Restore nothing: what rivals are given they do not write to."""


if __name__ == "__main__":
    raise SystemExit(serve(RivalHandlers))
