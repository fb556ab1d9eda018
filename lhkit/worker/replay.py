"""Repeating a failure in this process, from the file that a crash left behind."""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lhkit.model.errors import LhkitError
from lhkit.model.failure import Failure
from lhkit.model.jsonable import to_json
from lhkit.worker.protocol import Message
from lhkit.worker.reproducer import SCHEMA
from lhkit.worker.sandbox import ADVICE, Folders, close_sandbox


def replay(file: Path) -> int:
    """Run the requests of a reproducer without limits; return 0 if none of them fails.

    Output goes where the process's output goes, so that a debugger or a sanitizer can be put around it.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        requests = content["requests"] if content["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError):
        requests = None
    if requests is None:
        sys.stderr.write(f"{file} is not a reproducer of lhkit\n")
        return 2
    from lhkit.worker.handlers import Handlers

    # Once the sandbox is closed the folder can be emptied, and not removed.
    with tempfile.TemporaryDirectory(prefix="lhkit-replay-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        tempfile.tempdir = folder
        # A reproducer may be a stranger's, too. Requests write in this folder alone.
        close_sandbox(Folders(Path(folder)))
        handlers = Handlers(_show_progress, _refuse)
        for number, request in enumerate(requests):
            sys.stderr.write(f"request {number}: {request['request']}\n")
            try:
                handlers.answer(_message(request, Path(folder)))
            except LhkitError as error:
                sys.stderr.write(f"{error}\n")
                return error.failure.exit_code
    return 0


def _refuse(message: Message) -> Message:
    what = f"a replay asks no client: {', '.join(message.header)}"
    return Message({"failure": to_json(Failure("usage", what, advice=ADVICE))})


def _show_progress(message: Message) -> None:
    sys.stderr.write(f"  {message.header['progress']}\n")
    sys.stderr.flush()


def _message(request: dict[str, Any], folder: Path) -> Message:
    header = {"request": request["request"], "fields": _with_files(request["fields"], folder)}
    return Message(header, base64.b64decode(request["body"]))


def _with_files(value: Any, folder: Path) -> Any:
    """Return request fields whose files, gone by now, are replaced: shared ones by files of zeros."""
    if isinstance(value, list):
        return [_with_files(v, folder) for v in value]
    if not isinstance(value, dict):
        return value
    if {"file", "offset", "shape", "dtype"} <= value.keys():
        path = folder / f"array-{Path(value['file']).name}"
        count = int(np.prod(value["shape"], dtype=np.int64))
        with path.open("ab") as zeros:
            zeros.truncate(max(path.stat().st_size, value["offset"] + max(count * 16, 1)))
        return {**value, "file": str(path)}
    own = {k: str(folder / "journal") for k in ("journal",) if k in value}
    return {k: _with_files(v, folder) for k, v in value.items()} | own
