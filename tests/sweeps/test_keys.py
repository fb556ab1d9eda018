"""Keys: blind to what does not matter, and different where anything else is."""

import pytest

from lhkit.sweeps.sweep_task import schedule_facts, variant_key
from tests.sweeping_spaces import make_schedule

TEXT = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %m = transform.tune.knob<"m"> = 4 : i64 from options = [4, 8] -> !transform.param<i64> // rows
    %way = transform.tune.knob<"way"> options = {lower_bound = 1 : i64} -> !transform.any_param
    transform.tune.alternatives<"which"> selected_region = 0 { transform.yield }, { transform.yield }
    transform.tune.alternatives<"by"> selected_region = %m : !transform.param<i64> { transform.yield }, { transform.yield }
    transform.yield
  }
}
"""


def facts(text):
    return schedule_facts(make_schedule(text=text))


@pytest.mark.parametrize(
    "old, new",
    [
        ("[4, 8]", "[2, 4, 8, 16]"),
        ("= 4 : i64 from", "= 8 : i64 from"),
        ("= 4 : i64 from", ""),
        ("lower_bound = 1 : i64", "divides = 512 : i64"),
        ("// rows", "// rows of a tile"),
        ("  ", "\t"),
        ("selected_region = 0", "selected_region = 1"),
    ],
)
def test_options_defaults_and_comments_do_not_count(old, new):
    assert old in TEXT and facts(TEXT.replace(old, new)) == facts(TEXT)


@pytest.mark.parametrize(
    "old, new",
    [
        ('"m"', '"n"'),
        ("!transform.param<i64> //", "!transform.any_param //"),
        ("%m : ", "%way : "),
        ("readonly", "consumed"),
        ("    transform.yield\n", "    transform.print\n    transform.yield\n"),
    ],
)
def test_all_else_counts(old, new):
    assert old in TEXT and facts(TEXT.replace(old, new)) != facts(TEXT)


def test_keys_are_of_values_and_not_of_their_order():
    key = variant_key("s", {"a": 1, "b": True})
    assert key == variant_key("s", {"b": True, "a": 1})
    others = [
        ("t", {"a": 1, "b": True}),
        ("s", {"a": 1, "b": 1}),
        ("s", {"a": "1", "b": True}),
        ("s", {"a": 1}),
    ]
    assert len({key, *(variant_key(*other) for other in others)}) == 5
    assert variant_key("s", {"a": 4}) == "8d43f590d553520f1be9ae20fe270f778111db02ea3285b45515d63845067418"
