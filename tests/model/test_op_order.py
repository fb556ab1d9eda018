"""The order of ops in few characters."""

import random

import pytest

from lhkit.model.trace_json import read_order, written_order


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], ""), (["o7"], "o7"), (["o0", "o1", "o2"], "o0-o2"), (["o0", "o5", "o6", "o3"], "o0 o5-o6 o3")],
)
def test_ids_in_a_row_are_a_run(ids, text):
    assert written_order(ids) == text
    assert read_order(text) == tuple(ids)


def test_any_order_comes_back():
    draw = random.Random(1)
    for _ in range(50):
        ids = [f"o{n}" for n in draw.sample(range(40), draw.randint(0, 40))]
        assert read_order(written_order(ids)) == tuple(ids)
