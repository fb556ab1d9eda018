"""Ranks: real differences are found, things are tied with themselves, and few rounds admit ignorance."""

import random

import pytest

from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.sample_statistics import are_tied, describe_order, rank_entries, ratio_interval, t_quantile


def comparison(times, *, rounds=20, noise=0.02, seed=0):
    """Entries with these true times, under noise and a clock that drifts for all alike."""
    draw = random.Random(seed)
    clock = [1 + 0.3 * draw.random() for _ in range(rounds)]
    measurements = [
        Measurement(name, tuple((r, t * clock[r] * draw.lognormvariate(0, noise)) for r in range(rounds)))
        for name, t in times.items()
    ]
    return Comparison("p", "0" * 64, tuple(measurements), next(iter(times)), rounds, seed, (("cpu", "x"),))


def test_entries_come_in_order_of_speed_and_ties_share_a_place():
    ranks = rank_entries(comparison({"slow": 300.0, "b": 100.0, "a": 100.0, "fast": 50.0}))
    assert [(r.name, r.place, r.is_tied) for r in ranks] == [
        ("fast", 1, False),
        ("b", 2, True),
        ("a", 2, True),
        ("slow", 4, False),
    ]
    assert describe_order(ranks) == "fast > b = a > slow"
    assert [r.text for r in ranks] == ["1", "2=", "2=", "4"]


@pytest.mark.parametrize("entries", [2, 5])
def test_a_thing_is_tied_with_itself_in_99_of_100(entries):
    times = {f"e{i}": 100.0 for i in range(entries)}
    untied = sum(
        any(not r.is_tied for r in rank_entries(comparison(times, seed=seed), margin=0.0))
        for seed in range(400)
    )
    assert untied <= 8


def test_a_difference_within_the_margin_is_a_tie():
    close = comparison({"a": 100.0, "b": 101.0}, noise=0.0005)
    assert all(r.is_tied for r in rank_entries(close))
    assert not any(r.is_tied for r in rank_entries(close, margin=0.0))


def test_three_rounds_tell_what_is_far_apart_and_no_more():
    far = comparison({"a": 100.0, "b": 10000.0}, rounds=3)
    assert describe_order(rank_entries(far)) == "a > b"
    near = comparison({"a": 100.0, "b": 105.0}, rounds=3)
    assert all(r.is_tied for r in rank_entries(near))


def test_one_round_tells_nothing():
    assert all(r.is_tied for r in rank_entries(comparison({"a": 1.0, "b": 100.0}, rounds=1)))


def test_entries_of_disjoint_noise_are_not_tied():
    run = comparison({"a": 100.0, "b": 150.0})
    assert not are_tied(*run.measurements, confidence=0.99)


@pytest.mark.parametrize(
    ("confidence", "freedom", "t"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.99, 3, 5.841),
        (0.95, 4, 2.776),
        (0.99, 9, 3.250),
        (0.95, 30, 2.042),
    ],
)
def test_student_quantiles_are_those_of_the_tables(confidence, freedom, t):
    assert t_quantile(confidence, freedom) == pytest.approx(t, abs=6e-4)


def test_the_interval_of_few_ratios_covers_as_often_as_it_says():
    draw = random.Random(5)
    covered = 0
    for _ in range(1000):
        interval = ratio_interval([draw.lognormvariate(0, 0.1) for _ in range(4)], confidence=0.95)
        covered += interval.low <= 1.0 <= interval.high
    assert covered >= 930
