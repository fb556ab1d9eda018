"""What a session leaves behind when its process ends, for the next one on the same payload and schedule."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lhkit.compose.saved_session import SavedSession, SavedVersion, parse_session
from lhkit.compose.session_history import Version
from lhkit.model.codec import to_json
from lhkit.model.file_io import parse_json, read_text
from lhkit.model.files import write_whole
from lhkit.model.payload import Payload
from lhkit.model.printable import one_line
from lhkit.worker.user_folders import homeless_note, state_folder

# Changes are written once none has come for so long: not for every tick of a slider.
REST_SECONDS = 1.0
_MOST_FILES = 40
_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A session that was not closed.

    Attributes:
        session: The session, as data: nothing of it is applied before it is recovered.
        written_at_s: When it was written, in seconds since 1970.
    """

    session: SavedSession
    written_at_s: float

    @property
    def version(self) -> SavedVersion:
        """The version that stood."""
        branch = self.session.current_branch
        return branch.versions[branch.at]

    def is_at(self, version: Version) -> bool:
        """Return whether it holds nothing but a version."""
        left = self.version
        return left.draft is None and self.session.schedules[left.schedule] == version.schedule

    def sentence(self) -> str:
        """Return what it is, for the reader."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.written_at_s))
        title = one_line(self.version.title, _LONGEST_TITLE)
        return f"A session on this payload and schedule was not closed; its last change was at {when}: {title}."


class RecoveryFile:
    """The file, in the user's state folder, that holds a session until it is closed."""

    def __init__(self, payload: Payload, opened: Version) -> None:
        """Name the file after what is opened; nothing is read or written yet."""
        told = "\0".join((payload.sha256, opened.schedule.source, opened.text))
        self._name = f"{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:32]}.json"
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def read(self) -> LeftBehind | None:
        """Return what an earlier session left, None where there is nothing that can be read."""
        with contextlib.suppress(OSError, ValueError):
            path = self._path()
            return LeftBehind(parse_session(parse_json(read_text(path))), path.stat().st_mtime)
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
        text = json.dumps(to_json(session()))
        # A state folder that cannot be written costs the recovery and nothing else.
        with self._lock, contextlib.suppress(OSError):
            if self._is_closed:
                return
            path = self._path()
            write_whole(path, text)
            by_age = sorted(path.parent.glob("*.json"), key=lambda f: f.stat().st_mtime, reverse=True)
            for old in by_age[_MOST_FILES:]:
                old.unlink(missing_ok=True)

    def _path(self) -> Path:
        return state_folder("recovery") / self._name
