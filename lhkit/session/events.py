"""What a session tells those who listen, such as widgets: values, sent after the session has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lhkit.model.failure import Failure
from lhkit.model.schedule import Schedule
from lhkit.model.trace import Trace

EventKind = Literal[
    "edited", "undone", "redone", "restored", "traced", "stale", "checkpoint", "branch", "unsaved"
]


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """Something that happened in a session, with its state right after.

    Attributes:
        kind: ``edited``, ``undone``, ``redone``, ``restored`` (a checkpoint): the text is another;
            ``traced``: the trace is that of the text; ``stale``: it is not; ``checkpoint``: one was set;
            ``branch``: one was made or switched to; ``unsaved``: the autosave could not be written.
        title: What it was, in a few words.
        branch: The current branch.
        text: The text as it stands.
        schedule: The last schedule that parsed.
        trace: The last trace, None before the first.
        is_stale: True if the trace is not that of the text.
        failure: Why the text does not parse, cannot be traced or cannot be saved, or None.
    """

    kind: EventKind
    title: str
    branch: str
    text: str
    schedule: Schedule
    trace: Trace | None
    is_stale: bool
    failure: Failure | None = None


Callback = Callable[[SessionEvent], None]


class EventStream:
    """Hands events to those who subscribed, in the order of their subscription."""

    def __init__(self) -> None:
        self._callbacks: dict[int, Callback] = {}
        self._count = 0

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Have a function called with every event from now on; return the function that ends that."""
        number = self._count
        self._count += 1
        self._callbacks[number] = callback

        def unsubscribe() -> None:
            self._callbacks.pop(number, None)

        return unsubscribe

    def send(self, event: SessionEvent) -> None:
        """Call every subscriber.

        Raises:
            ExceptionGroup: Of what callbacks raised, after all of them were called.
        """
        errors: list[Exception] = []
        for callback in tuple(self._callbacks.values()):
            try:
                callback(event)
            except Exception as error:  # noqa: BLE001 - one listener's defect must not keep the news from others
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"listeners to {event.kind!r} failed; the session itself is sound", errors)
