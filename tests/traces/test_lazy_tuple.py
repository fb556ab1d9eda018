"""Sequences whose items are made at first use."""

import pickle

from lhkit.traces.record.trace_run import LazyTuple


def counting():
    """Return a lazy (1, 2, 3), and a list that grows by one whenever its items are made."""
    made = []

    def make():
        made.append(None)
        yield from (1, 2, 3)

    return LazyTuple(make), made


def test_items_are_made_once_and_at_the_first_use():
    lazy, made = counting()
    assert not made
    assert len(lazy) == 3 and list(lazy) == [1, 2, 3] and lazy[-1] == 3 and lazy[1:] == (2, 3)
    assert len(made) == 1


def test_it_equals_the_tuple_of_its_items_both_ways():
    lazy, other = counting()[0], counting()[0]
    assert lazy == (1, 2, 3) and lazy == (1, 2, 3) and lazy == other
    assert lazy != (1, 2) and lazy != [1, 2, 3]
    assert hash(lazy) == hash((1, 2, 3)) and repr(lazy) == "(1, 2, 3)"


def test_an_empty_one():
    assert LazyTuple(tuple) == () and not LazyTuple(tuple)


def test_it_travels_as_a_tuple():
    copy = pickle.loads(pickle.dumps(counting()[0]))
    assert type(copy) is tuple and copy == (1, 2, 3)
