"""Sessions as data: what a saved workbench holds, and what is kept for recovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compose.session_history import History, Version
from lhkit.model.codec import from_json
from lhkit.model.schedule import Schedule

SCHEMA = "lhkit.session/1"
# Undo far back is for the living; a saved session holds so many versions before and after the current one.
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
    """A session, all but its payload; every schedule stands there once."""

    schema: str
    name: str
    payload_source: str
    branch: str
    schedules: tuple[Schedule, ...]
    branches: tuple[SavedBranch, ...]
    checkpoints: tuple[SavedCheckpoint, ...]

    @property
    def current_branch(self) -> SavedBranch:
        """The line of versions that stood."""
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


def parse_session(data: Any) -> SavedSession:
    """Return a session from JSON.

    Raises:
        ValueError: It is none, or what it refers to is not there.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"it is not {SCHEMA}")
    return checked_session(from_json(SavedSession, data))


def checked_session(saved: SavedSession) -> SavedSession:
    """Return a session that was read, if what it refers to is there.

    Raises:
        ValueError: It is not.
    """
    versions = [v for b in saved.branches for v in b.versions] + [c.version for c in saved.checkpoints]
    if any(not 0 <= v.schedule < len(saved.schedules) for v in versions):
        raise ValueError("it names a schedule that it does not hold")
    if any(not 0 <= b.at < len(b.versions) for b in saved.branches):
        raise ValueError("it names a version that it does not hold")
    if all(b.name != saved.branch for b in saved.branches):
        raise ValueError("it names a branch that it does not hold")
    return saved
