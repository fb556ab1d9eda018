"""What a measurement depends on besides the code: machine, versions, thread settings."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import numpy as np

from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker
from lhkit.worker.limits import available_cores


def describe_environment(worker: Worker | None = None) -> tuple[tuple[str, str], ...]:
    """Return the environment of measurements as (name, value) pairs."""
    from lhkit import __version__

    host = (worker or shared_worker()).request("describe", {}).header
    return (
        ("cpu", cpu_name()),
        ("vector extensions", " ".join(vector_extensions()) or "none known"),
        ("cores", f"{available_cores()} available of {os.cpu_count() or 1}"),
        ("threads", "1"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("bindings", f"{host['host']} {host['version']}"),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("lhkit", __version__),
    )


@functools.cache
def cpu_name() -> str:
    """Return the name of the CPU as the system gives it."""
    return _cpu_field("model name") or platform.processor() or platform.machine()


def vector_extensions() -> list[str]:
    """Return the vector instruction sets that the system reports, the ones that matter for kernels."""
    flags = (_cpu_field("flags") or _cpu_field("Features") or "").split()
    known = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile")
    return [f for f in (*known, "asimd", "sve") if f in flags]


def _cpu_field(name: str) -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None
