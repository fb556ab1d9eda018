import math

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import compare_results
from lhkit.model.errors import UsageError


def compare(result, expected, rounding=0.0):
    return compare_results([np.asarray(result)], [np.asarray(expected)], rounding=rounding, against="test")


def test_equal_results_are_right():
    verdict = compare(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3))
    assert (verdict.ok, verdict.max_abs_error, verdict.difference) == (True, 0.0, None)


def test_no_results_are_right():
    verdict = compare_results([], [], rounding=0.0, against="test")
    assert verdict.ok


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.complex64])
def test_tolerance_follows_the_type_and_what_rounding_may_change(dtype):
    epsilon = {2: 2.0**-7 if dtype is ml_dtypes.bfloat16 else 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}
    eps = 2.0**-23 if dtype is np.complex64 else epsilon[np.dtype(dtype).itemsize]
    expected = np.ones(9, dtype)
    off = expected.copy()
    off[4] = 1 + 20 * eps
    assert not compare(off, expected).ok
    verdict = compare(off, expected, rounding=3 * eps)
    assert verdict.ok
    assert verdict.max_abs_error == pytest.approx(20 * eps, rel=1e-3)
    assert verdict.tolerance == pytest.approx(8 * eps * 3, rel=1e-6)


def test_small_values_are_not_waved_through():
    expected = np.full(4, 1e-8, np.float32)
    assert not compare(np.zeros(4, np.float32), expected).ok


def test_one_large_value_does_not_excuse_the_others():
    expected = np.array([1, 1, 1, 1e9], np.float32)
    assert not compare(np.array([1, 2, 1, 1e9], np.float32), expected).ok


def test_sums_that_cancel_are_measured_by_the_others():
    expected = np.array([1.0, 1e-9, 1.5], np.float32)
    assert compare(np.array([1.0, 2e-7, 1.5], np.float32), expected, rounding=2.0**-22).ok


def test_nan_equals_nan_only():
    nan = math.nan
    assert compare(np.array([nan, 1.0]), np.array([nan, 1.0])).ok
    verdict = compare(np.array([1.0, nan]), np.array([1.0, 2.0]))
    assert not verdict.ok
    assert verdict.max_abs_error == math.inf
    assert "result 0 at [1] is nan, expected 2.0" in verdict.difference
    assert not compare(np.array([1.0, 2.0]), np.array([1.0, nan])).ok


def test_infinities_need_the_same_sign():
    inf = math.inf
    assert compare(np.array([inf, -inf, 1.0]), np.array([inf, -inf, 1.0])).ok
    assert not compare(np.array([inf]), np.array([-inf])).ok
    assert not compare(np.array([inf, 1.0]), np.array([1e308, 1.0])).ok
    assert not compare(np.array([1e30, 1.0]), np.array([inf, 1.0])).ok


def test_complex_nan_and_parts():
    assert compare(np.array([complex(math.nan, 1)]), np.array([complex(math.nan, 2)])).ok
    assert not compare(np.array([1 + 2j], np.complex64), np.array([1 - 2j], np.complex64)).ok


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32, np.uint64])
def test_integers_are_exact(dtype):
    expected = np.array([1, 0, 1], dtype)
    assert compare(expected.copy(), expected, rounding=1.0).ok
    verdict = compare(np.array([1, 1, 1], dtype), expected, rounding=1.0)
    assert not verdict.ok
    assert verdict.tolerance == 0.0
    assert verdict.max_abs_error == 1.0
    assert "exact; 1 of 3 elements differ" in verdict.difference


def test_large_integers_that_floats_cannot_tell_apart():
    verdict = compare(np.array([2**62 + 1]), np.array([2**62]))
    assert not verdict.ok
    assert verdict.max_abs_error == 1.0


def test_the_first_difference_is_named_with_both_values():
    expected = np.zeros((2, 3), np.float32) + 4
    result = expected.copy()
    result[1, 0], result[1, 2] = 5, 7
    verdict = compare(result, expected)
    start = "result 0 at [1, 0] is 5.0, expected 4.0 (tolerance "
    assert verdict.difference.startswith(start)
    assert verdict.difference.endswith("; 2 of 6 elements differ)")
    assert verdict.max_abs_error == 3.0
    assert verdict.tolerance == pytest.approx(8 * 2.0**-23 * 4)


