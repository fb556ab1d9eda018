"""Robust statistics of samples: medians, ratios with intervals, noise, and ranks with ties."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.measurement import Comparison, Interval, Measurement

PERCENTILES = (5, 25, 75, 95)


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of a comparison."""

    name: str
    median_ns: float
    mad_ns: float
    percentiles_ns: tuple[float, float, float, float]
    speed: Interval  # Speed as a multiple of the anchor's (2 is twice as fast), with a 95 % interval
    gflops: float | None = None
    gbytes: float | None = None
    of_peak: float | None = None  # Share of the core's FMA peak (1 is all of it), or None
    # Share of the core's copy bandwidth, or None; above 1 where the data stays in caches
    of_copy: float | None = None
    of_read: float | None = None  # The same of reading alone


def values_ns(measurement: Measurement) -> list[float]:
    """Return the samples of a measurement, without their rounds."""
    return [value for _, value in measurement.samples_ns]


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return the median with a distribution-free interval, from the order of the values.

    The interval runs from the k-th smallest to the k-th largest, with the largest k for which a fair
    coin decides less than ``1 - confidence`` outside. Fewer than six values give their whole range.
    """
    ordered = sorted(values)
    n = len(ordered)
    outside = itertools.accumulate(2 * math.comb(n, k) / 2**n for k in range(n // 2))
    k = max(bisect.bisect(list(outside), 1 - confidence) - 1, 0)
    return Interval(ordered[k], statistics.median(ordered), ordered[n - 1 - k])


def mad(values: Sequence[float]) -> float:
    """Return the median absolute deviation from the median."""
    middle = statistics.median(values)
    return statistics.median(abs(v - middle) for v in values)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile, between the two nearest values in proportion."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def paired_ratios(measurement: Measurement, anchor: Measurement) -> list[float]:
    """Return speeds as multiples of the anchor's, one per common round, so that a drifting clock cancels."""
    anchor_ns = dict(anchor.samples_ns)
    return [anchor_ns[r] / value for r, value in measurement.samples_ns if r in anchor_ns]


def summarize(comparison: Comparison, *, by_ratio: bool = False) -> list[Summary]:
    """Return a summary an entry, in the order of the comparison; speeds are paired by rounds.

    Args:
        comparison: What was measured.
        by_ratio: Times and rates follow from the speed: the anchor's median divided by it. So a faster entry
            has the shorter time also if it sat out rounds in which the clock was another. Else they are of an
            entry's own median.
    """
    anchor = comparison.measurement(comparison.anchor)
    return [_summary(m, anchor, comparison, by_ratio) for m in comparison.measurements]


def _summary(measurement: Measurement, anchor: Measurement, comparison: Comparison, by_ratio: bool) -> Summary:
    values = values_ns(measurement)
    speed = median_interval(paired_ratios(measurement, anchor))
    median = statistics.median(values_ns(anchor)) / speed.middle if by_ratio else statistics.median(values)
    limits = comparison.limits
    gflops = None if comparison.flops is None else comparison.flops / median
    gbytes = None if comparison.bytes is None else comparison.bytes / median
    peak = limits.peak_gflops(comparison.element_type) if limits else None
    p5, p25, p75, p95 = (percentile(values, p) for p in PERCENTILES)
    return Summary(
        name=measurement.name,
        median_ns=median,
        mad_ns=mad(values),
        percentiles_ns=(p5, p25, p75, p95),
        speed=speed,
        gflops=gflops,
        gbytes=gbytes,
        of_peak=gflops / peak if gflops is not None and peak else None,
        of_copy=gbytes / limits.copy_gbytes if gbytes is not None and limits else None,
        of_read=gbytes / limits.read_gbytes if gbytes is not None and limits and limits.read_gbytes else None,
    )


_MAD_LIMIT = 0.05
_WIDTH_LIMIT = 0.05
_RANK_LIMIT = 0.25
_DRIFT_LIMIT = 0.1
_LEAST_ROUNDS = 5
_ALONE = "run it again alone before you trust it"
_QUIET = "close other programs, and measure longer (seconds=, rounds=)"


@dataclass(frozen=True, slots=True)
class NoiseVerdict:
    """Noise verdict on an entry: reasons, and advice."""

    name: str  # The entry, or the payload for the verdict on the whole comparison
    is_quiet: bool
    text: str


