"""``python -m benchmarks.rival_process``: the process of a rival, which prepares a task, runs and times it.

It has no sandbox: it runs a program that the user named (PyTorch, IREE), and such programs start processes and
write caches.

A rival is a function ``FILE.py:FUNCTION`` that takes a `RivalTask` and compiles what it needs to. It returns a
function that takes the arguments as NumPy arrays, once for each place that they lie in, and returns a call
without arguments; that call is timed. What it returns has to be something that ``numpy.asarray`` takes, or a
tuple of such things.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.suite import RivalTask
from lhkit.compiler.machine.python_references import load_function
from lhkit.compiler.machine.timing_runs import Call, TimedCall, python_batches, without_garbage_collector
from lhkit.model.errors import Failure, LhkitError, error_for
from lhkit.worker.requests import Request, UntypedAnswer, UntypedRequest
from lhkit.worker.serving import Ask, Send, serve
from lhkit.worker.shared_arrays import Array, MappedFiles, placed_empty
from lhkit.worker.timing_conditions import pinned_to, timing_sign

_PLACES_BYTES = 96 << 20
_MOST_PLACES = 8


class RivalHandlers:
    """Answers requests by name; it holds one task at a time."""

    request_types: tuple[type[Request[Any]], ...] = (UntypedRequest,)

    def __init__(self, _send: Send, _ask: Ask) -> None:
        self._files = MappedFiles()
        self._calls: list[Call] = []
        self._timed: list[TimedCall] = []
        self._by_name: dict[str, Callable[[dict[str, Any], bytes], UntypedAnswer]] = {
            "prepare": self._prepare,
            "warm_up": self._warm_up,
            "sample": self._sample,
        }

    def release(self, kernels: Sequence[int]) -> None:
        """Do nothing: there are no kernels here."""

    def answer(self, request: Any) -> UntypedAnswer:
        """Return the answer to a request."""
        return self._by_name[request.name](request.fields, request.body)

    def _prepare(self, fields: dict[str, Any], body: bytes) -> UntypedAnswer:
        """Prepare a task, and answer with its results and how long it took until it could be repeated."""
        given = [self._files.array(d, body) for d in fields["arguments"]]
        nbytes = sum(a.nbytes for a in given)
        places = min(max(_PLACES_BYTES // max(nbytes, 1), 1), _MOST_PLACES)
        task = RivalTask(
            fields["family"], fields["text"], fields["function"], fields["threads"], fields["setting"]
        )
        self._calls, self._timed = [], []
        with pinned_to(fields["core"]):
            started = time.perf_counter_ns()
            bind = _guarded(fields["place"], load_function(fields["place"]), task)
            arguments = [_placed(given, fields["alignment_bytes"]) for _ in range(places)]
            self._calls = [_guarded(fields["place"], bind, each) for each in arguments]
            value = _guarded(fields["place"], self._calls[0])
            taken = time.perf_counter_ns() - started
            started = time.perf_counter_ns()
            _guarded(fields["place"], self._calls[0])
            once = time.perf_counter_ns() - started
        results = [np.asarray(r) for r in (value if isinstance(value, tuple) else (value,))]
        described = [{"shape": list(r.shape), "dtype": r.dtype.name} for r in results]
        header = {"results": described, "compile_ns": max(taken - once, 0)}
        return UntypedAnswer(header=header, body=b"".join(np.ascontiguousarray(r).tobytes() for r in results))

    def _warm_up(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        self._timed = [TimedCall(call, python_batches(call, ())[1], _nothing) for call in self._calls]
        first, *others = self._timed
        with timing_sign(), pinned_to(fields["core"]), without_garbage_collector():
            answer = first.warm_up(fields["batch_ns"])
            for timed in others:
                timed.adopt(first)
        return UntypedAnswer(header=answer)

    def _sample(self, fields: dict[str, Any], _body: bytes) -> UntypedAnswer:
        timed = self._timed[fields["round"] % len(self._timed)]
        with timing_sign() as is_another_timing, pinned_to(fields["core"]), without_garbage_collector():
            is_disturbed = is_another_timing()
            taken = timed.sample_warm_ns()
            is_disturbed |= is_another_timing()
        return UntypedAnswer(header={"ns": taken, "is_disturbed": is_disturbed})


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
        what = f"{place} raised {type(error).__name__}: {said} ({last.filename}:{last.lineno})"
        raise error_for(Failure("usage", what, output=traceback.format_exc())) from None


def _nothing() -> None:
    """Restore nothing: what rivals are given they do not write to."""


if __name__ == "__main__":
    raise SystemExit(serve(RivalHandlers))
