"""The client's side of the wall: starts and replaces the worker, sends requests, enforces limits."""

from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lhkit.model.errors import DefectError, Failure, LhkitError, error_for
from lhkit.model.own_op_definition import OwnOp
from lhkit.worker.framing import Failed, Progress
from lhkit.worker.limits import Limits
from lhkit.worker.process_groups import PauseGuard
from lhkit.worker.reproducer import write_reproducer
from lhkit.worker.requests import AnswerType, LoadOps, Ping, Request, name_of
from lhkit.worker.serving import MakeHandlers
from lhkit.worker.shared_arrays import SharedFiles
from lhkit.worker.worker_process import COMPILER, DeathError, WorkerProcess, advice_about

_POLL_SECONDS = 0.05


class Worker:
    """A worker process and its successors: every request is answered or fails with a typed error.

    Safe to use from several threads; requests wait for one another. Starts at the first request.

    Attributes:
        files: Memory-mapped files through which large arrays travel.
        generation: How often a process was started; what lived in an older one is gone.
        preparation: What every process is asked first; see `restart_with`.
        limits: Limits of requests that bring none of their own.
        threads: How many threads the pools of numerical libraries (NumPy's, for one) may have.
        program: The module that the process runs: the compiler's, or one that answers other requests.
        title: What it is called in messages.
        forked: Given, the process is a fork of this one (Linux), and answers requests by what this returns; the
            first request raises OSError where the system has no room for it.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        threads: int = 1,
        program: str = COMPILER,
        title: str = "the compiler's worker",
        forked: MakeHandlers | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.threads = threads
        self.program = program
        self.title = title
        self.forked = forked
        self.files = SharedFiles()
        self.generation = 0
        self.preparation: tuple[LoadOps, ...] = ()
        self._lock = threading.RLock()
        self._process: WorkerProcess | None = None
        self._owner = os.getpid()
        self._released: collections.deque[tuple[int, int]] = collections.deque()

    def ask(
        self,
        request: Request[AnswerType],
        *,
        limits: Limits | None = None,
        before: Callable[[], Sequence[Request[Any]]] = tuple,
        last_good_ir: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> AnswerType:
        """Send a request and return the answer, or raise an `LhkitError` (a `WorkerError` if the process died).

        ``before`` returns the requests that a reproducer sends first; it is called only if the worker dies, and
        ``last_good_ir`` is for that failure. ``on_progress`` gets each stage before the answer.
        """
        limits, name = limits or self.limits, name_of(request)
        with self._turn(name, limits):
            try:
                process = self._alive(limits)
            except DeathError as died:
                if died.kind == "cancelled":
                    raise _cancelled(name) from None
                raise error_for(self._failure_of_death("start", died, self.preparation)) from None
            try:
                answer = process.ask(request, limits, last_good_ir, on_progress, self._take_released())
                if not isinstance(answer, Failed):
                    return process.decode(answer, request)
            except DeathError as died:
                self._process = None
                if process.is_cancelled or died.kind == "cancelled":
                    raise _cancelled(name) from None
                requests = [*self.preparation, *before(), request]
                raise error_for(self._failure_of_death(name, died, requests)) from None
            except BaseException:
                if process.is_asked:  # Ctrl-C and the like: the answer would come to the wrong request
                    self._process = None
                    process.kill()
                raise
        if answer.traceback is None:
            raise error_for(answer.failure)
        requests = [*self.preparation, *before(), request]
        raise DefectError(self._with_reproducer(answer.failure, requests, answer.traceback))

    def start_early(self) -> threading.Thread:
        """Start the process, if there is none, from the thread that is returned.

        The first request waits for it, and raises what fails. Wait for the thread before closing the worker.
        """

        def start() -> None:
            with contextlib.suppress(LhkitError):
                if self.pid is None:  # one that runs may be busy
                    self.ask(Ping())

        thread = threading.Thread(target=start, daemon=True)
        thread.start()
        return thread

    def restart_with(
        self, preparation: Sequence[LoadOps], *, limits: Limits | None = None
    ) -> list[tuple[OwnOp, ...]]:
        """Replace the process by one that answers these requests first, as its successors do.

        The old process ends only when the new one has answered them all; if one fails, nothing changes.
        """
        with self._lock:
            self._leave_parent()
            try:
                process, answers = self._start(preparation, limits or self.limits)
            except DeathError as died:
                raise error_for(self._failure_of_death("load_ops", died, preparation)) from None
            self.kill()
            self.preparation, self._process = tuple(preparation), process
            self.generation += 1
        return answers

    @contextlib.contextmanager
    def _turn(self, name: str, limits: Limits) -> Iterator[None]:
        """Wait until no other thread is asking; not longer than the answer is wanted."""
        while not self._lock.acquire(timeout=-1 if limits.stopped is None else _POLL_SECONDS):
            if limits.is_stopped:
                raise _cancelled(name)
        try:
            if limits.is_stopped:
                raise _cancelled(name)
            yield
        finally:
            self._lock.release()

    def _start(
        self, preparation: Sequence[LoadOps], limits: Limits
    ) -> tuple[WorkerProcess, list[tuple[OwnOp, ...]]]:
        process = WorkerProcess(self.threads, self.program, limits, self.files, self.forked)
        answers = []
        try:
            for request in preparation:
                answer = process.ask(request, limits, None)
                if isinstance(answer, Failed):
                    raise error_for(answer.failure)
                answers.append(process.decode(answer, request).value)
        except BaseException:
            process.kill()
            raise
        return process, answers

    def release(self, kernel: int, generation: int) -> None:
        """Let the worker forget a kernel, with the next request; safe to call from a finalizer."""
        self._released.append((kernel, generation))

    def kill(self) -> None:
        """End the process now; the next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def cancel(self) -> None:
        """End another thread's request, which fails as ``cancelled`` without reproducer, and the process."""
        process = self._process
        if process is not None:
            process.is_cancelled = True
            process.kill()

    def pause(self, guard: PauseGuard) -> None:
        """Stop the process, if there is one, until `resume`; the time of its request does not pass."""
        if (process := self._process) is not None:
            process.pause(guard)

    def resume(self, guard: PauseGuard) -> None:
        """Have the process go on."""
        if (process := self._process) is not None:
            process.resume(guard)

    def close(self) -> None:
        """End the process and delete the shared files."""
        self.kill()
        self.files.close()

    @property
    def pid(self) -> int | None:
        """The process id, or None where none is running."""
        return self._process.pid if self._process else None

    def _alive(self, limits: Limits) -> WorkerProcess:
        self._leave_parent()
        if self._process is not None and not self._process.is_running():
            self._process.kill()
            self._process = None
        if self._process is None:
            own = dataclasses.replace(self.limits, stopped=limits.stopped)
            self._process, _ = self._start(self.preparation, own)
            self.generation += 1
        return self._process

    def _failure_of_death(self, name: str, died: DeathError, requests: Sequence[Request[Any]]) -> Failure:
        stage = f" (stage: {died.stage})" if died.stage else ""
        failure = Failure(
            kind=died.kind,
            message=f"{self.title} {died.words} during {name!r}{stage}; nothing else is lost",
            advice=advice_about(died.kind, died.stage, died.code),
            request=name,
            stage=died.stage,
            last_good_ir=died.last_good_ir,
            output=died.output,
        )
        return self._with_reproducer(failure, requests, died.output)

    def _with_reproducer(self, failure: Failure, requests: Sequence[Request[Any]], output: str) -> Failure:
        """Return a failure of the compiler with a reproducer that shows this output."""
        if self.program != COMPILER:
            return failure
        shown = dataclasses.replace(failure, output=output)
        return dataclasses.replace(failure, reproducer=write_reproducer(requests, shown))

    def _leave_parent(self) -> None:
        """After a fork: talk to no process of the parent, and end none."""
        if self._owner != os.getpid():
            self._owner, self._process, self.files = os.getpid(), None, SharedFiles()

    def _take_released(self) -> tuple[int, ...]:
        released = [self._released.popleft() for _ in range(len(self._released))]
        return tuple(kernel for kernel, generation in released if generation == self.generation)


def _cancelled(name: str) -> LhkitError:
    return error_for(Failure("cancelled", f"{name} was cancelled", request=name))


# The worker that a session shares, started at the first need.


@functools.cache
def shared_worker() -> Worker:
    """Return the worker of this process; it ends with it."""
    worker = Worker()
    atexit.register(worker.close)
    return worker


def own_worker() -> Worker:
    """Return a new worker with the transform ops that the session loaded; the caller closes it."""
    worker = Worker()
    worker.preparation = shared_worker().preparation
    return worker
