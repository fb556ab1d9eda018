"""What an iteration of scf.forall computes beside its result does not overwrite results of other iterations."""

import re

import numpy as np
import pytest

import lhkit

ANY = "!transform.any_op"
SOFTMAX = """func.func @softmax(%source: tensor<{n}x256xf32>, %matrix: tensor<{n}x256xf32>, %row: tensor<{n}xf32>) -> tensor<{n}x256xf32> {{
  %zero = arith.constant 0.0 : f32
  %powers = linalg.exp ins(%source : tensor<{n}x256xf32>) outs(%matrix : tensor<{n}x256xf32>) -> tensor<{n}x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<{n}xf32>) -> tensor<{n}xf32>
  %sums = linalg.reduce {{ arith.addf }} ins(%powers : tensor<{n}x256xf32>) outs(%init : tensor<{n}xf32>) dimensions = [1]
  %sum = linalg.broadcast ins(%sums : tensor<{n}xf32>) outs(%matrix : tensor<{n}x256xf32>) dimensions = [1]
  %softmax = linalg.div ins(%powers, %sum : tensor<{n}x256xf32>, tensor<{n}x256xf32>) outs(%matrix : tensor<{n}x256xf32>) -> tensor<{n}x256xf32>
  return %softmax : tensor<{n}x256xf32>
}}"""
FUSED = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
# Tiles of columns: for each, the sums of whole rows are computed again, and with them whole rows of powers.
SCHEDULE = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %div = transform.structured.match ops{{["linalg.div"]}} in %root : ({ANY}) -> {ANY}
    %exp = transform.get_producer_of_operand %div[0] : ({ANY}) -> {ANY}
    %broadcast = transform.get_producer_of_operand %div[1] : ({ANY}) -> {ANY}
    %sum = transform.get_producer_of_operand %broadcast[0] : ({ANY}) -> {ANY}
    %tile, %l0 = transform.structured.tile_using_forall %div tile_sizes [8, 64] : ({ANY}) -> ({ANY}, {ANY})
    %a, %l1 = transform.structured.fuse_into_containing_op %broadcast into %l0 : {FUSED}
    %b, %l2 = transform.structured.fuse_into_containing_op %sum into %l1 : {FUSED}
    %c, %l3 = transform.structured.fuse_into_containing_op %exp into %l2 : {FUSED}
    %f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    transform.apply_patterns to %f {{
      transform.apply_patterns.canonicalization
    }} : {ANY}
    transform.apply_cse to %f : {ANY}
    transform.yield
  }}
}}"""


@pytest.mark.parametrize("rows", ["32", "?"])
def test_rows_that_each_tile_of_columns_computes_are_kept_out_of_the_result(rows, worker):
    text = SOFTMAX.format(n=rows)
    payload = lhkit.load_payload(text, worker=worker)
    schedule = lhkit.load_schedule(SCHEDULE, worker=worker)
    final = lhkit.trace(payload, schedule, worker=worker).last_snapshot_text()
    assert final.count("linalg.exp") == 2 or rows == "?"
    assert lhkit.verify(lhkit.compile(payload, schedule, worker=worker)).ok


def test_a_place_that_is_computed_twice_is_one_place(worker):
    payload = lhkit.load_payload("matmul.mlir", worker=worker)
    kernel = lhkit.compile(payload, lhkit.load_schedule("matmul_tile_fuse.mlir", worker=worker), worker=worker)
    assert "memref.alloc" not in kernel.ir("bufferized")


def test_what_is_inserted_is_still_computed_in_place(worker):
    chain = """func.func @chain(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %e = tensor.empty() : tensor<32x64xf32>
  %0 = linalg.exp ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = linalg.div ins(%0, %x : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}"""
    steps = [line for line in SCHEDULE.splitlines() if not re.search(r"%(broadcast|sum) = |%[ab], ", line)]
    payload = lhkit.load_payload(chain, worker=worker)
    schedule = lhkit.load_schedule("\n".join(steps).replace("%l2", "%l0"), worker=worker)
    kernel = lhkit.compile(payload, schedule, worker=worker)
    assert "memref.alloc" not in kernel.ir("bufferized") and lhkit.verify(kernel).ok


CARRIED = """func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = tensor.dim %x, %zero : tensor<?x4xf32>
  %empty = tensor.empty(%rows) : tensor<?x4xf32>
  %result = scf.for %i = %zero to %rows step %one iter_args(%kept = %empty) -> (tensor<?x4xf32>) {
    %whole = linalg.exp ins(%x : tensor<?x4xf32>) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
    %extent = tensor.dim %whole, %zero : tensor<?x4xf32>
    %at = arith.minui %i, %extent : index
    %given = tensor.extract_slice %x[%at, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
    %place = tensor.extract_slice %kept[%i, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
    %row = linalg.negf ins(%given : tensor<1x4xf32>) outs(%place : tensor<1x4xf32>) -> tensor<1x4xf32>
    %next = tensor.insert_slice %row into %kept[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<?x4xf32>
    scf.yield %next : tensor<?x4xf32>
  }
  return %result : tensor<?x4xf32>
}"""


def test_what_a_loop_computes_whole_is_not_written_over_what_it_carries(worker):
    kernel = lhkit.compile(lhkit.load_payload(CARRIED, worker=worker), worker=worker)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(kernel(x), -x)
