"""Knobs with bounds instead of lists, and what knobs require of one another."""

import pytest

import lhkit
from lhkit.model.errors import UsageError
from lhkit.model.knob import Bounds, Knob
from lhkit.sweeps.space import knob_axes
from lhkit.text.knob_text import requirements_of
from lhkit.traces.record.trace_run import trace_schedule

HEAD = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
"""
TILED = (
    HEAD
    + """    // lhkit: require m * n <= 2048 and m < n
    %m = transform.tune.knob<"m"> = 8 : i64 from options = {divides = 512 : i64, divisible_by = 4 : i64} -> !transform.param<i64>
    %n = transform.tune.knob<"n"> = 32 : i64 from options = {lower_bound = 16 : i64, upper_bound = 128 : i64, divisible_by = 16 : i64} -> !transform.param<i64>
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l:2 = transform.structured.tile_using_for %mm tile_sizes [%m, %n] : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
)


@pytest.mark.parametrize(
    ("bounds", "values"),
    [
        (Bounds(divides=12), (1, 2, 3, 4, 6, 12)),
        (Bounds(divides=512, divisible_by=4), (4, 8, 16, 32, 64, 128, 256, 512)),
        (Bounds(3, 11, 4), (4, 8)),
        (Bounds(-4, 4, 2), (-4, -2, 0, 2, 4)),
        (Bounds(5, 4), ()),
        (Bounds(0), ()),
        (Bounds(0, 10**9), ()),
        (Bounds(upper_bound=8, divides=10**6), (1, 2, 4, 5, 8)),
        (Bounds(1, 10**18, 1), ()),
        (Bounds(1, 32, -8), (8, 16, 24, 32)),
        (Bounds(divides=2**62), ()),
        (Bounds(divides=-12), ()),
        (Bounds(upper_bound=8, divides=2**62), (1, 2, 4, 8)),
    ],
)
def test_bounds_list_their_values(bounds, values):
    assert bounds.values() == values
    assert all(bounds.allows(v) for v in values)
    near = range(-20, 1030)
    if values:
        assert tuple(v for v in near if bounds.allows(v)) == values


@pytest.mark.parametrize(
    "options",
    ["divides = 4611686018427387904 : i64", "lower_bound = 1 : i64, upper_bound = 999999999999999999 : i64"],
)
def test_a_knob_with_too_many_values_is_refused_by_a_sweep(options, worker):
    text = TILED.replace("divides = 512 : i64, divisible_by = 4 : i64", options).replace("= 8 : i64 from", "")
    schedule = lhkit.load_schedule(text, worker=worker)
    assert schedule.knobs[0].options == () and schedule.knobs[0].bounds.allows(2)
    with pytest.raises(UsageError, match="has no list of values to sweep"):
        knob_axes(schedule, {})


def test_bounds_without_an_end_are_checked():
    knob = Knob("k", (), 8, 1, bounds=Bounds(lower_bound=8, divisible_by=8))
    assert knob.check(10**6 * 8) == 8 * 10**6 and knob.parse("16") == 16
    for wrong in ("4", "12", "word", "8.0"):
        with pytest.raises(UsageError, match="at least 8, a multiple of 8"):
            knob.parse(wrong)


def test_knobs_with_bounds_apply_with_their_defaults_and_with_others(worker):
    payload = lhkit.load_payload("fc_relu", worker=worker)
    schedule = lhkit.load_schedule(TILED, worker=worker)
    m, n = schedule.knobs
    assert m.options == (4, 8, 16, 32, 64, 128, 256, 512) and n.options == tuple(range(16, 129, 16))
    assert schedule.values == {"m": 8, "n": 32}
    trace = trace_schedule(payload, schedule, {"m": 4, "n": 64}, worker=worker)
    assert trace.outcome.status == "ok" and "step %c4" in trace.last_snapshot_text()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"m": 6}, r"knob 'm' cannot be '6'[\s\S]*a multiple of 4, a divisor of 512 \(4, 8, 16"),
        ({"n": 144}, "at least 16, at most 128, a multiple of 16"),
        ({"m": 8, "n": 16.5}, "cannot be '16.5'"),
    ],
)
def test_a_value_out_of_bounds_is_refused(knobs, message, worker):
    with pytest.raises(UsageError, match=message):
        lhkit.load_schedule(TILED, knobs=knobs, worker=worker)


def test_what_knobs_require_of_one_another_is_checked_and_shown(worker):
    payload = lhkit.load_payload("fc_relu", worker=worker)
    schedule = lhkit.load_schedule(TILED, name="tiled.mlir", worker=worker)
    (requirement,) = requirements_of(schedule)
    assert requirement.names == ("m", "n") and requirement.holds({"m": 8, "n": 16})
    wide = schedule.with_knobs({"m": 64, "n": 32})
    for use in (trace_schedule, lhkit.compile):
        with pytest.raises(UsageError) as error:
            use(payload, wide, worker=worker)
        assert "requires m * n <= 2048 and m < n, which m=64, n=32 does not meet" in str(error.value)
        assert (error.value.failure.span.line, error.value.failure.span.column) == (3, 23)


@pytest.mark.parametrize(
    ("expression", "message", "column"),
    [
        ("m +", "is not an expression", None),
        ("m < tile", "has no knob 'tile'", 27),
        ("m / 0 < n", "cannot be evaluated", 23),
        ("m.__class__", "is not an expression: it has '.'", 24),
        ("open('x')", "there is no function 'open'", 23),
        ("9 ** 9 ** 9 > m", "cannot be evaluated", 23),
    ],
)
def test_a_requirement_that_cannot_be_read_is_refused_at_its_place(expression, message, column, worker):
    payload = lhkit.load_payload("fc_relu", worker=worker)
    text = TILED.replace("m * n <= 2048 and m < n", expression)
    with pytest.raises(UsageError, match=message) as error:
        trace_schedule(payload, lhkit.load_schedule(text, worker=worker), worker=worker)
    assert error.value.failure.span.line == 3
    assert column is None or error.value.failure.span.column == column


@pytest.mark.parametrize("options", ["{color = 3 : i64}", '{divides = "x"}', "{divides = 0 : i64}"])
def test_options_that_bound_nothing_are_refused(options, worker):
    text = (
        HEAD
        + f"""    %m = transform.tune.knob<"m"> = 8 : i64 from options = {options} -> !transform.param<i64>
    transform.yield
  }}
}}
"""
    )
    with pytest.raises(UsageError, match="knob 'm' has the option"):
        lhkit.load_schedule(text, worker=worker)
