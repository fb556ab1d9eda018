"""How far samples can be believed, and what to do if it is not far enough."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.sample_statistics import Summary, summarize, values_ns

_MAD_LIMIT = 0.05
_WIDTH_LIMIT = 0.05
_DRIFT_LIMIT = 0.1
_LEAST_ROUNDS = 5
_ALONE = "run it again alone before you believe it"
_QUIET = "close other programs, or raise --rounds and --seconds"


@dataclass(frozen=True, slots=True)
class NoiseVerdict:
    """Whether an entry was measured well, the reasons why not, and what to do.

    Attributes:
        name: The entry, or the payload for the verdict on the whole comparison.
        is_quiet: Whether nothing is wrong.
        text: One line for people.
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
