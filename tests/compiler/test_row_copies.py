"""Rows that are copied or filled in vectors: which loops change, and that values stay right at odd lengths."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.lowering.row_copies import vectorize_row_copies

LOOP = """func.func @rows({arguments}) attributes {{written_apart = array<i64{apart}>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {extent} : index
  %zero = arith.constant 0.0 : f32
  %new = memref.alloc() : memref<4x{extent}xf32>
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }}
  return
}}"""
SOURCE = "%x: memref<4x100xf32>, %y: memref<4x100xf32>, %k: index"
COPY = """%v = memref.load %x[%k, %i] : memref<4x100xf32>
    memref.store %v, %new[%k, %i] : memref<4x{extent}xf32>"""


def vectors(body, extent=37, apart=""):
    of_extent = body.format(extent=extent)
    with new_context():
        module = ir.Module.parse(LOOP.format(arguments=SOURCE, extent=extent, body=of_extent, apart=apart))
        vectorize_row_copies(module)
        assert module.operation.verify()
        text = str(module)
    return [int(line.split("vector<")[1].split("x")[0]) for line in text.splitlines() if "vector.store" in line]


@pytest.mark.parametrize(
    ("extent", "widths"), [(3, []), (4, [4]), (16, [16]), (37, [16, 4]), (63, [16, 8, 4, 2])]
)
def test_rows_are_copied_in_ever_smaller_vectors(extent, widths):
    assert vectors(COPY, extent) == widths


@pytest.mark.parametrize(
    "body",
    [
        "memref.store %zero, %x[%k, %i] : memref<4x100xf32>",
        """%j = arith.addi %k, %i : index
    %v = memref.load %x[%k, %j] : memref<4x100xf32>
    memref.store %v, %new[%c0, %i] : memref<4x{extent}xf32>""",
    ],
    ids=["fill", "from elsewhere"],
)
def test_other_rows_in_vectors(body):
    assert vectors(body) == [16, 4]


def test_a_row_of_another_argument_is_copied_where_arguments_have_to_be_apart():
    to_y = COPY.replace("%new[%k, %i] : memref<4x{extent}xf32>", "%y[%k, %i] : memref<4x100xf32>")
    assert vectors(to_y) == []
    assert vectors(to_y, apart=": 1") == [16, 4]
    within_x = to_y.replace("%y[%k", "%x[%c0")
    assert vectors(within_x, apart=": 0, 1") == []


@pytest.mark.parametrize(
    "body",
    [
        """%v = memref.load %x[%k, %i] : memref<4x100xf32>
    memref.store %v, %y[%k, %i] : memref<4x100xf32>""",
        """%v = memref.load %x[%i, %k] : memref<4x100xf32>
    memref.store %v, %new[%k, %i] : memref<4x{extent}xf32>""",
        """%j = arith.addi %i, %i : index
    %v = memref.load %x[%k, %j] : memref<4x100xf32>
    memref.store %v, %new[%k, %i] : memref<4x{extent}xf32>""",
        """%v = memref.load %x[%k, %i] : memref<4x100xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %new[%k, %i] : memref<4x{extent}xf32>""",
        """%v = memref.load %x[%k, %i] : memref<4x100xf32>
    memref.store %v, %new[%i, %k] : memref<4x{extent}xf32>""",
    ],
    ids=["arguments may overlap", "down a column", "every other", "computes", "to a column"],
)
def test_what_is_no_copy_of_a_row_stays(body):
    assert vectors(body) == []


DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "f64": np.float64}


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("columns", [1, 5, 31, 64, 129, "?"])
def test_padded_values_stay_right(element, columns):
    zero = "0.0" if "f" in element else "7"
    wide = "?" if columns == "?" else columns + 5
    text = f"""func.func @pad(%x: tensor<3x{columns}x{element}>) -> tensor<4x{wide}x{element}> {{
  %z = arith.constant {zero} : {element}
  %p = tensor.pad %x low[1, 2] high[0, 3] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %z : {element}
  }} : tensor<3x{columns}x{element}> to tensor<4x{wide}x{element}>
  return %p : tensor<4x{wide}x{element}>
}}"""
    kernel = lhkit.compile(lhkit.load_payload(text))
    x = np.arange(3 * (23 if columns == "?" else columns)).reshape(3, -1).astype(DTYPES[element])
    wanted = np.pad(x.astype(np.float64), ((1, 0), (2, 3)), constant_values=float(zero))
    np.testing.assert_array_equal(kernel(x).astype(np.float64), wanted)


def test_a_row_of_bf16_is_copied_to_others_in_vectors():
    text = """func.func @rows(%x: memref<256xbf16>, %y: memref<40x256xbf16>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%x : memref<256xbf16>) outs(%y : memref<40x256xbf16>) {
  ^bb0(%v: bf16, %old: bf16):
    linalg.yield %v : bf16
  }
  return
}"""
    kernel = lhkit.compile(lhkit.load_payload(text), "cpu.mlir", target="avx2")
    assert not re.findall(r"movz?x? .* word ptr", str(kernel.assembly()))
    x = np.arange(256).astype(ml_dtypes.bfloat16)
    y = np.zeros((40, 256), ml_dtypes.bfloat16)
    kernel(x, y)
    np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))
