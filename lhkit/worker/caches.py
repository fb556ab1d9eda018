"""The caches: how large they are, and how to empty them of what a kernel left there."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

_UNKNOWN_BYTES = 32 << 20
_MOST_BYTES = 256 << 20
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@functools.cache
def last_level_cache_bytes() -> int:
    """Return the size of the largest cache; 32 MiB where the system does not say, 256 MiB at most."""
    sizes = [_size(file.read_text(encoding="ascii")) for file in sorted(_CACHE_FOLDER.glob("index*/size"))]
    return min(max(sizes, default=_UNKNOWN_BYTES), _MOST_BYTES)


def cache_bytes(level: int) -> int | None:
    """Return the size of the data cache of a level, from 1, as the first core has it; None where it is not said."""
    for file in sorted(_CACHE_FOLDER.glob("index*/size")):
        kind, depth = (file.with_name(name).read_text(encoding="ascii").strip() for name in ("type", "level"))
        if kind in ("Data", "Unified") and depth == str(level):
            return _size(file.read_text(encoding="ascii"))
    return None


def _size(text: str) -> int:
    text = text.strip()
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else int(text)


class Eviction:
    """A buffer of twice the last-level cache; reading it puts everything else out of the caches."""

    def __init__(self) -> None:
        self._buffer = np.ones(2 * last_level_cache_bytes() // 8, dtype=np.uint64)

    def evict(self) -> None:
        """Walk the buffer."""
        self._buffer.max()
