"""Bytes for people."""

from __future__ import annotations


def format_bytes(count: int) -> str:
    """Return bytes with the unit that fits, in powers of 1024: ``512 B``, ``16 KiB``, ``1.03 MiB``."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 100 else f"{size:.3g} {unit}"
