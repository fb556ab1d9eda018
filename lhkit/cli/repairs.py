"""Repairs as they follow a diagnosis on standard error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lhkit.cli.options import load_scheduled
from lhkit.model.errors import ScheduleError, error_for
from lhkit.model.failure import Failure
from lhkit.model.payload import Payload
from lhkit.model.repair import Repair
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_trials import find_repairs, find_text_repairs

_MOST_REPAIRS = 2
# Nobody waits longer for an error message; what was found until then is shown.
_SECONDS = 5.0


def repaired_failure(failure: Failure, payload: Payload, schedule: Schedule, trace: Trace) -> Failure:
    """Return how a trace failed, with the repairs that help."""
    found = find_repairs(payload, schedule, trace, limit=_MOST_REPAIRS, seconds=_SECONDS)
    return _with_repairs(failure, found)


def load_with_repairs(payload: Payload) -> Callable[..., Schedule]:
    """Return ``load_scheduled``, whose errors say with which repairs a schedule loads and passes a payload."""

    def load(path: str, **options: Any) -> Schedule:
        try:
            return load_scheduled(path, **options)
        except ScheduleError as error:
            loading = {name: options[name] for name in ("entry", "bind")}
            loading["libraries"] = [Path(library) for library in options["libraries"]]
            found = find_text_repairs(payload, error, **loading, limit=_MOST_REPAIRS, seconds=_SECONDS)
            raise error_for(_with_repairs(error.failure, found)) from None

    return load


def _with_repairs(failure: Failure, repairs: Sequence[Repair]) -> Failure:
    """Return a failure that says which repairs were tried and help, instead of advice that was not tried."""
    if not repairs:
        return failure
    lines = ["Repairs that were tried on a copy of the schedule:"]
    for number, repair in enumerate(repairs, 1):
        first, *diff = repair.describe().splitlines()
        lines += [f"{number}. {first}", *(f"   {line}".rstrip() for line in diff)]
    return dataclasses.replace(failure, advice="\n".join(lines))
