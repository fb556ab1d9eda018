"""Spaces against the walk of the whole product: count, points, contains, samples; and what is empty."""

import collections
import itertools
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping_spaces import contains, make_space, sample, walk

from lhkit.model.errors import UsageError
from lhkit.sweeps import space as plan
from lhkit.sweeps.constraints import Constraint
from lhkit.sweeps.space import Axis, Space, _permuted

NAMES = "abcde"
# Constraints as pairs: names, and what has to be true of their values.
CONDITIONS = st.tuples(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.sampled_from(["sum", "product", "order", "parity", "never"]),
    st.integers(0, 12),
)


def condition(kind, n):
    def holds(*values):
        return {
            "sum": sum(values) <= n,
            "product": math.prod(values) % (n + 1) <= n // 2,
            "order": list(values) == sorted(values),
            "parity": (sum(values) + n) % 2 == 0,
            "never": n > 3,
        }[kind]

    return holds


@st.composite
def spaces(draw):
    """Return axes, and constraints both as such and as predicates of a point."""
    n = draw(st.integers(1, 5))
    axes = [
        (name, tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))))
        for name in NAMES[:n]
    ]
    constraints, predicates = [], []
    for names, kind, number in draw(st.lists(CONDITIONS, max_size=4)):
        own = [name for name in names if name in NAMES[:n]]
        holds = condition(kind, number)
        constraints.append(
            Constraint(f"{kind} {own}", tuple(own), lambda _h=holds, _o=own, **v: _h(*(v[name] for name in _o)))
        )
        predicates.append(lambda v, _h=holds, _o=own: _h(*(v[name] for name in _o)))
    return axes, constraints, predicates


