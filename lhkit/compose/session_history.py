"""Undo history of a session, its serialized form, and the recovery of sessions that were not closed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lhkit.load.loader import parse_text
from lhkit.load.verified_edits import checked_script
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import Failure, LhkitError, UsageError
from lhkit.model.file_io import parse_json, read_text, write_whole
from lhkit.model.payload import Payload
from lhkit.model.printable import one_line
from lhkit.model.schedule import Schedule
from lhkit.text.script import Script
from lhkit.worker.cancellation import in_words
from lhkit.worker.client import Worker
from lhkit.worker.folders import homeless_note, state_folder
from lhkit.worker.limits import Limits

MOST_VERSIONS = 500
LOADED = "as it was loaded"


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a schedule in a session.

    Attributes:
        schedule: The schedule; under a draft, the last one that parsed.
        failure: Why the text does not parse, for a draft; None where it is ``schedule.text``.
        script: The text with its outline, if known, so that the next edit need not parse it.
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


def version_of_text(
    schedule: Schedule, text: str, title: str, worker: Worker | None, limits: Limits | None = None
) -> Version:
    """Return the version of a text; a draft, with its failure, where it does not parse or verify."""
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
    """At least one version in order, and which of them is current; those behind it can be redone."""

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
        """True if there is a version after the current one."""
        return self.at + 1 < len(self.versions)

    def with_version(self, version: Version) -> History:
        """Return the history with a new current version, without redo; a draft is replaced by it."""
        kept = self.versions[: self.at + (0 if self.current.is_draft and self.at > 0 else 1)]
        versions = (*kept, version)[-MOST_VERSIONS:]
        return History(versions, len(versions) - 1)

    def amended(self, version: Version) -> History:
        """Return the history with another version in place of the current one; what could be redone is gone."""
        return History((*self.versions[: self.at], version), self.at)

    def undone(self) -> History:
        """Return the history one version back, if `can_undo`."""
        return History(self.versions, self.at - 1)

    def redone(self) -> History:
        """Return the history one version on, if `can_redo`."""
        return History(self.versions, self.at + 1)


SCHEMA = "lhkit.session/1"
# Versions that are saved before and after the current one.
_MOST_SAVED_VERSIONS = 50
_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """A version: the number of its schedule, the text of a draft or None, and its title."""

    schedule: int
    draft: str | None
    title: str


@dataclass(frozen=True, slots=True)
class SavedBranch:
    """A line of versions; files have one, ``main``, and could have several once."""

    name: str
    versions: tuple[SavedVersion, ...]
    at: int


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint."""

    name: str
    version: SavedVersion


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session without its payload; every schedule is stored once."""

    schema: str
    name: str
    payload_source: str
    branch: str
    schedules: tuple[Schedule, ...]
    branches: tuple[SavedBranch, ...]
    checkpoints: tuple[SavedCheckpoint, ...]

    @property
    def current_branch(self) -> SavedBranch:
        """The branch that was current."""
        return next(b for b in self.branches if b.name == self.branch)


def saved_session(
    name: str, payload_source: str, history: History, checkpoints: Mapping[str, Version]
) -> SavedSession:
    """Return a session as a value, versions far from the current one left out."""
    schedules: dict[Schedule, int] = {}

    def kept(version: Version) -> SavedVersion:
        number = schedules.setdefault(version.schedule, len(schedules))
        return SavedVersion(number, version.text if version.is_draft else None, version.title)

    first = max(0, history.at + 1 - _MOST_SAVED_VERSIONS)
    last = history.at + 1 + _MOST_SAVED_VERSIONS
    branch = SavedBranch(_BRANCH, tuple(map(kept, history.versions[first:last])), history.at - first)
    saved_checkpoints = tuple(SavedCheckpoint(n, kept(v)) for n, v in checkpoints.items())
    return SavedSession(SCHEMA, name, payload_source, _BRANCH, tuple(schedules), (branch,), saved_checkpoints)


def checked_session(saved: SavedSession) -> SavedSession:
    """Return a session that was read, if what it refers to is there."""
    versions = [v for b in saved.branches for v in b.versions] + [c.version for c in saved.checkpoints]
    if any(not 0 <= v.schedule < len(saved.schedules) for v in versions):
        raise ValueError("it names a schedule that it does not hold")
    if any(not 0 <= b.at < len(b.versions) for b in saved.branches):
        raise ValueError("it names a version that it does not hold")
    if all(b.name != saved.branch for b in saved.branches):
        raise ValueError("it names a branch that it does not hold")
    return saved


# Recovery of sessions whose process ended, by the next session on the same payload and schedule.


# Changes are written once none has come for so long: not for every tick of a slider.
REST_SECONDS = 1.0
_MOST_FILES = 40
_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A session that was not closed."""

    session: SavedSession
    written_at_s: float

    @property
    def version(self) -> SavedVersion:
        """The version that was current."""
        branch = self.session.current_branch
        return branch.versions[branch.at]

    def is_at(self, version: Version) -> bool:
        """Return whether it holds nothing but a version."""
        left = self.version
        return left.draft is None and self.session.schedules[left.schedule] == version.schedule

    def sentence(self) -> str:
        """Return a description for the user."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.written_at_s))
        title = one_line(self.version.title, _LONGEST_TITLE)
        return f"A session on this payload and schedule was not closed; its last change was at {when}: {title}."


class RecoveryFile:
    """The file, in the user's state folder, that holds a session until it is closed."""

    def __init__(self, payload: Payload, opened: Version) -> None:
        told = "\0".join((payload.sha256, opened.schedule.source, opened.text))
        self._name = f"{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:32]}.json"
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def read(self) -> LeftBehind | None:
        """Return what an earlier session left, None where there is nothing that can be read."""
        with contextlib.suppress(OSError, ValueError):
            path = self._path()
            data = parse_json(read_text(path))
            if isinstance(data, dict) and data.get("schema") == SCHEMA:
                return LeftBehind(checked_session(from_json(SavedSession, data)), path.stat().st_mtime)
        return None

    def save_soon(self, session: Callable[[], SavedSession]) -> None:
        """Write a session when changes pause; the last one that was given counts."""
        if self._timer is None and (note := homeless_note()):
            warnings.warn(note, stacklevel=2)  # Python shows it once
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(REST_SECONDS, self._write, (session,))
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Delete the file; nothing is written any more."""
        with self._lock:
            self._is_closed = True
            if self._timer is None:  # what an earlier session left stays
                return
            self._timer.cancel()
            with contextlib.suppress(OSError):
                self._path().unlink(missing_ok=True)

    def _write(self, session: Callable[[], SavedSession]) -> None:
        # A state folder that cannot be written costs the recovery and nothing else.
        with self._lock, contextlib.suppress(OSError):
            if self._is_closed:
                return
            # Read under the lock: a timer that is late may come after a newer one, and must not write
            # older changes over newer ones.
            text = json.dumps(to_json(session()))
            path = self._path()
            write_whole(path, text)
            by_age = sorted(path.parent.glob("*.json"), key=lambda f: f.stat().st_mtime, reverse=True)
            for old in by_age[_MOST_FILES:]:
                old.unlink(missing_ok=True)

    def _path(self) -> Path:
        return state_folder("recovery") / self._name


def history_of_saved(saved: SavedSession, worker: Worker | None) -> tuple[History, dict[str, Version]]:
    """Return the versions and the checkpoints of a session that was saved; what was a draft is parsed again."""

    def version(kept: SavedVersion) -> Version:
        schedule = saved.schedules[kept.schedule]
        if kept.draft is None:
            return Version(schedule, schedule.text, kept.title)
        return version_of_text(schedule, kept.draft, kept.title, worker)

    branch = saved.current_branch
    history = History(tuple(map(version, branch.versions)), branch.at)
    return history, {c.name: version(c.version) for c in saved.checkpoints}
