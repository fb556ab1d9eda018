"""Processes that end together: a worker with its client, and what a worker has forked with the worker.

A worker reads the end of its input when its client dies, unless a child that the client forked holds the other
end of that pipe too. So the worker also watches its parent. (The kernel's parent-death signal is no help: it
comes when the thread that started the worker ends.)
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from typing import IO, Any, Protocol

import psutil

# Tells a worker its parent, which may be dead before the worker can ask who it is.
PARENT_VARIABLE = "LHKIT_WORKER_PARENT"
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 0.02


class Running(Protocol):
    """A process of this one's."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def stdin(self) -> IO[Any] | None:
        """What it reads."""

    @property
    def stdout(self) -> IO[Any] | None:
        """What it writes."""

    def kill(self) -> None:
        """End it now."""

    def wait(self) -> int | None:
        """Wait for its end."""


def end_group(process: Running) -> None:
    """Kill a process that was started with a session of its own, all that it forked, and close its pipes."""
    if hasattr(os, "killpg"):
        # After its death too: what it forked still has its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()


def still_running(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait for processes to end; return those that run after so many seconds. Zombies have ended."""
    deadline = time.monotonic() + seconds
    while (left := [p for p in processes if _is_running(p)]) and time.monotonic() < deadline:
        time.sleep(min(_LOOK_SECONDS, seconds))
    return left


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


class PauseGuard:
    """Pauses other processes of this user, and sees to it that they go on when this one has died.

    A process that is stopped cannot watch its parent; a shell that waits for this end of a pipe continues it.
    """

    _SCRIPT = 'while read -r pid; do pids="$pids $pid"; done; [ -n "$pids" ] && kill -CONT $pids'

    def __init__(self) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", self._SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._known: set[int] = set()

    def pause(self, pid: int) -> None:
        """Stop a process where it is."""
        if pid not in self._known and self._shell.stdin is not None:
            self._known.add(pid)
            self._shell.stdin.write(f"{pid}\n".encode())
            self._shell.stdin.flush()
        _signal(pid, signal.SIGSTOP)

    def resume(self, pid: int) -> None:
        """Have a process go on, if it was stopped."""
        _signal(pid, signal.SIGCONT)

    def close(self) -> None:
        """End the shell; what is still stopped goes on."""
        with contextlib.suppress(OSError):
            self._shell.communicate()


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class ParentWatch:
    """Ends this process and its group when its parent has died.

    Make it before a sandbox is closed, and start it after: it takes a thread, and may need a descriptor.
    """

    def __init__(self) -> None:
        self._parent = int(os.environ.get(PARENT_VARIABLE) or 0)
        self._descriptor: int | None = None
        if self._parent and hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # an older kernel, or the parent is gone
                self._descriptor = os.pidfd_open(self._parent)

    def start(self) -> None:
        """Begin to watch, in a thread; on Windows only pipes tell, which forked children cannot hold there."""
        if self._parent and os.name == "posix":
            threading.Thread(target=self._watch, daemon=True, name="lhkit-parent").start()

    def _watch(self) -> None:
        if os.getppid() == self._parent and self._descriptor is not None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            poll.poll()
        while os.getppid() == self._parent:
            time.sleep(_POLL_SECONDS)
        end_own_group()


def end_own_group() -> None:
    """End this process and what it has forked, at once."""
    if os.getpgrp() == os.getpid():  # else it was started by hand, in the group of a shell
        with contextlib.suppress(PermissionError):  # a sandbox that lets nothing be forked
            os.killpg(0, signal.SIGKILL)
    os._exit(1)
