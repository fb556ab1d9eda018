"""Opening of sessions from paths, texts and values, including text that does not parse."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.compose.followed_file import own_file
from lhkit.compose.session import Session
from lhkit.compose.session_history import Version, first_draft, version_of_schedule
from lhkit.load.loader import HasOperation, as_schedule
from lhkit.load.resource_data import MAGIC
from lhkit.load.shipped_files import find_file
from lhkit.load.trust import Doubt, doubts_of, remember, schedule_doubt
from lhkit.model.errors import LhkitError
from lhkit.model.file_io import read_bytes
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.worker.client import Worker


def open_session(
    payload: Payload,
    schedule: Schedule | str | os.PathLike[str] | HasOperation,
    *,
    doubt: Doubt | None = None,
    trust: bool = False,
    autosaves: bool = True,
    worker: Worker | None = None,
) -> Session:
    """Return a session; a text that is no schedule yet is its first draft, and a file of one's own is followed.

    A schedule that is a file from elsewhere is not trusted: see `lhkit.load.trust`. A file that is followed
    stays trusted when it changes.
    """
    version = _first_version(schedule, worker)
    found = (doubt, schedule_doubt(schedule, version.schedule, version.text))
    doubts = doubts_of(d for d in found if d is not None)
    if trust:
        remember(d.content for d in doubts)
        doubts = ()
    session = Session(payload, version, autosaves=autosaves, worker=worker, doubts=doubts)
    if (file := own_file(schedule)) is not None:
        session.follow(file)
    return session


def _first_version(
    schedule: Schedule | str | os.PathLike[str] | HasOperation, worker: Worker | None
) -> Version:
    try:
        return version_of_schedule(as_schedule(schedule, worker))
    except LhkitError as error:
        found = _named_text(schedule)
        if found is None:
            raise
        return first_draft(*found, error.failure)


def _named_text(schedule: object) -> tuple[str, str] | None:
    """Return the text of a source and what it is called; None where there is none that could be mended."""
    if not isinstance(schedule, str | os.PathLike):
        return None
    if isinstance(schedule, str) and ("\n" in schedule or "{" in schedule):
        return schedule, "<schedule>"
    path = find_file(Path(schedule), "schedules")
    try:
        content = read_bytes(path)
        text = content.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return None if content.startswith(MAGIC) or "\0" in text else (text, str(path))
