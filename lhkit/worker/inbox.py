"""Messages from the worker as they come: read by the thread that waits for them, or by one beside it."""

from __future__ import annotations

import os
import queue
import select
import threading
from typing import BinaryIO

from lhkit.worker.framing import GarbageError, Message, Readable, read_message

# A message, garbage, or None at the end of the stream.
Event = Message | GarbageError | None


class NothingYetError(Exception):
    """No event came in time."""


class PipeInbox:
    """Reads a pipe in the waiting thread; for systems whose pipes can be waited for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._descriptor = stream.fileno()
        self._poll = select.poll()  # any descriptor, where select() takes small ones only
        self._poll.register(self._descriptor, select.POLLIN)

    def get(self, seconds: float) -> Event:
        """Return the next event.

        Raises:
            NothingYetError: None came within this time.
        """
        if not self._poll.poll(1e3 * seconds):
            raise NothingYetError
        return _next_event(self)

    def read(self, count: int) -> bytes:
        """Return at most so many bytes, as they come; none at the end of the stream."""
        return os.read(self._descriptor, min(count, 1 << 20))


class ThreadInbox:
    """Reads a stream in a thread of its own; for systems whose pipes can only be read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        threading.Thread(target=_pump, args=(stream, self._events), daemon=True, name="lhkit-worker").start()

    def get(self, seconds: float) -> Event:
        """Return the next event.

        Raises:
            NothingYetError: None came within this time.
        """
        try:
            return self._events.get(timeout=seconds)
        except queue.Empty:
            raise NothingYetError from None


def open_inbox(stream: BinaryIO) -> PipeInbox | ThreadInbox:
    """Return the inbox for a pipe on this system."""
    return PipeInbox(stream) if hasattr(select, "poll") else ThreadInbox(stream)


def _next_event(stream: Readable) -> Event:
    try:
        return read_message(stream)
    except GarbageError as error:
        return error
    except (OSError, ValueError):  # closed under our hands
        return None


def _pump(stream: BinaryIO, events: queue.SimpleQueue[Event]) -> None:
    while True:
        event = _next_event(stream)
        events.put(event)
        if not isinstance(event, Message):
            return
