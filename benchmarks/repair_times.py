"""``python -m benchmarks.repair_times``: times to the first repair of a broken schedule, and to all."""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import lhkit
from benchmarks.intents.base_schedules import base_schedules
from benchmarks.intents.breakages import broken_schedules
from benchmarks.intents.judge import LIMITS
from lhkit.cli.terminal import say
from lhkit.model.errors import LhkitError
from lhkit.repairs.repair_trials import find_repairs

FIRST_MS, ALL_MS = 150, 2000


@dataclass(frozen=True, slots=True)
class Taken:
    """One broken schedule: its steps, and milliseconds to the first repair and to the end of the search.

    ``first_ms`` is None where there is no repair.
    """

    name: str
    steps: int
    first_ms: float | None
    all_ms: float


def take(payload: lhkit.Payload, schedule: lhkit.Schedule, trace: lhkit.Trace, name: str) -> Taken:
    """Measure the repairs of a schedule whose trace is known, as the workbench and a notebook ask for them."""
    begin = time.perf_counter()
    firsts: list[float] = []
    find_repairs(
        payload, schedule, trace, on_first=lambda _: firsts.append((time.perf_counter() - begin) * 1e3)
    )
    took_ms = (time.perf_counter() - begin) * 1e3
    return Taken(name, len(trace.step_records), firsts[0] if firsts else None, took_ms)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair_times", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[5, 6])
    parser.add_argument("--count", type=int, default=20, help="failing schedules for a seed")
    parser.add_argument("--least-steps", type=int, default=0, help="leave shorter schedules out")
    options = parser.parse_args()
    taken: list[Taken] = []
    bases = base_schedules()
    for seed in options.seed:
        kept = 0
        for broken in broken_schedules(bases, seed):
            if kept == options.count:
                break
            try:
                schedule = lhkit.load_schedule(broken.text, name=broken.base.name)
                trace = lhkit.trace(broken.base.payload, schedule, limits=LIMITS)
            except LhkitError:
                continue
            if trace.outcome.status == "failed" and len(trace.step_records) >= options.least_steps:
                kept += 1
                name = f"{broken.base.name}: {' + '.join(broken.kinds)}"
                taken.append(take(broken.base.payload, schedule, trace, name))
    for each in sorted(taken, key=lambda t: t.first_ms or 0):
        first = "none" if each.first_ms is None else f"{each.first_ms:.0f} ms"
        say(f"first {first:>8}, all {each.all_ms:5.0f} ms, {each.steps:3} steps  {each.name}")
    say(_summary(taken))


def _summary(taken: list[Taken]) -> str:
    found = sorted(t.first_ms for t in taken if t.first_ms is not None)
    ends = sorted(t.all_ms for t in taken)
    within = sum(ms <= FIRST_MS for ms in found)
    return (
        f"{len(taken)} broken schedules of {statistics.median(t.steps for t in taken):.0f} steps (median); "
        f"a repair of {len(found)}: first in {statistics.median(found):.0f} ms (median), "
        f"p80 {found[len(found) * 8 // 10]:.0f}, worst {found[-1]:.0f}; {within} within {FIRST_MS} ms; "
        f"all in {statistics.median(ends):.0f} ms (median), worst {ends[-1]:.0f} (limit {ALL_MS})"
    )


if __name__ == "__main__":
    main()
