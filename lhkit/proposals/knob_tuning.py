"""Knobs of a proposal, tuned by a short sweep: the values that win become its defaults."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from lhkit.load.loader import load_schedule
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.confirmation_run import BASELINE_NAME
from lhkit.sweeps.live_sweep import Sweep, sweep
from lhkit.text.knob_text import with_knobs_set
from lhkit.worker.client import Worker

# Of the time; the rest is for timing the best few again, beside the schedule as it was.
_FOR_VARIANTS = 0.7
# How much faster other values have to be where there was no time to time them again.
_CLEARLY = 1.1


def run_in_thread(found: Sweep) -> None:
    """Run a sweep to its end, also where an event loop is running; an interrupt stops it and is raised."""
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(found.start)
        try:
            running.result()
        except KeyboardInterrupt:
            found.stop()
            raise


def tune_knobs(
    payload: Payload,
    schedule: Schedule,
    seconds: float,
    *,
    worker: Worker | None,
    run: Callable[[Sweep], None] = run_in_thread,
) -> tuple[Schedule, str]:
    """Return a schedule whose knobs have the best values found in some seconds, and what was found.

    One knob after the other is tried, each in place, from the values that the schedule has; variants that an
    earlier sweep of these steps tried on this payload are not tried again. The values change where a second
    measurement has a winner with others, or, without time for that, where others are clearly faster. An
    interrupt ends the sweep, and the best so far is taken.
    """
    if not any(len(knob.options) > 1 for knob in schedule.knobs):
        return schedule, "There is no knob to tune."
    found = sweep(
        payload,
        schedule,
        strategy="coordinate-descent",
        start=False,
        seconds=_FOR_VARIANTS * seconds,
        confirm_seconds=(1 - _FOR_VARIANTS) * seconds,
    )
    with contextlib.suppress(KeyboardInterrupt):
        run(found)
    whole = math.prod(len(knob.options) for knob in schedule.knobs if knob.options)
    tried = f"{len(found.records)} of {whole} variants in {seconds:.3g} s"
    names = {knob.name for knob in schedule.knobs}
    own = {r.key: {name: value for name, value in r.knobs if name in names} for r in found.records}
    chosen, gain, how = _winner(found, own, schedule)
    if chosen is None:
        return schedule, f"No other values of the knobs were found to be faster ({tried})."
    text = with_knobs_set(dataclasses.replace(schedule, settings=tuple(own[chosen].items())))
    tuned = load_schedule(text, name=schedule.source, target=schedule.target or None, worker=worker)
    faster = f", {gain:.2f} times as fast as before" if gain else ""
    return tuned, f"Knobs are the fastest of {tried}{faster}{how}."


def _winner(
    found: Sweep, own: Mapping[str, Mapping[str, KnobValue]], schedule: Schedule
) -> tuple[str | None, float | None, str]:
    """Return the key of the variant to be taken, how much faster it is, and what is not sure."""
    given = next((r for r in found.records if _is_given(schedule, own[r.key])), None)
    confirmation = found.confirmation
    if confirmation is not None and confirmation.is_settled:
        gains = [up.speed.middle for up in confirmation.speed_ups if up.over == BASELINE_NAME]
        key = confirmation.winner_key
        is_other = key is not None and (given is None or key != given.key)
        return (key if is_other else None), next(iter(gains), None), ""
    best = found.best
    if best is None or best.time_ns is None or (given is not None and best.key == given.key):
        return None, None, ""
    gain = (
        given.time_ns.median / best.time_ns.median if given is not None and given.time_ns is not None else None
    )
    is_clear = gain is None or gain >= _CLEARLY
    return (best.key if is_clear else None), gain, ", measured once"


def _is_given(schedule: Schedule, values: Mapping[str, KnobValue]) -> bool:
    return all(schedule.values.get(name) == value for name, value in values.items())
