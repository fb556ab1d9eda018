"""What a trace was made from, as values: texts for carets and for sharing, which its JSON does not hold."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Provenance:
    """What was applied to what, and with which versions.

    Attributes:
        payload: The payload as given.
        schedule: The schedule with its entry, settings, bindings and libraries.
        versions: (what, version) of everything that may make a difference.
        own_ops: The Python files with the ops of one's own that the schedule may use, each as (path, text).
    """

    payload: Payload
    schedule: Schedule
    versions: tuple[tuple[str, str], ...] = ()
    own_ops: tuple[tuple[str, str], ...] = ()

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts that places point into, each as (file name, text)."""
        libraries = ((library.source, library.text) for library in self.schedule.libraries)
        own = ((self.payload.source, self.payload.text), (self.schedule.source, self.schedule.text))
        return (*own, *libraries, *self.own_ops)
