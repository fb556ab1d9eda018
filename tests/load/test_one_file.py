"""Payload and schedule in one file, as upstream's tests have them: nested modules, arguments, foreign dialects."""

import numpy as np
import pytest

import lhkit
from lhkit.model.errors import LhkitError, UsageError
from lhkit.model.trace_record import ParamReference, ResultReference
from lhkit.traces.record.trace_run import trace_schedule

PRODUCT = """func.func @product(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
# No argument says whether it is consumed: that is asked only of sequences that are included.
BESIDE = (
    PRODUCT
    + """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %m tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
)
BOUND = (
    PRODUCT
    + """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op, %product: !transform.any_op,
      %value: !transform.any_value, %sizes: !transform.param<i64>) {
    %op = transform.get_defining_op %value : (!transform.any_value) -> !transform.any_op
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
}
"""
)
FOREIGN = """func.func @foreign(%a: tensor<4xf32>) -> tensor<4xf32> attributes {elsewhere.note} {
  %0 = "elsewhere.op"(%a) {elsewhere.kind = #elsewhere<"x">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
MATCH = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %m = transform.structured.match ops{["NAME"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def test_a_schedule_in_a_module_beside_the_payload(worker):
    payload = lhkit.load_payload(BESIDE, worker=worker)
    schedule = lhkit.load_schedule(BESIDE, worker=worker)
    trace = trace_schedule(payload, schedule, worker=worker)
    assert [s.status for s in trace.step_records] == ["ok", "ok"]
    assert trace.step_records[1].source.line == 8
    kernel = lhkit.compile(payload, schedule, worker=worker)
    a, b = np.eye(8, dtype=np.float32), np.arange(64, dtype=np.float32).reshape(8, 8)
    np.testing.assert_array_equal(kernel(a, b, np.ones_like(b)), b + 1)


def test_arguments_are_bound_to_ops_results_and_integers(worker):
    payload = lhkit.load_payload(BOUND, worker=worker)
    schedule = lhkit.load_schedule(BOUND, bind=["linalg.matmul", "^linalg.matmul", "#8;4"], worker=worker)
    trace = trace_schedule(payload, schedule, worker=worker)
    assert [s.op for s in trace.step_records] == ["transform.get_defining_op", "transform.annotate"]
    names = {h.name: h for h in trace.handle_records}
    states = trace.states_after(0)
    (product,) = states[names["%product"].id].payload
    assert trace.op(product).name == "linalg.matmul"
    assert states[names["%value"].id].payload == (ResultReference(product, 0),)
    assert states[names["%sizes"].id].payload == (ParamReference("8 : i64"), ParamReference("4 : i64"))
    assert {names[n].defined_by for n in ("%root", "%product", "%value", "%sizes")} == {-1}


@pytest.mark.parametrize(
    "bind",
    [
        ["linalg.matmul", "linalg.matmul", "#8"],
        ["linalg.matmul", "^linalg.matmul", "linalg.matmul"],
        ["#1", "^linalg.matmul", "#8"],
        ["linalg.matmul", "^linalg.matmul", "#eight"],
    ],
)
def test_what_does_not_fit_an_argument_is_refused(bind, worker):
    payload = lhkit.load_payload(BOUND, worker=worker)
    schedule = lhkit.load_schedule(BOUND, bind=bind, worker=worker)
    with pytest.raises(UsageError, match="cannot be bound") as error:
        trace_schedule(payload, schedule, worker=worker)
    assert "^OPNAME" in error.value.failure.advice


def test_ops_of_unknown_dialects_are_traced_and_named_when_they_cannot_be_lowered(worker):
    payload = lhkit.load_payload(FOREIGN, worker=worker)
    schedule = lhkit.load_schedule(MATCH.replace("NAME", "elsewhere.op"), worker=worker)
    trace = trace_schedule(payload, schedule, worker=worker)
    change = trace.step_records[0].changes[-1]
    assert [trace.op(o).name for o in change.payload] == ["elsewhere.op"]
    with pytest.raises(LhkitError, match=r"elsewhere\.op") as error:
        lhkit.compile(payload, worker=worker)
    assert error.value.failure.kind == "lowering"
    assert error.value.failure.span.line == 2


def test_a_payload_without_functions_is_traced_and_not_compiled(worker):
    payload = lhkit.load_payload("memref.global @table : memref<4xf32>\nmodule @inner { }\n", worker=worker)
    schedule = lhkit.load_schedule(MATCH.replace("NAME", "memref.global"), worker=worker)
    trace = trace_schedule(payload, schedule, worker=worker)
    assert len(trace.step_records[0].changes[-1].payload) == 1
    with pytest.raises(UsageError, match="no function with a body"):
        lhkit.compile(payload, worker=worker)


INNER = """module @outer attributes {transform.with_named_sequence} {
  module @first attributes {transform.with_named_sequence} {
    transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
      transform.print {name = "first"}
      transform.yield
    }
  }
  module @second attributes {transform.with_named_sequence} {
    transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
      transform.verify %r : !transform.any_op
      transform.yield
    }
  }
  transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
    transform.include @second::@__transform_main failures(propagate) (%r) : (!transform.any_op) -> ()
    transform.yield
  }
}
"""


def test_sequences_of_inner_modules_are_told_apart_by_their_path(worker):
    payload = lhkit.load_payload(PRODUCT, worker=worker)
    schedule = lhkit.load_schedule(INNER, worker=worker)
    assert [s.name for s in schedule.sequences] == [
        "first::__transform_main",
        "second::__transform_main",
        "__transform_main",
    ]
    trace = trace_schedule(payload, schedule, worker=worker)
    steps = [(s.op, s.source.line) for s in trace.step_records]
    assert steps == [("transform.include", 15), ("transform.verify", 10)]
    inner = lhkit.load_schedule(INNER, entry="first::__transform_main", worker=worker)
    trace = trace_schedule(payload, inner, worker=worker)
    assert [(s.op, s.source.line) for s in trace.step_records] == [("transform.print", 4)]


CHOICES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @other(%r: !transform.any_op {transform.readonly}) {
    %k = transform.tune.knob<"unset"> options = [1, 2] -> !transform.any_param
    transform.yield
  }
  transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
    %k = transform.tune.knob<"which"> = 0 from options = [0, 1] -> !transform.any_param
    transform.tune.alternatives<"chosen"> selected_region = %k : !transform.any_param {
      transform.print {name = "zero"}
      transform.yield
    }, {
      transform.verify %r : !transform.any_op
      transform.yield
    }
    transform.yield
  }
}
"""


