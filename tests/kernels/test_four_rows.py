"""parts/four_rows.mlir: long rows are read four at a time, where no other op works on them."""

import pytest

import lhkit
from benchmarks.suite_payloads import einsum, reduction

# Rows and columns that leave a rest, and the vector that four of them make.
ALONG = {
    "matrix times vector": einsum("mk,k->m", 11, 2054),
    "sums": reduction("row_sums", 8, 2048),
    "maxima": reduction("row_maxima", 9, 2065),
    "sums of all": reduction("sum_of_all", 11, 2054),
}
ACROSS = {
    "vector times matrix": einsum("k,kn->n", 11, 299),
    "sums": reduction("column_sums", 10, 256),
}
# A row is computed before it is added up.
CENTERED = """func.func @f(%a: tensor<9x2054xf32>, %b: tensor<9x2054xf32>) -> (tensor<9x2054xf32>, tensor<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x2054xf32>
  %x = linalg.exp ins(%a : tensor<9x2054xf32>) outs(%e : tensor<9x2054xf32>) -> tensor<9x2054xf32>
  %r = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<9xf32>) -> tensor<9xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<9x2054xf32>) outs(%f : tensor<9xf32>) dimensions = [1]
  return %x, %s : tensor<9x2054xf32>, tensor<9xf32>
}
"""
SINGLE = {
    "places of maxima": reduction("row_argmax", 9, 2065),
    "short rows": reduction("row_sums", 9, 1030),
    "few rows": reduction("row_sums", 7, 2065),
    "what is computed": lhkit.load_payload(CENTERED),
}


def compiled(payload, worker):
    return lhkit.compile(payload, lhkit.load_schedule("cpu.mlir", worker=worker), worker=worker)


@pytest.mark.parametrize("payload", ALONG.values(), ids=ALONG)
def test_long_rows_are_reduced_four_at_a_time(payload, worker):
    kernel = compiled(payload, worker)
    assert "vector<4x16xf32>" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("payload", ACROSS.values(), ids=ACROSS)
def test_rows_are_added_four_at_a_time(payload, worker):
    kernel = compiled(payload, worker)
    assert "arith.constant 4 : index" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("payload", SINGLE.values(), ids=SINGLE)
def test_other_rows_go_one_by_one(payload, worker):
    kernel = compiled(payload, worker)
    assert "vector<4x16xf32>" not in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok
