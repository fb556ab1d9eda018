"""The last-level cache: how large it is, and how to empty it of what a kernel left there."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from lhkit.model.caches import CacheLevel

_UNKNOWN_BYTES = 32 << 20
_MOST_BYTES = 256 << 20
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@functools.cache
def last_level_cache_bytes() -> int:
    """Return the size of the largest cache; 32 MiB where the system does not say, 256 MiB at most."""
    sizes = [level.size_bytes for level in cache_levels()]
    return min(max(sizes, default=_UNKNOWN_BYTES), _MOST_BYTES)


@functools.cache
def cache_levels() -> tuple[CacheLevel, ...]:
    """Return the data caches of a core, the smallest first; none where the system does not say."""
    found: dict[int, int] = {}
    for folder in sorted(_CACHE_FOLDER.glob("index*")):
        kind, level, size = (_read(folder / name) for name in ("type", "level", "size"))
        if kind != "Instruction" and level.isdigit() and size:
            found[int(level)] = _size(size)
    return tuple(CacheLevel(f"L{level}", size) for level, size in sorted(found.items()))


def _read(file: Path) -> str:
    """Return what a file says, nothing where a container hides it."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


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
