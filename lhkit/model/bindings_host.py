"""Detection of the installed MLIR bindings without importing them."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import sys

from lhkit.model.errors import LhkitError, usage_error

HOST_VARIABLE = "LHKIT_MLIR"
# The newest release of the bindings that the tests ran with; pyproject.toml has the bound that follows.
NEWEST_TRIED = 20261001
# The only bindings that have the dialect of PyTorch.
TORCH_HOST = "torch_mlir"
_HOSTS = ("mlir", TORCH_HOST)
_MEND = (
    "Install bindings into this environment: pip install torch-mlir\n"
    "or the upstream ones: pip install 'mlir-python-bindings>=20260101' -f https://llvm.github.io/eudsl"
)


def find_host() -> str:
    """Return the package with the bindings: the one in ``LHKIT_MLIR``, else ``mlir``, else ``torch_mlir``."""
    if named := os.environ.get(HOST_VARIABLE):
        if not _has_bindings(named):
            raise usage_error(f"{HOST_VARIABLE}={named} is not a package with MLIR bindings", _MEND)
        return named
    for host in _HOSTS:
        if _has_bindings(host):
            return host
    if importlib.util.find_spec("mlir_python_bindings"):
        raise usage_error("the installed mlir-python-bindings is the empty placeholder of that name", _MEND)
    raise usage_error("no MLIR bindings are installed", _MEND)


def _has_bindings(package: str) -> bool:
    try:
        return importlib.util.find_spec(f"{package}.ir") is not None
    except ModuleNotFoundError:
        return False


def has_other_bindings(host: str) -> bool:
    """Return whether this process has loaded bindings of another package than this one."""
    return any(name in sys.modules for name in {*_HOSTS, os.environ.get(HOST_VARIABLE)} - {host})


def newer_than_tried(version: str) -> bool:
    """Return True for a version of bindings later than all that were tried; both hosts count by days."""
    day = re.match(r"\d{8}", version)
    return day is not None and int(day[0]) > NEWEST_TRIED


@functools.cache
def host_version(host: str) -> str:
    """Return the version of the distribution that holds a host package, or ``unknown``."""
    import importlib.metadata  # brings all of email along

    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        if host == TORCH_HOST:  # to ask all distributions what they hold takes a third of a second
            return importlib.metadata.version("torch-mlir")
    distributions = importlib.metadata.packages_distributions().get(host, [])
    return importlib.metadata.version(distributions[0]) if distributions else "unknown"


def torch_versions_error(error: Exception) -> LhkitError:
    """Return the error of a PyTorch that the conversion to linalg does not know, from what it raised."""
    import torch

    what = f"PyTorch {torch.__version__} and torch-mlir {host_version(TORCH_HOST)} do not work together"
    advice = "Install the versions of constraints.txt: pip install -c constraints.txt 'lhkit[torch]'"
    return usage_error(f"{what}: {type(error).__name__}: {error}", advice)
