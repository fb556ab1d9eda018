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
from collections.abc import Mapping, Sequence

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

# Numbers from 424 on are the same for all architectures; a number of None: the architecture does not have it.
# x86_64, aarch64
_PROCESSES = {"fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281)}
_SOCKETS = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}
# Landlock does not know of these: attributes of files, and ways around a check of the path.
_FILES = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "truncate": (76, 45),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semctl": (66, 191),
}
_OTHERS = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
# A worker may belong to root, as in containers: mounts, namespaces, the kernel and its clock.
_SYSTEM = {
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
}
# Their arguments are in memory, which a filter cannot read; "not implemented" lets the C library fall back.
_UNREADABLE = {"clone3": (435, 435), "openat2": (437, 437)}
# Calls that are refused unless an argument is this process.
_OWN_PROCESS = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
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

    def refuse(calls: Mapping[str, Numbers], answer: int = refused) -> None:
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                program.extend([(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)])

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
    for numbers in _OWN_PROCESS.values():
        decide(numbers, 0, only([process]))
    refuse(_UNREADABLE, not_implemented)
    for calls in (_PROCESSES, _SOCKETS, _FILES, _OTHERS, _SYSTEM):
        refuse(calls)
    return [*program, (_RETURN, 0, 0, _ALLOW)]
