"""Robust statistics of samples: medians, spreads, percentiles, and ratios with intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.measurement import Comparison, Measurement

PERCENTILES = (5, 25, 75, 95)


@dataclass(frozen=True, slots=True)
class Interval:
    """A middle value and the interval around it."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of a comparison.

    Attributes:
        speed: Speed as a multiple of the anchor's (2 is twice as fast), with a 95 % interval.
        of_peak: Share of the core's FMA peak (1 is all of it), or None.
        of_copy: Share of the core's copy bandwidth, or None; above 1 where the data stays in caches.
    """

    name: str
    median_ns: float
    mad_ns: float
    percentiles_ns: tuple[float, float, float, float]
    speed: Interval
    gflops: float | None = None
    gbytes: float | None = None
    of_peak: float | None = None
    of_copy: float | None = None


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
    k, outside = 0, 0.0
    while k < n // 2:
        outside += 2 * math.comb(n, k) / 2**n
        if outside > 1 - confidence:
            break
        k += 1
    k = max(k - 1, 0)
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
    """Return speeds as multiples of the anchor's, one a round that both were sampled in.

    A clock that drifts between rounds cancels.
    """
    anchor_ns = dict(anchor.samples_ns)
    return [anchor_ns[r] / value for r, value in measurement.samples_ns if r in anchor_ns]


def summarize(comparison: Comparison) -> list[Summary]:
    """Return a summary an entry, in the order of the comparison; speeds are paired by rounds."""
    anchor = comparison.measurement(comparison.anchor)
    return [_summary(m, anchor, comparison) for m in comparison.measurements]


def _summary(measurement: Measurement, anchor: Measurement, comparison: Comparison) -> Summary:
    values = values_ns(measurement)
    median = statistics.median(values)
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
        speed=median_interval(paired_ratios(measurement, anchor)),
        gflops=gflops,
        gbytes=gbytes,
        of_peak=gflops / peak if gflops is not None and peak else None,
        of_copy=gbytes / limits.copy_gbytes if gbytes is not None and limits else None,
    )


# Noise: the reliability of samples.


_MAD_LIMIT = 0.05
_WIDTH_LIMIT = 0.05
_DRIFT_LIMIT = 0.1
_LEAST_ROUNDS = 5
_ALONE = "run it again alone before you believe it"
_QUIET = "close other programs, or raise --rounds and --seconds"


@dataclass(frozen=True, slots=True)
class NoiseVerdict:
    """Noise verdict on an entry: reasons, and advice.

    Attributes:
        name: The entry, or the payload for the verdict on the whole comparison.
    """

    name: str
    is_quiet: bool
    text: str


def judge_noise(comparison: Comparison) -> list[NoiseVerdict]:
    """Return a verdict an entry, in the order of the comparison."""
    return [_judge(m, s) for m, s in zip(comparison.measurements, summarize(comparison), strict=True)]


def judge_run(comparison: Comparison) -> NoiseVerdict:
    """Return the verdict on a comparison as a whole."""
    verdicts = judge_noise(comparison)
    noisy = [v for v in verdicts if not v.is_quiet]
    widths = [_half_width(s) for s in summarize(comparison) if s.name != comparison.anchor]
    within = f"ratios are known to ±{100 * max(widths, default=0.0):.2g} %"
    if not noisy:
        return NoiseVerdict(comparison.payload, True, f"quiet: {within}, {comparison.rounds} rounds")
    listed = ", ".join(v.name for v in noisy)
    text = f"noisy ({len(noisy)} of {len(verdicts)} entries: {listed}); {within}; {_QUIET}"
    return NoiseVerdict(comparison.payload, False, text)


def _judge(measurement: Measurement, summary: Summary) -> NoiseVerdict:
    values = values_ns(measurement)
    reasons = []
    if len(values) < _LEAST_ROUNDS:
        reasons.append(f"only {len(values)} samples: raise --rounds and --seconds")
    if (spread := summary.mad_ns / summary.median_ns) > _MAD_LIMIT:
        reasons.append(f"MAD is {100 * spread:.0f} % of the median: {_QUIET}")
    if (width := _half_width(summary)) > _WIDTH_LIMIT:
        reasons.append(f"its ratio is known to ±{100 * width:.0f} % only: {_QUIET}")
    if (drift := _drift(values)) > _DRIFT_LIMIT:
        reasons.append(f"times moved by {100 * drift:.0f} % during the run: believe ratios, not times")
    if not measurement.is_stable:
        reasons.append("times had not settled after the warm-up: raise --rounds")
    if measurement.is_disturbed:
        many = f"{len(measurement.disturbed_rounds)} of {len(values)} samples"
        reasons.append(f"{many} were taken beside another timing on this machine: {_ALONE}")
    return NoiseVerdict(measurement.name, not reasons, "; ".join(reasons) or "quiet")


def _half_width(summary: Summary) -> float:
    return (summary.speed.high - summary.speed.low) / 2 / summary.speed.middle


def _drift(values: list[float]) -> float:
    """Return how far the medians of the first and the last third lie apart, relative to the first."""
    third = len(values) // 3
    if third < 3:
        return 0.0
    first = statistics.median(values[:third])
    return abs(statistics.median(values[-third:]) - first) / first
