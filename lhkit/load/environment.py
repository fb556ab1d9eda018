"""Environment of a measurement: machine, versions, thread settings."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Collection

import numpy as np
import psutil

from lhkit.model.target import available_cores, cpu_field, cpu_flags
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Describe


def describe_environment(
    worker: Worker | None = None, targets: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the environment of measurements as (name, value) pairs; equal ones may be compared.

    Args:
        worker: That measures.
        targets: What kernels were compiled for; empty names are this CPU.
    """
    from lhkit import __version__

    worker = worker or shared_worker()
    host = worker.ask(Describe())
    return (
        ("cpu", cpu_name()),
        ("vector extensions", " ".join(vector_extensions()) or "none known"),
        ("clock", _nominal_clock()),
        ("cores", f"{available_cores()} available of {os.cpu_count() or 1}"),
        ("affinity", _affinity()),
        ("threads", _threads(worker.threads)),
        ("memory", f"{psutil.virtual_memory().total / (1 << 30):.0f} GiB"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("bindings", f"{host.host} {host.version}"),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("lhkit", __version__),
        *(("instructions", f"{name} only") for name in sorted({*targets} - {""})),
    )


def _threads(count: int) -> str:
    names = "OMP_NUM_THREADS and its kin"
    return f"{count} ({names} set to it)" if count > 1 else f"1 (pools held by {names})"


def _affinity() -> str:
    if not hasattr(os, "sched_getaffinity"):
        return "not settable here"
    return ",".join(map(str, sorted(os.sched_getaffinity(0))))


def _nominal_clock() -> str:
    """Return the highest clock that the system promises; what it runs at changes all the time."""
    try:
        clock = psutil.cpu_freq()
    except (OSError, NotImplementedError):
        clock = None
    return f"up to {clock.max:.0f} MHz" if clock is not None and clock.max else "not reported"


def widest_vector_bits() -> int:
    """Return the width of the widest vectors of the CPU."""
    extensions = vector_extensions()
    if "avx512f" in extensions:
        return 512
    return 256 if "avx" in extensions else 128


@functools.cache
def cpu_name() -> str:
    """Return the name of the CPU as the system gives it."""
    return cpu_field("model name") or platform.processor() or platform.machine()


def vector_extensions() -> list[str]:
    """Return the vector instruction sets that the system reports, the ones that matter for kernels."""
    flags = cpu_flags()
    known = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile")
    return [f for f in (*known, "asimd", "sve") if f in flags]
