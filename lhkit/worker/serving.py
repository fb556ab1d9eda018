"""A process that reads requests, answers them, one at a time, and survives what can be survived."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
from msgspec import structs

from lhkit.model.errors import Failure, LhkitError, defect, error_for
from lhkit.worker import framing
from lhkit.worker.c_compiler import CompiledC
from lhkit.worker.process_groups import ParentWatch
from lhkit.worker.requests import Answer, Request, name_of
from lhkit.worker.sandbox import explain_refusal

Send = Callable[[framing.Progress], None]
Ask = Callable[[framing.CompileC], CompiledC]
MakeHandlers = Callable[[Send, Ask], "Handlers"]


class Handlers(Protocol):
    """Answers requests of the types in ``request_types``."""

    request_types: tuple[type[Request[Any]], ...]

    def release(self, kernels: Sequence[int]) -> None:
        """Forget kernels."""

    def answer(self, request: Request[Any]) -> Answer:
        """Return the answer to a request, or raise an `LhkitError`."""


# The client stops a request that takes too long; this is for a worker whose client is gone. It may have been
# paused for as long as another one was at work.
_ORPHAN_LIMITS, _ORPHAN_GRACE_SECONDS = 2, 5.0
_BACKSTOP_BYTES = 4 << 30
# What the system takes as a time and as a size.
_LONGEST_SECONDS = 1e9
_LARGEST_BYTES = 1 << 62
_MOST_OUTPUT_BYTES = 1 << 20
LOG_NAME = "worker.log"


def serve(make_handlers: MakeHandlers) -> int:
    """Serve requests on standard input and output until they end; return the exit code.

    ``make_handlers`` gets a function that sends progress before an answer, and one that asks the client.
    """
    watch = ParentWatch()
    requests, answers = _private_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _forbid_core_dumps()
    log = Path.cwd().parent / LOG_NAME  # now: code of a payload may change the working folder

    def send(message: object) -> None:
        framing.write_message(answers, message)

    def ask(source: framing.CompileC) -> CompiledC:
        send(source)
        reply = framing.read_message(requests, framing.CompilerReply)
        if reply is None:
            raise SystemExit(0)  # the client is gone
        if isinstance(reply, framing.Failed):
            raise error_for(reply.failure)
        compiled: CompiledC = reply
        return compiled

    try:
        handlers = make_handlers(send, ask)
    except LhkitError as error:
        send(framing.Failed(error.failure))
        return 1
    watch.start()
    send(framing.Hello(os.getpid()))
    union = framing.request_union(handlers.request_types)
    while (call := framing.read_message(requests, framing.Call)) is not None:
        with _limited(call.seconds, call.memory_bytes):
            answer = _answer(handlers, union, call)
        output = _take_output(log)
        try:
            if output and not isinstance(answer, framing.Failed):
                answer = structs.replace(answer, output=output)
            send(
                answer
                if isinstance(answer, framing.Failed)
                else framing.Answered(msgspec.Raw(framing.encode(answer)))
            )
        except LhkitError as error:
            send(framing.Failed(error.failure))
    return 0


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move standard input and output to private descriptors; C-level prints go where standard error goes."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests, answers


def _answer(handlers: Handlers, union: Any, call: framing.Call) -> Answer | framing.Failed:
    name = "a request"
    try:
        request: Request[Any] = framing.decode(call.request, union)
        name = name_of(request)
        handlers.release(call.release)
        return handlers.answer(request)
    except LhkitError as error:
        return framing.Failed(explain_refusal(error.failure))
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        return framing.Failed(Failure("memory", f"{name} ran out of memory{why}"))
    except Exception as error:  # noqa: BLE001 - whatever it is, the client must hear of it
        what = f"{name!r} raised {type(error).__name__}: {error}"
        said = Failure(kind="usage", message=what)
        if (explained := explain_refusal(said)) is not said:  # no defect: the sandbox at work
            return framing.Failed(explained)
        return framing.Failed(defect(what), traceback.format_exc())


@contextlib.contextmanager
def _limited(seconds: float, memory_bytes: int) -> Iterator[None]:
    """Backstops for a client that is gone: an alarm that ends the process, and a limit on its memory.

    Both lie well above the client's limits, so that it is the client that stops a request and says why:
    code that is refused memory does not say so, it crashes.
    """
    _limit_memory(min(2 * int(memory_bytes) + _BACKSTOP_BYTES, _LARGEST_BYTES))
    if hasattr(signal, "setitimer"):
        signal.setitimer(
            signal.ITIMER_REAL, min(_ORPHAN_LIMITS * seconds + _ORPHAN_GRACE_SECONDS, _LONGEST_SECONDS)
        )
    try:
        yield
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _forbid_core_dumps() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@functools.cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


# What the bindings print after a schedule has applied in which a failure without a message was suppressed.
_EMPTY_DIAGNOSTIC = re.compile(
    r'Diagnostic generated while applying transform\.named_sequence:\n(?:at loc\("[^"\n]*":\d+:\d+\): ?)+\n?'
)


def _take_output(log: Path) -> str:
    """Return what was printed since the last request, and empty the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        _c_library().fflush(None)
    try:
        if log.stat().st_size == 0:
            return ""
    except FileNotFoundError:
        return ""
    with log.open("r+b") as file:
        data = file.read(_MOST_OUTPUT_BYTES)
        cut = file.read(1)
        file.truncate(0)
    text = _EMPTY_DIAGNOSTIC.sub("", data.decode(errors="replace"))
    return text + "\n… the rest was cut\n" if cut else text
