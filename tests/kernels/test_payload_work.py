import dataclasses

import pytest

import lhkit
from lhkit.kernels.verification import payload_work
from lhkit.model.measurement import Work

F32 = 2.0**-23
DYNAMIC = """func.func @f(%x: tensor<?x4xf32>, %s: f32) -> tensor<?x4xf32> {
  %r = arith.addf %x, %x : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul.mlir", Work(2 * 512**3, 4 * 3 * 512**2, F32 * 512**0.5)),
        ("fc_relu.mlir", Work(2 * 512**3 + 2 * 512**2, 4 * 4 * 512**2, F32 * 512**0.5)),
        ("elementwise_chain.mlir", Work(3 * 1024**2, 4 * 4 * 1024**2, F32)),
        ("row_sum.mlir", Work(1024**2, 4 * (1024**2 + 1024), F32 * 32)),
    ],
)
def test_shipped_payloads(name, expected):
    assert payload_work(lhkit.load_payload(name)) == expected


def test_shapes_fill_in_dynamic_extents():
    payload = lhkit.load_payload(DYNAMIC)
    assert payload_work(payload) == Work(None, None, F32)
    assert payload_work(payload, "f", [(3, 4), ()]) == Work(12, 96, F32)


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


# Values of f32 that are rounded to another type on their way to a result of f32.
BETWEEN = """func.func @f(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %e = tensor.empty() : tensor<64x48xbf16>
  %r = tensor.empty() : tensor<64x48xf32>
  %narrow = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x48xf32>) outs(%e : tensor<64x48xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %t = arith.truncf %a : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x48xbf16>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%narrow : tensor<64x48xbf16>) outs(%r : tensor<64x48xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %t = arith.extf %a : bf16 to f32
    %p = arith.mulf %t, %t : f32
    linalg.yield %p : f32
  } -> tensor<64x48xf32>
  return %wide : tensor<64x48xf32>
}"""
# Operands and result of bf16, added up in f32.
ENDS = """func.func @f(%x: tensor<9x512xbf16>, %y: tensor<512x7xbf16>) -> tensor<9x7xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x7xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<9x7xf32>) -> tensor<9x7xf32>
  %sum = linalg.matmul ins(%x, %y : tensor<9x512xbf16>, tensor<512x7xbf16>) outs(%start : tensor<9x7xf32>)
    -> tensor<9x7xf32>
  %r = arith.truncf %sum : tensor<9x7xf32> to tensor<9x7xbf16>
  return %r : tensor<9x7xbf16>
}"""
REFERENCES = """import ml_dtypes
import numpy as np

def unrounded(x):
    return x * x

def off_by_a_tenth(x):
    return 1.1 * x * x

def product(x, y):
    return (x.astype(np.float32) @ y.astype(np.float32)).astype(ml_dtypes.bfloat16)

def off_by_a_fifth(x, y):
    return (1.2 * (x.astype(np.float32) @ y.astype(np.float32))).astype(ml_dtypes.bfloat16)
"""


@pytest.mark.parametrize(
    ("text", "rounding"),
    [
        (BETWEEN, 2.0**-7),
        (BETWEEN.replace("bf16", "f16"), 2.0**-10),
        (BETWEEN.replace("bf16", "f8E5M2"), 2.0**-2),
        (BETWEEN.replace("arith.truncf %a : f32 to bf16", "arith.constant 1.0 : bf16"), 2.0**-23),  # exact
        (ENDS, 2.0**-7),
        (ENDS.replace("bf16", "f16"), 2.0**-10),
        (
            ENDS.replace("f32", "bf16")
            .replace("arith.truncf", "arith.negf")
            .replace(" to tensor<9x7xbf16>", ""),
            2.0**-7 * 512**0.5,
        ),
    ],
)
def test_rounding_follows_the_narrowest_type_and_the_type_of_sums(text, rounding):
    assert payload_work(lhkit.load_payload(text)).rounding == pytest.approx(rounding)


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        (BETWEEN, "unrounded", True),
        (BETWEEN, "off_by_a_tenth", False),
        (ENDS, "product", True),
        (ENDS, "off_by_a_fifth", False),
    ],
)
def test_verdicts_allow_what_rounding_on_the_way_changes(text, reference, is_right, tmp_path):
    (tmp_path / "references.py").write_text(REFERENCES)
    payload = lhkit.load_payload(text)
    payload = dataclasses.replace(payload, reference=f"{tmp_path / 'references.py'}:{reference}")
    assert lhkit.verify(lhkit.compile(payload)).ok is is_right
