"""Verification of proposals in a thread beside the search, with a worker of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from numpy.typing import NDArray

from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import results_of_call, verify_against
from lhkit.load.random_inputs import default_arguments
from lhkit.model.errors import LhkitError
from lhkit.model.measurement import Verification
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.signature import Function
from lhkit.model.target import available_cores
from lhkit.worker.client import Worker, own_worker, shared_worker
from lhkit.worker.limits import Limits

_Arrays = tuple[NDArray[Any], ...]
_Found = TypeVar("_Found")
_AGAINST = "the unscheduled payload"


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """How the functions of a scheduled payload compare with the unscheduled ones.

    Attributes:
        verification: Of the first function that is wrong, else of the one with the largest error; None where
            none can be run.
        notes: Which functions cannot be run, and why.
    """

    verification: Verification | None
    notes: tuple[str, ...]


class VerificationThread:
    """Verifies schedules of a payload in a thread that runs the unscheduled payload first, from `begin` on."""

    def __init__(self, payload: Payload, worker: Worker, limits: Limits) -> None:
        self._payload, self._worker, self._limits = payload, worker, limits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lhkit-verification")
        self._expected: dict[str, Future[tuple[list[Any], _Arrays]]] = {}

    def begin(self) -> None:
        """Begin to run the unscheduled payload, if that was not begun."""
        for function in self._payload.functions:
            if function.name not in self._expected:
                self._expected[function.name] = self._thread.submit(self._run_plain, function)

    def verdict(self, schedule: Schedule) -> Future[Verdict]:
        """Return the verdict on a schedule that is to come."""
        self.begin()
        return self._thread.submit(self._verdict, schedule)

    def beside(self, work: Callable[[Worker], _Found]) -> Future[_Found]:
        """Return what a function gives for the worker of this thread, when the verdicts before are there."""
        return self._thread.submit(work, self._worker)

    def end(self) -> None:
        """Wait for what runs, and leave out what does not yet."""
        self._thread.shutdown(cancel_futures=True)

    def _run_plain(self, function: Function) -> tuple[list[Any], _Arrays]:
        """Return arguments, and what the unscheduled function gives for them."""
        arguments = default_arguments(self._payload, function)
        how: dict[str, Any] = {"function": function.name, "worker": self._worker, "limits": self._limits}
        return arguments, results_of_call(compile_kernel(self._payload, **how), arguments)

    def _verdict(self, schedule: Schedule) -> Verdict:
        found: list[Verification] = []
        notes: list[str] = []
        how: dict[str, Any] = {"worker": self._worker, "limits": self._limits}
        for name, expected in self._expected.items():
            try:
                kernel = compile_kernel(self._payload, schedule, function=name, **how)
                found.append(verify_against(kernel, *expected.result(), _AGAINST))
            except LhkitError as error:
                notes.append(f"@{name} cannot be run: {error.failure.message}")
        wrong = [v for v in found if not v.ok]
        worst = wrong[0] if wrong else max(found, key=lambda v: v.max_abs_error, default=None)
        return Verdict(worst, tuple(notes))


@contextlib.contextmanager
def verification_thread(payload: Payload, worker: Worker | None) -> Iterator[VerificationThread]:
    """Return the thread; what it still waits for at the end, or at an interrupt, is cancelled.

    Args:
        payload: The payload; its NumPy reference is not used.
        worker: The worker for all requests; if None, the thread has its own where there is a core for it.
    """
    stopped = threading.Event()
    is_own = worker is None and available_cores() > 1
    runner = own_worker() if is_own else worker or shared_worker()
    limits = Limits(stopped=stopped.is_set)
    thread = VerificationThread(dataclasses.replace(payload, reference=None), runner, limits)
    try:
        yield thread
    finally:
        stopped.set()
        if is_own:
            runner.cancel()
        thread.end()
        if is_own:
            runner.close()
