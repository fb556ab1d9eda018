"""The catalogue of transform ops: made by the worker once for each toolchain, then read from a cache."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from pathlib import Path

import platformdirs

from lhkit.hosts import find_host, host_version
from lhkit.model.catalogue import Catalogue
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker

FOLDER_VARIABLE = "LHKIT_CATALOGUE_DIR"
# What the catalogue is made by: a change there makes another one.
_MAKERS = (
    "compiler/catalogue*.py",
    "compiler/forms.py",
    "model/catalogue.py",
    "model/forms.py",
    "model/op_words.py",
)


def load_catalogue(worker: Worker | None = None) -> Catalogue:
    """Return the catalogue of the bindings that are installed.

    The first time it is made by the worker, which takes seconds; afterwards it is read without one.

    Args:
        worker: Another worker than the session's.

    Raises:
        UsageError: No bindings are installed.
    """
    host = find_host()
    return _load(host, worker)


@functools.lru_cache(maxsize=4)
def _load(host: str, worker: Worker | None) -> Catalogue:
    path = _cache_path(host)
    kept = _read(path)
    if kept is not None:
        return kept
    from lhkit import __version__

    content = (worker or shared_worker()).request("catalogue", {"lhkit": __version__}).body
    _keep(path, content)
    return Catalogue.from_json(json.loads(content))


def _cache_path(host: str) -> Path:
    from lhkit import __version__

    package = Path(__file__).parent.parent
    makers = sorted(file for pattern in _MAKERS for file in package.glob(pattern))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in makers)).hexdigest()[:12]
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else Path(platformdirs.user_cache_dir("lhkit")) / "catalogues"
    return folder / f"{host}-{host_version(host)}-lhkit-{__version__}-{digest}.json"


def _read(path: Path) -> Catalogue | None:
    """Return the catalogue of a file; None if there is none or it is damaged."""
    try:
        return Catalogue.from_json(json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError):
        return None


def _keep(path: Path, content: bytes) -> None:
    """Write a file at once or not at all; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return
