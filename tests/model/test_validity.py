"""The rule by which handles die, on payload ops that are numbers: 1 contains 2, 2 contains 3, 1 contains 4."""

import pytest

from lhkit.model.invalidation import Death, PointsTo, Use, judge

PARENTS = {1: None, 2: 1, 3: 2, 4: 1}


def never():
    return False


def always():
    return True


def verdict(uses, live, *, invalid=(), may_repeat=never):
    """Judge uses given as text: ``!a b`` consumes a and reads b."""
    taken = [Use(u.lstrip("!"), u.startswith("!")) for u in uses.split()]
    points = {name: PointsTo(at) if isinstance(at, tuple) else at for name, at in live.items()}
    return judge(taken, points, lambda h: h in invalid, PARENTS.get, may_repeat=may_repeat)


def value(op, number, *roots):
    return PointsTo((op,), ((op, number),), roots or (op,), is_value=True)


def test_a_consumed_handle_takes_aliases_and_what_is_inside_with_it():
    live = {"outer": (2,), "same": (4, 2), "inner": (3,), "beside": (4,), "around": (1,)}
    assert verdict("!outer", live).deaths == (
        Death("outer", "direct", "outer", 2, 2),
        Death("same", "alias", "outer", 2, 2),
        Death("inner", "nested", "outer", 3, 2),
    )


def test_reading_kills_nothing():
    assert verdict("a a", {"a": (2,), "b": (3,)}).deaths == ()


def test_what_was_empty_dies_alone():
    assert verdict("!none", {"none": (), "a": (2,), "other": ()}).deaths == (
        Death("none", "direct", "none", None, None),
    )


@pytest.mark.parametrize("uses", ["!a b", "!a c", "!a a", "!none none"])
def test_an_operand_may_not_be_what_one_before_it_killed(uses):
    live = {"a": (2,), "b": (2,), "c": (3,), "none": ()}
    refused = verdict(uses, live)
    assert refused.is_refused and refused.invalid == uses.split()[1]
    assert refused.deaths  # the interpreter takes note of them all the same
    assert not verdict(uses, live, may_repeat=always).is_refused


def test_the_order_of_operands_matters():
    assert not verdict("a !b", {"a": (3,), "b": (2,)}).is_refused


def test_what_is_dead_already_is_refused_from_any_op():
    assert verdict("b a", {"b": (2,)}, invalid={"a"}, may_repeat=always).invalid == "a"


def test_a_consumed_handle_may_not_list_an_op_twice():
    live = {"twice": (2, 2), "beside": (2, 4)}
    refused = verdict("!twice", live)
    assert refused.repeated == "twice" and {d.handle for d in refused.deaths} == {"twice", "beside"}
    assert not verdict("twice", live).is_refused
    assert not verdict("!twice", live, may_repeat=always).is_refused


def test_whether_an_op_takes_repetitions_is_asked_only_where_it_matters():
    def asked():
        raise AssertionError("asked in vain")

    assert not verdict("!a b", {"a": (2,), "b": (4,)}, may_repeat=asked).is_refused


def test_consuming_an_op_kills_handles_to_its_values():
    live = {"a": (2,), "result": value(2, 0), "inside": value(3, 0), "beside": value(4, 0)}
    assert {d.handle: d.cause for d in verdict("!a", live).deaths} == {
        "a": "direct",
        "result": "alias",
        "inside": "nested",
    }


def test_consuming_a_value_kills_other_handles_to_it_and_to_the_op():
    live = {
        "v": value(2, 0),
        "same": value(2, 0),
        "other": value(2, 1),
        "op": (2,),
        "inside": (3,),
        "beside": (4,),
    }
    assert {d.handle: d.cause for d in verdict("!v", live).deaths} == {
        "v": "direct",
        "same": "alias",
        "other": "alias",
        "op": "alias",
        "inside": "nested",
    }


def test_consuming_an_argument_kills_handles_to_the_ops_of_its_block():
    live = {"argument": value(1, 0, 2, 4), "first": (2,), "second": (4,), "deep": (3,), "around": (1,)}
    assert {d.handle: d.cause for d in verdict("!argument", live).deaths} == {
        "argument": "direct",
        "first": "alias",
        "second": "alias",
        "deep": "nested",
    }