@given(spaces(), st.sampled_from([100_000, 40, 0]), st.integers(0, 99))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_generated_space_is_what_the_walk_of_the_product_finds(generated, effort, seed):
    axes, constraints, predicates = generated
    expected = walk(axes, *predicates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_EFFORT", effort)  # little of it: some constraints are left for every draw
        space = make_space(axes, *constraints)
        count = space.count()
    assert list(space.points()) == expected
    if effort == 100_000:
        assert count.is_exact
        numbered = [space.point_of(space.plan.candidate(i)) for i in range(count)]
        assert sorted(numbered) == sorted(expected)
    assert count == len(expected) if count.is_exact else count.low <= len(expected) <= count.high
    some = sample(space, Random(seed), 7)
    assert len(set(some)) == len(some) == min(7, len(expected)) and set(some) <= set(expected)
    assert sorted(sample(space, Random(seed), 10**6)) == sorted(expected)
    for point in walk(axes):
        assert contains(space, point) == (point in expected)
    near = nearest(space, {"a": 4})
    assert near in expected if near else (not expected or not space.plan.is_listed)
    if near and space.plan.is_listed:
        a = [dict(p)["a"] for p in expected]
        assert abs(dict(near)["a"] - 4) == min(abs(x - 4) for x in a)
    why = space.why_empty()
    assert (why is not None) == (not expected and count.is_exact)
    if why:
        core = [p for c, p in zip(constraints, predicates, strict=True) if repr(c.sentence) in why]
        assert core and walk(axes, *core) == []


RINGS = st.lists(
    st.frozensets(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4), min_size=6, max_size=6
)


@given(RINGS, st.permutations(range(6)))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_constraints_in_a_ring_are_counted(relations, order):
    # Axes of a ring become connected with axes that no constraint connects them with.
    names = [f"k{i}" for i in order]
    pairs = list(zip(names, [*names[1:], names[0]], relations, strict=True))
    axes = [(f"k{i}", (0, 1, 2)) for i in range(6)]
    constraints = [
        Constraint(f"{x} {y}", (x, y), lambda _x=x, _y=y, _r=allowed, **v: (v[_x], v[_y]) in _r)
        for x, y, allowed in pairs
    ]
    expected = walk(axes, *[lambda v, _x=x, _y=y, _r=allowed: (v[_x], v[_y]) in _r for x, y, allowed in pairs])
    space = make_space(axes, *constraints)
    assert space.count() == len(expected) and list(space.points()) == expected
    assert sorted(sample(space, Random(0), 800)) == expected


# 0.999 quantiles of chi-square: the seeds are fixed, and a correct sample fails for one seed in a thousand.
@pytest.mark.parametrize("effort", [100_000, 0])
def test_samples_are_uniform(monkeypatch, effort):
    monkeypatch.setattr(plan, "_EFFORT", effort)
    axes = [("a", (1, 2, 3, 4)), ("b", (1, 2, 3)), ("c", (1, 2, 3))]
    space = make_space(axes, "a * b <= 6", "b + c != 4")
    expected = walk(axes, lambda v: v["a"] * v["b"] <= 6, lambda v: v["b"] + v["c"] != 4)
    assert space.plan.is_listed == (effort > 0) and len(expected) == 18
    rng, draws = Random(3), 3600
    single = collections.Counter(sample(space, rng, 1)[0] for _ in range(draws))
    assert _chi_square(single, expected, draws / len(expected)) < 40.79  # 17 degrees of freedom
    # Every ordered pair of different points is as likely as another.
    pairs = collections.Counter(sample(space, rng, 2) for _ in range(draws))
    possible = list(itertools.permutations(expected, 2))
    assert set(pairs) <= set(possible)
    assert _chi_square(pairs, possible, draws / len(possible)) < 386  # 305 degrees of freedom


def _chi_square(counted, possible, mean):
    return sum((counted[p] - mean) ** 2 / mean for p in possible)


@given(st.integers(0, 40), st.integers(0, 9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_numbers_are_permuted(total, seed):
    assert sorted(_permuted(total, Random(seed))) == list(range(total))


def test_permutations_are_uniform():
    counted = collections.Counter(tuple(_permuted(4, Random(seed))) for seed in range(2400))
    assert _chi_square(counted, list(itertools.permutations(range(4))), 100) < 49.7  # 23 degrees of freedom


def counting_predicate(calls, holds):
    def predicate(**values):
        calls.append(1)
        return holds(**values)

    return predicate


def test_a_huge_space_is_estimated_without_a_whole_walk():
    calls = []
    names = [f"k{i}" for i in range(10)]
    less = counting_predicate(calls, lambda **v: len(set(v.values())) == 2)
    chain = [Constraint(f"{x} is not {y}", (x, y), less) for x, y in itertools.pairwise(names)]
    space = make_space([(name, tuple(range(10))) for name in names], *chain)
    count = space.count()
    assert count.low < 10 * 9**9 < count.high
    assert len(calls) <= 9 * 100
    first = list(itertools.islice(space.points(), 3))
    assert [tuple(v for _, v in p) for p in first] == [(0, 1) * 4 + (0, n) for n in (1, 2, 3)]
    assert all(contains(space, p) for p in sample(space, Random(0), 50))
    assert len(calls) <= 9 * 100


def test_independent_axes_are_counted_as_a_product():
    axes = [(name, tuple(range(300))) for name in "abcd"]
    space = make_space(axes, "a <= b", "c < d")
    assert space.count() == (300 * 301 // 2) * (300 * 299 // 2) and space.count().is_exact
    assert all(contains(space, p) for p in sample(space, Random(0), 50))


def test_a_space_that_is_empty_deep_down_is_not_walked():
    # The last axis forbids what the first one may be; between them lie a million combinations.
    calls = []
    never = Constraint("a is b", ("a", "b"), counting_predicate(calls, lambda a, b: a == b))
    axes = [("a", (1, 2, 3)), *((f"k{i}", tuple(range(10))) for i in range(6)), ("b", (3, 4, 5))]
    space = make_space(axes, never)
    points = space.points()
    assert dict(next(points))["a"] == 3 and len(calls) <= 9
    assert space.count() == 10**6
    empty = make_space([*axes[:-1], ("b", (4, 5))], never)
    assert list(empty.points()) == [] and empty.count() == 0 and len(calls) <= 15


def test_what_takes_too_long_to_count_is_estimated():
    calls = []
    wide = Constraint("few", tuple("abcdef"), counting_predicate(calls, lambda **v: sum(v.values()) % 3 == 0))
    axes = [(name, tuple(range(60))) for name in "abcdef"]
    space = make_space(axes, wide, "a <= b")
    count = space.count()
    right = 60**4 * (60 * 61 // 2) / 3
    assert not count.is_exact and count.low < right < count.high and count.low < count < count.high
    assert count.high < 1.5 * count.low
    assert len(calls) <= plan._EFFORT + plan._MOST_DRAWN + 1
    assert space.count() is count and make_space(axes, wide, "a <= b").count() == count
    drawn = sample(space, Random(1), 30)
    assert len(set(drawn)) == 30 and all(contains(space, p) for p in drawn)
    assert drawn == sample(space, Random(1), 30)
    assert dict(next(space.points())) == dict.fromkeys("abcdef", 0)


def test_a_needle_is_found_where_draws_miss(monkeypatch):
    monkeypatch.setattr(plan, "_EFFORT", 0)
    monkeypatch.setattr("lhkit.sweeps.space._MOST_MISSES", 20)
    space = make_space([(n, tuple(range(20))) for n in "abc"], "a * 400 + b * 20 + c == 7777")
    assert sample(space, Random(0), 5) == ((("a", 19), ("b", 8), ("c", 17)),)
    assert not space.count().is_exact and space.why_empty() is None


def test_values_of_every_kind_are_told_apart():
    space = make_space(
        [("on", (False, True)), ("n", (0, 1)), ("s", ("x", "y")), ("f", (0.5, 2.0))], "not on or s == 'x'"
    )
    assert space.count() == 12
    assert contains(space, (("on", True), ("n", 1), ("s", "x"), ("f", 2)))
    assert not contains(space, (("on", 1), ("n", 1), ("s", "x"), ("f", 2.0)))
    assert not contains(space, (("on", True), ("n", True), ("s", "x"), ("f", 2.0)))
    assert not contains(space, (("n", 1), ("on", True), ("s", "x"), ("f", 2.0)))
    assert not contains(space, (("on", True), ("n", 1), ("s", "y"), ("f", 2.0)))
    assert not contains(space, ())


def test_a_space_without_axes_has_one_point():
    space = Space(())
    assert list(space.points()) == [()] and space.count() == 1 and sample(space, Random(0), 3) == ((),)
    forbidden = Space((), (Constraint("never", (), lambda: False),))
    assert list(forbidden.points()) == [] and forbidden.count() == 0 and forbidden.nearest() is None
    assert forbidden.why_empty() == "no point meets 'never'"


def nearest(space, values=None):
    """Return the point nearest to values, or None."""
    places = space.nearest(values)
    return None if places is None else space.point_of(places)


def test_defaults_are_kept_as_far_as_constraints_allow():
    axes = [Axis("m", (8, 16, 32, 64), 16), Axis("n", (8, 16, 32, 64), 64), Axis("u", (1, 2, 4))]
    assert nearest(make_space(axes)) == (("m", 16), ("n", 64), ("u", 1))
    assert nearest(make_space(axes, "m * n <= 512")) == (("m", 16), ("n", 32), ("u", 1))
    assert nearest(make_space(axes, "m >= 32"), {"n": 9, "u": 4}) == (("m", 32), ("n", 8), ("u", 4))


def test_an_axis_has_an_order_if_its_numbers_do():
    ordered = [(1, 2, 3), (3, 2, 1), (0.5, 1, 8), (7,)]
    assert all(Axis("a", values).is_ordered for values in ordered)
    assert not any(Axis("a", values).is_ordered for values in [(1, 3, 2), ("a", "b"), (False, True), (1, "b")])
    assert Axis("a", (64, 4, 16)).nearest_first(8) == (1, 2, 0) and Axis("a", ("x", "y")).nearest_first(
        "y"
    ) == (1, 0)
    assert Axis("a", (False, True)).nearest_first(True) == (1, 0) and Axis("a", (1, 2)).nearest_first(True) == (
        0,
        1,
    )


@pytest.mark.parametrize(
    ("constraints", "why"),
    [
        (("m > 64", "n > 8"), "no point meets 'm > 64'"),
        (("m < n", "n > 8", "m > n"), "no point meets 'm < n' and 'm > n' together"),
        (("m < n", "n < k", "k < m", "m > 8"), "no point meets 'm < n', 'n < k' and 'k < m' together"),
    ],
)
def test_an_empty_space_says_what_empties_it(constraints, why):
    space = make_space([(name, (8, 16, 32, 64)) for name in "mnk"], *constraints)
    assert space.count() == 0 and space.why_empty() == why


def test_names_are_unique_and_axes_have_values():
    with pytest.raises(UsageError, match="two axes of the space have the name 'm'"):
        make_space([("m", (1,)), ("m", (2,))])
    with pytest.raises(UsageError, match="the axis 'm' has no values"):
        make_space([("m", ())])
