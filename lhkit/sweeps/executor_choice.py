"""Where the variants of a sweep are tried, by the name that users give it."""

from __future__ import annotations

from collections.abc import Callable

from lhkit.model.errors import usage_error
from lhkit.sweeps.dask_executor import DaskExecutor
from lhkit.sweeps.sweep_task import Task
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_LOCAL, _DASK = "local", "dask"


def check_executor(name: str) -> None:
    """Refuse a name that is of no executor.

    Raises:
        UsageError: It is none.
    """
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
    """Return the task of a sweep, and what tries it if that is not the worker itself.

    Args:
        name: Of the executor.
        worker: A worker of this machine.
        limits: What one variant may take.
        environment: Returns the hash of the machine of a worker; also called on the machines of a cluster.
        prepare: Returns the task, given the hash of the machines that try it.
        is_stopped: Whether nobody wants the sweep any more.

    Raises:
        LhkitError: Nothing can be tried there, or the task cannot be had.
    """
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
