"""Replays of a stored grid: how many variants a strategy tries until one is close to the best."""

import itertools
import sys
from statistics import median

import pytest

from lhkit.model.errors import UsageError
from lhkit.sweeps.space import Axis
from lhkit.sweeps.strategies import STRATEGIES, make_strategy
from lhkit.sweeps.strategy_replay import grid_space, replay, replay_frame

TILES = (8, 16, 32, 64)


def grid():
    """Costs of 4 × 4 × 2 points without those that a constraint forbids; the best is (32, 16, True)."""
    costs = {}
    for m, n, unrolled in itertools.product(reversed(TILES), TILES, (False, True)):
        if m * n <= 1024:
            cost = 1.0 + abs(m - 32) / 8 + abs(n - 16) / 8 + (not unrolled)
            costs[("m", m), ("n", n), ("unrolled", unrolled)] = None if n == 64 else cost
    return costs


def test_the_space_of_a_grid_has_its_points():
    space = grid_space(grid())
    assert space.axes[0] == Axis("m", TILES) and space.axes[2] == Axis("unrolled", (False, True))
    assert sorted(space.points()) == sorted(grid()) and space.count() == 26
    assert grid_space([(("a", x), ("b", y)) for x in (1, 2) for y in (1, 2)]).constraints == ()
    assert list(grid_space([()]).points()) == [()]


def test_a_replay_counts_the_variants_until_the_best():
    costs = grid()
    rows = {row.strategy: row for row in replay(costs, seeds=30)}
    assert list(rows) == list(STRATEGIES)
    # In the order of the grid: 8 points of m = 8, 8 of 16, then (32, 8) twice, (32, 16, False), (32, 16, True).
    place = 1 + list(grid_space(costs).points()).index((("m", 32), ("n", 16), ("unrolled", True)))
    assert place == 20
    one = rows["grid"]
    assert (one.median, one.low, one.high, one.reached, one.seeds, one.share) == (20, 20, 20, 30, 30, 20 / 26)
    assert rows["coordinate-descent"].median < rows["random"].median
    tried = []
    for seed in range(30):
        strategy = make_strategy("random", grid_space(costs), seed=seed)
        tried.append(next(i for i in itertools.count(1) if costs[strategy.ask()] == 1.0))
    assert rows["random"].median == median(tried)
    assert rows["random"].low < rows["random"].median < rows["random"].high


def test_within_and_budget_are_kept():
    costs = grid()
    (near,) = replay(costs, strategies=["grid"], within=2.0, seeds=1)
    assert near.median == 12 and costs[list(grid_space(costs).points())[11]] <= 3.0
    (never,) = replay(costs, strategies=["grid"], budget=19, seeds=3)
    assert (never.median, never.low, never.high, never.share, never.reached) == (None, None, None, None, 0)
    (half,) = replay(costs, strategies=["random"], budget=10, seeds=50)
    assert 5 < half.reached < 35 and half.low is not None and half.high is None


def test_a_replay_is_a_table():
    frame = replay_frame(replay(grid(), strategies=["grid", "random"], seeds=3, budget=19))
    assert list(frame.columns) == ["strategy", "median", "low", "high", "reached", "seeds", "share"]
    assert list(frame.strategy) == ["grid", "random"] and frame["median"].isna()[0]


@pytest.mark.parametrize(
    ("costs", "options", "message"),
    [
        ({}, {}, "the grid has no point with a cost"),
        ({(("a", 1),): None}, {}, "the grid has no point with a cost"),
        ({(("a", 1),): 1.0, (("b", 1),): 1.0}, {}, "different names: a, and b"),
        ({(("a", 1),): 1.0}, {"seeds": 0}, "a replay with 0 seeds"),
        ({(("a", 1),): 1.0}, {"strategies": ["none"]}, "there is no strategy 'none'"),
    ],
)
def test_what_cannot_be_replayed(costs, options, message):
    with pytest.raises(UsageError, match=message):
        replay(costs, **options)


def test_a_grid_without_points_is_none():
    with pytest.raises(UsageError, match="a grid without points"):
        grid_space([])


def test_a_strategy_that_is_not_installed_says_so_in_its_row(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    rows = replay(grid(), strategies=["random", "tpe"], seeds=2)
    assert rows[0].missing is None and rows[1].median is None and rows[1].seeds == 0
    assert "needs Optuna" in rows[1].missing and "pip install 'lhkit[optuna]'" in rows[1].missing
    assert "missing" in replay_frame(rows) and "missing" not in replay_frame(rows[:1])
