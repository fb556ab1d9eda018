import pytest

import lhkit
from lhkit.kernels.verification import payload_work
from lhkit.model.measurement import Work

DYNAMIC = """func.func @f(%x: tensor<?x4xf32>, %s: f32) -> tensor<?x4xf32> {
  %r = arith.addf %x, %x : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul.mlir", Work(2 * 512**3, 4 * 3 * 512**2, 512)),
        ("fc_relu.mlir", Work(2 * 512**3 + 2 * 512**2, 4 * 4 * 512**2, 512)),
        ("elementwise_chain.mlir", Work(3 * 1024**2, 4 * 4 * 1024**2, 1)),
        ("row_sum.mlir", Work(1024**2, 4 * (1024**2 + 1024), 1024)),
    ],
)
def test_shipped_payloads(name, expected):
    assert payload_work(lhkit.load_payload(name)) == expected


def test_shapes_fill_in_dynamic_extents():
    payload = lhkit.load_payload(DYNAMIC)
    assert payload_work(payload) == Work(None, None, 1)
    assert payload_work(payload, "f", [(3, 4), ()]) == Work(12, 96, 1)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 4)], "1 shapes given, 2 arguments taken by @f"),
        ([(3, 5), ()], "shape (3, 5) does not fit argument 0"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message):
    with pytest.raises(lhkit.LhkitError) as caught:
        payload_work(lhkit.load_payload(DYNAMIC), shapes=shapes)
    assert caught.value.failure.kind == "usage"
    assert message in str(caught.value)
