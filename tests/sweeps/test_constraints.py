"""Constraints: what may be given as one, what goes wrong in one, and the ready-made ones."""

import functools
import operator

import pytest
from sweeping_spaces import contains, make_space

from lhkit.model.errors import UsageError
from lhkit.model.target import CacheLevel
from lhkit.sweeps.constraints import as_constraint, at_most, divides, fits_cache, fits_registers

AXES = [("m", (1, 2, 3, 4)), ("n", (1, 2, 3, 4))]


def small(m, n, limit=4):
    """The product is small."""
    return m * n <= limit


class Callable:
    def __call__(self, m):
        return m == 2


@pytest.mark.parametrize(
    ("given", "names", "count"),
    [
        (small, ("m", "n"), 8),
        (functools.partial(small, limit=2), ("m", "n"), 3),
        (lambda n, m=3: m == n, ("n", "m"), 4),
        (lambda m, factor=2: m % factor == 0, ("m",), 8),
        (lambda *, m, **others: m == sum(others.values()), ("m", "n"), 4),
        (Callable(), ("m",), 4),
        ("max(m, n) - min(m, n) == abs(m - n) and not divides(m, n)", ("m", "n"), 8),
        ("divides(m - m, n)", ("m", "n"), 0),
        ("m if n > 2 else 0", ("m", "n"), 8),
        ("2 > 1", (), 16),
    ],
)
def test_what_may_be_a_constraint(given, names, count):
    constraint = as_constraint(given, ["m", "n"])
    assert constraint.names == names
    assert make_space(AXES, constraint).count() == count


def test_functions_are_called_by_what_they_document_and_where_they_stand():
    assert as_constraint(small, ["m", "n"]).sentence.startswith("The product is small (")
    assert as_constraint(lambda m: m, ["m"]).sentence.partition(" (")[0] == "a lambda"
    assert as_constraint(Callable(), ["m"]).sentence == "Callable"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("m ** ", "is not an expression"),
        ("m = 3", "is not an expression"),
        ("k > m", "the space has no knob 'k'"),
        ("__import__('os')", "there is no function '__import__'"),
        ("m.__class__", r"is not an expression: it has '\.'"),
        ("(lambda: m)()", "is not an expression: it has ':'"),
        (lambda k: k, "reads 'k', which is not a knob of the space"),
        (lambda m, /: m, "takes m by position"),
        (lambda *m: m, r"takes \*m by position"),
        (operator.lt, "by position"),
        (3, "3 is no constraint"),
    ],
)
def test_what_may_not_be_a_constraint(given, message):
    with pytest.raises(UsageError, match=message):
        as_constraint(given, ["m", "n"])


def test_an_unknown_name_is_shown_at_its_place():
    with pytest.raises(UsageError) as raised:
        as_constraint("m > 1 and k > m", ["m", "n"])
    assert "<constraint>:1:11" in str(raised.value) and "Its knobs: m, n." in str(raised.value)
    assert "          ^" in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda m, n: m % (n - 3) == 0,
            r"the constraint 'a lambda \(.*\)' cannot be decided for m=1, n=3: ZeroDivisionError",
        ),
        (
            "m % (n - 3) == 0",
            r"the constraint 'm % \(n - 3\) == 0' cannot be decided for m=1, n=3: integer modulo",
        ),
        ("m + 'x' == 3", "cannot be decided for m=1: unsupported operand"),
        ("m + n * 9 ** 999 == 3", r"cannot be decided for m=1, n=1: 9 \*\* 999 is too large"),
    ],
)
def test_a_predicate_that_raises_is_named(given, message):
    space = make_space(AXES, given)
    for ask in (space.count, lambda: list(space.points()), lambda: contains(space, (("m", 1), ("n", 3)))):
        with pytest.raises(UsageError, match=message) as raised:
            ask()
        assert "has to be true or false for every combination" in raised.value.failure.advice


def test_an_error_of_our_own_in_a_predicate_is_named_too():
    def asks(m):
        return divides("m", 4).holds({"n": m})

    with pytest.raises(UsageError, match=r"'asks \(.*\)' cannot be decided for m=1"):
        make_space(AXES, asks).count()


def test_a_predicate_that_raises_in_a_draw_is_named(monkeypatch):
    monkeypatch.setattr("lhkit.sweeps.space._EFFORT", 0)
    space = make_space(AXES, lambda m, n: 1 // (n - 3))
    with pytest.raises(UsageError, match="n=3: ZeroDivisionError"):
        space.count()


def held(constraint, **axes):
    space = make_space([(name, tuple(values)) for name, values in axes.items()], constraint)
    return [tuple(v for _, v in p) for p in space.points()]


def test_a_tile_divides_or_does_not_exceed_a_dimension():
    assert held(divides("m", 12), m=(0, 1, 5, 12, 24)) == [(0,), (1,), (12,)]
    assert held(divides("m", "n"), m=(2, 3), n=(4, 9)) == [(2, 4), (3, 9)]
    assert held(at_most("m", 12), m=(1, 12, 13)) == [(1,), (12,)]
    assert held(at_most("m", "n"), m=(1, 2), n=(1, 2)) == [(1, 1), (1, 2), (2, 2)]
    assert divides("m", 12).sentence == "m divides 12" and at_most("m", "n").sentence == "m is at most n"


def test_a_register_tile_fits_the_registers():
    # 14 × 32 floats in 512 bits: 28 accumulators, 2 vectors of B, 1 of A.
    assert held(fits_registers("m", "n", vector_bits=512), m=(14, 15), n=(16, 32, 33)) == [
        (14, 16),
        (14, 32),
        (15, 16),
    ]
    assert held(fits_registers("m", 16, vector_bits=256), m=(6, 7)) == [(6,)]
    assert held(fits_registers("m", 16, vector_bits=128, registers=32), m=(6, 7)) == [(6,)]
    assert held(fits_registers("m", 8, vector_bits=256, element_bits=64), m=(6, 7)) == [(6,)]
    assert fits_registers("m", "n", vector_bits=256).sentence == (
        "a tile of m×n with 8 elements a vector fits 16 vector registers"
    )
    with pytest.raises(UsageError, match="a vector of 32 bits holds no element of 64 bits"):
        fits_registers("m", "n", vector_bits=32, element_bits=64)


def test_a_working_set_fits_a_cache():
    parts = [("m", "k"), ("k", 64), ("m", 64)]
    fits = fits_cache(parts, capacity_bytes=32 << 10)
    assert held(fits, m=(32, 64), k=(32, 64)) == [(32, 32), (32, 64), (64, 32)]
    assert fits.sentence == "(m×k + k×64 + m×64) × 4 bytes fit the level 2 cache of 32 KiB"
    assert held(fits_cache(parts, element_bytes=8, capacity_bytes=1000), m=(1,), k=(1,)) == []
    assert "of 1000 bytes" in fits_cache(parts, capacity_bytes=1000).sentence
    with pytest.raises(UsageError, match="without parts"):
        fits_cache([])


def test_the_capacity_of_a_cache_is_asked_of_the_machine(monkeypatch):
    levels = (CacheLevel("L1", 32 << 10), CacheLevel("L2", 1 << 20))
    monkeypatch.setattr("lhkit.sweeps.constraints.cache_levels", lambda: levels)
    assert fits_cache([("m",)]).sentence.endswith("the level 2 cache of 1 MiB")
    assert held(fits_cache([("m",)], level=1), m=(8192, 8193)) == [(8192,)]
    with pytest.raises(UsageError, match="does not say how large its level 3 cache is"):
        fits_cache([("m",)], level=3)
