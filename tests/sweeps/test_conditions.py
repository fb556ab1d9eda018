"""Conditions between knobs: a knob of one alternative has one value where another one is taken."""

from lhkit.sweeps.space import space_of


def text(inner):
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.readonly}}) {{
    %m = transform.tune.knob<"m"> = 4 : i64 from options = [4, 8] -> !transform.param<i64>
    transform.tune.alternatives<"way"> selected_region = 0 {{
      {inner}
    }}, {{
      transform.yield
    }}
    transform.yield
  }}
}}
"""


K = '%k = transform.tune.knob<"k"> = 2 : i64 from options = [1, 2, 4] -> !transform.param<i64>'


def schedule(worker, inner):
    from lhkit.load.loader import load_schedule

    return load_schedule(text(inner), worker=worker)


def points(space):
    return [dict(p) for p in space.points()]


def test_a_knob_of_an_alternative_has_its_default_where_another_is_taken(worker):
    found = points(space_of(schedule(worker, K)))
    assert len(found) == 2 * (3 + 1)
    assert {p["k"] for p in found if p["way"] == 0} == {1, 2, 4}
    assert {p["k"] for p in found if p["way"] == 1} == {2}


def test_nested_alternatives_matter_only_together(worker):
    inner = f'transform.tune.alternatives<"order"> selected_region = 0 {{ {K} }}, {{ transform.yield }}'
    found = points(space_of(schedule(worker, inner)))
    # way = 0: order = 0 with three values of k, order = 1 with one; way = 1: one.
    assert len(found) == 2 * (3 + 1 + 1)


def test_a_knob_that_is_elsewhere_too_always_matters(worker):
    again = K.replace("%k", "%other")
    found = points(space_of(schedule_with_both(worker, again)))
    assert len(found) == 2 * 2 * 3


def schedule_with_both(worker, again):
    from lhkit.load.loader import load_schedule

    written = text(K).replace("    transform.yield\n  }\n}", f"    {again}\n    transform.yield\n  }}\n}}")
    assert written.count('"k"') == 2
    return load_schedule(written, worker=worker)


def test_a_narrowed_knob_keeps_its_first_value_where_its_default_is_gone(worker):
    found = points(space_of(schedule(worker, K), knobs={"k": [1, 4]}))
    assert {p["k"] for p in found if p["way"] == 1} == {1}
