"""One worker process, from its start to its death: requests, limits, and what it asks for in return."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn, cast

import psutil

from lhkit.model.errors import Failure, FailureKind, LhkitError, error_for, usage_error
from lhkit.worker import framing
from lhkit.worker.c_compiler import compile_c
from lhkit.worker.folders import finalize_here, temporary_folder
from lhkit.worker.forked_process import ForkedProcess
from lhkit.worker.limits import Limits, process_environment
from lhkit.worker.process_groups import PauseGuard, end_group
from lhkit.worker.requests import AnswerType, Request, name_of
from lhkit.worker.sandbox import FILES_VARIABLE, TEMPORARY_NAME
from lhkit.worker.serving import MakeHandlers
from lhkit.worker.shared_arrays import SharedFiles

# A message from the worker, garbage, or None at the end of the stream.
Event = framing.FromWorker | framing.GarbageError | None


class NothingYetError(Exception):
    """No event came in time."""


class PipeInbox:
    """Reads a pipe in the waiting thread; for systems whose pipes can be waited for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._descriptor = stream.fileno()
        self._poll = select.poll()  # any descriptor, where select() takes small ones only
        self._poll.register(self._descriptor, select.POLLIN)

    def get(self, seconds: float) -> Event:
        """Return the next event, or raise `NothingYetError` after this time."""
        if not self._poll.poll(1e3 * seconds):
            raise NothingYetError
        return _next_event(self)

    def read(self, count: int) -> bytes:
        """Return at most so many bytes, as they come; none at the end of the stream."""
        return os.read(self._descriptor, min(count, 1 << 20))


