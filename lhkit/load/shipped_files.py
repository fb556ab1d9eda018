"""Location of the shipped payloads, schedules and notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Shipped = Literal["data", "schedules", "notebooks"]


def shipped_folder(kind: Shipped) -> Path:
    """Return the folder of shipped files of a kind: inside a wheel, or beside the package in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "_shipped" / kind
    return inside if inside.is_dir() else package.parent / kind


def find_file(path: str | Path, kind: Shipped) -> Path:
    """Return ``path``, or the shipped file of that name, preferably of the wanted kind."""
    path = Path(path)
    try:
        is_here = path.exists()
    except OSError:  # a name that no file can have, such as a text that was given as a path
        return path
    if is_here or path.is_absolute() or ".." in path.parts:
        return path
    for folder in dict.fromkeys((shipped_folder(kind), shipped_folder("data"), shipped_folder("schedules"))):
        for name in (path, path.with_name(f"{path.name}.mlir")):
            if (shipped := folder / name).is_file():
                return shipped
    return path
