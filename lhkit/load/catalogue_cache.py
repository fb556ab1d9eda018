"""On-disk cache of the catalogue of transform ops, keyed by toolchain."""

from __future__ import annotations

import functools

from lhkit.model.bindings_host import find_host
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import Catalogue
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.folders import kept_path, read_or_make
from lhkit.worker.requests import MakeCatalogue

# What the catalogue is made by: a change there makes another one.
MAKERS = ("compiler/catalogue/*.*", "model/op_catalogue.py", "model/op_words.*", "model/step_form.py")


def load_catalogue(worker: Worker | None = None) -> Catalogue:
    """Return the catalogue of the installed bindings; the first time the worker makes it in seconds."""
    return _load(find_host(), worker)


def known_help() -> dict[str, str]:
    """Return what each op does, in a sentence, by its name; nothing where the catalogue was not made yet."""
    try:
        host = find_host()
    except UsageError:
        return {}  # a trace by a compiler binary needs no bindings
    if host not in _HELP and kept_path(host, MAKERS).is_file():
        _HELP[host] = {op.name: op.sentence for op in load_catalogue().ops}
    return _HELP.get(host, {})


# Memoized: every drawing asks for it.
_HELP: dict[str, dict[str, str]] = {}


@functools.lru_cache(maxsize=4)
def _load(host: str, worker: Worker | None) -> Catalogue:
    from lhkit import __version__

    def ask() -> bytes:
        return (worker or shared_worker()).ask(MakeCatalogue(__version__)).value

    return read_or_make(kept_path(host, MAKERS), Catalogue.from_json, ask)
