"""cpu.mlir: one schedule for any payload."""

from __future__ import annotations

import re

import pytest

import lhkit
from tests.kernels.any_payloads import PAYLOADS, PRODUCTS

# A product of one row, of one column or of one step is none; those below are reductions or work by elements.
NO_PRODUCTS = ("mk,k->m", "k,kn->n", "k,k->", "bmk,bk->bm", "m,n->mn", "ab,cd->acbd")
SUMS_OF_VECTORS = {name for name in PRODUCTS if name not in NO_PRODUCTS and " of " not in name}


def function_of(name):
    return name if name not in PRODUCTS else "product"


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_payload_is_taken_and_computed_right_and_products_are_sums_of_vectors(name, schedule):
    kernel = lhkit.compile(lhkit.load_payload(PAYLOADS[name]), schedule, function=function_of(name))
    assert lhkit.verify(kernel).ok
    if name in SUMS_OF_VECTORS:
        scheduled = kernel.ir("scheduled")
        assert "linalg.matmul" not in scheduled and '"reduction"' not in scheduled
        assert re.search(r"vector\.(fma|outerproduct|contract)", scheduled)


@pytest.mark.parametrize(("extent", "is_vector"), [(3, False), (4, True)])
def test_products_of_few_elements_stay_loops(extent, is_vector, schedule):
    text = """func.func @f(%a: T, %b: T, %c: T) -> T {
  %r = linalg.matmul ins(%a, %b : T, T) outs(%c : T) -> T
  return %r : T
}""".replace("T", f"tensor<{extent}x{extent}xf32>")
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert ("vector<" in kernel.ir("scheduled")) == is_vector
    assert lhkit.verify(kernel).ok


def test_attention_has_no_more_than_some_rows_of_scores_in_memory(schedule):
    kernel = lhkit.compile(lhkit.payloads.attention(384, 32), schedule, knobs={"rows": 96})
    assert lhkit.verify(kernel).ok
    buffers = kernel.ir("bufferized")
    assert "384x384xf32" not in buffers and "96x384xf32" in buffers


BESIDE_ANOTHER_FUNCTION = """func.func private @printF64(f64)
func.func @f(%a: tensor<32x32xf32>, %c: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %x = arith.constant 2.0 : f64
  func.call @printF64(%x) : (f64) -> ()
  %r = linalg.matmul ins(%a, %a : tensor<32x32xf32>, tensor<32x32xf32>) outs(%c : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
"""


def test_functions_besides_the_one_that_is_scheduled_are_no_hindrance(schedule):
    kernel = lhkit.compile(lhkit.load_payload(BESIDE_ANOTHER_FUNCTION), schedule)
    assert lhkit.verify(kernel).ok


def test_ops_that_are_equal_but_for_their_operands_are_put_aside_once(worker):
    text = """func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %x = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.exp ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %z = linalg.abs ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}"""
    script = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %ops = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    %calls = "lhkit.outline_ops"(%ops) {name = "aside"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}"""
    kernel = lhkit.compile(lhkit.load_payload(text, worker=worker), script, worker=worker)
    scheduled = kernel.ir("scheduled")
    assert re.findall(r"(?<!call )@aside_\d(?=\(%arg0)", scheduled) == ["@aside_0", "@aside_1"]
    assert re.findall(r"call @(aside_\d)", scheduled) == ["aside_0", "aside_0", "aside_1"]
    assert lhkit.verify(kernel).ok


def test_failures_that_are_suppressed_print_nothing():
    assert lhkit.compile(lhkit.load_payload("matmul.mlir"), lhkit.load_schedule("cpu.mlir")).output == ""
