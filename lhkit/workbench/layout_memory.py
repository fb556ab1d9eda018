"""The layout that this user arranged last, kept in the state folder.

The browser's storage would not do: it is one per address, and each server has another port; outputs in frames
of their own have none.
"""

from __future__ import annotations

import contextlib

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.file_io import parse_json, read_text, write_whole
from lhkit.worker.folders import state_folder

_MOST_CHARACTERS = 20_000
_FOLDER, _FILE = "workbench", "layout.json"


def checked_layout(text: str) -> str:
    """Return a layout if it is a JSON object of sensible length; what is in it is the script's affair."""
    try:
        is_object = len(text) <= _MOST_CHARACTERS and isinstance(parse_json(text), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise usage_error(f"a layout is a JSON object of at most {_MOST_CHARACTERS} characters")
    return text


def remember_layout(text: str) -> None:
    """Keep a layout for the next workbenches of this user, if there is a state folder."""
    with contextlib.suppress(OSError):
        write_whole(state_folder(_FOLDER) / _FILE, text)


def remembered_layout() -> str:
    """Return the layout that was kept last; empty if there is none."""
    try:
        return checked_layout(read_text(state_folder(_FOLDER) / _FILE))
    except (OSError, ValueError, UsageError):
        return ""
