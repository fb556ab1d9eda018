"""Trusted files, recognized by keyed digests.

A digest says nothing without the key, which only this user can read: no one else can write a known file
here. Both are in the folder ``trust`` of the user's state; without such a folder nothing is known, and what is
trusted is so for one session.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lhkit.load.shipped_files import Shipped, find_file, shipped_folder
from lhkit.load.source_texts import is_text
from lhkit.model.payload import Payload
from lhkit.model.schedule import Library, Schedule
from lhkit.worker.folders import open_private, state_folder

NOT_TRUSTED = "nothing is traced or run before it is trusted"
_KEY, _KNOWN = "key", "known"
_KEY_BYTES = 32
# One line each. The oldest are forgotten: what they were of then asks again.
_MOST_KNOWN = 10_000
_KEPT = 5_000


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that a session was opened from and that is not trusted yet."""

    name: str
    content: bytes


def digest_of(content: bytes) -> str:
    """Return the keyed digest of a content, in hexadecimal."""
    return hmac.new(_key(), content, hashlib.sha256).hexdigest()


def is_known(content: bytes) -> bool:
    """Return whether a content was saved by this user, or trusted before."""
    try:
        return digest_of(content) in _known()
    except OSError:
        return False


def remember(contents: Iterable[bytes]) -> None:
    """Store the digests of these contents, if there is a state folder."""
    # A user without a state folder is asked again the next time, which is the safe way to fail.
    with contextlib.suppress(OSError):
        known = _known()
        new = [d for d in dict.fromkeys(map(digest_of, contents)) if d not in known]
        if not new:
            return
        lines = "".join(f"{digest}\n" for digest in new).encode()
        if len(known) + len(new) > _MOST_KNOWN:
            path = _folder() / _KNOWN
            _written_beside(path, "".join(f"{d}\n" for d in [*known][-_KEPT:]).encode() + lines).replace(path)
            return
        descriptor = open_private(_folder() / _KNOWN, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "ab") as file:
            file.write(lines)


# The content that is hashed, by kind of source.


def schedule_content(text: str, libraries: Iterable[Library] = ()) -> bytes:
    """Return the hashed content of a schedule: its text and those of its libraries."""
    return b"\0".join((b"schedule", text.encode(errors="replace"), *(b.text.encode() for b in libraries)))


def workbench_content(text: str) -> bytes:
    """Return the hashed content of a saved workbench: all of its file."""
    return b"workbench\0" + text.encode(errors="replace")


def doubts_of(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    """Return the doubts about unknown contents."""
    return tuple(doubt for doubt in doubts if not is_known(doubt.content))


def payload_doubt(given: object, payload: Payload) -> Doubt | None:
    """Return the doubt about the IR of a payload that was given as a file from outside of lhkit, else None."""
    return Doubt(payload.source, b"payload\0" + payload.content) if is_foreign_file(given, "data") else None


def schedule_doubt(given: object, schedule: Schedule, text: str) -> Doubt | None:
    """Return the doubt about a schedule that was given as a file from outside of lhkit, else None."""
    if not is_foreign_file(given, "schedules"):
        return None
    return Doubt(schedule.source, schedule_content(text, schedule.libraries))


def is_foreign_file(given: object, kind: Shipped) -> bool:
    """Return whether something is the path of a file that does not come with lhkit; text and values are not."""
    if not isinstance(given, str | os.PathLike) or is_text(given):
        return False
    file = find_file(Path(given), kind).resolve()
    return not any(file.is_relative_to(shipped_folder(k).resolve()) for k in ("data", "schedules", "notebooks"))


# The folder.


def _folder() -> Path:
    return state_folder("trust")


def _known() -> dict[str, None]:
    try:
        with os.fdopen(open_private(_folder() / _KNOWN, os.O_RDONLY), "rb") as file:
            lines = file.read(_MOST_KNOWN * 80).decode("ascii", errors="replace").split()
    except FileNotFoundError:
        return {}
    return dict.fromkeys(lines)


def _key() -> bytes:
    path = _folder() / _KEY
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    # Whole or not at all, and of two processes that make one the first one's stays.
    beside = _written_beside(path, secrets.token_bytes(_KEY_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        key = file.read(_KEY_BYTES + 1)
    if len(key) != _KEY_BYTES:
        raise OSError(f"{path} is damaged; delete it")
    return key


def _written_beside(path: Path, content: bytes) -> Path:
    """Write a new private file beside a path, to replace it by."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
    return beside
