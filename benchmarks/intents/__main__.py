"""``python -m benchmarks.intents``: breaks schedules, takes the repairs that are offered, prints the shares."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import lhkit
from benchmarks.intents.base_schedules import Base, alarmed_schedules, base_schedules
from benchmarks.intents.breakages import broken_schedules
from benchmarks.intents.judge import LIMITS, Judge
from benchmarks.intents.measuring import Measured, Measurer, warning_kinds
from benchmarks.intents.summary import save, table
from lhkit.cli.terminal import say


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intents", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="what is drawn depends on it alone")
    parser.add_argument("--count", type=int, default=60, help="how many broken schedules for a seed")
    parser.add_argument("--seconds", type=float, default=600.0, help="when to stop, whatever is missing")
    parser.add_argument("--json", type=Path, help="where to write all of it")
    options = parser.parse_args()
    results: list[Measured] = []
    alarms: dict[str, list[str]] = {}
    begin = time.monotonic()
    try:
        bases = base_schedules()
        find_alarms([*bases, *alarmed_schedules()], alarms)
        for seed in options.seed:
            run(bases, seed, options.count, begin + options.seconds, results)
    except KeyboardInterrupt:
        say("interrupted; what is known until here:")
    say(table(results, alarms) if results else "nothing was measured")
    if options.json:
        settings = {"seeds": options.seed, "count": options.count, "took_s": round(time.monotonic() - begin)}
        save(options.json, results, alarms, settings)


def find_alarms(bases: Sequence[Base], alarms: dict[str, list[str]]) -> None:
    """Note the warnings of schedules that have no mistake."""
    for base in bases:
        trace = lhkit.trace(base.payload, base.schedule, limits=LIMITS)
        if trace.outcome.status != "ok":
            raise SystemExit(f"{base.name} is no base, as it does not apply: {trace.outcome.message}")
        alarms[base.name] = sorted(warning_kinds(trace))


def run(bases: Sequence[Base], seed: int, count: int, end: float, results: list[Measured]) -> None:
    """Measure broken schedules until there are enough of them or the time is over."""
    measurers: dict[str, Measurer] = {}
    kept = 0
    for broken in broken_schedules(bases, seed):
        if kept >= count or time.monotonic() > end:
            return
        if broken.base.name not in measurers:
            measurers[broken.base.name] = Measurer(Judge(broken.base.payload, broken.base.text))
        begin = time.monotonic()
        measured = measurers[broken.base.name].measure(broken)
        results.append(measured)
        if measured.status == "same":
            continue
        kept += 1
        outcomes = ", ".join(tried.outcome for tried in measured.repairs) or "no repairs"
        took = time.monotonic() - begin
        say(
            f"{kept:4} {took:5.1f} s  {measured.base}: {' + '.join(measured.kinds)}: {measured.status}; "
            f"warned {', '.join(measured.warnings) or 'of nothing'}; {outcomes}; blind {measured.blind}"
        )


if __name__ == "__main__":
    main()
