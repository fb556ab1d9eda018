"""Targets: what schedules may ask of the CPU that they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

# Name → (bits of a vector, vector registers that code can name).
VECTORS: Mapping[str, tuple[int, int]] = {
    "avx512": (512, 32),
    "avx2": (256, 16),
    "neon": (128, 32),
    "sse": (128, 16),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU, as far as the defaults of knobs may follow from it.

    Attributes:
        name: One of ``VECTORS``.
        vector_bits: Width of a vector register.
        vector_registers: How many of them there are.
        l1_bytes: First-level data cache of a core.
        l2_bytes: Second-level cache of a core.
        cores: Cores that may be used.
    """

    name: str
    vector_bits: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    cores: int

    @property
    def facts(self) -> dict[str, int]:
        """What an expression may name, with its value."""
        return {name: getattr(self, name) for name in FACTS}


FACTS: tuple[str, ...] = tuple(field.name for field in fields(Target) if field.name != "name")
