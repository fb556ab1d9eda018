"""Two stores of sweeps against each other, matched by the knobs of their variants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lhkit.bench.run_comparison import RunComparison, RunRatio, compare_entries
from lhkit.model.errors import usage_error
from lhkit.model.sample_statistics import Interval
from lhkit.sweeps.variant_record import SweepRecord, SweepTime, originals

# The normal quantile of a 99 % interval, as in `lhkit.bench.run_comparison`.
_DEVIATIONS = 2.58
# The standard error of a median from the median absolute deviation, for normally distributed samples.
_ERROR_OF_MEDIAN = 1.2533 * 1.4826


def compare_sweeps(
    first: Sequence[SweepRecord], second: Sequence[SweepRecord], *, across_environments: bool = False
) -> RunComparison:
    """Return how much faster the variants of a second sweep are than those of a first, fastest first.

    Variants are the same if their knobs are; a sweep has no anchor, so these are raw times.
    """
    environments = [_environment(records, name) for records, name in ((first, "first"), (second, "second"))]
    is_same = environments[0] == environments[1]
    if not is_same and not across_environments:
        raise usage_error(
            "the sweeps are of different machines, toolchains or pipelines: ratios say nothing of the code",
            "If it is wanted all the same: --across-environments.",
        )
    ours, theirs = _timed(first, "first"), _timed(second, "second")
    if not ours.keys() & theirs.keys():
        raise usage_error("the sweeps have no variant in common that both timed")
    by_speed = dict(sorted(ours.items(), key=lambda item: theirs[item[0]].median if item[0] in theirs else 0))
    differences = () if is_same else (("environment", environments[0], environments[1]),)
    return compare_entries(by_speed, theirs, _ratio, differences=differences)


def _environment(records: Iterable[SweepRecord], name: str) -> str:
    found = sorted({record.environment for record in records})
    if len(found) != 1:
        what = f"the {name} store holds records of {len(found)} environments"
        raise usage_error(what, "Compare stores of one machine and toolchain each.")
    return found[0]


def _timed(records: Sequence[SweepRecord], name: str) -> dict[str, SweepTime]:
    """Return the times of variants, their own or those of the same program, by their sorted knobs."""
    tried = originals(records)
    found: dict[str, SweepTime] = {}
    keys: dict[str, str] = {}
    for record in records:
        knobs = " ".join(f"{knob}={value}" for knob, value in sorted(record.knobs)) or "the only variant"
        if keys.setdefault(knobs, record.key) != record.key:
            what = f"the {name} store holds sweeps of several payloads or schedules"
            raise usage_error(what, "Compare stores of one sweep each.")
        source = tried[record.key]
        if source.status == "ok" and source.time_ns is not None:
            found[knobs] = source.time_ns
    return found


def _ratio(name: str, before: SweepTime, after: SweepTime) -> RunRatio:
    middle = before.median / max(after.median, 1)
    spread = math.exp(_DEVIATIONS * math.hypot(_error(before), _error(after)))
    return RunRatio(name, Interval(middle / spread, middle, middle * spread), (before.median, after.median))


def _error(time: SweepTime) -> float:
    """Return the relative standard error of a median."""
    return _ERROR_OF_MEDIAN * time.mad / max(time.median, 1) / math.sqrt(time.runs)
