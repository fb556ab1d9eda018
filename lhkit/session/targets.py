"""The target that defaults of knobs follow from: this CPU, or one that was asked for."""

from __future__ import annotations

import os
import platform

from lhkit.model.cores import available_cores
from lhkit.model.errors import usage_error
from lhkit.model.target import VECTORS, Target
from lhkit.session.environment import vector_extensions
from lhkit.worker.caches import cache_levels

VARIABLE = "LHKIT_TARGET"
HOST = "host"
CHOICES: tuple[str, ...] = (*VECTORS, HOST)
# Where the system does not say.
_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10


def find_target(name: str | None = None) -> Target:
    """Return the target of a name, else the one that ``LHKIT_TARGET`` names, else this CPU.

    Only the vectors are another target's: caches and cores are those of this machine, and so are the
    instructions that kernels are compiled to.

    Args:
        name: ``avx512``, ``avx2``, ``neon``, ``sse``, or ``host`` for this CPU.

    Raises:
        UsageError: There is no such target.
    """
    asked = name or os.environ.get(VARIABLE) or HOST
    if asked not in CHOICES:
        where = "" if name else f" (in {VARIABLE})"
        raise usage_error(f"there is no target {asked!r}{where}", f"There are {', '.join(CHOICES)}.")
    chosen = _host_name() if asked == HOST else asked
    bits, registers = VECTORS[chosen]
    caches = {level.name: level.size_bytes for level in cache_levels()}
    return Target(
        name=chosen,
        vector_bits=bits,
        vector_registers=registers,
        l1_bytes=caches.get("L1", _L1_BYTES),
        l2_bytes=caches.get("L2", _L2_BYTES),
        cores=available_cores(),
    )


def _host_name() -> str:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    extensions = vector_extensions()
    if "avx512f" in extensions:
        return "avx512"
    return "avx2" if "avx2" in extensions else "sse"
