"""Integer arguments that a payload uses as indices: generated ones are within the extents."""

import numpy as np
import pytest

import lhkit
from lhkit.load.random_inputs import default_arguments, generate_arguments

GATHER = """func.func @f(%t: tensor<{rows}x3xf32>, %i: tensor<40x{type}>) -> tensor<40x3xf32> {{
  %e = tensor.empty() : tensor<40x3xf32>
  %n = arith.constant 0 : {type}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%i : tensor<40x{type}>) outs(%e : tensor<40x3xf32>) {{
  ^bb0(%x: {type}, %y: f32):
    %ok = arith.cmpi sge, %x, %n : {type}
    cf.assert %ok, "negative index"
    %k = arith.index_cast %x : {type} to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%k, %j] : tensor<{rows}x3xf32>
    linalg.yield %v : f32
  }} -> tensor<40x3xf32>
  return %r : tensor<40x3xf32>
}}
"""
OTHERS = {
    "extracted": """func.func @f(%t: tensor<5xf32>, %i: tensor<40xi64>, %at: index) -> f32 {
  %x = tensor.extract %i[%at] : tensor<40xi64>
  %k = arith.index_cast %x : i64 to index
  %v = tensor.extract %t[%k] : tensor<5xf32>
  return %v : f32
}""",
    "reshaped": """func.func @f(%t: tensor<5xf32>, %i: tensor<8x5xi64>, %at: index) -> f32 {
  %flat = tensor.collapse_shape %i [[0, 1]] : tensor<8x5xi64> into tensor<40xi64>
  %x = tensor.extract %flat[%at] : tensor<40xi64>
  %k = arith.index_cast %x : i64 to index
  %v = tensor.extract %t[%k] : tensor<5xf32>
  return %v : f32
}""",
    "stored": """func.func @f(%t: memref<5xf32>, %i: memref<40xi64>, %at: index) {
  %x = memref.load %i[%at] : memref<40xi64>
  %k = arith.index_cast %x : i64 to index
  %c = arith.constant 1.0 : f32
  memref.store %c, %t[%k] : memref<5xf32>
  return
}""",
}


@pytest.mark.parametrize(("type_", "dtype"), [("i64", "int64"), ("i32", "int32"), ("i8", "int8")])
@pytest.mark.parametrize("rows", [1, 5, 50000])
def test_a_gather_verifies_on_its_default_inputs(rows, type_, dtype):
    payload = lhkit.load_payload(GATHER.format(rows=rows, type=type_))
    table, indices = generate_arguments(payload.function())
    assert indices.dtype == dtype
    assert indices.min() >= 0 and indices.max() < rows
    assert len(set(indices.tolist())) >= min(rows, 5)
    kernel = lhkit.compile(payload)
    np.testing.assert_array_equal(kernel(table, indices), table[indices.astype(int)])
    assert lhkit.verify(kernel).ok


def test_indices_into_what_is_dynamic_are_small():
    payload = lhkit.load_payload(GATHER.format(rows="?", type="i64"))
    function = payload.function()
    assert function.indices == ((1, None),)
    assert set(default_arguments(payload, function)[1].tolist()) == set(range(8))
    assert generate_arguments(function, extent=3)[1].max() == 2
    assert generate_arguments(function, extent=0)[1].max() == 0


@pytest.mark.parametrize("name", OTHERS)
def test_indices_are_followed_through(name):
    function = lhkit.load_payload(OTHERS[name]).function()
    limits = dict(function.indices)
    assert limits[1] == 5
    assert limits[2] in (8, 40)
    indices = generate_arguments(function)[1]
    assert indices.min() >= 0 and indices.max() < 5


def test_integers_that_index_nothing_stay_negative():
    function = lhkit.load_payload("""func.func @f(%a: tensor<40xi64>, %t: tensor<5xf32>, %i: index) -> f32 {
  %v = tensor.extract %t[%i] : tensor<5xf32>
  return %v : f32
}""").function()
    assert function.indices == ((2, 5),)
    assert generate_arguments(function)[0].min() < 0
