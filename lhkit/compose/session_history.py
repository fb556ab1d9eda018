"""Undo history of a session: versions from texts, and an immutable list of them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from lhkit.load.loader import parse_text
from lhkit.load.verified_edits import checked_script
from lhkit.model.errors import Failure, LhkitError, UsageError
from lhkit.model.schedule import Schedule
from lhkit.text.script import Script
from lhkit.worker.cancellation import in_words
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

MOST_VERSIONS = 500
LOADED = "as it was loaded"


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


def version_of_schedule(schedule: Schedule) -> Version:
    """Return the version that a session begins with."""
    return Version(schedule, schedule.text, LOADED)


def first_draft(text: str, source: str, failure: Failure) -> Version:
    """Return the version that a session begins with whose text is no schedule yet."""
    return Version(Schedule(source, "", (), (), ""), text, LOADED, failure)


def version_of_text(
    schedule: Schedule, text: str, title: str, worker: Worker | None, limits: Limits | None = None
) -> Version:
    """Return the version of a text; a draft, with its failure, where it does not parse or verify.

    Args:
        schedule: The schedule that the text is another text of.
        text: The text.
        title: What led to it, in a few words.
        worker: The worker that parses it, None for the shared one.
        limits: Time and memory for that.
    """
    try:
        after, outline = parse_text(schedule, text, worker=worker, limits=limits)
    except LhkitError as error:
        return Version(schedule, text, title, in_words(error.failure, "reading the text"))
    # A text that is read otherwise than it is parsed can be traced; an edit of it says what is wrong.
    with contextlib.suppress(UsageError):
        return Version(after, text, title, script=checked_script(after, outline))
    return Version(after, text, title)


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
