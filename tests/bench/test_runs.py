"""Two runs: relative to a common anchor, only where they can be compared."""

import dataclasses
import random

import pytest

from lhkit.bench.run_comparison import compare_runs, divide_intervals
from lhkit.model.errors import UsageError
from lhkit.model.measurement import Comparison, Interval, Measurement


def run(times, *, clock=1.0, seed=0, cpu="x", anchor=None):
    draw = random.Random(seed)
    measurements = [
        Measurement(n, tuple((r, t * clock * draw.lognormvariate(0, 0.01)) for r in range(20)))
        for n, t in times.items()
    ]
    environment = (("cpu", cpu), ("numpy", "2"))
    return Comparison("p", "0" * 64, tuple(measurements), anchor or next(iter(times)), 20, seed, environment)


def test_a_slower_clock_cancels_against_the_common_anchor():
    runs = compare_runs(run({"NumPy": 100, "k": 50}), run({"NumPy": 100, "k": 50}, clock=1.4, seed=1))
    (ratio,) = runs.ratios
    assert runs.relative_to == "NumPy"
    assert ratio.speed.low < 1 < ratio.speed.high
    assert ratio.verdict == "no difference seen"


def test_a_change_is_found():
    (ratio,) = compare_runs(run({"NumPy": 100, "k": 50}), run({"NumPy": 100, "k": 60}, seed=1)).ratios
    assert ratio.verdict == "slower"
    assert ratio.speed.middle == pytest.approx(50 / 60, rel=0.02)
    (ratio,) = compare_runs(run({"NumPy": 100, "k": 60}), run({"NumPy": 100, "k": 50}, seed=1)).ratios
    assert ratio.verdict == "faster"


def test_without_a_common_anchor_raw_times_are_compared():
    runs = compare_runs(run({"NumPy": 100, "k": 50}), run({"k": 50, "other": 10}, seed=1))
    assert runs.relative_to is None
    assert [r.name for r in runs.ratios] == ["k"]
    assert (runs.only_first, runs.only_second) == (("NumPy",), ("other",))


def test_different_cpus_are_refused_unless_asked_for():
    ours, theirs = run({"NumPy": 100, "k": 50}), run({"NumPy": 100, "k": 50}, cpu="y")
    with pytest.raises(UsageError, match=r"different CPUs \(x; y\)[^$]*--across-environments"):
        compare_runs(ours, theirs)
    runs = compare_runs(ours, theirs, across_environments=True)
    assert runs.differences == (("cpu", "x", "y"),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"payload_sha256": "1" * 64}, "different payloads"),
        ({"cache": "cold"}, "different states"),
        ({"alignment_bytes": 4096}, "4096-byte alignment"),
    ],
)
def test_what_cannot_be_compared_is_refused(change, message):
    ours = run({"NumPy": 100, "k": 50})
    with pytest.raises(UsageError, match=message):
        compare_runs(ours, dataclasses.replace(ours, **change))


def test_runs_with_nothing_in_common_are_refused():
    with pytest.raises(UsageError, match="no entry in common: a and b"):
        compare_runs(run({"a": 1}), run({"b": 1}))


def test_another_schedule_of_the_same_name_is_noted():
    ours = run({"NumPy": 100, "k": 50})
    changed = dataclasses.replace(ours.measurements[1], schedule_sha256="1" * 64)
    theirs = dataclasses.replace(ours, measurements=(ours.measurements[0], changed))
    assert compare_runs(ours, theirs).ratios[0].note == "another schedule"


def test_errors_of_a_ratio_add_in_quadrature():
    sharp, wide = Interval(1.0, 1.0, 1.0), Interval(0.9, 1.0, 1.1)
    assert divide_intervals(wide, sharp).low == pytest.approx(0.9)
    assert divide_intervals(sharp, wide).high == pytest.approx(1 / 0.9)
    both = divide_intervals(wide, wide)
    assert 0.9 / 1.1 < both.low < 0.9
    assert 1.1 < both.high < 1.1 / 0.9
