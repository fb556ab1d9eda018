"""Events of Linux's perf subsystem: whether the system lets this process count cycles and cache misses."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import struct
import sys

_SYSCALLS = {"x86_64": 298, "aarch64": 241}
_HARDWARE, _CYCLES = 0, 0
_ATTRIBUTE_BYTES = 112
_EXCLUDE_KERNEL_AND_HYPERVISOR = 0b1100000


@functools.cache
def hardware_counters() -> str:
    """Return in a sentence whether stalls and cache misses can be counted here, and if not, why."""
    number = _SYSCALLS.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return f"Stalls and cache misses are not counted: there are no perf events on {platform.system()}."
    head = struct.pack(
        "=IIQQQQQ", _HARDWARE, _ATTRIBUTE_BYTES, _CYCLES, 0, 0, 0, _EXCLUDE_KERNEL_AND_HYPERVISOR
    )
    attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attribute, 0, -1, -1, 0)
    if descriptor < 0:
        reason = os.strerror(ctypes.get_errno()).lower()
        return f"Stalls and cache misses are not counted: the system gives no hardware counters ({reason})."
    os.close(descriptor)
    return (
        "The system has hardware counters (perf stat counts stalls and cache misses); lhkit does not read them."
    )
