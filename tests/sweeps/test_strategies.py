"""Strategies: valid points, none twice, to the end; the order; and what they find on a landscape."""

import ast
import collections
import itertools
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping_spaces import contains, make_space, sample, walk

from lhkit.model.errors import UsageError
from lhkit.sweeps import space as plan
from lhkit.sweeps.space import Axis
from lhkit.sweeps.strategies import STRATEGIES, make_strategy
from lhkit.sweeps.strategies.strategy import learns

TILES = (1, 2, 4, 8, 16, 32, 64, 128)
PLAIN = tuple(name for name in STRATEGIES if name not in ("predicted", "tpe"))


def run(strategy, cost, most=10**6):
    """Return the points that a strategy proposes, told of each before the next."""
    found = []
    while len(found) < most and (point := strategy.ask()) is not None:
        found.append(point)
        strategy.tell(point, cost(dict(point)))
    return found


def test_orders_that_do_not_depend_on_costs_are_known():
    space = make_space([Axis("m", TILES, 2)])
    known = {name: learns(STRATEGIES[name](space)) for name in PLAIN}
    assert known == {"coordinate-descent": True, "grid": False, "latin-hypercube": False, "random": False}
    assert learns(object())  # a user's own may do anything


def bowl(values):
    """A landscape with one valley: (m, n) = (16, 64), order "k"."""
    away = abs(TILES.index(values["m"]) - 4) + 2 * abs(TILES.index(values["n"]) - 6)
    return 1.0 + away + (values["order"] != "k")


def bowl_space(*constraints):
    return make_space([Axis("m", TILES, 2), Axis("n", TILES, 2), Axis("order", ("m", "n", "k"))], *constraints)


def fails_sometimes(values):
    return None if values["m"] == 32 else bowl(values)


def test_the_registry_is_sorted():
    assert (
        list(STRATEGIES)
        == sorted(STRATEGIES)
        == ["coordinate-descent", "grid", "latin-hypercube", "predicted", "random", "tpe"]
    )


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("effort", [250_000, 0])
def test_every_valid_point_is_proposed_once(name, effort, monkeypatch):
    monkeypatch.setattr(plan, "_EFFORT", effort)
    axes = [("m", TILES[:5]), ("n", TILES[:4]), ("order", ("m", "n")), ("one", (7,))]
    expected = walk(axes, lambda v: v["m"] * v["n"] <= 32, lambda v: v["m"] != 4)
    space = make_space(axes, "m * n <= 32", "m != 4")
    strategy = make_strategy(name, space, seed=1)
    found = run(strategy, lambda v: None if v["n"] == 2 else v["m"] + v["n"])
    assert len(found) == len(set(found)) and sorted(found) == sorted(expected)
    assert strategy.ask() is None
    assert name != "grid" or found == expected


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_budget_ends_it_and_seeds_differ(name):
    found = {
        seed: run(make_strategy(name, bowl_space(), seed=seed, budget=50), fails_sometimes) for seed in range(3)
    }
    assert all(len(points) == 50 for points in found.values())
    again = run(make_strategy(name, bowl_space(), seed=2, budget=50), fails_sometimes)
    assert again == found[2] and (found[1] == found[2]) == (name == "grid")


