"""Temporary folders that go with the object they belong to, in the process that made them.

A forked child inherits the object; when its copy is finalized, the parent's folder must stay.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any


def temporary_folder(owner: object, prefix: str) -> tuple[Path, Callable[[], Any]]:
    """Return a new folder that is deleted with its owner, and the function that deletes it now."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    return folder, finalize_here(owner, shutil.rmtree, folder, True)


def finalize_here(owner: object, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Call a function when its owner goes, but only in this process; return what calls it now."""
    return weakref.finalize(owner, _call_in, os.getpid(), function, *arguments)


def _call_in(process: int, function: Callable[..., Any], *arguments: Any) -> None:
    if os.getpid() == process:
        function(*arguments)
