"""This CPU, as the system describes it."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def cpu_field(name: str) -> str | None:
    """Return a field of the first core as Linux lists it, such as ``model name``; None where it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def cpu_flags() -> frozenset[str]:
    """Return the instruction set extensions that the system reports; empty where it reports none."""
    return frozenset((cpu_field("flags") or cpu_field("Features") or "").split())