@given(st.integers(0, 999), st.sampled_from(PLAIN), st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_points_may_be_asked_before_others_are_told_and_told_unasked(seed, name, data):
    space = bowl_space("m * n <= 512", "m != n")
    strategy = make_strategy(name, space, seed=seed, budget=data.draw(st.integers(1, 60)))
    waiting, known = [], set()
    for action in data.draw(st.lists(st.sampled_from("aaatu"), max_size=80)):
        if action == "a" and (point := strategy.ask()) is not None:
            assert point not in known and contains(space, point)
            known.add(point)
            waiting.append(point)
        elif action == "t" and waiting:
            point = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            strategy.tell(point, fails_sometimes(dict(point)))
        elif action == "u":
            (point,) = sample(space, Random(data.draw(st.integers(0, 9))), 1)
            if point not in known:
                known.add(point)
                strategy.tell(point, 3.0)


SCRIPT = """
import sys
from lhkit.sweeps.space import Axis
from lhkit.sweeps.constraints import as_constraint
from lhkit.sweeps.space import Space
from lhkit.sweeps.strategies import STRATEGIES, make_strategy
from lhkit.sweeps.strategies.strategy import learns

axes = (Axis("m", (1, 2, 4, 8, 16, 32)), Axis("n", (1, 2, 4, 8)), Axis("order", ("mnk", "nmk", "kmn")))
known = [a.name for a in axes]
space = Space(axes, tuple(as_constraint(c, known) for c in ("m * n <= 64", lambda m, order: m > 1 or order != "kmn")))
orders = {}
for name in STRATEGIES:
    strategy = make_strategy(name, space, seed=7, budget=30)
    orders[name] = []
    while (point := strategy.ask()) is not None:
        orders[name].append(point)
        values = dict(point)
        strategy.tell(point, None if values["m"] == 2 else abs(values["m"] - 8) + len(values["order"].rpartition("k")[0]))
print(orders)
"""


def test_a_seed_gives_the_same_order_in_every_process():
    outputs = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""  # nor is anything logged
        outputs.append(ast.literal_eval(done.stdout))
    assert outputs[0] == outputs[1]
    assert all(len(points) == 30 for points in outputs[0].values())
    assert len({tuple(points) for points in outputs[0].values()}) == len(STRATEGIES)


def until_best(name, seed):
    strategy = make_strategy(name, bowl_space(), seed=seed)
    tried, cost = 0, None
    while cost != 1.0:
        tried, point = tried + 1, strategy.ask()
        cost = fails_sometimes(dict(point))
        strategy.tell(point, cost)
    return tried


def test_those_that_learn_need_fewer_points_than_chance():
    needed = {
        name: median(until_best(name, seed) for seed in range(9 if name == "tpe" else 49))
        for name in ("random", "coordinate-descent", "tpe")
    }
    assert (
        needed["coordinate-descent"] <= 18
    )  # 2 + 7 + 7 + 2 points lie on the lines from the start to the valley
    assert needed["tpe"] < 0.6 * needed["random"]
    assert needed["random"] > 50


def test_coordinate_descent_goes_along_axes_from_the_defaults():
    space = bowl_space()
    found = run(make_strategy("coordinate-descent", space, budget=18), bowl)
    assert found[0] == (("m", 2), ("n", 2), ("order", "m"))
    assert {p[0][1] for p in found[1:8]} == set(TILES) - {2} and all(p[1:] == found[0][1:] for p in found[1:8])
    assert {p[0] for p in found[8:15]} == {("m", 16)} and {p[2] for p in found[8:15]} == {("order", "m")}
    assert found[15:17] == [(("m", 16), ("n", 64), ("order", o)) for o in ("n", "k")]


def test_coordinate_descent_goes_on_while_any_axis_makes_a_difference():
    # A stair: b may follow a, then a may go one further; c makes no difference.
    def cost(values):
        a, b = values["a"], values["b"]
        return 14 - a - b + 10 * max(0, a - b - 1) + 10 * max(0, b - a)

    space = make_space([Axis("a", tuple(range(8))), Axis("b", tuple(range(8))), Axis("c", (1, 2))])
    places = set()
    for seed in range(4):
        found = run(make_strategy("coordinate-descent", space, seed=seed), cost)
        places.add(next(i for i, p in enumerate(found) if cost(dict(p)) == 0))
    assert len(places) == 1 and places.pop() > 40


def test_coordinate_descent_starts_again_from_elsewhere():
    # Two valleys; the way from the defaults leads to the wrong one.
    def cost(values):
        a, b = values["a"], values["b"]
        return min(1 + abs(a - 2) + abs(b - 2), 0.5 + 3 * abs(a - 6) + 3 * abs(b - 6))

    space = make_space([Axis("a", tuple(range(8)), 1), Axis("b", tuple(range(8)), 1)])
    for seed in range(5):
        found = run(make_strategy("coordinate-descent", space, seed=seed), cost)
        best = min(range(len(found)), key=lambda i: cost(dict(found[i])))
        assert dict(found[best]) == {"a": 6, "b": 6} and 15 < best < 64


def test_coordinate_descent_does_not_walk_long_axes():
    space = make_space([Axis("a", tuple(range(1000)), 3), Axis("b", tuple(range(1000)), 990)])

    def cost(values):
        return abs(values["a"] - 700) + abs(values["b"] - 255)

    found = run(make_strategy("coordinate-descent", space, budget=200), cost)
    best = next(i for i, p in enumerate(found) if cost(dict(p)) == 0)
    assert best < 200  # of a million


@pytest.mark.parametrize(
    ("lengths", "budget"), [((8, 8, 8), 8), ((8, 4, 2), 8), ((8, 16, 4), 16), ((3, 100), 10)]
)
def test_a_latin_hypercube_takes_every_value_equally_often(lengths, budget):
    space = make_space([(f"k{i}", tuple(range(n))) for i, n in enumerate(lengths)])
    for seed in range(5):
        found = run(make_strategy("latin-hypercube", space, seed=seed, budget=budget), lambda v: 1.0)
        assert len(found) == budget
        for axis, n in enumerate(lengths):
            taken = collections.Counter(point[axis][1] for point in found)
            if budget % n == 0:
                assert set(taken.values()) == {budget // n} and len(taken) == n
            else:  # one from each tenth of a long axis, and of a short one none more than once more than another
                assert len(taken) == min(n, budget) and max(taken.values()) - min(taken.values()) <= 1 + (
                    n < budget
                )


def test_a_constrained_latin_hypercube_stays_near_to_that():
    space = make_space([(name, tuple(range(8))) for name in "abc"], "a + b <= 9", "b != c")
    spread, chance = [], []
    for seed in range(10):
        for name, into in (("latin-hypercube", spread), ("random", chance)):
            found = run(make_strategy(name, space, seed=seed, budget=8), lambda v: 1.0)
            into.append(sum(len({p[axis] for p in found}) for axis in range(3)))
    assert median(spread) >= 22 > 19 >= median(chance)


def test_random_orders_begin_anywhere():
    space = make_space([("a", (1, 2, 3)), ("b", (1, 2, 3))], "a != b")
    first = collections.Counter(make_strategy("random", space, seed=seed).ask() for seed in range(600))
    assert len(first) == 6 and sum((n - 100) ** 2 / 100 for n in first.values()) < 20.5  # 0.999, 5 degrees


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_huge_space_is_proposed_from_at_once(name):
    evaluations = []

    def allowed(a, b):
        evaluations.append(1)
        return (a * b) % 3 != 1

    axes = [(chr(ord("a") + i), tuple(range(40))) for i in range(7)]
    strategy = make_strategy(name, make_space(axes, allowed), seed=0)
    found = run(strategy, lambda v: float(sum(v.values())), most=25)
    assert len(set(found)) == 25 and len(evaluations) <= 1600


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_empty_space_has_nothing_to_propose(name):
    space = make_space([("a", (1, 2)), ("b", (1, 2))], "a > b", "b > a")
    assert make_strategy(name, space).ask() is None
    unary = make_space([("a", (1, 2)), ("b", (1, 2))], "a > 2")
    assert make_strategy(name, unary).ask() is None
    assert run(make_strategy(name, make_space([])), lambda v: 1.0) == [()]


def test_what_a_strategy_refuses():
    space = bowl_space()
    with pytest.raises(UsageError, match="there is no strategy 'anneal'") as raised:
        make_strategy("anneal", space)
    assert (
        raised.value.failure.advice
        == "There are coordinate-descent, grid, latin-hypercube, predicted, random, tpe."
    )
    with pytest.raises(UsageError, match="a budget of 0 variants"):
        make_strategy("grid", space, budget=0)
    with pytest.raises(UsageError, match="m=3, n=1, order=k is not a point of the space"):
        make_strategy("grid", space).tell((("m", 3), ("n", 1), ("order", "k")), 1.0)


def test_without_optuna_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError, match="the strategy tpe needs Optuna") as raised:
        make_strategy("tpe", bowl_space())
    assert "pip install 'lhkit[optuna]'" in raised.value.failure.advice
    assert len(list(itertools.islice(bowl_space().points(), 3))) == 3


def test_a_predicate_that_raises_ends_a_strategy_with_its_name():
    space = make_space([("a", (0, 1)), ("b", (0, 1))], lambda a, b: 1 // a)
    for name in PLAIN:
        with pytest.raises(UsageError, match="a=0, b=0: ZeroDivisionError"):
            make_strategy(name, space).ask()
