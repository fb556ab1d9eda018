"""Defects of lhkit: an exception that is no `LhkitError` becomes one, with a folder for a report."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
import secrets
import shutil
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lhkit.model.errors import DEFECT_ADVICE, DefectError, LhkitError, defect_message, error_for
from lhkit.model.failure import Failure
from lhkit.worker.reproducer import crash_folder

SCHEMA = "lhkit.defect/1"
_MOST_INPUT_BYTES = 1 << 20
_KEPT = 20
_PACKAGES = ("lhkit", "torch-mlir", "numpy", "click", "ipython", "anywidget")


def typed_error(error: Exception, doing: str, inputs: Mapping[str, bytes] | None = None) -> LhkitError:
    """Return the typed error for an exception: itself if it is one, else that it is a defect of lhkit.

    Args:
        error: The exception.
        doing: The command line or the call that raised it.
        inputs: Name and content of the texts that it was about; long ones are left out of the folder.
    """
    if isinstance(error, LhkitError):
        return error
    if isinstance(error, MemoryError):
        message = f"out of memory: {error}" if str(error) else "out of memory"
        return error_for(Failure("memory", message))
    what = f"{type(error).__name__}: {error}"
    failure = Failure(
        kind="crash",
        message=defect_message(what),
        advice=DEFECT_ADVICE,
        request=doing,
        reproducer=_write_folder(error, doing, inputs or {}),
    )
    return DefectError(failure)


def read_inputs(paths: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the contents of those files that are there and short enough to be kept."""
    found = {}
    for name, path in paths.items():
        with contextlib.suppress(OSError, ValueError):
            if path.is_file() and path.stat().st_size <= _MOST_INPUT_BYTES:
                found[name] = path.read_bytes()
    return found


def _write_folder(error: Exception, doing: str, inputs: Mapping[str, bytes]) -> str | None:
    """Write the folder; return its path, or None if the disk refuses."""
    folder = crash_folder() / f"lhkit-defect-{secrets.token_hex(6)}"
    try:
        folder.mkdir(parents=True)
        described = json.dumps(_describe(error, doing), indent=1) + "\n"
        (folder / "defect.json").write_text(described, encoding="utf-8")
        trace = "".join(traceback.format_exception(error))
        (folder / "traceback.txt").write_text(trace, encoding="utf-8", errors="backslashreplace")
        for i, (name, content) in enumerate(inputs.items()):
            if len(content) <= _MOST_INPUT_BYTES:
                (folder / f"input{i}{_suffix(name)}").write_bytes(content)
        _forget_old(folder.parent)
    except (OSError, ValueError):
        return None
    return str(folder)


def _describe(error: Exception, doing: str) -> dict[str, Any]:
    versions = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "schema": SCHEMA,
        "doing": doing,
        "exception": f"{type(error).__name__}: {error}",
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "versions": versions,
    }


def _suffix(name: str) -> str:
    suffix = Path(name).suffix
    return suffix if suffix.isascii() and suffix[1:].isalnum() else ".txt"


def _forget_old(folder: Path) -> None:
    found = sorted(folder.glob("lhkit-defect-*"), key=lambda f: f.stat().st_mtime)
    for old in found[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
