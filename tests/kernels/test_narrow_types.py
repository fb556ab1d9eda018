"""Elements of four and eight bits: arrays of ml_dtypes in and out, moved and, for i4, computed with."""

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.model.errors import PayloadError

FLOATS = {
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
ALL_I4 = np.arange(-8, 8, dtype=np.int32).repeat(16)
OTHERS = np.tile(np.arange(-8, 8, dtype=np.int32), 16)
VECTORIZED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %t : !transform.any_op
    transform.yield
  }
}"""


def compiled(text, schedule=None):
    payload = lhkit.load_payload(text)
    return lhkit.compile(payload, lhkit.load_schedule(schedule) if schedule else None, function="f")


def generic(operands, result, body):
    """A payload with one elementwise op on arguments of 256 elements."""
    names = [f"%a{i}" for i in range(len(operands))]
    tensors = [f"tensor<256x{t}>" for t in operands]
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (len(operands) + 1))
    inputs = ", ".join(f"%x{i}: {t}" for i, t in enumerate(operands))
    return f"""func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, tensors, strict=True))}) -> tensor<256x{result}> {{
  %e = tensor.empty() : tensor<256x{result}>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({", ".join(names)} : {", ".join(tensors)}) outs(%e : tensor<256x{result}>) {{
  ^bb0({inputs}, %y: {result}):
    {body}
    linalg.yield %z : {result}
  }} -> tensor<256x{result}>
  return %r : tensor<256x{result}>
}}"""


@pytest.mark.parametrize("schedule", [None, VECTORIZED])
@pytest.mark.parametrize(
    ("operands", "result", "body", "expected"),
    [
        (["i4"], "i32", "%z = arith.extsi %x0 : i4 to i32", ALL_I4),
        (["i4"], "i32", "%z = arith.extui %x0 : i4 to i32", ALL_I4 & 15),
        (["i32"], "i4", "%z = arith.trunci %x0 : i32 to i4", ALL_I4),
        (["i4", "i4"], "i4", "%z = arith.addi %x0, %x1 : i4", (ALL_I4 + OTHERS + 8) % 16 - 8),
        (["i4", "i4"], "i4", "%z = arith.maxsi %x0, %x1 : i4", np.maximum(ALL_I4, OTHERS)),
    ],
)
def test_i4_of_every_value_as_scalars_and_in_vectors(operands, result, body, expected, schedule):
    kernel = compiled(generic(operands, result, body), schedule)
    given = [
        values.astype(ml_dtypes.int4) if type_ == "i4" else values
        for values, type_ in zip((ALL_I4, OTHERS), operands, strict=False)
    ]
    found = kernel(*given)
    assert found.dtype == (ml_dtypes.int4 if result == "i4" else np.int32)
    np.testing.assert_array_equal(found.astype(np.int32), expected)
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("element", FLOATS)
def test_f8_is_moved_and_keeps_every_bit(element):
    kernel = compiled(f"""func.func @f(%a: tensor<16x16x{element}>) -> (tensor<16x16x{element}>, tensor<258x{element}>) {{
  %c = arith.constant 2.0 : {element}
  %e = tensor.empty() : tensor<16x16x{element}>
  %t = linalg.transpose ins(%a : tensor<16x16x{element}>) outs(%e : tensor<16x16x{element}>) permutation = [1, 0]
  %f = tensor.collapse_shape %a [[0, 1]] : tensor<16x16x{element}> into tensor<256x{element}>
  %p = tensor.pad %f low[1] high[1] {{
  ^bb0(%i: index):
    tensor.yield %c : {element}
  }} : tensor<256x{element}> to tensor<258x{element}>
  return %t, %p : tensor<16x16x{element}>, tensor<258x{element}>
}}""")
    bits = np.arange(256, dtype=np.uint8)
    transposed, padded = kernel(bits.view(FLOATS[element]).reshape(16, 16))
    assert transposed.dtype == FLOATS[element]
    np.testing.assert_array_equal(transposed.view(np.uint8), bits.reshape(16, 16).T)
    np.testing.assert_array_equal(padded.view(np.uint8)[1:-1], bits)
    assert padded[0] == padded[-1] == np.array(2.0).astype(FLOATS[element])
    assert lhkit.verify(kernel).ok


def test_bf16_padding():
    kernel = compiled("""func.func @f(%a: tensor<3xbf16>) -> tensor<8xbf16> {
  %c = arith.constant -1.5 : bf16
  %p = tensor.pad %a low[1] high[4] {
  ^bb0(%i: index):
    tensor.yield %c : bf16
  } : tensor<3xbf16> to tensor<8xbf16>
  return %p : tensor<8xbf16>
}""")
    found = kernel(np.array([1, 2, 3]).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(found.astype(np.float32), [-1.5, 1, 2, 3, -1.5, -1.5, -1.5, -1.5])


@pytest.mark.parametrize(
    ("operands", "result", "body", "op"),
    [
        (["f8E4M3FN"], "f32", "%z = arith.extf %x0 : f8E4M3FN to f32", "arith.extf"),
        (["f32"], "f8E5M2", "%z = arith.truncf %x0 : f32 to f8E5M2", "arith.truncf"),
        (["f8E5M2", "f8E5M2"], "f8E5M2", "%z = arith.addf %x0, %x1 : f8E5M2", "arith.addf"),
    ],
)
def test_arithmetic_on_f8_is_refused_with_op_type_and_advice(operands, result, body, op):
    with pytest.raises(PayloadError) as caught:
        compiled(generic(operands, result, body))
    failure = caught.value.failure
    narrow = next(t for t in (*operands, result) if t.startswith("f8"))
    assert failure.kind == "lowering" and failure.stage == "lower"
    assert f"{op}: no lowering for this op on {narrow}; convert in NumPy" in str(caught.value)
    assert failure.span.line == 6


@pytest.mark.parametrize("type_", ["i4", "f8E5M2"])
def test_narrow_scalars_are_refused(type_):
    with pytest.raises(PayloadError, match=f"passed as an element of an array only; take tensor<{type_}>"):
        compiled(f"func.func @f(%x: {type_}) {{\n  return }}")
