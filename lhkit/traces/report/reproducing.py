"""Folders that repeat a trace, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import Trace
from lhkit.traces.report.reproducer_folder import reproducer_files


def save_reproducer(trace: Trace, folder: str | os.PathLike[str]) -> Path:
    """Write a folder that repeats a trace, through a temporary one beside it.

    Args:
        trace: The trace.
        folder: Where; it must not exist, or be empty.

    Returns:
        Its path.

    Raises:
        UsageError: It cannot be written there, or the texts are not known.
    """
    files = reproducer_files(trace)
    path = Path(folder)
    partial = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise usage_error(f"{path} exists and is not empty", "Name a folder that does not exist yet.")
        partial.mkdir()
        for name, text in files:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_text(text, encoding="utf-8")
        if path.exists():
            path.rmdir()
        partial.replace(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path
