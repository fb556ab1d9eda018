"""cpu.mlir: what follows products of more than two dimensions by elements is computed in their tiles."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lhkit
from tests.kernels.any_payloads import product

BIAS_AND_RELU = """
  %low = arith.constant 0.0 : f32
  %y = linalg.generic {{indexing_maps = [{map}, affine_map<({dims}) -> ({last})>, {map}], iterator_types = [{kinds}]}}
    ins(%r, %bias : {type}, tensor<{extent}xf32>) outs(%{init} : {type}) {{
  ^bb0(%x: f32, %z: f32, %o: f32):
    %s = arith.addf %x, %z : f32
    %m = arith.maximumf %s, %low : f32
    linalg.yield %m : f32
  }} -> {type}
  return %y : """


def with_bias_and_relu(spec, **how):
    """Return a payload that computes ``maximum(np.einsum(spec, a, b) + bias, 0)``, bias along the last dimension."""
    text = product(spec, **how)
    type_ = re.search(r"-> (tensor<\S+>) \{", text)[1]
    dims = [f"d{i}" for i in range(type_.count("x"))]
    after = BIAS_AND_RELU.format(
        map=f"affine_map<({', '.join(dims)}) -> ({', '.join(dims)})>",
        dims=", ".join(dims),
        last=dims[-1],
        kinds=", ".join(['"parallel"'] * len(dims)),
        type=type_,
        extent=type_.split("x")[-2].replace("tensor<", ""),
        init="start" if how.get("start") else "empty",
    )
    bias = f", %bias: tensor<{type_.split('x')[-2]}xf32>) -> {type_} {{"
    return text.replace(f") -> {type_} {{", bias, 1).replace("\n  return %r : ", after)


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


def loops_of_function(kernel):
    return len(re.findall(r"(?m)^    (?:%\S+ = )?scf\.for", kernel.ir("scheduled")))


@pytest.mark.parametrize("spec", ["bmk,bkn->bmn", "bmk,bnk->bmn", "bhmd,bhnd->bhmn", "bkm,bkn->bnm"])
@pytest.mark.parametrize("start", [False, True], ids=["from zero", "from a start"])
def test_a_batch_and_what_follows_it_are_one_loop(spec, start, schedule):
    kernel = lhkit.compile(lhkit.load_payload(with_bias_and_relu(spec, start=start)), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert "linalg." not in scheduled
    assert loops_of_function(kernel) == 1


@pytest.mark.parametrize(
    ("spec", "dynamic"),
    [("bmk,bnk->bmn", "b"), ("bmk,bnk->bmn", "bmnk"), ("bhmd,bhnd->bhmn", "bhmn"), ("bmk,bkn->nbm", "")],
)
def test_other_batches_and_what_follows_them_are_right(spec, dynamic, schedule):
    payload = lhkit.load_payload(with_bias_and_relu(spec, dynamic=dynamic))
    assert lhkit.verify(lhkit.compile(payload, schedule)).ok


@pytest.mark.parametrize("spec", ["amk,kn->amn", "abmk,nk->abmn"])
@pytest.mark.parametrize("start", [False, True], ids=["from zero", "from a start"])
def test_rows_of_several_dimensions_and_what_follows_them_are_one_loop(spec, start, schedule):
    bare = lhkit.compile(lhkit.load_payload(product(spec, start=start)), schedule)
    kernel = lhkit.compile(lhkit.load_payload(with_bias_and_relu(spec, start=start)), schedule)
    assert lhkit.verify(kernel).ok
    assert loops_of_function(kernel) == loops_of_function(bare)


@pytest.mark.parametrize(
    ("spec", "dynamic"),
    [("amk,kn->amn", "amnk"), ("amk,kn->amn", "n"), ("mk,kna->mna", ""), ("amk,kn->man", "")],
)
def test_other_rows_and_columns_and_what_follows_them_are_right(spec, dynamic, schedule):
    payload = lhkit.load_payload(with_bias_and_relu(spec, dynamic=dynamic))
    assert lhkit.verify(lhkit.compile(payload, schedule)).ok


ON_MEMREFS = """func.func @f(%a: memref<3x9x20xf32>, %b: memref<3x20x33xf32>, %c: memref<3x9x33xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<3x9x20xf32>, memref<3x20x33xf32>) outs(%c : memref<3x9x33xf32>)
  linalg.exp ins(%c : memref<3x9x33xf32>) outs(%c : memref<3x9x33xf32>)
  return
}"""


def test_batches_on_memrefs_are_left_alone(schedule):
    assert lhkit.verify(lhkit.compile(lhkit.load_payload(ON_MEMREFS), schedule)).ok


def test_quantized_convolutions_are_taken(worker):
    """Zero points are subtracted in the body, so that it is no contraction of its operands."""
    payload = lhkit.load_payload(
        """func.func @conv(%image: tensor<1x6x7x5xi8>, %filter: tensor<3x3x5x9xi8>, %a: i32, %b: i32)
    -> tensor<1x4x5x9xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x4x5x9xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x4x5x9xi32>) -> tensor<1x4x5x9xi32>
  %sum = linalg.conv_2d_nhwc_hwcf_q
    ins(%image, %filter, %a, %b : tensor<1x6x7x5xi8>, tensor<3x3x5x9xi8>, i32, i32)
    outs(%fill : tensor<1x4x5x9xi32>) -> tensor<1x4x5x9xi32>
  return %sum : tensor<1x4x5x9xi32>
}""",
        worker=worker,
    )
    kernel = lhkit.compile(payload, "cpu.mlir", worker=worker)
    rng = np.random.default_rng(0)
    image, filter_ = (rng.integers(-128, 128, shape, np.int8) for shape in ((1, 6, 7, 5), (3, 3, 5, 9)))
    a, b = np.int32(3), np.int32(-7)
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int32) - a, (3, 3), axis=(1, 2))
    expected = np.einsum("nhwcij,ijcf->nhwf", windows, filter_.astype(np.int32) - b)
    np.testing.assert_array_equal(kernel(image, filter_, a, b), expected)