class ThreadInbox:
    """Reads a stream in a second thread; for systems whose pipes can only be read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        threading.Thread(target=self._pump, args=(stream,), daemon=True, name="lhkit-worker").start()

    def _pump(self, stream: BinaryIO) -> None:
        while True:
            event = _next_event(stream)
            self._events.put(event)
            if event is None or isinstance(event, framing.GarbageError):
                return

    def get(self, seconds: float) -> Event:
        """Return the next event, or raise `NothingYetError` after this time."""
        try:
            return self._events.get(timeout=seconds)
        except queue.Empty:
            raise NothingYetError from None


def open_inbox(stream: BinaryIO) -> PipeInbox | ThreadInbox:
    """Return the inbox for a pipe on this system."""
    return PipeInbox(stream) if hasattr(select, "poll") else ThreadInbox(stream)


def _next_event(stream: framing.Readable) -> Event:
    try:
        event: Event = framing.read_message(stream, framing.FromWorker)
        return event
    except framing.GarbageError as error:
        return error
    except (OSError, ValueError):  # closed under our hands
        return None


# How a worker died, in words and as a kind of failure.


# The stages in which a kernel runs.
_RUNNING = ("call", "time")
_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "MemoryError", "Cannot allocate memory")
# A compiler that crashes does not end by these.
_FROM_OUTSIDE = {
    int(getattr(signal, name)) for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)
}
_TIME_LIMIT_SIGNAL = getattr(signal, "SIGALRM", None)


def describe_exit(code: int | None, stage: str | None) -> str:
    """Return how a process ended in a stage of a request: by which signal, or with which exit code."""
    if code is None:
        return "stopped answering"
    if has_exited(code, stage):
        return f"was ended by the payload itself, which exited with status {code},"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"died of signal {-code} ({name})"


def has_exited(code: int | None, stage: str | None) -> bool:
    """Return whether a kernel ended its process, as by ``llvm.call @exit``: lhkit does not while it runs."""
    return stage in _RUNNING and code is not None and code >= 0


def was_killed(failure: Failure) -> bool:
    """Return whether a worker was killed from outside: by a user, or by a system out of memory."""
    return failure.kind == "crash" and any(f"signal {n} " in failure.message for n in _FROM_OUTSIDE)


def kind_of_death(code: int | None, last_words: str) -> FailureKind:
    """Return the kind of a death that the client did not cause itself."""
    if any(words in last_words for words in _OUT_OF_MEMORY):
        return "memory"
    if _TIME_LIMIT_SIGNAL is not None and code == -_TIME_LIMIT_SIGNAL:
        return "timeout"
    return "crash"


def advice_about(kind: FailureKind, stage: str | None, code: int | None) -> str:
    """Return what to do about a death with an exit code in a stage of a request."""
    if kind == "crash" and has_exited(code, stage):
        return _EXIT_ADVICE
    if kind == "crash" and code is not None and -code in _FROM_OUTSIDE:
        return _KILLED_ADVICE
    return _CALL_ADVICE if kind == "crash" and stage in _RUNNING else _ADVICE[kind]


_EXIT_ADVICE = (
    "A payload that calls exit, _exit or the like takes the worker with it, and its results: return from the"
    " function instead. The next request works."
)
_KILLED_ADVICE = (
    "It was killed from outside: by a user, by another program, or by a system that is out of memory. "
    "The next request works."
)
_CALL_ADVICE = (
    "A kernel that dies while it runs has touched memory outside its buffers: look for a payload whose"
    " slices do not fit, or for memory that could not be had. The next request works."
)
_ADVICE: dict[str, str] = {
    "timeout": "Close what else keeps this machine busy, give it more time (--timeout SECONDS, or "
    "limits=lhkit.Limits(seconds=…)), or look at the step named above.",
    "memory": "Give it more memory (--memory BYTES, or limits=lhkit.Limits(bytes=…)), "
    "or look at the step named above.",
    "crash": "This is a defect of the compiler or of the code that it made; the next request works.",
}


_POLL_SECONDS = 0.05
_START_SECONDS = 120.0
_MOST_LOG_BYTES = 256 << 20
_LOG_NAME = "worker.log"

COMPILER = "lhkit.worker"


class DeathError(Exception):
    """The process did not survive: what kind of death, in which words, and what was known before."""

    def __init__(self, kind: FailureKind, words: str, process: WorkerProcess, code: int | None = None) -> None:
        super().__init__(words)
        self.kind, self.words, self.code = kind, words, code
        self.stage, self.last_good_ir, self.output = process.stage, process.last_good_ir, process.log_tail()


class WorkerProcess:
    """One worker process, from start to death; an `LhkitError` if it does not start."""

    def __init__(
        self,
        threads: int,
        program: str,
        limits: Limits,
        files: SharedFiles,
        forked: MakeHandlers | None = None,
    ) -> None:
        self.stage: str | None = None  # The last stage that its request reported
        self.last_good_ir: str | None = None  # The payload at that stage
        self.is_cancelled = False  # Whether its request was cancelled, which ended the process
        self.is_asked = False  # Whether it has a request that it has not answered
        self._paused_s, self._paused_at = 0.0, float("nan")
        self._scratch, self._delete_scratch = temporary_folder(self, "lhkit-worker-")
        self._log = self._scratch / _LOG_NAME
        working = self._scratch / "working"
        (self._scratch / TEMPORARY_NAME).mkdir()
        environment = process_environment(threads)
        if program == COMPILER:
            # Temporary files have their folder; what a pass would write by a relative path has none.
            working.mkdir(mode=0o500)
            environment[FILES_VARIABLE] = str(files.folder)
        else:
            working.mkdir()
        # Microkernels that requests brought: the only C source that is compiled for the worker.
        self._c_sources: set[tuple[str, str]] = set()
        self._compiled = 0
        with self._log.open("ab") as log:
            self._popen: subprocess.Popen[bytes] | ForkedProcess
            if forked is not None:
                self._popen = ForkedProcess(forked, log, working, environment)
            else:
                self._popen = subprocess.Popen(
                    [sys.executable, "-P", "-m", program],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=working,
                    env=environment,
                    start_new_session=True,
                )
        self.pid = self._popen.pid
        self._end = finalize_here(self, end_group, self._popen)
        self._inbox = open_inbox(cast(BinaryIO, self._popen.stdout))
        try:
            # A fork begins with the memory of this process.
            most_bytes = 0 if forked is None else limits.bytes
            hello = self._wait(Limits(_START_SECONDS, most_bytes, limits.stopped))
            if isinstance(hello, framing.Failed):
                raise error_for(hello.failure)
        except BaseException:  # Ctrl-C, too
            self.kill()
            raise

    def is_running(self) -> bool:
        """Return whether it lives."""
        return self._popen.poll() is None

    def pause(self, guard: PauseGuard) -> None:
        """Stop it until `resume`; meanwhile the time of its request does not pass."""
        if self.is_running():
            self._paused_at = time.monotonic()
            guard.pause(self.pid)

    def resume(self, guard: PauseGuard) -> None:
        """Have it go on."""
        if self.is_running():
            guard.resume(self.pid)
        self._paused_s, self._paused_at = self.paused_seconds, float("nan")

    @property
    def paused_seconds(self) -> float:
        """For how long it was stopped."""
        is_paused = not math.isnan(self._paused_at)
        return self._paused_s + (time.monotonic() - self._paused_at if is_paused else 0.0)

    def ask(
        self,
        request: Request[Any],
        limits: Limits,
        last_good_ir: str | None,
        on_progress: Callable[[framing.Progress], None] | None = None,
        released: tuple[int, ...] = (),
    ) -> framing.Answered | framing.Failed:
        """Send a request and return its last message; a `DeathError` if the process died or broke a limit.

        Raises:
            UsageError: It cannot be serialized; nothing was sent.
        """
        call = framing.call_of(request, limits.seconds, limits.memory_bytes, released)
        self.is_asked = True
        # What begins without a note: it would cost more than a small kernel.
        self.stage = {"call": "call", "try_variant": "apply", "compile_variant": "apply"}.get(name_of(request))
        self.last_good_ir = last_good_ir
        if (spec := getattr(request, "spec", None)) is not None:
            self._c_sources |= {(m.file, m.text) for m in spec.microkernels}
        self._send(call)
        answer = self._wait(limits, on_progress)
        self.is_asked = False
        if isinstance(answer, framing.Hello):
            raise self._death(framing.GarbageError("a second greeting"))
        return answer

    def decode(self, answered: framing.Answered, request: Request[AnswerType]) -> AnswerType:
        """Return the answer to a request; kill the process (`DeathError`) if the type is wrong."""
        try:
            answer: AnswerType = framing.decode(answered.answer, request.answer_type())
        except framing.GarbageError as error:
            self._stop_for("crash", f"wrote garbage on its pipe: {error}")
        return answer

    def _send(self, message: object) -> None:
        try:
            framing.write_message(cast(BinaryIO, self._popen.stdin), message)
        except OSError:
            raise self._death() from None

    def _wait(
        self, limits: Limits, on_progress: Callable[[framing.Progress], None] | None = None
    ) -> framing.Hello | framing.Answered | framing.Failed:
        looked = time.monotonic()
        deadline = looked + limits.seconds - self.paused_seconds
        has_ended = False
        while True:
            try:
                event = self._inbox.get(min(_POLL_SECONDS, max(deadline - time.monotonic(), 0.001)))
            except NothingYetError:
                if has_ended:  # and what it forked holds its pipe open
                    raise self._death() from None
                self._enforce(limits, deadline)
                has_ended = not self.is_running()  # once more: its last message may have come meanwhile
                continue
            if event is None or isinstance(event, framing.GarbageError):
                raise self._death(event)
            if isinstance(event, framing.CompileC):
                self._compile_c(event, lambda: self._enforce(limits, deadline))
                continue
            if not isinstance(event, framing.Progress):
                return event
            if on_progress is not None:
                on_progress(event)
            self.stage = event.stage
            self.last_good_ir = event.ir or self.last_good_ir
            if time.monotonic() - looked >= _POLL_SECONDS:  # notes may come faster than that
                looked = time.monotonic()
                self._enforce(limits, deadline)

    def _compile_c(self, asked: framing.CompileC, check: Callable[[], None]) -> None:
        """Compile a microkernel and tell the worker, which is not allowed to start a compiler."""
        try:
            if (asked.file, asked.text) not in self._c_sources:
                raise usage_error(f"no request brought the C source {asked.file}")
            # The library before was loaded long ago.
            shutil.rmtree(self._scratch / f"c{self._compiled}", ignore_errors=True)
            self._compiled += 1
            folder = self._scratch / f"c{self._compiled}"
            folder.mkdir()
            source = (asked.file, asked.text, asked.header, asked.target)
            reply: framing.CompilerReply = compile_c(*source, folder=folder, check=check)
        except LhkitError as error:
            reply = framing.Failed(error.failure)
        self._send(reply)

    def _enforce(self, limits: Limits, deadline: float) -> None:
        if limits.is_stopped:
            self._stop_for("cancelled", "was no longer wanted")
        if time.monotonic() >= deadline + self.paused_seconds:
            self._stop_for("timeout", f"took longer than its limit of {limits.seconds:g} s")
        if (used := self._memory_bytes()) > limits.memory_bytes:
            limit = limits.memory_bytes / (1 << 20)
            self._stop_for("memory", f"took {used / (1 << 20):.0f} MiB, over its limit of {limit:.0f} MiB")
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > _MOST_LOG_BYTES:
                self._stop_for("memory", f"printed more than {_MOST_LOG_BYTES >> 20} MiB")

    def _stop_for(self, kind: FailureKind, words: str) -> NoReturn:
        died = DeathError(kind, words, self)
        self.kill()
        raise died

    def _memory_bytes(self) -> int:
        try:
            memory = psutil.Process(self.pid).memory_info()
        except psutil.Error:
            return 0
        return int(memory.rss - getattr(memory, "shared", 0))

    def _death(self, event: Event = None) -> DeathError:
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(timeout=2)
        # What was garbage only because the process died in the middle of it is just a death.
        if isinstance(event, framing.GarbageError) and code in (None, 0):
            died = DeathError("crash", f"wrote garbage on its pipe: {event}", self)
        else:
            kind = kind_of_death(code, self.log_tail())
            died = DeathError(kind, describe_exit(code, self.stage), self, code)
        self.kill()
        return died

    def log_tail(self, most_bytes: int = 1 << 14) -> str:
        """Return the end of what was printed."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(self._log.stat().st_size - most_bytes, 0))
                return log.read().decode(errors="replace")
        except OSError:
            return ""

    def kill(self) -> None:
        """End it now and delete its folder."""
        self._end()
        self._delete_scratch()
