"""Facts of the target CPU that schedules may refer to."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path


@functools.cache
def cpu_field(name: str) -> str | None:
    """Return a field of the first core as Linux lists it, such as ``model name``; None where it does not."""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if match := re.search(rf"^{name}[ \t]*:(.*)", text, re.MULTILINE):
            return match[1].strip()
    return None


def cpu_flags() -> frozenset[str]:
    """Return the instruction set extensions that the system reports; empty where it reports none."""
    return frozenset((cpu_field("flags") or cpu_field("Features") or "").split())


def has_matrix_tiles() -> bool:
    """Return whether this CPU has AMX for bf16 and i8, and its system lets processes use it."""
    return {"amx_tile", "amx_bf16", "amx_int8"} <= cpu_flags()


def dot_products(element: str, target: str = "") -> int:
    """Return how a target, or this CPU, adds up products of pairs of ``bf16``, or groups of ``i8``.

    0: one by one, or slowly in groups; 1: in vectors (AVX512-BF16; of fours of i8 by AVX512-VNNI, AVX-VNNI);
    2: also in matrix tiles (AMX); 3: of i8 in vectors, as pairs of i16 (AVX2, AVX-512).
    """
    flags = code_flags(target)
    if not target and has_matrix_tiles():
        return 2
    if element == "i8":
        in_fours = not flags.isdisjoint({"avx512_vnni", "avx_vnni"})
        return 1 if in_fours else 0 if flags.isdisjoint({"avx2", "avx512bw"}) else 3
    # On Intel's Xeons those of bf16 in vectors take four times as long as a multiplication and sum in f32.
    return int("avx512_bf16" in flags and cpu_field("vendor_id") == "AuthenticAMD")


# Name → (bits of a vector, vector registers that code can name).
VECTORS: Mapping[str, tuple[int, int]] = {
    "avx512": (512, 32),
    "avx2": (256, 16),
    "neon": (128, 32),
    "sse": (128, 16),
}


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """The instructions that code for a target may use."""

    cpu: str  # LLVM's name of a CPU that has these and no others
    flags: frozenset[str]  # What Linux calls the extensions that a CPU needs to execute them

    @property
    def missing(self) -> tuple[str, ...]:
        """The extensions that this CPU lacks, or does not report; none if it executes such code."""
        return tuple(sorted(self.flags - cpu_flags()))


# The levels of the x86-64 psABI.
_LEVEL_2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_LEVEL_3 = _LEVEL_2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
_LEVEL_4 = _LEVEL_3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
INSTRUCTION_SETS: Mapping[str, InstructionSet] = {
    "avx512": InstructionSet("x86-64-v4", _LEVEL_4),
    "avx2": InstructionSet("x86-64-v3", _LEVEL_3),
    "sse": InstructionSet("x86-64-v2", _LEVEL_2),
}


def code_flags(target: str) -> frozenset[str]:
    """Return the extensions that code for a target may use; this CPU's for an empty one, none if not known."""
    if not target:
        return cpu_flags()
    return INSTRUCTION_SETS[target].flags if target in INSTRUCTION_SETS else frozenset()


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU, as far as the defaults of knobs may follow from it."""

    name: str  # One of ``VECTORS``
    vector_bits: int  # Width of a vector register
    vector_registers: int  # How many of them there are
    l1_bytes: int  # First-level data cache of a core
    l2_bytes: int  # Second-level cache of a core
    cores: int  # Cores that may be used
    bf16_dots: int  # Dot products of pairs of bf16: 1 in vectors, 2 in matrix tiles; 0 without
    i8_dots: int  # The same of fours of i8; 3 of pairs of i16 in vectors

    @property
    def facts(self) -> dict[str, int]:
        """What an expression may name, with its value."""
        return {name: getattr(self, name) for name in FACTS}


FACTS: tuple[str, ...] = tuple(field.name for field in fields(Target) if field.name != "name")


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache that a core reads its data through."""

    name: str
    size_bytes: int


def available_cores() -> int:
    """Return the number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
