"""``lhkit.sweep``: tries the values of a schedule's knobs, in the background of a notebook or to the end."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.load.loader import as_payload, as_schedule
from lhkit.model.errors import public, usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.axes import Narrowing
from lhkit.sweeps.dask_executor import check_executor
from lhkit.sweeps.engine import OnEvent
from lhkit.sweeps.live_sweep import Sweep
from lhkit.sweeps.space import Space, space_of
from lhkit.sweeps.strategies import make_strategy
from lhkit.sweeps.strategies.strategy import Strategy
from lhkit.sweeps.sweep_files import default_store
from lhkit.sweeps.sweep_summary import PAYLOAD_AXIS
from lhkit.sweeps.sweep_task import SweepOptions
from lhkit.worker.client import Worker

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
    store: str | os.PathLike[str] | None = None,
    on_event: OnEvent | None = None,
    options: SweepOptions | None = None,
    **changes: Any,
) -> Sweep:
    """Try the variants of a schedule's knobs: each is compiled, verified and timed, and kept in a store.

    Where an event loop is running (in a notebook) it returns at once and the sweep goes on in the background;
    in a script it runs to the end. A variant that is in the store is not tried again, so an interrupted sweep
    resumes where it left off. Equal programs are compiled and timed once. Each is verified against the
    payload's NumPy reference, else against the unscheduled payload.

    In the end the best few and the schedule as it was given are timed again, side by side in fresh processes,
    until one wins or they are declared equal: a sweep of noisy times has a first place even among equals. These
    measurements are kept beside the store, and an interrupted confirmation resumes where it left off.

    Args:
        payload: The payload, loaded or a path; several by name make ``payload`` the first axis.
        schedule: The schedule, loaded or a path; knobs that are set keep their values unless they are narrowed.
        knobs: The values to try, by knob: lists, or texts such as ``4,8,16``, ``1..64``, ``8..256*2``.
        constraints: What a variant has to meet beside what the schedule requires: texts, functions of knobs.
        strategy: ``grid``, ``random``, ``latin-hypercube``, ``coordinate-descent``, ``tpe``, or a `Strategy`.
        budget: How many variants, those that are known among them.
        store: The file of the records; without one it is the same file for the same payload and schedule.
        on_event: Called with a `SweepEvent` after every variant and at the end.
        options: Limits, executor, confirmation, and how variants are compiled.
        **changes: Fields of `SweepOptions` that replace those of ``options``.

    Returns:
        The sweep; live where a loop is running, else at its end.

    Raises:
        UsageError: A knob, value, constraint, strategy, option or store that cannot be used.
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
        options=options,
        **changes,
    )
    if on_event is not None:
        found.subscribe(on_event)
    found.start()
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
    options: SweepOptions | None = None,
    **changes: Any,
) -> Sweep:
    """Return a sweep that has not begun; the arguments are those of `sweep`."""
    try:
        how = dataclasses.replace(options or SweepOptions(), **changes)
    except TypeError as error:
        raise usage_error(f"sweep: {error}") from None
    check_executor(how.executor)
    payloads, axis = _payloads(payload, how.worker)
    loaded = as_schedule(schedule, how.worker, target=how.target)
    one_or_many = {"payloads": payloads} if axis else {"payload": payloads[""]}
    space = space_of(loaded, knobs=knobs, constraints=constraints, function=how.function, **one_or_many)
    if isinstance(strategy, str):
        strategy = make_strategy(strategy, space, seed=how.seed, budget=budget)
    path = Path(store) if store is not None else default_store(payloads, loaded)
    return Sweep(payloads, axis, loaded, space, strategy, how, path=path, total=_total(space, budget))


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
