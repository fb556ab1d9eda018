"""One trace and one kernel for all drawings."""

import pytest

import lhkit

TILED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %size = transform.tune.knob "tile_m" options = [4 : i64, 8 : i64, 16 : i64], default = 8 : i64
      -> !transform.param<i64>
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %matmul tile_sizes [%size]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


@pytest.fixture(scope="session")
def fc_relu_trace():
    return lhkit.trace(lhkit.payloads.fc_relu(16, 32, 8), lhkit.load_schedule("fc_relu_handles.mlir"))


@pytest.fixture(scope="session")
def fc_relu_kernel():
    return lhkit.compile(lhkit.payloads.fc_relu(16, 32, 8))
