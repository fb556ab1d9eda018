"""Payloads to files: the text, and the weights beside it."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.session.autosaving import write_whole
from lhkit.session.blobs import array_of
from lhkit.session.weight_files import write_npz


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
