"""What the compiler was once asked about itself, kept in files of the user's cache, one for each toolchain."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lhkit.model.bindings_host import host_version
from lhkit.worker.user_folders import cache_folder

FOLDER_VARIABLE = "LHKIT_CATALOGUE_DIR"

T = TypeVar("T")


def kept_path(host: str, makers: Sequence[str], *, what: str = "") -> Path:
    """Return the file for an answer.

    Args:
        host: The package of the bindings.
        makers: The modules that make the answer, as patterns below the package: a change there makes another.
        what: Which answer, for the name of the file.
    """
    from lhkit import __version__

    package = Path(__file__).parent.parent
    files = sorted(file for pattern in makers for file in package.glob(pattern))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return _folder() / f"{what}{host}-{host_version(host)}-lhkit-{__version__}-{digest}.json"


def _folder() -> Path:
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    try:
        return cache_folder("catalogues")
    except OSError:
        return Path(os.devnull)  # nothing is below it: every answer is made anew


def read_or_make(path: Path, read: Callable[[Any], T], make: Callable[[], bytes]) -> T:
    """Return what a file holds; where there is none, or it is damaged, it is made and kept.

    Args:
        path: The file.
        read: Gives the value of decoded JSON; ValueError where it is none.
        make: Gives the content of the file.
    """
    try:
        return read(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        content = make()
    _keep(path, content)
    return read(json.loads(content))


def _keep(path: Path, content: bytes) -> None:
    """Write a file at once or not at all; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return
