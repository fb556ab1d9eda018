"""Microkernels from files: C source, or ``FILE.py:FUNCTION``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lhkit.model.errors import usage_error
from lhkit.model.file_io import read_text
from lhkit.model.microkernel import Microkernel

_ADVICE = "A microkernel is C source (FILE.c) or a Python function (FILE.py:FUNCTION)."


def read_microkernels(named: Mapping[str, str | os.PathLike[str]] | None) -> tuple[Microkernel, ...]:
    """Return microkernels, given by name as a path or ``FILE.py:FUNCTION``, with the texts of their files.

    Raises:
        UsageError: No such file, or neither of the two.
    """
    return tuple(_read(name, os.fspath(place)) for name, place in (named or {}).items())


def _read(name: str, place: str) -> Microkernel:
    file, function = place, None
    head, colon, tail = place.rpartition(":")
    if colon and head.endswith(".py"):
        file, function = head, tail
    path = Path(file).absolute()
    if function is None and path.suffix != ".c":
        raise usage_error(f"{place} is no microkernel", _ADVICE)
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise usage_error(f"{file} cannot be read: {reason or error}", _ADVICE) from None
    return Microkernel(name, str(path), text, function)
