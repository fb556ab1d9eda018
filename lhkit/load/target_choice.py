"""The environment of measurements, and the choice of the target: the host CPU, a named one, or a schedule's."""

from __future__ import annotations

import functools
import os
import platform
import warnings
from collections.abc import Collection

import numpy as np
import psutil

from lhkit.model.errors import usage_error
from lhkit.model.schedule import Schedule
from lhkit.model.target import (
    INSTRUCTION_SETS,
    VECTORS,
    Target,
    available_cores,
    cpu_field,
    cpu_flags,
    dot_products,
)
from lhkit.text.knob_text import default_rules, exported_target, with_target_defaults
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Describe
from lhkit.worker.timing_conditions import cache_levels


def describe_environment(
    worker: Worker | None = None, targets: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the environment of measurements as (name, value) pairs; runs with equal ones may be compared."""
    from lhkit import __version__

    worker = worker or shared_worker()
    host = worker.ask(Describe())
    names = "OMP_NUM_THREADS and its kin"
    threads = f"{worker.threads} ({names} set to it)" if worker.threads > 1 else f"1 (pools held by {names})"
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ["not settable here"]
    return (
        ("cpu", cpu_name()),
        ("cpu model", cpu_model()),
        ("vector extensions", " ".join(vector_extensions()) or "none known"),
        ("clock", _nominal_clock()),
        ("cores", f"{available_cores()} available of {os.cpu_count() or 1}"),
        ("affinity", ",".join(map(str, affinity))),
        ("threads", threads),
        ("memory", f"{psutil.virtual_memory().total / (1 << 30):.0f} GiB"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("bindings", f"{host.host} {host.version}"),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("lhkit", __version__),
        *(("instructions", f"{name} only") for name in sorted({*targets} - {""})),
    )


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
    return 512 if "avx512f" in extensions else 256 if "avx" in extensions else 128


@functools.cache
def cpu_name() -> str:
    """Return the name of the CPU as the system gives it."""
    return cpu_field("model name") or platform.processor() or platform.machine()


@functools.cache
def cpu_model() -> str:
    """Return what tells CPUs of one name apart, which machines that are hosted often have: family and model."""
    known = {name: cpu_field(field) for name, field in (("family", "cpu family"), ("model", "model"))}
    return ", ".join(f"{name} {value}" for name, value in known.items() if value) or "not reported"


def vector_extensions() -> list[str]:
    """Return the vector instruction sets that the system reports, the ones that matter for kernels."""
    flags = cpu_flags()
    known = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_tile")
    return [f for f in (*known, "asimd", "sve") if f in flags]


VARIABLE = "LHKIT_TARGET"
HOST = "host"
CHOICES: tuple[str, ...] = (*VECTORS, HOST)
# Where the system does not say.
_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10


def find_target(name: str | None = None) -> Target:
    """Return the target of a name, else the one that ``LHKIT_TARGET`` names, else this CPU.

    Only vectors and instructions are another target's: caches and cores are those of this machine.
    """
    chosen = _chosen(name)
    bits, registers = VECTORS[chosen]
    other = "" if chosen == _host_name() else chosen
    caches = {level.name: level.size_bytes for level in cache_levels()}
    return Target(
        name=chosen,
        vector_bits=bits,
        vector_registers=registers,
        l1_bytes=caches.get("L1", _L1_BYTES),
        l2_bytes=caches.get("L2", _L2_BYTES),
        cores=available_cores(),
        bf16_dots=dot_products("bf16", other),
        i8_dots=dot_products("i8", other),
    )


def code_target(name: str | None = None, schedule: Schedule | None = None) -> str:
    """Return the target that a kernel is compiled for; empty for this CPU, with all its instructions.

    Default: the schedule's target, else ``LHKIT_TARGET``, if this CPU has its instructions.
    """
    if name is not None:
        return "" if name == HOST else _chosen(name)
    chosen = _chosen((schedule.target if schedule is not None else None) or None)
    is_lower = chosen != _host_name() and chosen in INSTRUCTION_SETS and not INSTRUCTION_SETS[chosen].missing
    return chosen if is_lower else ""


def schedule_for(schedule: Schedule, name: str | None) -> Schedule:
    """Return a schedule with a target's defaults for open knobs; warn if its text has another's sizes."""
    target = find_target(name)
    before = schedule.target or exported_target(schedule.text)
    if name is not None and before and before != target.name and not default_rules(schedule):
        warnings.warn(
            f"{schedule.source} has the sizes of {before} in its text, and no comment says how they follow from"
            f" the target: they stay as they are for {target.name}. Load the schedule that it was made from"
            f" with target={target.name!r}, or add comments such as"
            f" // lhkit: default KNOB = vector_bits / 32 for its knobs.",
            stacklevel=2,
        )
    return with_target_defaults(schedule, target, is_asked=name is not None)


def code_vector_bits(target: str) -> int:
    """Return the width of the widest vectors of code for a target; of this CPU, for an empty one."""
    return VECTORS[target][0] if target else widest_vector_bits()


def code_has_fma(target: str) -> bool:
    """Return True if code for a target, or for this CPU, has fused multiply-adds."""
    if target in INSTRUCTION_SETS:
        return "fma" in INSTRUCTION_SETS[target].flags
    return "fma" in cpu_flags() or not cpu_flags() or _host_name() == "neon"


def _chosen(name: str | None) -> str:
    asked = name or os.environ.get(VARIABLE) or HOST
    if asked not in CHOICES:
        where = "" if name else f" (in {VARIABLE})"
        raise usage_error(f"there is no target {asked!r}{where}", f"There are {', '.join(CHOICES)}.")
    return _host_name() if asked == HOST else asked


def _host_name() -> str:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    extensions = vector_extensions()
    return "avx512" if "avx512f" in extensions else "avx2" if "avx2" in extensions else "sse"
