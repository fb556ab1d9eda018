"""Robust statistics of samples: medians, spreads, and ratios with intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.measurement import Comparison, Measurement


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
        speed: Speed as a multiple of the anchor's (2 is twice as fast), with a 95 % interval.
    """

    name: str
    median_ns: float
    mad_ns: float
    speed: Interval


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


def summarize(comparison: Comparison) -> list[Summary]:
    """Return a summary an entry, in the order of the comparison.

    Speeds are ratios of samples of the same round, so that a clock that drifts between rounds cancels.
    """
    anchor = next(m for m in comparison.measurements if m.name == comparison.anchor)
    return [_summary(m, anchor) for m in comparison.measurements]


def _summary(measurement: Measurement, anchor: Measurement) -> Summary:
    values = values_ns(measurement)
    anchor_ns = dict(anchor.samples_ns)
    ratios = [anchor_ns[r] / value for r, value in measurement.samples_ns if r in anchor_ns]
    return Summary(measurement.name, statistics.median(values), mad(values), median_interval(ratios))
