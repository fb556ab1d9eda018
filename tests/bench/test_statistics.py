"""Medians with intervals that cover what they claim."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lhkit.model.measurement import Comparison, CoreLimits, Measurement
from lhkit.model.sample_statistics import mad, median_interval, percentile, summarize


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=60))
def test_the_interval_holds_the_median(values):
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.middle <= interval.high <= max(values)


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    draw = random.Random(1)
    covered = 0
    for _ in range(2000):
        interval = median_interval([draw.lognormvariate(0, 1) for _ in range(11)])
        covered += interval.low <= 1.0 <= interval.high
    assert covered / 2000 >= 0.945


def test_the_interval_narrows_with_more_values():
    assert median_interval(range(11)).low == 1
    assert median_interval(range(101)).low > 35
    assert median_interval([1, 2, 3]).low == 1


def test_mad_ignores_one_outlier():
    assert mad([1, 1, 1, 1, 1000]) == 0
    assert mad([1, 2, 3, 4, 5]) == 1


def test_ratios_are_of_samples_of_the_same_round():
    drift = [1.0, 2.0, 1.5, 3.0, 1.0, 2.5]
    anchor = Measurement("a", tuple((i, 100 * d) for i, d in enumerate(drift)))
    twice = Measurement("b", tuple((i, 50 * d) for i, d in enumerate(drift)))
    comparison = Comparison("p", "0", (anchor, twice), "a", 6, 0, ())
    speed = summarize(comparison)[1].speed
    assert (speed.low, speed.middle, speed.high) == (2.0, 2.0, 2.0)


def test_percentiles_lie_between_values_in_proportion():
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile(range(101), 5) == 5
    assert percentile([7.0], 95) == 7.0


def test_throughput_is_a_share_of_the_limits_of_the_same_run():
    entry = Measurement("a", ((0, 100.0), (1, 100.0)))
    limits = CoreLimits(fma_gflops=150.0, fma_f64_gflops=75.0, copy_gbytes=10.0)
    facts = {"limits": limits, "flops": 6000, "bytes": 200, "element_type": "float32"}
    comparison = Comparison("p", "0", (entry,), "a", 2, 0, (), **facts)
    (summary,) = summarize(comparison)
    assert (summary.gflops, summary.gbytes) == (60.0, 2.0)
    assert (summary.of_peak, summary.of_copy) == (0.4, 0.2)
    (double,) = summarize(replace(comparison, element_type="float64"))
    assert double.of_peak == 0.8
    (mixed,) = summarize(replace(comparison, element_type=None, bytes=None))
    assert (mixed.of_peak, mixed.of_copy, mixed.gflops) == (None, None, 60.0)
