"""Time and memory limits of a request, with defaults from this machine or container."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.worker.folders import STATE_VARIABLE
from lhkit.worker.process_groups import PARENT_VARIABLE

DEFAULT_SECONDS = 60.0
_GIB = 1 << 30
# One worker of many: people share a hub, so a worker takes a quarter of what there is, within these bounds.
_LEAST_BYTES, _MOST_BYTES = 2 * _GIB, 16 * _GIB
_CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may take.

    Attributes:
        seconds: Wall-clock time.
        bytes: Resident memory of the worker process, shared files not counted.
        stopped: Polled while the caller waits: whether the answer is no longer wanted. Then the request fails
            with the kind ``cancelled``, and the process ends with it.
    """

    seconds: float = DEFAULT_SECONDS
    bytes: int = 0
    stopped: Callable[[], bool] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise a `UsageError` for limits that no request could meet."""
        if not _is_number(self.seconds) or math.isnan(self.seconds) or self.seconds <= 0:
            raise usage_error(f"the time limit is {self.seconds!r} seconds, not a positive number")
        if not _is_number(self.bytes) or not 0 <= self.bytes < math.inf:
            raise usage_error(f"the memory limit is {self.bytes!r}, not a number of bytes")

    @property
    def is_stopped(self) -> bool:
        """Whether the answer is no longer wanted."""
        return self.stopped is not None and self.stopped()

    @property
    def memory_bytes(self) -> int:
        """The memory limit: the one given, else the default of this machine."""
        return self.bytes or default_memory_bytes()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@functools.cache
def default_memory_bytes() -> int:
    """Return the default memory limit of a worker in bytes."""
    total = machine_memory_bytes()
    share = min(max(total // 4, _LEAST_BYTES), _MOST_BYTES)
    return min(share, max(total // 2, _GIB))


@functools.cache
def machine_memory_bytes() -> int:
    """Return the memory of this machine or container in bytes."""
    total = int(psutil.virtual_memory().total)
    for name in _CGROUP_FILES:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total


def check_fits(what: str, nbytes: int, advice: str | None = None) -> None:
    """Raise a `MemoryLimitError` if an allocation of ``nbytes`` exceeds the free memory."""
    total = machine_memory_bytes()
    free = min(int(psutil.virtual_memory().available), total)
    if nbytes > free:
        message = f"{what}: {in_gib(nbytes)} needed, {in_gib(free)} of memory free (of {in_gib(total)})"
        raise error_for(Failure("memory", message, advice=advice))


def in_gib(nbytes: int) -> str:
    """Return a large size for messages."""
    return f"{nbytes / _GIB:,.1f} GiB"


# Panels of packed operands are read once a tile of rows, where pages of 4 KiB would miss the TLB. With this
# glibc (2.35 and later) asks for pages of 2 MiB in what malloc takes from the system; others ignore it. And it
# keeps what is freed, of buffers of less than 32 MiB: a kernel whose buffers go back to the system waits for
# zeroed pages at its next call, or does not, by what else is on the heap.
_MALLOC = {
    "glibc.malloc.hugetlb": 1,
    "glibc.malloc.mmap_threshold": 32 << 20,
    "glibc.malloc.trim_threshold": 128 << 20,
}
_THREAD_POOLS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "BLIS")


def process_environment(threads: int) -> dict[str, str]:
    """Return the environment of a process beside this one: threads of libraries, and lhkit importable."""
    home = str(Path(__file__).parents[2])
    # A worker runs in another folder.
    state = {STATE_VARIABLE: str(Path(named).absolute())} if (named := os.environ.get(STATE_VARIABLE)) else {}
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    tunables = dict(t.split("=", 1) for t in os.environ.get("GLIBC_TUNABLES", "").split(":") if "=" in t)
    return {
        **os.environ,
        **state,
        **{f"{pool}_NUM_THREADS": str(threads) for pool in _THREAD_POOLS},
        # OpenMP threads of kernels sleep 1 ms after a call: spinning on, they would take the cores of what is
        # timed next; asleep at once, they would take 0.1 ms to wake for the next call.
        "KMP_BLOCKTIME": "1",
        "GLIBC_TUNABLES": ":".join(f"{name}={value}" for name, value in (_MALLOC | tunables).items()),
        "PYTHONPATH": os.pathsep.join([*paths, home]),
        "PYTHONUTF8": "1",
        PARENT_VARIABLE: str(os.getpid()),
    }
