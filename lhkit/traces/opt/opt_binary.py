"""A compiler binary in place of bindings: found, and run within limits in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lhkit.model.errors import usage_error
from lhkit.worker.limits import Limits

if sys.platform == "linux":
    import resource

VARIABLE = "LHKIT_OPT"
_PASS = "--transform-interpreter"
_VERSION = re.compile(r"version (\S+)")
# What a compiler may print in all: a schedule that prints without end must not fill the disk.
_MOST_BYTES = 1 << 28

RunStatus = Literal["ok", "failed", "crashed", "timeout"]


@dataclass(frozen=True, slots=True)
class OptHost:
    """A program like ``mlir-opt``: where it is, its name and version."""

    path: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class OptRun:
    """What a run of the program gave: how it ended and what it printed."""

    status: RunStatus
    output: str
    errors: str


def opt_host() -> OptHost | None:
    """Return the program that ``LHKIT_OPT`` names, or None where the variable is not set.

    Raises:
        UsageError: There is no such program, or it has no pass that applies schedules.
    """
    named = os.environ.get(VARIABLE, "")
    if not named:
        return None
    path = shutil.which(named)
    if path is None:
        raise usage_error(f"{VARIABLE}={named}: no such program", "Debian: apt-get install mlir-19-tools.")
    version = _first_lines(path, "--version")
    if _PASS not in _first_lines(path, "--help"):
        raise usage_error(
            f"{VARIABLE}={named} has no pass transform-interpreter", "mlir-opt of LLVM 18 or later has it."
        )
    match = _VERSION.search(version)
    return OptHost(path, Path(path).name, match[1] if match else "unknown")


def _first_lines(path: str, option: str) -> str:
    try:
        done = subprocess.run([path, option], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise usage_error(f"{path} {option} does not run: {error}") from None
    return done.stdout


def run_opt(host: OptHost, arguments: Sequence[str], *, folder: Path, limits: Limits) -> OptRun:
    """Run the program in a folder until it ends or breaks a limit; what it had printed by then is kept."""
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            [host.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        try:
            _bound(process.pid, limits.memory_bytes)
            code = process.wait(timeout=limits.seconds)
            status: RunStatus = "ok" if code == 0 else "crashed" if code < 0 else "failed"
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            process.kill()
            process.wait()
    return OptRun(status, _text(output), _text(errors))


def _bound(process: int, memory_bytes: int) -> None:
    """Give a process limits for memory and for what it writes, where the system can do that to another one."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(process, resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.prlimit(process, resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