def test_only_knobs_that_are_applied_need_a_value(worker):
    payload = lhkit.load_payload(PRODUCT, worker=worker)
    schedule = lhkit.load_schedule(CHOICES, worker=worker)
    assert [k.name for k in schedule.knobs] == ["unset", "which"]  # the other alternatives are chosen by a knob
    assert schedule.values == {"which": 0}
    for value, op in ((0, "transform.print"), (1, "transform.verify")):
        trace = trace_schedule(payload, schedule, {"which": value}, worker=worker)
        assert [s.op for s in trace.step_records if s.status == "ok"][-1] == op
    other = lhkit.load_schedule(CHOICES, entry="other", worker=worker)
    with pytest.raises(UsageError, match="no default and was not set") as error:
        trace_schedule(payload, other, worker=worker)
    assert (error.value.failure.span.line, error.value.failure.span.column) == (3, 10)
    assert "--set unset=VALUE" in str(error.value) and "^" in str(error.value)


def test_a_binding_that_does_not_fit_is_shown_at_the_argument(worker):
    payload = lhkit.load_payload(BOUND, worker=worker)
    schedule = lhkit.load_schedule(BOUND, bind=["linalg.matmul", "linalg.matmul", "#8"], worker=worker)
    with pytest.raises(UsageError) as error:
        trace_schedule(payload, schedule, worker=worker)
    assert error.value.failure.span.line == 7
    assert str(error.value).count("cannot be bound") == 1
