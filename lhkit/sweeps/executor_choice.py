"""Executors by name: ``local``, ``dask`` and ``dask:ADDRESS``."""

from __future__ import annotations

from collections.abc import Callable

from lhkit.model.errors import usage_error
from lhkit.sweeps.dask_executor import DaskExecutor
from lhkit.sweeps.sweep_task import Task
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_LOCAL, _DASK = "local", "dask"


def check_executor(name: str) -> None:
    """Refuse a name that is of no executor."""
    if name not in (_LOCAL, _DASK) and not name.startswith(f"{_DASK}:"):
        raise usage_error(f"there is no executor {name!r}", "There are local, dask and dask:ADDRESS.")


def prepare_with_executor(
    name: str,
    worker: Worker,
    limits: Limits,
    environment: Callable[[Worker], str],
    prepare: Callable[[str], Task],
    is_stopped: Callable[[], bool],
) -> tuple[Task, DaskExecutor | None]:
    """Return the task of a sweep, and what tries it if that is not the worker itself."""
    here = environment(worker)
    if name == _LOCAL:
        return prepare(here), None
    address = name.partition(":")[2] or None
    executor = DaskExecutor(address, limits, preparation=worker.preparation, describe=environment, here=here)
    try:
        task = prepare(executor.environment)
    except BaseException:
        executor.end()
        raise
    if is_stopped():
        executor.end()
    return task, executor
