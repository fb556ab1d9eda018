"""Steps that a payload does not need: what is left out gives the same payload, and nothing else is left out."""

import re

import pytest

from lhkit.compiler.interpreter import step_removal
from lhkit.load.loader import application_of, load_payload, load_schedule, payload_source
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import ScheduleError
from lhkit.proposals.proposal import propose
from lhkit.proposals.straight_line import StraightLine, live_lines, written
from lhkit.traces.record.trace_run import trace_schedule, trace_working_steps
from lhkit.worker.requests import Apply, CountOps, FindRemovable

SCHEDULE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %op tile_sizes [4, 8, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %function "mine" : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.structured.vectorize %tile : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.linalg.tiling_canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
"""

WHOLE_VECTOR = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %op : !transform.any_op
    transform.yield
  }
}
"""
MATMUL = """
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""


def test_what_can_be_left_out_is_found_by_applying_the_rest(worker):
    payload = load_payload("matmul.mlir", worker=worker)
    application = application_of(load_schedule(SCHEDULE, worker=worker))
    # A pattern that finds nothing, the early clean-up, the mark, and steps that are needed: the tiling, without
    # which vectors would be of 512x512x512, and the vectors themselves.
    removals = (((6, 1),), ((4, -1),), ((3, -1),), ((5, -1),), ((1, -1),))
    source = payload_source(payload)
    found = worker.ask(FindRemovable(source, application, removals, ("mine",))).value
    assert found == (0, 1, 2)
    assert 2 not in worker.ask(FindRemovable(source, application, removals, ())).value


TWICE = SCHEDULE.replace(
    "    transform.apply_patterns",
    "    transform.loop.unroll %loops#2 {factor = 2} : !transform.any_op\n"
    "    transform.apply_cse to %function : !transform.any_op\n"
    "    transform.apply_cse to %function : !transform.any_op\n"
    "    transform.apply_patterns",
    1,
)


@pytest.mark.parametrize("growth", [4, 0])
def test_a_trial_ends_where_the_payload_is_as_before_or_grows(growth, worker, monkeypatch):
    ends = []

    class Reduction(step_removal._Reduction):
        def _applied(self, *arguments):
            result = super()._applied(*arguments)
            ends.append(self._met)
            return result

    monkeypatch.setattr(step_removal, "_Reduction", Reduction)
    monkeypatch.setattr(step_removal, "_MOST_GROWTH", growth)
    application = application_of(load_schedule(TWICE, worker=worker))
    source = payload_source(load_payload("matmul.mlir", worker=worker))
    # The mark, which is in the payload to its end, and a clean-up where one was.
    removals = (((3, -1),), ((8, -1),), ((9, 1),))
    found = step_removal.removable_steps(source, application, removals, ("mine",))
    assert found == [0, 1, 2][growth == 0 :]
    assert ends[1] is None and 9 in ends


def test_ops_are_counted_for_each_value_of_a_knob(worker):
    knob = '%n = transform.tune.knob<"n"> = 8 : i64 from options = [8, -1] -> !transform.param<i64>\n'
    text = SCHEDULE.replace("    %op =", f"    {knob}    %op =").replace("[4, 8, 1]", "[4, %n, 1]")
    text = text.replace(
        "tile_sizes [4, %n, 1]\n      : (!transform.any_op)",
        "tile_sizes [4, %n, 1]\n      : (!transform.any_op, !transform.param<i64>)",
    )
    application = application_of(load_schedule(text, worker=worker))
    source = payload_source(load_payload("matmul.mlir", worker=worker))
    request = CountOps(source, application, ({"n": 8}, {"n": 0}, {"n": -1}))
    vectors, loops, refused = worker.ask(request).value
    assert vectors["scf.for"] == 3 and "linalg.matmul" not in vectors
    assert loops["scf.for"] == 2
    assert refused is None


def test_a_trace_without_idle_steps_is_written_out_the_same(worker):
    payload = load_payload("row_sum.mlir", worker=worker)
    # For wider vectors a mark that a later step makes again is left out, too.
    general = load_schedule(shipped_folder("schedules") / "cpu.mlir", target="avx2", worker=worker)
    whole, brief = (
        trace_schedule(payload, general, worker=worker),
        trace_working_steps(payload, general, worker),
    )
    assert brief.last_snapshot_text() == whole.last_snapshot_text()
    assert len(brief.step_records) < len(whole.step_records)

    def ops(trace):
        straight = StraightLine(trace)
        return re.findall(r"transform\.[\w.]+|lhkit\.\w+", written(live_lines(straight.lines, straight.marks)))

    assert sorted(ops(brief)) == sorted(ops(whole))


def test_patterns_that_go_on_and_on_without_one_of_them_fail_in_a_trial(worker):
    processes = worker.generation
    made = propose(load_payload("depthwise_conv2d_nhwc.mlir", worker=worker), "avx2", worker=worker)
    assert made.verification.ok and "lower_masked_transfers" not in made.text
    assert worker.generation == processes, "no trial ran to the time limit"


def test_a_trial_ends_at_a_large_vector(worker):
    payload = load_payload(MATMUL, worker=worker)
    schedule = load_schedule(WHOLE_VECTOR, worker=worker)
    source, application = payload_source(payload), application_of(schedule)
    whole = worker.ask(Apply(source, application)).text
    assert "vector<8x8x8xf32>" in whole
    assert worker.ask(Apply(source, application, 512)).text == whole
    with pytest.raises(ScheduleError):
        worker.ask(Apply(source, application, 511))
