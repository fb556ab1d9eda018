"""Sweeps: a schedule's knobs tried out, in the background of a notebook or to the end in a script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.load.loader import as_payload, as_schedule
from lhkit.model.errors import public, usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.axes import Narrowing
from lhkit.sweeps.confirmation_run import DEFAULT_SECONDS
from lhkit.sweeps.engine import OnEvent
from lhkit.sweeps.executor_choice import check_executor
from lhkit.sweeps.live_sweep import Sweep
from lhkit.sweeps.space import Space, space_of
from lhkit.sweeps.strategies import make_strategy
from lhkit.sweeps.strategies.strategy import Strategy
from lhkit.sweeps.sweep_files import default_store
from lhkit.sweeps.sweep_summary import PAYLOAD_AXIS
from lhkit.sweeps.sweep_task import Preparation
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

VARIANT_LIMITS = Limits(seconds=20.0)

PayloadLike = Payload | str | os.PathLike[str]


@public
def sweep(
    payload: PayloadLike | Mapping[str, PayloadLike],
    schedule: Schedule | str | os.PathLike[str],
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[Any] = (),
    strategy: str | Strategy = "grid",
    budget: int | None = None,
    seconds: float | None = None,
    store: str | os.PathLike[str] | None = None,
    known: Sequence[str | os.PathLike[str]] = (),
    seed: int = 0,
    executor: str = "local",
    limits: Limits | None = None,
    worker: Worker | None = None,
    resume: bool = True,
    sync: bool = False,
    confirm: bool = True,
    confirm_seconds: float | None = DEFAULT_SECONDS,
    on_event: OnEvent | None = None,
    **how: Any,
) -> Sweep:
    """Try the variants of a schedule's knobs: each is compiled, verified and timed, and kept in a store.

    Where an event loop is running (in a notebook) it returns at once and the sweep goes on in the background;
    in a script it runs to the end. A variant that is in the store is not tried again, so that a sweep that was
    stopped, interrupted or killed goes on where it was. Equal programs are compiled and timed once. Each is
    verified against the payload's NumPy reference, else against the unscheduled payload.

    In the end the best few and the schedule as it was given are timed again, side by side in fresh processes,
    until one wins or they are declared equal: a sweep of noisy times has a first place even among equals. What
    is measured for that is kept beside the store, and an interrupted confirmation goes on where it was.

    Args:
        payload: The payload, loaded or a path; several by name make ``payload`` the first axis.
        schedule: The schedule, loaded or a path; knobs that are set keep their values unless they are narrowed.
        knobs: What is left of knobs: lists, or texts such as ``4,8,16``, ``1..64``, ``8..256*2``.
        constraints: What a variant has to meet beside what the schedule requires: texts, functions of knobs.
        strategy: ``grid``, ``random``, ``latin-hypercube``, ``coordinate-descent``, ``tpe``, or a `Strategy`.
        budget: How many variants, those that are known among them.
        seconds: How long variants are tried, from the first one on.
        store: The file of the records; without one it is the same file for the same payload and schedule.
        known: Other stores, whose records are first taken into this one.
        seed: What the order of the variants and the arguments are drawn from.
        executor: Where variants are tried: ``local``; ``dask:ADDRESS``, on the machines of the Dask cluster
            with that scheduler, one variant at a time each; ``dask``, on a cluster of this machine (in a
            script call it under ``if __name__ == "__main__":``, as Dask asks for).
        limits: Time and memory for one variant; 20 seconds if not given.
        resume: Whether to use what the store knows.
        sync: Have every record on the disk before the next variant, should the machine itself die.
        confirm: Whether to confirm the winner. With several payloads that is done for each. A sweep that was
            stopped, or tried on machines of another kind, has no confirmation.
        confirm_seconds: How long that may take, or None; no process is begun that would take longer, but for
            the first.
        worker: A worker to use instead of one of the sweep's own.
        on_event: Called with a `SweepEvent` after every variant and at the end.
        **how: ``function``, ``arguments``, ``opt_level`` (3) and ``target`` as for ``lhkit.compile``,
            ``microkernels``, ``pin`` and ``deduplicate``; see `Preparation`.

    Returns:
        The sweep; live where a loop is running, else at its end.

    Raises:
        UsageError: A knob, value, constraint, strategy or store that cannot be used.
        LhkitError: In a script: nothing can be tried, or a record cannot be kept.
    """
    found = prepare_sweep(
        payload,
        schedule,
        knobs=knobs,
        constraints=constraints,
        strategy=strategy,
        budget=budget,
        store=store,
        seed=seed,
        executor=executor,
        limits=limits,
        worker=worker,
        **how,
    )
    if on_event is not None:
        found.subscribe(on_event)
    found.start(
        seconds=seconds,
        resume=resume,
        sync=sync,
        confirm_seconds=confirm_seconds,
        is_confirmed=confirm,
        known=known,
    )
    return found


def prepare_sweep(
    payload: PayloadLike | Mapping[str, PayloadLike],
    schedule: Schedule | str | os.PathLike[str],
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[Any] = (),
    strategy: str | Strategy = "grid",
    budget: int | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int = 0,
    executor: str = "local",
    limits: Limits | None = None,
    worker: Worker | None = None,
    **how: Any,
) -> Sweep:
    """Return a sweep that has not begun; the arguments are those of `sweep`."""
    check_executor(executor)
    payloads, axis = _payloads(payload, worker)
    loaded = as_schedule(schedule, worker, target=how.get("target"))
    how = {"seed": seed, **how}
    try:
        preparation = Preparation(**how)
    except TypeError as error:
        raise usage_error(f"sweep: {error}") from None
    one_or_many = {"payloads": payloads} if axis else {"payload": payloads[""]}
    space = space_of(loaded, knobs=knobs, constraints=constraints, function=preparation.function, **one_or_many)
    chosen = make_strategy(strategy, space, seed=seed, budget=budget) if isinstance(strategy, str) else strategy
    return Sweep(
        payloads,
        axis,
        loaded,
        space,
        chosen,
        preparation,
        path=Path(store) if store is not None else default_store(payloads, loaded),
        limits=limits or VARIANT_LIMITS,
        worker=worker,
        total=_total(space, budget),
        executor=executor,
    )


def _payloads(
    given: PayloadLike | Mapping[str, PayloadLike], worker: Worker | None
) -> tuple[dict[str, Payload], str | None]:
    if not isinstance(given, Mapping):
        return {"": as_payload(given, worker)}, None
    return {name: as_payload(each, worker) for name, each in given.items()}, PAYLOAD_AXIS


def _total(space: Space, budget: int | None) -> int | None:
    count = space.count()
    if not count.is_exact:
        return budget
    return int(count) if budget is None else min(budget, int(count))
