"""Two runs against each other: speeds of common entries as ratios with intervals."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.measurement import Comparison, Interval
from lhkit.model.sample_statistics import paired_ratios, ratio_interval, speed_verdict, values_ns

# With many entries: of a hundred that did not change, about one looks as if it had.
CONFIDENCE = 0.99

Entry = TypeVar("Entry")
Difference = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RunRatio:
    """A common entry of two runs: speed in the second as a multiple of that in the first, at 99 %."""

    name: str
    speed: Interval
    medians_ns: tuple[float, float]
    note: str = ""

    @property
    def verdict(self) -> str:
        """See `speed_verdict`."""
        return speed_verdict(self.speed)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Common entries of two runs; ``relative_to`` is the anchor whose speed is 1, or None for raw times."""

    ratios: tuple[RunRatio, ...]
    relative_to: str | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    differences: tuple[Difference, ...]
    not_compared: tuple[tuple[str, str], ...] = ()

    @property
    def quartiles(self) -> Interval:
        """The median speed of the common entries, with the quartiles."""
        speeds = [r.speed.middle for r in self.ratios]
        if len(speeds) < 2:
            return Interval(speeds[0], speeds[0], speeds[0])
        return Interval(*statistics.quantiles(speeds, n=4, method="inclusive"))


def compare_entries(
    first: Mapping[str, Entry],
    second: Mapping[str, Entry],
    ratio: Callable[[str, Entry, Entry], RunRatio],
    *,
    relative_to: str | None = None,
    differences: tuple[Difference, ...] = (),
) -> RunComparison:
    """Return the comparison of the entries of two runs, matched by name."""
    ratios, refused = [], []
    for name in first:
        if name in second:
            try:
                ratios.append(ratio(name, first[name], second[name]))
            except UsageError as error:
                refused.append((name, error.failure.message))
    return RunComparison(
        ratios=tuple(ratios),
        relative_to=relative_to,
        only_first=tuple(n for n in first if n not in second),
        only_second=tuple(n for n in second if n not in first),
        differences=differences,
        not_compared=tuple(refused),
    )


def compare_runs(first: Comparison, second: Comparison, *, across_environments: bool = False) -> RunComparison:
    """Return how much faster the entries of a second run are than those of a first.

    Where both runs have the same anchor, speeds are taken relative to it: the clock of a machine differs
    from run to run, ratios within a run do not.
    """
    _check(first, second, across_environments)
    names, others = ({m.name: run for m in run.measurements} for run in (first, second))
    is_relative = first.anchor == second.anchor and len(names.keys() & others.keys()) > 1
    if is_relative:
        del names[first.anchor], others[first.anchor]
    if not names.keys() & others.keys():
        raise usage_error(f"the runs have no entry in common: {', '.join(names)} and {', '.join(others)}")

    ratio = functools.partial(_ratio, is_relative=is_relative)
    anchor = first.anchor if is_relative else None
    return compare_entries(names, others, ratio, relative_to=anchor, differences=_differences(first, second))


def _check(first: Comparison, second: Comparison, across_environments: bool) -> None:
    if first.payload_sha256 != second.payload_sha256:
        what = f"{first.payload} and {second.payload}"
        raise usage_error(f"the runs are of different payloads ({what}); their times cannot be compared")
    if (first.cache, first.alignment_bytes) != (second.cache, second.alignment_bytes):
        states = [f"{r.cache} caches, {r.alignment_bytes}-byte alignment" for r in (first, second)]
        raise usage_error(f"the runs are of different states ({states[0]}; {states[1]})")
    cpus = [dict(r.environment).get("cpu", "unknown") for r in (first, second)]
    if cpus[0] != cpus[1] and not across_environments:
        what = f"the runs are of different CPUs ({cpus[0]}; {cpus[1]}): their ratio says nothing about the code"
        raise usage_error(what, "To compare them anyway: --across-environments.")


def _differences(first: Comparison, second: Comparison) -> tuple[Difference, ...]:
    ours, theirs = dict(first.environment), dict(second.environment)
    pairs = [(n, ours.get(n, "unknown"), theirs.get(n, "unknown")) for n in ours | theirs]
    return tuple(p for p in pairs if p[1] != p[2])


def _ratio(name: str, first: Comparison, second: Comparison, *, is_relative: bool) -> RunRatio:
    speeds = []
    for run in (first, second):
        entry = run.measurement(name)
        if is_relative:
            ratios = paired_ratios(entry, run.measurement(run.anchor))
        else:
            ratios = [1 / value for value in values_ns(entry)]
        speeds.append(ratio_interval(ratios, confidence=CONFIDENCE))
    before, after = first.measurement(name), second.measurement(name)
    changes = []
    if before.schedule_sha256 != after.schedule_sha256:
        changes.append("another schedule")
    if before.knobs != after.knobs:
        changes.append("other knobs")
    medians = (statistics.median(values_ns(before)), statistics.median(values_ns(after)))
    return RunRatio(name, divide_intervals(speeds[1], speeds[0]), medians, ", ".join(changes))


def divide_intervals(numerator: Interval, denominator: Interval) -> Interval:
    """Return the ratio of two independent positive values with its interval.

    The distances from the middles, as logarithms, add in quadrature (method of variance estimates
    recovery, Zou and Donner 2008).
    """
    middle = numerator.middle / denominator.middle
    down = math.hypot(
        _distance(numerator.low, numerator.middle), _distance(denominator.middle, denominator.high)
    )
    up = math.hypot(_distance(numerator.middle, numerator.high), _distance(denominator.low, denominator.middle))
    return Interval(middle * math.exp(-down), middle, middle * math.exp(min(up, 700.0)))


def _distance(low: float, high: float) -> float:
    """Return the logarithm of a ratio; an end at zero or infinity is infinitely far."""
    return math.inf if low == 0 or math.isinf(high) else math.log(high / low)