def judge_noise(comparison: Comparison) -> list[NoiseVerdict]:
    """Return a verdict an entry, in the order of the comparison."""
    return [_judge(m, s) for m, s in zip(comparison.measurements, summarize(comparison), strict=True)]


def judge_run(comparison: Comparison) -> NoiseVerdict:
    """Return the verdict on a comparison as a whole."""
    verdicts = judge_noise(comparison)
    noisy = [v for v in verdicts if not v.is_quiet]
    within = _certainty_of_all(comparison)
    if not noisy:
        return NoiseVerdict(comparison.payload, True, f"quiet: {within}, {comparison.rounds} rounds")
    listed = ", ".join(v.name for v in noisy) if len(noisy) < len(verdicts) else "all"
    text = f"noisy ({len(noisy)} of {len(verdicts)} entries: {listed}); {within}; "
    if any(m.is_disturbed for m in comparison.measurements):
        text += "samples were taken beside another timing on this machine; "
    text += _QUIET
    return NoiseVerdict(comparison.payload, False, text)


def _judge(measurement: Measurement, summary: Summary) -> NoiseVerdict:
    values = values_ns(measurement)
    reasons = []
    if len(values) < _LEAST_ROUNDS:
        reasons.append(f"only {len(values)} samples")
    if (spread := summary.mad_ns / summary.median_ns) > _MAD_LIMIT:
        reasons.append(f"MAD is {100 * spread:.0f} % of the median")
    if (width := _half_width(summary)) > _WIDTH_LIMIT:
        known = f"known to ±{100 * width:.2g} %" if width <= _RANK_LIMIT else "only roughly known"
        reasons.append(f"its ratio is {known}")
    if (drift := _drift(values)) > _DRIFT_LIMIT:
        reasons.append(f"times moved by {100 * drift:.0f} % during the run: compare ratios, not times")
    if not measurement.is_stable:
        reasons.append("times had not settled after the warm-up")
    if measurement.is_disturbed:
        many = f"{len(measurement.disturbed_rounds)} of {len(values)} samples"
        reasons.append(f"{many} were taken beside another timing on this machine: {_ALONE}")
    return NoiseVerdict(measurement.name, not reasons, "; ".join(reasons) or "quiet")


def _certainty_of_all(comparison: Comparison) -> str:
    """Return how well ratios are known, in words where an interval is too wide for a number.

    Entries whose ratios are only roughly known may still have their places: they are far apart then.
    """
    widths = {s.name: _half_width(s) for s in summarize(comparison) if s.name != comparison.anchor}
    widest = max(widths.values(), default=0.0)
    if widest <= _RANK_LIMIT:
        return f"ratios are known to ±{100 * widest:.2g} %"
    if all(rank.place == 1 for rank in rank_entries(comparison)):
        return "ratios are too noisy to rank"
    rough = [name for name, width in widths.items() if width > _RANK_LIMIT]
    listed = ", ".join(rough) if len(rough) < len(widths) else "all"
    return f"ratios are only roughly known ({listed}), but entries with > between them are told apart"


def _half_width(summary: Summary) -> float:
    return (summary.speed.high - summary.speed.low) / 2 / summary.speed.middle


def _drift(values: list[float]) -> float:
    """Return how far the medians of the first and the last third lie apart, relative to the first."""
    third = len(values) // 3
    if third < 3:
        return 0.0
    first = statistics.median(values[:third])
    return abs(statistics.median(values[-third:]) - first) / first


# Of a hundred comparisons of a thing with itself about one finds a difference, however many pairs each has.
FAMILY_ERROR = 0.01
# Code placement differs from run to run and moves times by about so much; rounds within one run cannot show it.
MARGIN = 0.02

# Shown beside every order: the intervals of a table are of 95 % each; ties are judged more strictly.
ORDER_RULE = (
    f"> faster by over {100 * MARGIN:.0f} %, sure at {100 - 100 * FAMILY_ERROR:.0f} %"
    " for all pairs at once; = tied"
)


