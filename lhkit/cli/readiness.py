"""Whether a machine is ready for the lessons: what they need, tried once."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.lessons.lesson_list import shipped_notebooks
from lhkit.load.loader import load_schedule
from lhkit.model.errors import LhkitError
from lhkit.model.printable import counted
from lhkit.payloads import fc_relu
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.user_folders import homeless_note, state_folder

_SCHEDULE = "fc_relu_tile_fuse_vectorize.mlir"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: what, the finding, whether it is as it should be (None: optional), and what mends it."""

    what: str
    found: str
    ok: bool | None = True
    mend: str = ""


def tried_findings() -> Iterator[Finding]:
    """Yield what came of each thing that a lesson does: a trace, a kernel that is right, files, JupyterLab."""
    yield _tried("a schedule is traced", _trace)
    yield _tried("a kernel is compiled, and right", _verify)
    yield _tried("files can be written", _write)
    lab_is_there = importlib.util.find_spec("jupyterlab") is not None
    yield _found("JupyterLab", "is there", lab_is_there, "pip install jupyterlab")
    lessons = len(shipped_notebooks())
    yield _found("lessons", f"{lessons} notebooks", lessons > 0, "install lhkit again")


def _found(what: str, found: str, is_there: bool, mend: str) -> Finding:
    return Finding(what, found if is_there else "not found", is_there, "" if is_there else mend)


def _tried(what: str, attempt: Callable[[], tuple[str, bool]]) -> Finding:
    try:
        return Finding(what, *attempt())
    except LhkitError as error:
        return Finding(what, error.failure.message, False, error.failure.advice or "")
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        return Finding(what, why, False, "set LHKIT_STATE_DIR to another folder")


def _trace() -> tuple[str, bool]:
    trace = trace_schedule(fc_relu(64, 64, 64), load_schedule(_SCHEDULE))
    return f"{counted(len(trace.step_records), 'step')}, {trace.outcome.status}", trace.outcome.status == "ok"


def _verify() -> tuple[str, bool]:
    kernel = compile_kernel(fc_relu(64, 64, 64), load_schedule(_SCHEDULE))
    verdict = verify(kernel)
    return verdict.difference or f"max error {verdict.max_abs_error:.1e}", verdict.ok


def _write() -> tuple[str, bool]:
    folder = state_folder()
    descriptor, path = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    Path(path).unlink()
    return homeless_note() or str(folder), True
