"""Kernels on several threads: the OpenMP runtime that they call, and what has to hold before they may."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import re
from pathlib import Path

from lhkit.model.cores import available_cores
from lhkit.model.errors import usage_error
from lhkit.model.knob import THREADS_KNOB

_DISTRIBUTION = "intel-openmp"
_LIBRARY = re.compile(r"libiomp5(md)?\.(so|dll|dylib)")
_MEND = "Install it: pip install 'lhkit[openmp]'"


def openmp_library() -> str:
    """Return the path of the OpenMP runtime, loaded for as long as the process lives.

    Raises:
        UsageError: It is not installed, with the command that installs it, or does not load.
    """
    path = find_openmp()
    if path is None:
        raise usage_error(f"a kernel on several threads needs the OpenMP runtime of {_DISTRIBUTION}", _MEND)
    try:
        _load(str(path))
    except OSError as error:
        raise usage_error(f"the OpenMP runtime does not load: {error}", _MEND) from None
    return str(path)


def find_openmp() -> Path | None:
    """Return where the OpenMP runtime is installed, or None."""
    try:
        files = importlib.metadata.files(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (Path(str(f.locate())).resolve() for f in files if _LIBRARY.fullmatch(f.name))
    return next((path for path in found if path.is_file()), None)


@functools.cache
def _load(path: str) -> ctypes.CDLL:
    """Load the runtime and keep it: its threads outlive the kernel that first asked for them."""
    return ctypes.CDLL(path)


def check_threads(threads: int) -> None:
    """Refuse a number of threads for which there are no cores, or a second pool of threads in this process.

    Raises:
        UsageError: Either.
    """
    if threads < 1:
        raise usage_error(f"a kernel on {threads} threads", f"The knob {THREADS_KNOB!r} is at least 1.")
    if threads == 1:
        return
    if threads > (cores := available_cores()):
        raise usage_error(
            f"a kernel on {threads} threads, with {cores} {'core' if cores == 1 else 'cores'} available",
            f"Set the knob {THREADS_KNOB!r} to {cores} at most: more threads than cores wait for one another.",
        )
    others = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    if others != "1":
        raise usage_error(
            f"a kernel on {threads} threads beside numerical libraries on {others} in one process",
            "Idle threads of one would take the cores of the other. Time NumPy's threads in a run of their own,"
            " and the kernel's in one without --threads (Worker(threads=1)).",
        )