def speed_verdict(speed: Interval) -> str:
    """Return ``faster`` or ``slower`` if an interval lies beyond the margin of ties, else no difference."""
    if speed.low > 1 + MARGIN:
        return "faster"
    return "slower" if speed.high < 1 / (1 + MARGIN) else "no difference seen"


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of an entry."""

    name: str
    place: int  # 1 for the fastest; tied entries share a place
    is_tied: bool

    @property
    def text(self) -> str:
        """The place for people: ``2``, or ``2=`` if it is shared."""
        return f"{self.place}=" if self.is_tied else str(self.place)


def rank_entries(comparison: Comparison, *, margin: float = MARGIN) -> list[Rank]:
    """Return the places of all entries, the fastest first; an entry is tied with the fastest of its group."""
    anchor = comparison.measurement(comparison.anchor)
    by_speed = sorted(comparison.measurements, key=lambda m: -statistics.median(paired_ratios(m, anchor)))
    pairs = max(len(by_speed) * (len(by_speed) - 1) // 2, 1)
    groups: list[list[Measurement]] = []
    for m in by_speed:
        if groups and are_tied(groups[-1][0], m, confidence=1 - FAMILY_ERROR / pairs, margin=margin):
            groups[-1].append(m)
        else:
            groups.append([m])
    ranks: list[Rank] = []
    for group in groups:
        in_order = [m.name for m in comparison.measurements if m in group]
        ranks += [Rank(name, len(ranks) + 1, len(group) > 1) for name in in_order]
    return ranks


def are_tied(a: Measurement, b: Measurement, *, confidence: float, margin: float = MARGIN) -> bool:
    """Return whether the samples leave open which of two is faster by more than the margin."""
    ratio = ratio_interval(paired_ratios(a, b), confidence=confidence)
    return ratio.low <= 1 + margin and ratio.high >= 1 / (1 + margin)


def ratio_interval(ratios: Sequence[float], *, confidence: float) -> Interval:
    """Return the middle of ratios with an interval that holds the true one with this confidence.

    From their order where there are enough of them, else from their logarithms with Student's t.
    One ratio says nothing about its own error: its interval is everything.
    """
    n = len(ratios)
    if 2 / 2**n <= 1 - confidence:
        return median_interval(ratios, confidence=confidence)
    middle = statistics.median(ratios)
    if n < 2:
        return Interval(0.0, middle, math.inf)
    logs = [math.log(r) for r in ratios]
    half = t_quantile(confidence, n - 1) * statistics.stdev(logs) / math.sqrt(n)
    mean = statistics.fmean(logs)
    low, high = math.exp(max(mean - half, -700.0)), math.exp(min(mean + half, 700.0))
    return Interval(min(low, middle), middle, max(high, middle))


def t_quantile(confidence: float, freedom: int) -> float:
    """Return t such that Student's variable lies within ±t with this confidence, by bisection."""
    low, high = 0.0, 1.0
    while _t_within(high, freedom) < confidence:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, freedom) < confidence else (low, middle)
    return high


def _t_within(t: float, freedom: int) -> float:
    """Return the probability that Student's variable with these degrees of freedom lies within ±t.

    The closed forms for odd and even degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 if odd else 1, freedom - 1, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def describe_order(ranks: Sequence[Rank]) -> str:
    """Return the order in words: ``a > b = c`` says that a is the fastest, and b and c are tied."""
    parts = [ranks[0].name] if ranks else []
    for before, rank in itertools.pairwise(ranks):
        parts += ["=" if rank.place == before.place else ">", rank.name]
    return " ".join(parts)


def centre_interval(ratios: Sequence[float], *, confidence: float) -> Interval:
    """Return the centre of ratios with an interval, from the signed ranks of their logarithms.

    The centre is the median of the means of all pairs (Hodges and Lehmann), the interval inverts Wilcoxon's
    signed-rank test. It is nearly as narrow as Student's where errors are normal, and one value in four may be
    far off. It holds where the logarithms lie symmetrically, as those of the ratio of two equal things do.
    Where there are too few values for the confidence, Student's interval is used.
    """
    count = len(ratios)
    if 2 / 2**count > 1 - confidence:
        return ratio_interval(ratios, confidence=confidence)
    logs = [math.log(r) for r in ratios]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2))
    outside = _outside(count, 1 - confidence)
    low, high = means[outside], means[len(means) - 1 - outside]
    return Interval(math.exp(low), math.exp(statistics.median(means)), math.exp(high))


@functools.cache
def _outside(count: int, error: float) -> int:
    """Return how many means may lie beyond each end, so that both ends fail with at most this probability."""
    sums = [1]  # how many sets of ranks have each sum
    for rank in range(1, count + 1):
        without, with_rank = sums + [0] * rank, [0] * rank + sums
        sums = [a + b for a, b in zip(without, with_rank, strict=True)]
    return bisect.bisect(list(itertools.accumulate(sums)), error / 2 * 2**count) - 1
