"""The compiler's worker: serves requests, or repeats those of a failure."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from lhkit.worker.sandbox import FILES_VARIABLE, TEMPORARY_NAME, Folders, close_sandbox
from lhkit.worker.serving import LOG_NAME, Ask, Handlers, Send, serve
from lhkit.worker.timing_conditions import signs_folder

# Loaded by requests that need them; see `_cache_bytecode`.
_ON_DEMAND = ("lhkit.compiler.machine.object_code", "capstone", "lief", "ml_dtypes")


def main(arguments: list[str] | None = None) -> int:
    """Serve requests on standard input and output; with a file, replay the requests in it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments:
        from lhkit.compiler.replay import replay

        return replay(Path(arguments[0]))
    return serve(_compiler_handlers)


def _compiler_handlers(send: Send, ask: Ask) -> Handlers:
    folders = _folders()
    # Before its ABI 8, Landlock restricts the calling thread only, and importing NumPy may start others.
    # Otherwise the imports come first, so that their bytecode is kept.
    if os.environ.get("OPENBLAS_NUM_THREADS", "1") != "1":
        close_sandbox(folders)
    from lhkit.compiler.handlers import Handlers as CompilerHandlers

    _cache_bytecode()
    close_sandbox(folders)
    return CompilerHandlers(send, ask)


def _folders() -> Folders:
    """Return where the client lets this process write; temporary files go there from now on."""
    shared = []
    with contextlib.suppress(OSError):  # timings go without signs
        shared.append(signs_folder())
    named = os.environ.get(FILES_VARIABLE)
    if named is None:  # started by hand
        return Folders(Path(tempfile.gettempdir()), shared=tuple(shared))
    scratch, arrays = Path.cwd().parent, Path(named)
    temporary = scratch / TEMPORARY_NAME
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    return Folders(temporary, (scratch / LOG_NAME,), arrays, (*shared, arrays / "journals"))


def _cache_bytecode() -> None:
    """Import what is imported on demand if its bytecode is not there: later it could not be written."""
    if sys.dont_write_bytecode:
        return
    for name in _ON_DEMAND:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.cached is None or Path(spec.cached).exists():
            continue
        if os.access(Path(spec.cached).parents[1], os.W_OK):
            importlib.import_module(name)
