"""Two runs against each other: speeds of common entries as ratios with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.ranking import ratio_interval, speed_verdict
from lhkit.model.sample_statistics import Interval, paired_ratios, values_ns

# Many entries are looked at, so that of a hundred that did not change about one looks as if it had.
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class RunRatio:
    """A common entry of two runs.

    Attributes:
        name: The entry.
        speed: Its speed in the second run as a multiple of that in the first, with an interval of about 99 %.
        note: What else changed, or "".
    """

    name: str
    speed: Interval
    note: str

    @property
    def verdict(self) -> str:
        """See `speed_verdict`."""
        return speed_verdict(self.speed)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What two runs have in common, and in what they differ.

    Attributes:
        ratios: The common entries; the anchor is not among them where ratios are relative to it.
        relative_to: The anchor whose speed is 1 in both runs, or None where raw times are compared.
        only_first: Entries that the second run lacks.
        only_second: Entries that the first run lacks.
        differences: In what the environments differ, as (name, in the first, in the second).
    """

    ratios: tuple[RunRatio, ...]
    relative_to: str | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    differences: tuple[tuple[str, str, str], ...]


def compare_runs(first: Comparison, second: Comparison, *, across_environments: bool = False) -> RunComparison:
    """Return how much faster the entries of a second run are than those of a first.

    Where both runs have the same anchor, speeds are taken relative to it: the clock of a machine differs
    from run to run, ratios within a run do not.

    Args:
        first: The run to compare with.
        second: The run of interest.
        across_environments: Whether ratios between different CPUs are wanted all the same.

    Raises:
        UsageError: Different payloads, cache states, alignments or CPUs, or nothing in common.
    """
    _check(first, second, across_environments)
    names = [m.name for m in first.measurements]
    others = [m.name for m in second.measurements]
    is_relative = first.anchor == second.anchor and len(set(names) & set(others)) > 1
    common = [n for n in names if n in others and not (is_relative and n == first.anchor)]
    if not common:
        raise usage_error(f"the runs have no entry in common: {', '.join(names)} and {', '.join(others)}")
    return RunComparison(
        ratios=tuple(_ratio(name, first, second, is_relative=is_relative) for name in common),
        relative_to=first.anchor if is_relative else None,
        only_first=tuple(n for n in names if n not in others),
        only_second=tuple(n for n in others if n not in names),
        differences=_differences(first, second),
    )


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
        raise usage_error(what, "If it is wanted all the same: --across-environments.")


def _differences(first: Comparison, second: Comparison) -> tuple[tuple[str, str, str], ...]:
    ours, theirs = dict(first.environment), dict(second.environment)
    names = [*ours, *(n for n in theirs if n not in ours)]
    pairs = [(n, ours.get(n, "unknown"), theirs.get(n, "unknown")) for n in names]
    return tuple(p for p in pairs if p[1] != p[2])


def _ratio(name: str, first: Comparison, second: Comparison, *, is_relative: bool) -> RunRatio:
    speeds = []
    for run in (first, second):
        entry = run.measurement(name)
        if is_relative:
            ratios = paired_ratios(entry, run.measurement(run.anchor))
            speeds.append(ratio_interval(ratios, confidence=CONFIDENCE))
        else:
            ratios = [1 / value for value in values_ns(entry)]
            speeds.append(ratio_interval(ratios, confidence=CONFIDENCE))
    before, after = first.measurement(name), second.measurement(name)
    changes = []
    if before.schedule_sha256 != after.schedule_sha256:
        changes.append("another schedule")
    if before.knobs != after.knobs:
        changes.append("other knobs")
    return RunRatio(name, divide_intervals(speeds[1], speeds[0]), ", ".join(changes))


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
