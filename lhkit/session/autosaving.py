"""Sessions on disk: written whole after every change, found again after a crash."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhkit.model.blobs import Blob
from lhkit.model.errors import usage_error
from lhkit.model.input_files import parse_json, read_bytes, read_text
from lhkit.model.jsonable import from_json, to_json
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.session.blobs import array_of
from lhkit.session.history import History, Version
from lhkit.session.trust import digest_of
from lhkit.session.weight_files import read_weights, write_npz
from lhkit.user_folders import homeless_note, state_folder

SCHEMA = "lhkit.session/1"
_FILE, _PAYLOAD_FILE = "session.json", "payload.json"
_WEIGHTS_FILE = "payload.npz"
_SIGNATURE_FILE = "signature"
_MOST_SIGNATURE_BYTES = 200
_MOST_SESSIONS = 40
# Undo far back is for the living; a crash costs no more than that.
_MOST_SAVED_VERSIONS = 50


@dataclass(frozen=True, slots=True)
class SavedVersion:
    """A version on disk: the number of its schedule, the text of a draft or None, and its title."""

    schedule: int
    draft: str | None
    title: str


@dataclass(frozen=True, slots=True)
class SavedBranch:
    """A branch on disk."""

    name: str
    versions: tuple[SavedVersion, ...]
    at: int


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint on disk."""

    name: str
    version: SavedVersion


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session on disk, all but its payload; every schedule stands there once."""

    schema: str
    name: str
    payload_source: str
    branch: str
    schedules: tuple[Schedule, ...]
    branches: tuple[SavedBranch, ...]
    checkpoints: tuple[SavedCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session that can be recovered.

    Attributes:
        folder: Where it lies; what ``Session.recover`` takes.
        name: Its name.
        payload_source: Where its payload came from.
        title: The last thing that was done.
        saved_at_s: When it was written, in seconds since 1970.
    """

    folder: Path
    name: str
    payload_source: str
    title: str
    saved_at_s: float


def saved_sessions() -> tuple[SessionFile, ...]:
    """Return the sessions that were not closed, newest first; damaged files are not among them."""
    found = []
    for path in _session_files():
        try:
            saved, written_at = _parsed(read_text(path)), path.stat().st_mtime
        except (OSError, ValueError):
            continue
        branch = next(b for b in saved.branches if b.name == saved.branch)
        title = branch.versions[branch.at].title
        found.append(SessionFile(path.parent, saved.name, saved.payload_source, title, written_at))
    return tuple(sorted(found, key=lambda s: s.saved_at_s, reverse=True))


def _session_files() -> tuple[Path, ...]:
    try:
        return tuple(state_folder("sessions").glob(f"*/{_FILE}"))
    except OSError:  # no place for state: nothing was saved
        return ()


class Autosave:
    """Writes a session into a folder of its own, made at the first change."""

    def __init__(self, name: str, payload: Payload, folder: Path | None = None) -> None:
        self._name, self._payload, self._folder = name, payload, folder

    def save(
        self,
        branch: str,
        branches: Mapping[str, History],
        checkpoints: Mapping[str, Version],
        *,
        is_trusted: bool = False,
    ) -> None:
        """Write the session: all of it, or nothing is changed.

        Args:
            branch: The current branch.
            branches: The branches.
            checkpoints: The checkpoints.
            is_trusted: Whether to sign it, so that it is trusted when it is recovered.

        Raises:
            OSError: It cannot be written.
        """
        saved = session_value(self._name, self._payload.source, branch, branches, checkpoints)
        folder = self._folder = self._folder or _new_folder(self._name)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _PAYLOAD_FILE).exists():
            if self._payload.blobs:
                write_npz(folder / _WEIGHTS_FILE, {b.name: array_of(b) for b in self._payload.blobs})
            write_whole(folder / _PAYLOAD_FILE, json.dumps(_payload_to_json(self._payload)))
        text = json.dumps(to_json(saved))
        write_whole(folder / _FILE, text)
        if is_trusted:
            write_whole(folder / _SIGNATURE_FILE, _signature(folder, text))
        else:
            (folder / _SIGNATURE_FILE).unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete what was written."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _new_folder(name: str) -> Path:
    """Return a new empty folder for a session; of the old ones only the newest stay."""
    parent = state_folder("sessions")
    if note := homeless_note():
        warnings.warn(note, stacklevel=2)  # Python shows it once
    by_age = sorted((f for f in parent.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime, reverse=True)
    for old in by_age[_MOST_SESSIONS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    prefix = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:40]
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=parent))


