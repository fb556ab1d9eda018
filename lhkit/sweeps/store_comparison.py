"""Two stores of sweeps against each other: speeds of common variants as ratios with intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.ranking import speed_verdict
from lhkit.model.sample_statistics import Interval
from lhkit.sweeps.variant_record import SweepRecord, SweepTime, originals

Knobs = tuple[tuple[str, KnobValue], ...]

# As for benchmarks: of a hundred variants that did not change about one looks as if it had.
_DEVIATIONS = 2.58
# The standard error of a median from the median absolute deviation, where samples scatter normally.
_ERROR_OF_MEDIAN = 1.2533 * 1.4826


@dataclass(frozen=True, slots=True)
class VariantRatio:
    """A common variant of two sweeps.

    Attributes:
        knobs: Its knobs.
        first: Its record in the first.
        second: Its record in the second.
        speed: Its speed in the second as a multiple of that in the first, with an interval of about 99 %, from
            the spread of its runs.
    """

    knobs: Knobs
    first: SweepRecord
    second: SweepRecord
    speed: Interval

    @property
    def verdict(self) -> str:
        """See `speed_verdict`."""
        return speed_verdict(self.speed)


@dataclass(frozen=True, slots=True)
class SweepComparison:
    """What two sweeps have in common.

    Attributes:
        ratios: The variants that both timed, fastest in the second first.
        speed: The median of their ratios, with the quartiles.
        only_first: How many variants only the first timed.
        only_second: How many variants only the second timed.
        same_environment: Whether machine, toolchain and pipeline are the same.
    """

    ratios: tuple[VariantRatio, ...]
    speed: Interval
    only_first: int
    only_second: int
    same_environment: bool


def compare_sweeps(
    first: Sequence[SweepRecord], second: Sequence[SweepRecord], *, across_environments: bool = False
) -> SweepComparison:
    """Return how much faster the variants of a second sweep are than those of a first.

    Variants are the same if their knobs are; a sweep has no anchor, so these are raw times.

    Args:
        first: The records to compare with.
        second: The records of interest.
        across_environments: Whether ratios between machines, toolchains or pipelines are wanted all the same.

    Raises:
        UsageError: Different environments, several of them in one store, or nothing in common.
    """
    environments = [_environment(records, name) for records, name in ((first, "first"), (second, "second"))]
    is_same = environments[0] == environments[1]
    if not is_same and not across_environments:
        raise usage_error(
            "the sweeps are of different machines, toolchains or pipelines: ratios say nothing of the code",
            "If it is wanted all the same: --across-environments.",
        )
    ours, theirs = _timed(first, "first"), _timed(second, "second")
    common = [knobs for knobs in ours if knobs in theirs]
    if not common:
        raise usage_error("the sweeps have no variant in common that both timed")
    ratios = [VariantRatio(k, ours[k], theirs[k], _speed(ours[k], theirs[k])) for k in common]
    ratios.sort(key=lambda r: r.second.time_ns.median if r.second.time_ns else math.inf)
    return SweepComparison(
        ratios=tuple(ratios),
        speed=_middle([r.speed.middle for r in ratios]),
        only_first=len(ours) - len(common),
        only_second=len(theirs) - len(common),
        same_environment=is_same,
    )


def _environment(records: Iterable[SweepRecord], name: str) -> str:
    found = sorted({record.environment for record in records})
    if len(found) != 1:
        what = f"the {name} store holds records of {len(found)} environments"
        raise usage_error(what, "Compare stores of one machine and toolchain each.")
    return found[0]


def _timed(records: Sequence[SweepRecord], name: str) -> dict[Knobs, SweepRecord]:
    """Return the records with times of their own or of the same program, by their sorted knobs."""
    tried = originals(records)
    found: dict[Knobs, SweepRecord] = {}
    keys: dict[Knobs, str] = {}
    for record in records:
        knobs = tuple(sorted(record.knobs, key=lambda pair: pair[0]))
        if keys.setdefault(knobs, record.key) != record.key:
            what = f"the {name} store holds sweeps of several payloads or schedules"
            raise usage_error(what, "Compare stores of one sweep each.")
        source = tried[record.key]
        if source.status == "ok" and source.time_ns is not None:
            found[knobs] = source
    return found


def _speed(first: SweepRecord, second: SweepRecord) -> Interval:
    before, after = first.time_ns, second.time_ns
    if before is None or after is None:
        raise ValueError("a record without times is not compared")
    middle = before.median / max(after.median, 1)
    spread = math.exp(_DEVIATIONS * math.hypot(_error(before), _error(after)))
    return Interval(middle / spread, middle, middle * spread)


def _error(time: SweepTime) -> float:
    """Return the relative standard error of a median."""
    return _ERROR_OF_MEDIAN * time.mad / max(time.median, 1) / math.sqrt(time.runs)


def _middle(ratios: Sequence[float]) -> Interval:
    if len(ratios) < 2:
        return Interval(ratios[0], ratios[0], ratios[0])
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Interval(low, middle, high)
