"""Verdicts on noise name the reason and what to do."""

from lhkit.draw.tables import comparison_lines
from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.sample_statistics import judge_noise, judge_run


def run(samples, *, stable=True, disturbed=()):
    anchor = Measurement("NumPy", tuple((i, 100.0) for i in range(len(samples))))
    entry = Measurement("k", tuple(enumerate(samples)), is_stable=stable, disturbed_rounds=disturbed)
    return Comparison("p", "0" * 64, (anchor, entry), "NumPy", len(samples), 0, ())


def test_steady_samples_are_quiet():
    comparison = run([50.0 + 0.1 * (i % 3) for i in range(20)])
    assert all(v.is_quiet for v in judge_noise(comparison))
    assert judge_run(comparison).text == "quiet: ratios are known to ±0.2 %, 20 rounds"


def test_a_wide_spread_is_named_with_advice():
    verdict = judge_noise(run([50.0, 60.0] * 10))[1]
    assert not verdict.is_quiet
    assert "MAD is 9 % of the median" in verdict.text


def test_few_samples_are_named():
    assert "only 3 samples" in judge_noise(run([50.0, 50.0, 50.0]))[1].text


def test_a_drift_says_to_believe_ratios():
    verdict = judge_noise(run([50.0 * (1 + i / 20) for i in range(20)]))[1]
    assert "compare ratios, not times" in verdict.text


def test_times_that_never_settled_are_named():
    assert "had not settled" in judge_noise(run([50.0] * 20, stable=False))[1].text


def test_the_verdict_on_the_run_lists_noisy_entries():
    verdict = judge_run(run([50.0, 80.0] * 10))
    assert not verdict.is_quiet
    assert verdict.text.startswith("noisy (1 of 2 entries: k); ratios are known to ±")
    assert verdict.text.endswith("measure longer (seconds=, rounds=)")


def test_ratios_that_cannot_rank_are_not_given_as_numbers():
    comparison = run([50.0, 500.0, 20.0, 90.0] * 5)
    verdict = judge_run(comparison)
    assert "ratios are too noisy to rank" in verdict.text and "±" not in verdict.text
    about = [line for line in comparison_lines(comparison) if "nois" in line or "seconds=" in line]
    assert about == [f"noise: {verdict.text}"]


def test_the_verdict_on_the_run_says_that_another_timing_ran():
    steady = [50.0 + 0.1 * (i % 3) for i in range(20)]
    verdict = judge_run(run(steady, disturbed=(3, 4, 5)))
    assert "; samples were taken beside another timing on this machine; close other programs" in verdict.text


def test_samples_beside_another_timing_are_named_if_they_are_many():
    steady = [50.0 + 0.1 * (i % 3) for i in range(20)]
    assert judge_noise(run(steady, disturbed=(3, 4)))[1].is_quiet
    verdict = judge_noise(run(steady, disturbed=(3, 4, 5)))[1]
    assert verdict.text == (
        "3 of 20 samples were taken beside another timing on this machine: run it again alone before you trust it"
    )


def test_the_speed_of_an_entry_is_a_multiple_of_the_anchors():
    comparison = run([50.0, 40.0, 50.0, 25.0, 50.0] * 4)
    speed = comparison.speed("k")
    assert speed.middle == 2.0 and speed.low <= 2.0 <= speed.high
    assert comparison.speed("NumPy").middle == 1.0


def test_an_order_that_is_sure_is_not_called_too_noisy_to_rank():
    anchor = Measurement("NumPy", tuple((i, 100.0) for i in range(20)))
    slow = Measurement("slow", tuple(enumerate([5_000.0, 50_000.0, 8_000.0, 20_000.0] * 5)))
    steady = Measurement("steady", tuple((i, 50.0) for i in range(20)))
    comparison = Comparison("p", "0" * 64, (anchor, slow, steady), "NumPy", 20, 0, ())
    order, noise = comparison_lines(comparison)[:2]
    assert order.startswith("order: steady > NumPy > slow ")
    assert "rank" not in noise and "±" not in noise
    assert "only roughly known (slow), but entries with > between them are told apart" in noise
