"""StableHLO, as JAX prints it, as a payload: linalg on tensors with the same numbers, or the op that has no way there."""

import math

import numpy as np
import pytest

import lhkit
from lhkit.compiler.ir.bindings import host_module, ir, passmanager
from lhkit.model.errors import PayloadError

X = np.random.default_rng(4).standard_normal((8, 12)).astype(np.float32)
LAYER = """module @jit_layer attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<8x12xf32>, %w: tensor<12x20xf32>, %b: tensor<20xf32>)
      -> (tensor<8x20xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]
      : (tensor<8x12xf32>, tensor<12x20xf32>) -> tensor<8x20xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<20xf32>) -> tensor<8x20xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x20xf32>
    %3 = call @relu(%2) : (tensor<8x20xf32>) -> tensor<8x20xf32>
    %4 = chlo.erf %3 : tensor<8x20xf32> -> tensor<8x20xf32>
    return %4 : tensor<8x20xf32>
  }
  func.func private @relu(%x: tensor<8x20xf32>) -> tensor<8x20xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x20xf32>
    %1 = stablehlo.maximum %x, %0 : tensor<8x20xf32>
    return %1 : tensor<8x20xf32>
  }
}
"""
SOFTMAX = """func.func public @main(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x12xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> tensor<8x12xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<8x12xf32>
  %3 = stablehlo.exponential %2 : tensor<8x12xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<8x12xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x12xf32>
  %6 = stablehlo.divide %3, %5 : tensor<8x12xf32>
  return %6 : tensor<8x12xf32>
}
"""
POOL = """func.func public @main(%x: tensor<8x12xf32>) -> tensor<4x6xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{
    window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x12xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
"""
SORTED = """func.func public @main(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8x12xf32>) -> tensor<8x12xf32>
  return %0 : tensor<8x12xf32>
}
"""


def erf_of_layer(x, w, b):
    return np.vectorize(math.erf)(np.maximum(x @ w + b, 0))


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("schedule", [None, "cpu.mlir"])
@pytest.mark.parametrize(
    ("text", "function"),
    [
        (LAYER, erf_of_layer),
        (SOFTMAX, softmax),
        (POOL, lambda x: x.reshape(4, 2, 6, 2).max((1, 3))),
    ],
    ids=["layer", "softmax", "pool"],
)
def test_a_program_gives_the_numbers_of_numpy(text, function, schedule):
    payload = lhkit.load_payload(text)
    shapes = [t.shape for t in payload.function().arguments]
    given = [np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(shapes)]
    result = lhkit.compile(payload, schedule)(*given)
    assert np.allclose(result, function(*given), atol=1e-6)


def test_the_payload_is_linalg_with_its_calls_inlined_and_has_parts():
    payload = lhkit.load_payload(LAYER)
    assert "stablehlo." not in payload.text and "linalg.matmul" in payload.text
    assert [f.name for f in payload.functions] == ["main"]
    assert [part.kind for part in payload.parts()] == ["contraction"]


def test_bytecode_is_converted_too(tmp_path):
    with ir.Context() as context, ir.Location.unknown():
        host_module("dialects.torch").register_dialect(context)
        loads = "builtin.module(func.func(convert-torch-to-stablehlo))"
        passmanager.PassManager.parse(loads).run(ir.Module.create().operation)
        with (tmp_path / "softmax.mlirbc").open("wb") as file:
            ir.Module.parse(SOFTMAX).operation.write_bytecode(file)
    kernel = lhkit.compile(tmp_path / "softmax.mlirbc", "cpu.mlir")
    assert np.allclose(kernel(X), softmax(X), atol=1e-6)


def test_an_op_without_a_conversion_is_said_with_its_place(tmp_path):
    file = tmp_path / "sorted.mlir"
    file.write_text(SORTED, encoding="utf-8")
    with pytest.raises(PayloadError) as caught:
        lhkit.load_payload(file)
    message = str(caught.value)
    assert "cannot be converted from StableHLO" in message
    assert f"{file}:2:8: error: stablehlo.sort has no conversion to linalg" in message


def test_a_mistake_in_a_program_is_said_as_in_any_other():
    with pytest.raises(PayloadError, match=r"<payload>:12:8"):
        lhkit.load_payload(SOFTMAX.replace("stablehlo.divide", "stablehlo.divine"))


def test_a_payload_that_only_mentions_it_stays_as_its_author_wrote_it():
    text = "// Made from stablehlo.add.\nfunc.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
    assert lhkit.load_payload(text).text == text