def session_value(
    name: str,
    payload_source: str,
    branch: str,
    branches: Mapping[str, History],
    checkpoints: Mapping[str, Version],
) -> SavedSession:
    """Return a session as a value, versions far from the current one left out."""
    schedules: dict[Schedule, int] = {}

    def kept(version: Version) -> SavedVersion:
        number = schedules.setdefault(version.schedule, len(schedules))
        return SavedVersion(number, version.text if version.is_draft else None, version.title)

    def kept_branch(branch_name: str, history: History) -> SavedBranch:
        first = max(0, history.at + 1 - _MOST_SAVED_VERSIONS)
        last = history.at + 1 + _MOST_SAVED_VERSIONS
        return SavedBranch(branch_name, tuple(map(kept, history.versions[first:last])), history.at - first)

    saved_branches = tuple(kept_branch(n, h) for n, h in branches.items())
    saved_checkpoints = tuple(SavedCheckpoint(n, kept(v)) for n, v in checkpoints.items())
    return SavedSession(
        SCHEMA, name, payload_source, branch, tuple(schedules), saved_branches, saved_checkpoints
    )


def load_session(folder: Path) -> tuple[SavedSession, Payload, bool]:
    """Return a saved session, its payload, and whether it was signed here as trusted.

    Raises:
        UsageError: There is none there, or it is damaged.
    """
    try:
        text = read_text(folder / _FILE)
        saved = _parsed(text)
        payload = _payload_from_json(parse_json(read_text(folder / _PAYLOAD_FILE)), folder)
    except OSError as error:
        raise usage_error(f"{folder} holds no saved session: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise usage_error(f"the saved session in {folder} is damaged: {error}") from None
    return saved, payload, _is_signed(folder, text)


def _signature(folder: Path, text: str) -> str:
    """Return what only this user can write beside a session: a keyed digest of it and its payload."""
    payload = read_bytes(folder / _PAYLOAD_FILE)
    return digest_of(b"session\0" + hashlib.sha256(payload).digest() + text.encode())


def _is_signed(folder: Path, text: str) -> bool:
    try:
        found = read_bytes(folder / _SIGNATURE_FILE, most=_MOST_SIGNATURE_BYTES)
        return hmac.compare_digest(found, _signature(folder, text).encode())
    except OSError:
        return False


def write_whole(path: Path, text: str) -> None:
    """Write a file at once or not at all.

    Raises:
        OSError: It cannot be written; what was there before is still there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _parsed(text: str) -> SavedSession:
    data = parse_json(text)
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


def _payload_to_json(payload: Payload) -> dict[str, Any]:
    data: dict[str, Any] = to_json(dataclasses.replace(payload, bytecode=None, blobs=()))
    if payload.bytecode is not None:
        data["bytecode"] = base64.b64encode(payload.bytecode).decode()
    data["blobs"] = [{"name": b.name, "dtype": b.dtype, "shape": b.shape} for b in payload.blobs]
    return data


def _payload_from_json(data: dict[str, Any], folder: Path) -> Payload:
    bytecode = data.pop("bytecode", None)
    described = {d["name"]: d for d in data.pop("blobs", ())}
    found = read_weights(folder / _WEIGHTS_FILE, described) if described else []
    blobs = {
        f.name: Blob(f.name, described[f.name]["dtype"], tuple(described[f.name]["shape"]), f.sha256, f.data)
        for f in found
    }
    payload = from_json(Payload, {**data, "bytecode": None, "blobs": ()})
    return dataclasses.replace(
        payload,
        bytecode=None if bytecode is None else base64.b64decode(bytecode),
        blobs=tuple(blobs[name] for name in described),
    )
