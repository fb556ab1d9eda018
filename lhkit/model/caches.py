"""The caches of a machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A cache that a core reads its data through.

    Attributes:
        name: ``L1``, ``L2``, ``L3``.
        size_bytes: How much it holds.
    """

    name: str
    size_bytes: int
