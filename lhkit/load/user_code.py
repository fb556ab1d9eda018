"""Files with user code: transform ops in Python, and microkernels."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lhkit.load.catalogue_cache import load_catalogue
from lhkit.model.bindings_host import find_host
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import public, usage_error
from lhkit.model.file_io import read_bytes, read_text
from lhkit.model.op_catalogue import Catalogue, with_own_ops
from lhkit.model.own_op_definition import OwnOp
from lhkit.model.schedule import Schedule
from lhkit.model.signature import Microkernel
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.folders import kept_path, read_or_make
from lhkit.worker.limits import Limits
from lhkit.worker.requests import ListOwnOps, LoadOps

# What lhkit's own ops are made by.
_MAKERS = ("compiler/extension/own_op*.py", "compiler/ops/*.py", "model/own_op_definition.py", "own_ops.py")
_GENERIC_OP = re.compile(r'"(?!transform\.|lhkit\.)[\w.]+"\s*\(')


@public
def load_own_ops(
    path: str | os.PathLike[str], *, worker: Worker | None = None, limits: Limits | None = None
) -> tuple[OwnOp, ...]:
    """Make the transform ops of a Python file ops of schedules; see `lhkit.own_ops` for what is in it.

    The worker starts again with the file, and every worker after it does; kernels are built again when they
    are next called. A file that was edited is loaded again by a call with the same path. If the file cannot
    be loaded, everything stays as it was.

    Args:
        path: The file.
        worker: Another worker than the session's.
        limits: Time and memory for loading.

    Returns:
        What ops it defines.

    Raises:
        UsageError: No such file, or it does not load; with file, line and caret.
        WorkerError: Loading it took too long, or did not end well.
    """
    worker = worker or shared_worker()
    file = Path(path).absolute()
    try:
        content = read_bytes(file)
        content.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise usage_error(f"{path} cannot be read: {reason or error}") from None
    request = LoadOps(str(file), content)
    others = [r for r in worker.preparation if r.file != request.file]
    return worker.restart_with([*others, request], limits=limits)[-1]


def known_own_ops(worker: Worker | None = None) -> tuple[OwnOp, ...]:
    """Return the ops that are defined in Python, cached on disk unless a worker has loaded files."""
    asked = worker or shared_worker()
    if asked.preparation:
        return asked.ask(ListOwnOps()).value

    def ask() -> bytes:
        return json.dumps(to_json(asked.ask(ListOwnOps()).value)).encode()

    return read_or_make(kept_path(find_host(), _MAKERS, what="own-ops-"), _own_ops, ask)


def full_catalogue(worker: Worker | None = None) -> Catalogue:
    """Return the transform ops of the installed bindings, of lhkit, and of loaded files."""
    return with_own_ops(load_catalogue(worker), known_own_ops(worker))


def _own_ops(content: Any) -> tuple[OwnOp, ...]:
    if not isinstance(content, list):
        raise ValueError("own ops are a list")
    return tuple(from_json(OwnOp, op) for op in content)


def own_op_texts(worker: Worker, schedule: Schedule) -> tuple[tuple[str, str], ...]:
    """Return (path, text) of the files that the worker has loaded if a schedule has ops in generic form."""
    texts = (schedule.text, *(library.text for library in schedule.libraries))
    if not any(_GENERIC_OP.search(text) for text in texts):
        return ()
    return tuple((request.file, request.text.decode()) for request in worker.preparation)


# Microkernels from files: C source, or ``FILE.py:FUNCTION``.


_ADVICE = "A microkernel is C source (FILE.c) or a Python function (FILE.py:FUNCTION)."


def read_microkernels(named: Mapping[str, str | os.PathLike[str]] | None) -> tuple[Microkernel, ...]:
    """Return microkernels, given by name as a path or ``FILE.py:FUNCTION``, with the texts of their files."""
    return tuple(_read(name, os.fspath(place)) for name, place in (named or {}).items())


def _read(name: str, place: str) -> Microkernel:
    file, function = place, None
    head, colon, tail = place.rpartition(":")
    if colon and head.endswith(".py"):
        file, function = head, tail
    path = Path(file).absolute()
    if function is None and path.suffix != ".c":
        raise usage_error(f"{place} is not a microkernel", _ADVICE)
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise usage_error(f"{file} cannot be read: {reason or error}", _ADVICE) from None
    return Microkernel(name, str(path), text, function)
