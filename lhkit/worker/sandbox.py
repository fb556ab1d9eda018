"""Sandbox of the compiler's worker: it writes in folders of its own, starts no processes, opens no sockets.

Payloads and schedules may come from strangers, and a compiled payload is native code. The sandbox is closed
after the imports and before the first request, and cannot be opened again: Landlock for files, a seccomp
filter for system calls that start processes, open sockets, or reach past Landlock. Where a system lacks one of
them the other holds; `find_defences` tries which. Reading files is not restricted.

The filter is a list of what is refused, not of what is allowed: NumPy, LLVM and functions of the user's run in
the worker too. A refused call returns an error that the caller can report.
"""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
import platform
import re
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lhkit.model.errors import Diagnostic, Failure
from lhkit.model.pass_policy import refusal_of
from lhkit.worker.requests import Defence

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
# All threads, and no mitigation that would slow down the stores of kernels before Linux 5.16.
_FLAGS = 1 | 4
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_ARCH_AT, _ARGUMENTS_AT = 4, 16
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000
_O_ACCMODE, _O_TRUNC = 3, 0o1000
# isatty, window size, bytes to read, non-blocking, close on exec. Others change files, devices or terminals.
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451, 0x5450)
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15

_LIST = Path(__file__).with_name("refused_syscalls.txt").read_text(encoding="utf-8")
# Numbers on x86_64 and aarch64; "-": the architecture does not have the call.
_REFUSED = [line.split()[1:] for line in _LIST.splitlines() if line and not line.startswith("#")]
# clone3 and openat2, whose arguments are in memory that a filter cannot read; "not implemented" lets the C
# library fall back.
_UNREADABLE = (435, 437)
# Calls that are refused unless an argument is this process: kill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo.
_OWN_PROCESS = ((62, 129), (234, 131), (129, 138), (297, 240))
_CLONE, _IOCTL, _FCNTL, _FALLOCATE, _PRLIMIT = (56, 220), (16, 29), (72, 25), (285, 47), (302, 261)
_OPEN, _OPENAT = (2, None), (257, 56)

# Machine → which column of the tables, and how the kernel calls it.
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_SECCOMP = (317, 277)

Numbers = tuple[int | None, int | None]
Instruction = tuple[int, int, int, int]


def install_filter(*, truncation: bool) -> None:
    """Refuse system calls to all threads of this process for good; OSError if this system cannot.

    With ``truncation`` also ``O_TRUNC`` without writing, which Landlock cannot refuse before its ABI 3.
    """
    if sys.platform != "linux" or platform.machine() not in _MACHINES or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"no filter for {platform.system()} on {platform.machine()}")
    column, _ = _MACHINES[platform.machine()]
    program = b"".join(
        struct.pack("=HBBI", *i) for i in filter_program(platform.machine(), os.getpid(), truncation=truncation)
    )
    code = ctypes.create_string_buffer(program, len(program))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    c = ctypes.CDLL(None, use_errno=True)
    if c.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS) failed")
    number = ctypes.c_long(_SECCOMP[column])
    if c.syscall(number, _SECCOMP_SET_MODE_FILTER, _FLAGS, ctypes.byref(described)) != 0:
        raise OSError(ctypes.get_errno(), "seccomp is not available")


def filter_program(machine: str, process: int, *, truncation: bool) -> list[Instruction]:
    """Return the classic BPF instructions as (code, jump if true, jump if false, value).

    ``machine`` is ``x86_64`` or ``aarch64``; ``process`` may send signals to itself.
    """
    column, architecture = _MACHINES[machine]
    not_implemented, refused = _ERRNO | errno.ENOSYS, _ERRNO | errno.EPERM
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, not_implemented),
        (_LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, not_implemented)]

    def decide(numbers: Numbers, argument: int, tests: Sequence[Instruction]) -> None:
        """Let tests of the lower half of an argument decide; each goes on or jumps to "allow" or "refuse"."""
        if (number := numbers[column]) is not None:
            body = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument), *tests]
            program.extend([(_EQUAL, 0, len(body), number), *body])

    def only(values: Sequence[int], answers: tuple[int, int] = (_ALLOW, refused)) -> list[Instruction]:
        """Return tests that give the first answer for these values and the second for others."""
        tests = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
        return [*tests, (_RETURN, 0, 0, answers[1]), (_RETURN, 0, 0, answers[0])]

    if truncation:  # first: files are opened often
        emptied = [(_AND, 0, 0, _O_TRUNC | _O_ACCMODE), *only([_O_TRUNC], (refused, _ALLOW))]
        decide(_OPENAT, 2, emptied)
        decide(_OPEN, 1, emptied)
    decide(_IOCTL, 1, only(_IOCTLS))
    decide(_FCNTL, 1, only([_F_SETOWN, _F_SETSIG, _F_SETOWN_EX], (refused, _ALLOW)))
    decide(_CLONE, 0, [(_ANY_BIT, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, refused), (_RETURN, 0, 0, _ALLOW)])
    decide(_FALLOCATE, 1, only([0]))  # other modes cut files that the client has mapped
    decide(_PRLIMIT, 0, only([0, process]))
    for numbers in _OWN_PROCESS:
        decide(numbers, 0, only([process]))
    answers = dict.fromkeys(_UNREADABLE, not_implemented)
    answers |= {int(numbers[column]): refused for numbers in _REFUSED if numbers[column] != "-"}
    for number, answer in answers.items():
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


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
    tried: Mapping[str, tuple[Callable[[], None], str]] = {
        PASSES: (_name_a_pass_that_writes, "by name, on every system"),
        WORKING_FOLDER: (_write_where_it_works, files),
        "writing outside its folder": (_write_outside, files),
        # The filter refuses the call before it looks for the file, and there is none to be cut.
        "cutting files without writing to them": (lambda: os.truncate("no such file", 0), calls),
        "changing modes, owners and times of files": (_change_a_mode, calls),
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


def _change_a_mode() -> None:
    # Of a folder of its own: without a sandbox it is changed.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)


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