def test_a_scalar_is_named_without_a_place():
    assert compare(np.float32(1), np.float32(2)).difference.startswith("result 0 is 1.0, expected 2.0")


def test_the_second_result_is_named():
    ones, twos = np.ones(2), np.full(2, 2.0)
    verdict = compare_results([ones, ones], [ones, twos], rounding=0.0, against="test")
    assert verdict.difference.startswith("result 1 at [0] is 1.0, expected 2.0")


def test_empty_arrays_are_right_if_their_shapes_are():
    assert compare(np.empty((0, 4)), np.empty((0, 4))).ok
    assert "shape (0, 4), expected (4, 0)" in compare(np.empty((0, 4)), np.empty((4, 0))).difference


def test_all_zero_expectations_allow_rounding():
    assert compare(np.full(3, 1e-7, np.float32), np.zeros(3, np.float32)).ok
    assert not compare(np.full(3, 1e-3, np.float32), np.zeros(3, np.float32)).ok


def test_a_wrong_number_of_results():
    verdict = compare_results([np.ones(1)], [], rounding=0.0, against="test")
    assert verdict.difference == "1 results, 0 expected"
    assert verdict.max_abs_error == math.inf


def test_what_is_no_kernel_is_said_to_be_none():
    payload = lhkit.load_payload("matmul.mlir")
    with pytest.raises(UsageError, match="a kernel is verified, not a Payload"):
        lhkit.verify(payload, lhkit.load_schedule("matmul.mlir"))


PEAKS = """func.func @peaks(%x: tensor<6x44xf32>) -> tensor<6xf32> {
  %start = arith.constant START : f32
  %empty = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%start : f32) outs(%empty : tensor<6xf32>) -> tensor<6xf32>
  %peaks = linalg.reduce { arith.COMBINER } ins(%x : tensor<6x44xf32>) outs(%init : tensor<6xf32>) dimensions = [1]
  return %peaks : tensor<6xf32>
}
"""
PADDED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %full, %pads, %back = transform.structured.pad %tiled {padding_values = [PADDING : f32, PADDING : f32], padding_dimensions = [1]} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


@pytest.mark.parametrize(
    ("combiner", "start", "words"),
    [("maximumf", "0xFF800000", "are not positive"), ("minimumf", "0x7F800000", "are not negative")],
)
def test_padding_that_hides_among_numbers_of_both_signs_is_found(combiner, start, words, worker):
    payload = lhkit.load_payload(PEAKS.replace("COMBINER", combiner).replace("START", start), worker=worker)

    def verified(padding):
        schedule = lhkit.load_schedule(PADDED.replace("PADDING", padding), worker=worker)
        return lhkit.verify(lhkit.compile(payload, schedule, worker=worker))

    assert verified(start).ok
    verdict = verified("0.0")
    assert not verdict.ok and words in verdict.difference


SUMS = """#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @sums(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %empty = tensor.empty(%m) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %sums = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%element: f32, %sum: f32):
    %power = math.exp %element : f32
    %next = arith.addf %sum, %power : f32
    linalg.yield %next : f32
  } -> tensor<?xf32>
  return %sums : tensor<?xf32>
}
"""
IN_FULL_TILES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %op = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %full, %pads, %back = transform.structured.pad %tile pad_to_multiple_of [4, 16] {padding_values = [PADDING : f32, 0.0 : f32], padding_dimensions = [0, 1], copy_back_op = "none"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_padding_of_ends_that_64_does_not_leave_is_found(worker):
    payload = lhkit.load_payload(SUMS, worker=worker)

    def verified(padding, arguments=None):
        schedule = lhkit.load_schedule(IN_FULL_TILES.replace("PADDING", padding), worker=worker)
        return lhkit.verify(lhkit.compile(payload, schedule, worker=worker), arguments)

    assert verified("0xFF800000").ok
    assert verified("0.0", [np.zeros((64, 64), np.float32)]).ok
    verdict = verified("0.0")
    assert not verdict.ok and verdict.difference.endswith(", where each ? is 61")
