"""Contexts that are used again: what one request leaves in them must not be seen by the next."""

import pytest

from lhkit.compiler.extension.own_op_registry import register
from lhkit.compiler.ir import context_pool
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.context_pool import forget_contexts, reused_context
from lhkit.compiler.ir.parsing import parse_module
from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import usage_error
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.requests import Source

WEIGHT = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %sum = linalg.add ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F000000400000404000008040" } } #-}
"""
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


@pytest.fixture(autouse=True)
def empty_pool():
    forget_contexts()
    yield
    forget_contexts()


def used():
    with reused_context() as context:
        return context


def test_a_context_is_used_again_and_not_by_two_at_once():
    first = used()
    with reused_context() as again, reused_context() as other:
        assert again is first
        assert other is not first


def test_a_context_is_given_up_after_many_uses(monkeypatch):
    monkeypatch.setattr(context_pool, "_MOST_USES", 3)
    contexts = [used() for _ in range(4)]
    assert contexts[0] is contexts[1] is contexts[2]
    assert contexts[3] is not contexts[2]


@pytest.mark.parametrize("error, is_kept", [(usage_error("no"), True), (KeyError("a defect"), False)])
def test_a_typed_error_keeps_a_context_and_a_defect_does_not(error, is_kept):
    with pytest.raises(type(error)), reused_context() as context:
        raise error
    assert (used() is context) is is_kept


@pytest.mark.parametrize("content", [WEIGHT.encode(), b"module {}" + b" " * 3_000_000])
def test_resources_and_long_texts_are_not_left_in_a_context(content):
    with reused_context() as context:
        parse_module(Source("payload", "payload", "w.mlir", content))
    assert used() is not context


def test_resources_that_come_when_a_context_is_idle_take_it_from_the_pool():
    context = used()
    with context:  # as a trace does with the module of a schedule that was loaded before
        parse_module(Source("payload", "payload", "w.mlir", WEIGHT.encode()))
    assert used() is not context


def test_traces_one_after_the_other_keep_the_keys_of_resources(worker):
    payload, schedule = load_payload(WEIGHT, worker=worker), load_schedule(SCHEDULE, worker=worker)
    texts = [trace_schedule(payload, schedule, worker=worker).last_snapshot_text() for _ in range(3)]
    assert "dense_resource<w>" in texts[0]
    assert texts[0] == texts[1] == texts[2]


def test_own_ops_reach_the_next_context():
    context = used()
    register(())
    assert used() is not context


def test_ops_of_our_own_are_made_known_once():
    from lhkit.compiler.interpreter.probes import PROBE, load_probe

    for _ in range(2):
        with reused_context() as context:
            load_probe(context)
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
            with ir.Location.unknown():
                assert ir.Operation.create(PROBE, attributes={"number": number}).verify()
