"""The system's C compiler, run by the client: the worker is not allowed to start processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from lhkit.model.errors import usage_error
from lhkit.model.target import INSTRUCTION_SETS

HEADER = "lhkit_microkernel.h"
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O3", "-ffp-contract=fast", "-std=gnu11", "-shared", "-fPIC")
_POLL_SECONDS = 0.05


class CompiledC(msgspec.Struct, frozen=True, tag="compiled_c"):
    """The path of a shared library, None if the compiler refused the source, and the compiler's messages."""

    library: str | None
    output: str


def compile_c(
    file: str, text: str, header: str, target: str, folder: Path, check: Callable[[], None]
) -> CompiledC:
    """Compile C source to a shared library in an empty folder; a `UsageError` if there is no compiler.

    ``file`` is the path of the source, for messages and ``#include``. ``header`` comes first, whether the
    source includes it or not: it is what checks the signature. An empty ``target`` is this CPU. ``check`` is
    polled while the compiler runs, which is killed if it raises.
    """
    compiler = find_compiler()
    source, library, errors = (folder / n for n in ("microkernel.c", "microkernel.so", "errors"))
    (folder / HEADER).write_text(header, encoding="utf-8")
    quoted = file.replace("\\", "\\\\").replace('"', '\\"')
    source.write_text(f'#include "{HEADER}"\n#line 1 "{quoted}"\n{text}', encoding="utf-8")
    cpu = INSTRUCTION_SETS[target].cpu if target else "native"
    flags = [*_FLAGS, f"-march={cpu}", f"-I{folder}", f"-I{Path(file).parent}"]
    command = [compiler, *flags, "-o", str(library), str(source), "-lm"]
    with errors.open("wb") as said:
        code = _run(command, said.fileno(), check)
    output = errors.read_text(encoding="utf-8", errors="replace")
    return CompiledC(str(library) if code == 0 else None, output)


def _run(command: list[str], errors: int, check: Callable[[], None]) -> int:
    environment = {**os.environ, "LC_ALL": "C"}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=environment
    )
    try:
        while True:
            try:
                return process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                check()
    finally:
        process.kill()
        process.wait()


def find_compiler() -> str:
    """Return the path of the C compiler that ``CC`` names, else of the first known one.

    A `UsageError` if there is none.
    """
    named = os.environ.get("CC")
    for candidate in (named,) if named else _COMPILERS:
        if candidate and (found := shutil.which(candidate)):
            return found
    advice = "Install one (Debian, Ubuntu: apt install gcc), set CC, or write the microkernel in Python."
    what = f"CC={named} is not a compiler" if named else f"there is no C compiler ({', '.join(_COMPILERS)})"
    raise usage_error(what, advice)
