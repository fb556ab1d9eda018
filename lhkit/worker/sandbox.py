"""Sandbox of the compiler's worker: it writes in folders of its own, starts no processes, opens no sockets.

Payloads and schedules may come from strangers, and a compiled payload is native code. The sandbox is closed
after the imports and before the first request, and cannot be opened again: Landlock for files, a seccomp
filter for the rest (`syscall_filter`). Where a system lacks one of them the other holds; `find_defences` tries
which. Reading files is not restricted.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lhkit.model.errors import Diagnostic, Failure
from lhkit.model.pass_policy import refusal_of
from lhkit.worker.requests import Defence
from lhkit.worker.syscall_filter import install_filter

SANDBOX_VARIABLE = "LHKIT_SANDBOX"
# Names the folder of the client's arrays.
FILES_VARIABLE = "LHKIT_WORKER_FILES"
# A worker's temporary folder, beside its working folder and its log.
TEMPORARY_NAME = "temporary"
# What it is kept from also where the sandbox is not closed: by lhkit itself, and by the mode of the folder.
PASSES = "running passes that touch files or processes"
WORKING_FOLDER = "leaving files where relative paths lead"
ADVICE = (
    "The compiler's worker writes only in folders of its own, starts no processes and opens no sockets."
    f" If you trust this file, {SANDBOX_VARIABLE}=off in the environment lifts that."
)
_REFUSAL = re.compile(r"Permission denied|Operation not permitted")
_NOT_PERMITTED = "Operation not permitted"
_QUOTED = re.compile(r"""['"]([^'"\n]+)['"]""")


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the worker may write."""

    own: Path  # Its temporary folder, without restrictions
    files: tuple[Path, ...] = ()  # Files that it may write to and truncate
    # A folder of files that it may write to, not truncate: the client has them mapped
    arrays: Path | None = None
    shared: tuple[Path, ...] = ()  # Folders in which it may also make and delete files


@dataclass(slots=True)
class _State:
    """By what files and the rest are defended, or why not; the same for all of a process."""

    files: str | None = None
    files_missing: str = "the sandbox was not closed"
    calls: str | None = None
    calls_missing: str = "the sandbox was not closed"


_state = _State()


def close_sandbox(folders: Folders) -> None:
    """Restrict this process for good, as far as the system allows; a second call does nothing.

    Call it while there is one thread: before its ABI 8, Landlock restricts only that thread and its children.
    """
    if _state.files or _state.calls:
        return
    if os.environ.get(SANDBOX_VARIABLE) == "off":
        _state.files_missing = _state.calls_missing = f"switched off by {SANDBOX_VARIABLE}=off"
        return
    abi = 0
    try:
        abi = _restrict_files(folders)
        _state.files = f"Landlock, ABI {abi}"
    except ImportError:
        _state.files_missing = (
            "the package landlockpy is not installed" if sys.platform == "linux" else "there is no Landlock"
        )
    except (OSError, RuntimeError):
        _state.files_missing = "this kernel has no Landlock, or does not allow it"
    try:
        install_filter(truncation=abi < 3)
        _state.calls = "seccomp"
    except OSError as error:
        _state.calls_missing = error.strerror or str(error)
    sys.dont_write_bytecode = True


def is_closed() -> bool:
    """Return whether anything restricts this process."""
    return bool(_state.files or _state.calls)


def _restrict_files(folders: Folders) -> int:
    from landlockpy import AccessFS, RestrictFlag, Ruleset, Scope
    from landlockpy.flags import LATEST_ABI, fs_for_abi

    write, cut = AccessFS.WRITE_FILE, AccessFS.TRUNCATE
    make_and_delete = AccessFS.MAKE_REG | AccessFS.REMOVE_FILE
    handled = fs_for_abi(LATEST_ABI) & ~(AccessFS.READ_FILE | AccessFS.READ_DIR)
    with Ruleset(handled_fs=handled, scoped=Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET) as ruleset:
        folders_too = AccessFS.MAKE_DIR | AccessFS.REMOVE_DIR
        ruleset.allow_path(folders.own, write | cut | make_and_delete | folders_too)
        for file in (*folders.files, Path(os.devnull)):
            ruleset.allow_path(file, write | cut)
        if folders.arrays is not None:
            ruleset.allow_path(folders.arrays, write)
        for folder in folders.shared:
            ruleset.allow_path(folder, write | cut | make_and_delete)
        ruleset.restrict(RestrictFlag.TSYNC)
        return ruleset.abi_version


