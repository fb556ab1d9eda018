"""schedules/conv2d.mlir: right for every class of shapes, and vector code where it says so."""

import re
import shutil

import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import verify
from lhkit.load.loader import load_schedule
from lhkit.load.random_inputs import generate_arguments
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.target import VECTORS

# Images, height, width, channels, filters, window, stride.
SHAPES = {
    "whole tiles": (1, 2, 14, 8, 64, 3, 1),
    "ends in all directions": (2, 3, 9, 70, 41, 3, 1),
    "more than a strip of filters": (1, 2, 3, 5, 530, 2, 1),
    "below the tile": (1, 3, 4, 3, 5, 3, 1),
    "one channel": (1, 4, 8, 1, 17, 3, 1),
    "one filter": (2, 3, 8, 6, 1, 3, 1),
    "one pixel a row": (1, 5, 1, 3, 20, 3, 1),
    "windows of one pixel": (1, 3, 9, 12, 34, 1, 1),
    "1 throughout": (1, 1, 1, 1, 1, 1, 1),
    "a stride of 2": (1, 2, 14, 20, 32, 3, 2),
    "a stride of 2, ends in all directions": (2, 3, 12, 5, 41, 3, 2),
    "a stride of 2, one channel": (1, 2, 3, 1, 7, 3, 2),
    "a stride of 2, windows of one pixel": (1, 2, 7, 6, 16, 1, 2),
    "a stride of 2, one pixel a row": (1, 3, 1, 4, 9, 3, 2),
}
DYNAMIC = """
func.func @convolve(%image: tensor<?x?x?x?xf32>, %filter: tensor<?x?x?x?xf32>, %out: tensor<?x?x?x?xf32>)
    -> tensor<?x?x?x?xf32> {{
  %result = linalg.conv_2d_nhwc_hwcf
    {{dilations = dense<{dilation}> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
    ins(%image, %filter : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
    outs(%out : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %result : tensor<?x?x?x?xf32>
}}
"""
DILATED = """
func.func @convolve(%image: tensor<1x8x13x6xf32>, %filter: tensor<3x3x6x20xf32>) -> tensor<1x4x9x20xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4x9x20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4x9x20xf32>) -> tensor<1x4x9x20xf32>
  %result = linalg.conv_2d_nhwc_hwcf
    {dilations = dense<2> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x8x13x6xf32>, tensor<3x3x6x20xf32>)
    outs(%init : tensor<1x4x9x20xf32>) -> tensor<1x4x9x20xf32>
  return %result : tensor<1x4x9x20xf32>
}
"""


@pytest.fixture(scope="module")
def family(worker):
    return load_schedule("conv2d.mlir", worker=worker, target="avx512")


def payload_of(shape):
    *extents, stride = shape
    return lhkit.payloads.conv2d_nhwc(*extents, stride=stride)


def convolved(image, filters, stride, dilation, shape):
    """Return the convolution, written out another way than the shipped reference."""
    out = np.zeros(shape, np.float64)
    for y, x in np.ndindex(*shape[1:3]):
        window = image[
            :,
            y * stride : y * stride + (filters.shape[0] - 1) * dilation + 1 : dilation,
            x * stride : x * stride + (filters.shape[1] - 1) * dilation + 1 : dilation,
        ]
        out[:, y, x] = np.tensordot(window.astype(np.float64), filters, 3)
    return out


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_class_of_shapes(shape, family, worker):
    kernel = lhkit.compile(payload_of(shape), family, worker=worker)
    assert verify(kernel).ok


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_dynamic_shapes_added_to_what_is_there(stride, dilation, family, worker):
    payload = lhkit.load_payload(DYNAMIC.format(stride=stride, dilation=dilation))
    kernel = lhkit.compile(payload, family, worker=worker)
    numbers = np.random.default_rng(stride)
    for n, h, w, c, f, k in [(1, 1, 1, 1, 1, 1), (2, 3, 9, 5, 33, 3), (1, 2, 7, 66, 16, 2)]:
        reach = (k - 1) * dilation + 1
        image = numbers.random((n, (h - 1) * stride + reach, (w - 1) * stride + reach, c), dtype=np.float32)
        filters, out = (numbers.random(s, dtype=np.float32) for s in ((k, k, c, f), (n, h, w, f)))
        expected = out + convolved(image, filters, stride, dilation, out.shape)
        np.testing.assert_allclose(kernel(image, filters, out), expected, rtol=1e-4)


def test_dilated_windows(family, worker):
    kernel = lhkit.compile(lhkit.load_payload(DILATED), family, worker=worker)
    image, filters = generate_arguments(kernel.function, 0)
    expected = convolved(image, filters, 1, 2, (1, 4, 9, 20))
    np.testing.assert_allclose(kernel(image, filters), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("stride", [1, 2])
def test_knobs_of_other_machines(target, stride, worker):
    schedule = load_schedule("conv2d.mlir", worker=worker, target=target)
    kernel = lhkit.compile(payload_of((1, 3, 13, 9, 75, 3, stride)), schedule, {"strip_f": 64}, worker=worker)
    assert verify(kernel).ok


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("stride", [1, 2])
def test_nothing_scalar_is_left(stride, target, worker):
    family = load_schedule("conv2d.mlir", target=target, worker=worker)
    kernel = lhkit.compile(payload_of((1, 2, 16, 70, 41, 3, stride)), family, worker=worker)
    scheduled, buffers = kernel.ir("scheduled"), kernel.ir("bufferized")
    assert len(re.findall(r"vector\.fma|arith\.mulf .*fastmath<contract> : vector", scheduled)) >= 28
    assert not re.findall(r"linalg\.\w+|vector\.contract|vector\.outerproduct|vector\.multi_reduc", scheduled)
    assert not re.findall(r"memref\.store .*|linalg\.\w+", buffers)
    sizes = [
        np.prod([int(n) for n in found.split("x")]) for found in re.findall(r"vector<([\dx]+)xf32>", scheduled)
    ]
    assert max(sizes) <= max(family.values["tile_w"] * family.values["tile_f"], family.values["strip_f"])


def test_a_lost_contraction_is_refused(tmp_path, worker):
    shutil.copytree(shipped_folder("schedules") / "parts", tmp_path / "parts")
    schedule = tmp_path / "conv2d.mlir"
    shutil.copy(shipped_folder("schedules") / "conv2d.mlir", schedule)
    part = tmp_path / "parts" / "images.mlir"
    text = part.read_text()
    # What loses it: canonicalization of a reduction of length 1 that is no contraction yet.
    vectorize = "transform.structured.vectorize %all {create_named_contraction} : !transform.any_op"
    too_early = "transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()"
    assert vectorize in text
    part.write_text(
        text.replace(vectorize, f"transform.structured.vectorize %all : !transform.any_op {too_early}")
    )
    with pytest.raises(lhkit.LhkitError, match="cmpi"):
        lhkit.compile(payload_of((1, 2, 7, 8, 32, 3, 1)), schedule, worker=worker)
