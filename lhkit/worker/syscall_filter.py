"""Seccomp filter of the worker: system calls that start processes, open sockets, or reach past Landlock.

A list of what is refused, not of what is allowed: NumPy, LLVM and functions of the user's run in the worker
too. A refused call returns an error that the caller can report. Reading files, memory and threads stay allowed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

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