def find_defences() -> tuple[Defence, ...]:
    """Return what this process cannot do, each tried here and now; ``docs/trust.md`` has a row for each."""
    files, calls = _state.files or _state.files_missing, _state.calls or _state.calls_missing
    own = Path(tempfile.gettempdir())
    tried: Mapping[str, tuple[Callable[[], None], str]] = {
        PASSES: (_name_a_pass_that_writes, "by name, on every system"),
        WORKING_FOLDER: (_write_where_it_works, files),
        "writing outside its folder": (_write_outside, files),
        # The filter refuses the call before it looks for the file, and there is none to be cut.
        "cutting files without writing to them": (lambda: os.truncate("no such file", 0), calls),
        "changing modes, owners and times of files": (lambda: own.chmod(0o700), calls),
        "starting processes": (_start_a_process, calls),
        "opening sockets": (lambda: socket.socket().close(), calls),
        "signalling other processes": (lambda: os.kill(os.getppid(), 0), calls),
        "making namespaces": (_leave_a_namespace, calls),
    }
    found = tuple(Defence(what, _is_refused(attempt), how) for what, (attempt, how) in tried.items())
    by_mode = "the folder is read-only"
    return tuple(
        dataclasses.replace(d, how=by_mode) if d.what == WORKING_FOLDER and d.holds and not _state.files else d
        for d in found
    )


def _is_refused(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    except (OSError, AttributeError):  # it cannot be tried on this system
        return False
    return False


def _name_a_pass_that_writes() -> None:
    if (reason := refusal_of("snapshot-op-locations")) is not None:
        raise PermissionError(reason)


def _write_where_it_works() -> None:
    file = Path("defence")
    file.touch(exist_ok=False)
    file.unlink()


def _leave_a_namespace() -> None:
    # Without flags it does nothing where it is allowed.
    c = ctypes.CDLL(None, use_errno=True)
    if c.unshare(0) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def _write_outside() -> None:
    folder = Path(tempfile.gettempdir()).parent / "defence"
    folder.mkdir()
    folder.rmdir()


def _start_a_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def explain_refusal(failure: Failure) -> Failure:
    """Return a failure that says so if it was the sandbox that refused something, else the same."""
    if not is_closed() or (refusal := _find_refusal(failure)) is None:
        return failure
    message = f"{failure.message.rstrip('.')}: the worker's sandbox refused it"
    if refusal not in failure.message:
        message += f" ({refusal})"
    advice = f"{failure.advice}\n{ADVICE}" if failure.advice else ADVICE
    return dataclasses.replace(failure, message=message, advice=advice)


def _find_refusal(failure: Failure) -> str | None:
    """Return the first line that tells of a refusal by the sandbox."""
    for text in (failure.message, *_messages(failure.diagnostics), failure.output):
        for line in text.splitlines():
            if _REFUSAL.search(line) and _is_ours(line):
                return line.strip()
    return None


def _messages(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    return [text for d in diagnostics for text in (d.message, *_messages(d.notes))]


def _is_ours(line: str) -> bool:
    """Return whether the user might have done what was refused here: access() knows nothing of the sandbox."""
    if _NOT_PERMITTED in line:
        return True
    paths = [Path(quoted) for quoted in _QUOTED.findall(line) if os.sep in quoted]
    absolute = [p for p in paths if p.is_absolute()]
    return not absolute or any(os.access(p if p.exists() else p.parent, os.W_OK) for p in absolute)
