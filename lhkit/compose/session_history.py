"""Undo history: an immutable list of versions of a schedule."""

from __future__ import annotations

from dataclasses import dataclass, field

from lhkit.model.errors import Failure
from lhkit.model.schedule import Schedule
from lhkit.text.script import Script

MOST_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a schedule in a session.

    Attributes:
        schedule: The schedule; under a draft, the last one that parsed.
        text: The text.
        title: What led here, in a few words.
        failure: Why the text is no schedule, for a draft; None where it is ``schedule.text``.
        script: The text with its outline, where it is known, so that the next edit need not parse it.
    """

    schedule: Schedule
    text: str
    title: str
    failure: Failure | None = None
    script: Script | None = field(default=None, repr=False, compare=False)

    @property
    def is_draft(self) -> bool:
        """True for a text that does not parse or verify."""
        return self.failure is not None


@dataclass(frozen=True, slots=True)
class History:
    """Versions in order, and which of them is current.

    Attributes:
        versions: At least one; those behind the current one can be redone.
        at: Index of the current one.
    """

    versions: tuple[Version, ...]
    at: int = 0

    @property
    def current(self) -> Version:
        """The current version."""
        return self.versions[self.at]

    @property
    def can_undo(self) -> bool:
        """True if there is a version before the current one."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """True if the current version was come back to."""
        return self.at + 1 < len(self.versions)

    def with_version(self, version: Version) -> History:
        """Return the history with a new current version; what could be redone is gone.

        A draft is replaced by the next version, so that undo does not visit every half-typed word.
        """
        kept = self.versions[: self.at + (0 if self.current.is_draft and self.at > 0 else 1)]
        versions = (*kept, version)[-MOST_VERSIONS:]
        return History(versions, len(versions) - 1)

    def amended(self, version: Version) -> History:
        """Return the history with another version in place of the current one; what could be redone is gone."""
        return History((*self.versions[: self.at], version), self.at)

    def undone(self) -> History:
        """Return the history one version back; the caller has asked `can_undo`."""
        return History(self.versions, max(self.at - 1, 0))

    def redone(self) -> History:
        """Return the history one version on; the caller has asked `can_redo`."""
        return History(self.versions, min(self.at + 1, len(self.versions) - 1))
