"""Payloads to files: the text, and the weights beside it."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.load.session_blobs import array_of
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.weight_files import write_npz
from lhkit.model.errors import usage_error
from lhkit.model.files import write_whole
from lhkit.model.payload import Payload

_SHIPPED = "lhkit"


def save_payload(payload: Payload, path: str | os.PathLike[str]) -> Path:
    """Write a payload, and its blobs beside it; see `lhkit.model.payload_methods`.

    Raises:
        UsageError: It cannot be written, or does not end in ``.mlir``.
    """
    path = Path(path)
    if path.suffix != ".mlir":
        raise usage_error(f"{path} does not end in .mlir", "The weights are written beside it, as .npz.")
    beside = path.with_suffix(".npz")
    try:
        write_whole(path, payload.text)
        if payload.blobs:
            write_npz(beside, {b.name: array_of(b) for b in payload.blobs})
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None
    return path


def reference_to_keep(reference: str | None) -> str | None:
    """Return how a file names a payload's NumPy reference: one that comes with lhkit without its folder."""
    file, colon, function = (reference or "").rpartition(":")
    is_shipped = bool(colon) and Path(file).resolve() == _shipped_references().resolve()
    return f"{_SHIPPED}:{function}" if is_shipped else reference


def is_shipped_reference(kept: str | None) -> bool:
    """Return whether what a file names as a reference is none, or one that comes with lhkit."""
    return not kept or kept.rpartition(":")[0] == _SHIPPED


def reference_here(kept: str | None) -> str | None:
    """Return the reference that a file names; None where this machine has no such file."""
    file, _, function = (kept or "").rpartition(":")
    path = _shipped_references() if file == _SHIPPED else Path(file)
    return f"{path}:{function}" if file and path.is_file() else None


def _shipped_references() -> Path:
    return shipped_folder("data") / "references.py"
