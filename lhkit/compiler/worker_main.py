"""The compiler's worker: serves requests, or repeats those of a failure."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lhkit.model.bindings_host import find_host
from lhkit.model.errors import LhkitError, error_for, usage_error
from lhkit.worker.c_compiler import CompiledC, compile_c
from lhkit.worker.folders import temporary_place
from lhkit.worker.framing import CompileC, Progress
from lhkit.worker.reproducer import read_requests, request_from_json
from lhkit.worker.requests import TraceAnswer
from lhkit.worker.sandbox import ADVICE, FILES_VARIABLE, TEMPORARY_NAME, Folders, close_sandbox, is_closed
from lhkit.worker.serving import LOG_NAME, Ask, Handlers, Send, serve
from lhkit.worker.timing_conditions import signs_folder

# Loaded by requests that need them; see `_cache_bytecode`.
_ON_DEMAND = (
    "lhkit.compiler.catalogue.catalogue_builder",
    "lhkit.compiler.machine.object_code",
    "capstone",
    "elftools",
    "lief",
    "ml_dtypes",
)


def main(arguments: list[str] | None = None) -> int:
    """Serve requests on standard input and output; with a file, replay the requests in it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments:
        gc.enable()
        return replay(Path(arguments[0]))
    return serve(_compiler_handlers)


def _compiler_handlers(send: Send, ask: Ask) -> Handlers:
    folders = _folders()
    # Before its ABI 8, Landlock restricts the calling thread only, and importing NumPy may start others.
    # Otherwise the imports come first, so that their bytecode is kept.
    if os.environ.get("OPENBLAS_NUM_THREADS", "1") != "1":
        close_sandbox(folders)
    from lhkit.compiler.handlers import Handlers as CompilerHandlers
    from lhkit.compiler.lowering.matrix_tiles import may_use_matrix_tiles

    _cache_bytecode()
    may_use_matrix_tiles()
    close_sandbox(folders)
    gc.freeze()  # what is imported stays: the collector need not look through it again and again
    gc.enable()
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
    host = find_host()
    # The bindings load the classes of a dialect's ops when they meet the first one.
    for name in (*_ON_DEMAND, f"{host}.dialects.llvm", f"{host}.execution_engine"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.cached is None or Path(spec.cached).exists():
            continue
        if os.access(Path(spec.cached).parents[1], os.W_OK):
            importlib.import_module(name)


# Repeating a failure in this process, from the file that a crash left behind.


def replay(file: Path) -> int:
    """Run the requests of a reproducer without limits; return 0 if none of them fails.

    Output goes where the process's output goes, so that a debugger or a sanitizer can be put around it.
    """
    try:
        requests = read_requests(file)
    except (OSError, ValueError):
        sys.stderr.write(f"{file} is not a reproducer of lhkit\n")
        return 2
    from lhkit.compiler.handlers import Handlers

    # Once the sandbox is closed the place cannot be removed; the next start of lhkit collects it.
    with temporary_place("lhkit-replay-") as place:
        folder = place / "own"
        folder.mkdir()
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        # A reproducer may be a stranger's, too. Requests write in this folder alone.
        close_sandbox(Folders(folder))
        handlers = Handlers(_show_progress, _compile_c)
        for number, request in enumerate(requests):
            sys.stderr.write(f"request {number}: {request['request']}\n")
            try:
                answer = handlers.answer(
                    request_from_json(_with_files(request, folder), handlers.request_types)
                )
                if isinstance(answer, TraceAnswer) and answer.failure is not None:
                    raise error_for(answer.failure)
            except LhkitError as error:
                sys.stderr.write(f"{error}\n")
                return error.failure.exit_code
    return 0


def _compile_c(asked: CompileC) -> CompiledC:
    """Compile a microkernel in place of a client, where no sandbox keeps the compiler from starting."""
    if is_closed():
        raise usage_error("a replay asks no client: compile_c", ADVICE)
    source = (asked.file, asked.text, asked.header, asked.target)
    return compile_c(*source, folder=Path(tempfile.mkdtemp()), check=lambda: None)


def _show_progress(note: Progress) -> None:
    sys.stderr.write(f"  {note.stage}\n")
    sys.stderr.flush()


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
