"""Files that repeat a failure: the requests as they were sent, and how to send them again."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lhkit.worker.user_folders import cache_folder

SCHEMA = "lhkit.reproducer/1"
FOLDER_VARIABLE = "LHKIT_CRASH_DIR"
_KEPT = 50


def crash_folder() -> Path:
    """Return the folder for reproducers: ``LHKIT_CRASH_DIR``, else one in the user's cache.

    Raises:
        OSError: The user's cache cannot be used.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else cache_folder("crashes")


def write_reproducer(requests: Sequence[dict[str, Any]], failure: dict[str, Any]) -> str | None:
    """Write the requests that led to a failure; return the path, or None if the disk refuses.

    Large arrays travel in shared files that do not outlive the session: only their shapes are kept, and
    the replay fills them with zeros.
    """
    content = {
        "schema": SCHEMA,
        "run": f"{Path(sys.executable).name} -m lhkit.worker FILE",
        "python": sys.version.split()[0],
        "failure": failure,
        "requests": list(requests),
    }
    try:
        folder = crash_folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"lhkit-crash-{secrets.token_hex(6)}.json"
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(content, indent=1), encoding="utf-8")
        partial.replace(path)
        _forget_old(folder)
    except OSError:
        return None
    return str(path)


def _forget_old(folder: Path) -> None:
    files = sorted(folder.glob("lhkit-crash-*.json"), key=lambda f: f.stat().st_mtime)
    for old in files[:-_KEPT]:
        old.unlink(missing_ok=True)
