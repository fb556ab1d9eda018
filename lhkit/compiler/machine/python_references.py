"""Reference functions by ``FILE.py:FUNCTION``, loaded where they run."""

from __future__ import annotations

import functools
import importlib.util
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lhkit.model.errors import usage_error


def load_function(place: str) -> Callable[..., Any]:
    """Return the function that ``FILE.py:FUNCTION`` names; a changed file is loaded again.

    Raises:
        UsageError: No such file or function, or the file does not load.
    """
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise usage_error(f"no such file: {file}", "A reference is given as FILE.py:FUNCTION.")
    module = _load(str(path), path.stat().st_mtime_ns)
    function = getattr(module, name, None)
    if not callable(function):
        raise usage_error(f"{file} has no function {name!r}")
    return function


def call_function(place: str, arguments: Sequence[Any]) -> Any:
    """Return what the function that ``FILE.py:FUNCTION`` names returns for these arguments.

    Raises:
        UsageError: It cannot be loaded, or raises an exception; the message says which and where.
    """
    function = load_function(place)
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - a function of the user's may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        raise usage_error(f"the reference {place} raised {type(error).__name__}: {error} ({where})") from None


@functools.lru_cache(maxsize=32)
def _load(file: str, _changed_ns: int) -> Any:
    spec = importlib.util.spec_from_file_location(f"lhkit_reference_{Path(file).stem}", file)
    if spec is None or spec.loader is None:
        raise usage_error(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - a file of the user's may raise anything
        raise usage_error(f"{file} does not load: {type(error).__name__}: {error}") from None
    return module
