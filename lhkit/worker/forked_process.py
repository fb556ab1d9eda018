"""A worker forked from its client: what the client has in memory and has imported is there at once."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import logging
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NoReturn

import psutil

from lhkit.worker.serving import MakeHandlers, serve

# Of garbage collection: a process that answers one request has little garbage in cycles.
_MANY_OBJECTS = 50_000


class ForkedProcess:
    """A forked child that serves requests, with what `WorkerProcess` uses of ``subprocess.Popen``.

    Only the thread that forks is there in the child. What belongs to the others, such as the sockets of a
    Jupyter kernel, is not touched: the standard streams are replaced, signals have their default actions,
    nothing is logged, and the child leaves without finalizers.

    Attributes:
        pid: The process id.
        stdin: Requests go here.
        stdout: Answers come from here.
    """

    def __init__(
        self, make_handlers: MakeHandlers, log: BinaryIO, folder: Path, environment: Mapping[str, str]
    ) -> None:
        """Fork; OSError if the system has no room for another process."""
        requests, answers = os.pipe(), os.pipe()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # that this process has threads
                self.pid = os.fork()
        except OSError:
            for descriptor in (*requests, *answers):
                os.close(descriptor)
            raise
        if self.pid == 0:
            for descriptor in (requests[1], answers[0]):
                os.close(descriptor)
            _serve((requests[0], answers[1], log.fileno()), make_handlers, folder, environment)
        for descriptor in (requests[0], answers[1]):
            os.close(descriptor)
        self.stdin: BinaryIO = os.fdopen(requests[1], "wb")
        self.stdout: BinaryIO = os.fdopen(answers[0], "rb")
        self._process = psutil.Process(self.pid)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end and return the exit code; ``subprocess.TimeoutExpired`` if it takes too long."""
        try:
            code: int | None = self._process.wait(timeout)
        except psutil.TimeoutExpired:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0) from None
        return code

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process.kill()


def _serve(
    streams: tuple[int, int, int], make_handlers: MakeHandlers, folder: Path, environment: Mapping[str, str]
) -> NoReturn:
    """Serve requests in the child, and leave."""
    code = 1
    try:
        gc.freeze()  # what the client has is neither looked at nor finalized
        gc.set_threshold(_MANY_OBJECTS)
        os.setsid()
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdout = sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
        if faulthandler.is_enabled():
            faulthandler.enable(sys.stderr)
        signal.set_wakeup_fd(-1)
        for each in signal.valid_signals():
            if callable(signal.getsignal(each)):
                signal.signal(each, signal.SIG_DFL)
        logging.disable()
        os.chdir(folder)
        os.environ.update(environment)
        code = serve(make_handlers)
    except BaseException:  # noqa: BLE001 - the client's frames must not see it
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)
