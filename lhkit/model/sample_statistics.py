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
        name: What was measured.
        median_ns: Median time of a call.
        mad_ns: Median absolute deviation from it.
        percentiles_ns: The 5th, 25th, 75th and 95th percentile.
        speed: Speed as a multiple of the anchor's (2 is twice as fast), with a 95 % interval.
        gflops: 10^9 floating-point operations a second, or None if they are not counted.
        gbytes: 10^9 bytes of arguments and results a second, or None.
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
