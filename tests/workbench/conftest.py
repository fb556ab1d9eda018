"""Workbenches without a screen."""

import pytest

import lhkit
from lhkit.session.composing import Session
from lhkit.workbench.workbench import Workbench

FUSED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %tile = transform.tune.knob<"tile"> = 8 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %relu_tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [%tile, %tile]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %forall_1 = transform.structured.fuse_into_containing_op %sum into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
# Numbers of the steps in that text: the sequence is step 0.
RELU, SUM, KNOB, TILE, FUSE = 1, 2, 3, 4, 5


class Bench:
    """A workbench, with the names of the parts that changed since it was last asked."""

    def __init__(self, workbench):
        self.workbench, self.names = workbench, []
        workbench.changed = self.names.extend

    def do(self, command_, **fields):
        self.names.clear()
        self.workbench.do({"do": command_, **fields})
        return set(self.names)

    def ask(self, name, **fields):
        return self.workbench.ask({"ask": name, **fields})

    def part(self, name):
        return self.workbench.parts[name]

    @property
    def notice(self):
        return self.workbench.notice

    @property
    def session(self):
        return self.workbench.session


@pytest.fixture(scope="session")
def payload(worker):
    return lhkit.load_payload(lhkit.payloads.fc_relu(32, 32, 32).text, name="fc_relu.mlir", worker=worker)


@pytest.fixture
def open_bench(payload, worker):
    """Return a function that opens a schedule."""

    def opened(text=FUSED):
        schedule = lhkit.load_schedule(text, name="fused.mlir", worker=worker)
        return Bench(Workbench(Session(payload, schedule, worker=worker, autosaves=False)))

    return opened


@pytest.fixture
def bench(open_bench):
    return open_bench()
