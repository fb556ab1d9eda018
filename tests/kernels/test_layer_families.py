"""schedules/fc_relu.mlir and schedules/mlp.mlir: right for every class of shapes, fused, and vectors throughout."""

import itertools
import re

import numpy as np
import pytest

import lhkit
from lhkit.model.target import VECTORS

SHAPES = {
    "whole tiles": (18, 128, 48),
    "ends in all directions": (31, 101, 41),
    "whole panels": (18, 80, 520),
    "panels, with ends in all directions": (13, 85, 515),
    "a panel narrower than a vector": (14, 5, 514),
    "below the tile": (3, 5, 7),
    "below a vector": (14, 5, 50),
    "a vector wide": (24, 16, 48),
    "one row": (1, 83, 40),
    "one column": (29, 1, 37),
    "a reduction of 1": (20, 90, 1),
    "1 throughout": (1, 1, 1),
}
# The bias is a row, the product its second operand, and the epilogue has more than a bias.
ANOTHER_LAYER = """
func.func @layer(%x: tensor<20x40xf32>, %w: tensor<40x83xf32>, %b: tensor<83xf32>) -> tensor<20x83xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<20x83xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<20x83xf32>) -> tensor<20x83xf32>
  %product = linalg.matmul ins(%x, %w : tensor<20x40xf32>, tensor<40x83xf32>)
    outs(%init : tensor<20x83xf32>) -> tensor<20x83xf32>
  %bias = linalg.broadcast ins(%b : tensor<83xf32>) outs(%empty : tensor<20x83xf32>) dimensions = [0]
  %sum = linalg.add ins(%bias, %product : tensor<20x83xf32>, tensor<20x83xf32>)
    outs(%empty : tensor<20x83xf32>) -> tensor<20x83xf32>
  %squares = linalg.square ins(%sum : tensor<20x83xf32>) outs(%empty : tensor<20x83xf32>) -> tensor<20x83xf32>
  return %squares : tensor<20x83xf32>
}
"""


@pytest.fixture(scope="module")
def fc_relu(worker):
    return lhkit.load_schedule("fc_relu.mlir", worker=worker)


@pytest.fixture(scope="module")
def mlp(worker):
    return lhkit.load_schedule("mlp.mlir", worker=worker)


def dynamic_layer():
    """Return the layer with dynamic extents, and with no reference."""
    text = lhkit.payloads.fc_relu(901, 902, 903).text
    text = re.sub(r"tensor<90\dx90\dxf32>", "tensor<?x?xf32>", text)
    sizes = """{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %lhs, %c0 : tensor<?x?xf32>
  %n = tensor.dim %rhs, %c1 : tensor<?x?xf32>
"""
    text = text.replace("{\n", sizes, 1).replace("tensor.empty()", "tensor.empty(%m, %n)")
    return lhkit.load_payload(text, name="<fc_relu of any shape>")


def dynamic_batch(*sizes):
    """Return the layers for any number of rows, with no reference."""
    text = lhkit.payloads.mlp(999, sizes).text.replace("tensor<999x", "tensor<?x")
    size = f"""{{
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x{sizes[0]}xf32>
"""
    text = text.replace("{\n", size, 1).replace(
        "tensor.empty() : tensor<?x", "tensor.empty(%batch) : tensor<?x"
    )
    return lhkit.load_payload(text, name="<mlp of any batch>")


def numbers(*shapes):
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_class_of_shapes(shape, fc_relu, worker):
    kernel = lhkit.compile(lhkit.payloads.fc_relu(*shape), fc_relu, worker=worker)
    assert lhkit.verify(kernel).ok


def test_dynamic_shapes(fc_relu, worker):
    kernel = lhkit.compile(dynamic_layer(), fc_relu, worker=worker)
    for m, n, k in [(1, 1, 1), (7, 5, 3), (12, 128, 16), (13, 85, 33), (40, 15, 2)]:
        assert lhkit.verify(kernel, numbers((m, k), (k, n), (m, n))).ok, (m, n, k)


@pytest.mark.parametrize("target", sorted(VECTORS))
def test_defaults_of_every_target(target, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    assert lhkit.verify(lhkit.compile(lhkit.payloads.fc_relu(13, 45, 515), schedule, worker=worker)).ok


def test_another_epilogue(fc_relu, worker):
    kernel = lhkit.compile(lhkit.load_payload(ANOTHER_LAYER), fc_relu, worker=worker)
    x, w, b = numbers((20, 40), (40, 83), 83)
    np.testing.assert_allclose(kernel(x, w, b), (x @ w + b) ** 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("batch", "sizes"),
    [
        (18, (48, 128, 64, 64)),
        (13, (49, 70, 101, 10)),
        (14, (515, 64, 600, 9)),
        (1, (40, 83, 20, 3)),
        (20, (1, 16, 1, 50)),
    ],
    ids=["whole tiles", "ends", "panels", "one row", "sizes of 1"],
)
def test_layers(batch, sizes, mlp, worker):
    kernel = lhkit.compile(lhkit.payloads.mlp(batch, sizes), mlp, worker=worker)
    assert lhkit.verify(kernel).ok


def test_layers_of_any_batch(mlp, worker):
    sizes = (40, 80, 48, 10)
    kernel = lhkit.compile(dynamic_batch(*sizes), mlp, worker=worker)
    for batch in (1, 6, 27):
        shapes = [(batch, sizes[0])]
        for k, n in itertools.pairwise(sizes):
            shapes += [(k, n), n]
        assert lhkit.verify(kernel, numbers(*shapes)).ok, batch


@pytest.mark.parametrize("target", sorted(VECTORS))
def test_layers_in_defaults_of_every_target(target, worker):
    schedule = lhkit.load_schedule("mlp.mlir", target=target, worker=worker)
    assert lhkit.verify(lhkit.compile(lhkit.payloads.mlp(14, (40, 45, 33, 8)), schedule, worker=worker)).ok


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("shape", [(120, 256, 64), (25, 150, 515), ("tile_m", 150, 64)], ids=str)
def test_a_layer_is_written_once_and_in_vectors(shape, target, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    m, n, k = (schedule.values.get(extent, extent) for extent in shape)
    kernel = lhkit.compile(lhkit.payloads.fc_relu(m, n, k), schedule, worker=worker)
    scheduled, buffers = kernel.ir("scheduled"), kernel.ir("bufferized")
    assert not re.findall(r"linalg\.\w+|vector\.contract|vector\.outerproduct", scheduled)
    assert not re.findall(r"memref\.store .*|linalg\.\w+", buffers)
    sizes = [
        np.prod([int(n) for n in found.split("x")]) for found in re.findall(r"vector<([\dx]+)xf32>", scheduled)
    ]
    tile_m, tile_n, lanes = (schedule.values[name] for name in ("tile_m", "tile_n", "lanes"))
    assert max(sizes) <= tile_m * tile_n
    # A fused tile needs no place of its own: what is allocated are panels, and columns that fill no vector.
    places = {(k, tile_n), (k, lanes), (m, lanes), (1, lanes), (tile_m, lanes)}
    allocated = re.findall(r"memref\.alloca?\(\).*: memref<(\d+)x(\d+)xf32", buffers)
    assert {(int(a), int(b)) for a, b in allocated} <= places


def test_each_layer_has_one_place(mlp, worker):
    kernel = lhkit.compile(lhkit.payloads.mlp(48, (64, 128, 192, 64)), mlp, worker=worker)
    allocated = re.findall(r"memref\.alloca?\(\).*: memref<(48x\d+)xf32", kernel.ir("bufferized"))
    assert sorted(allocated) == ["48x128", "48x192"]


@pytest.mark.parametrize("bound", [(), (1, 2)], ids=["given", "bound"])
@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_nans_pass_the_relu(target, bound, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.fc_relu(13, 85, 20), schedule, worker=worker)
    arguments = numbers((13, 20), (20, 85), (13, 85))
    arguments[0][3, 4] = arguments[2][0, 84] = arguments[2][5, :7] = np.nan
    expected = np.maximum(arguments[0] @ arguments[1] + arguments[2], 0)
    if bound:
        kernel = kernel.bind({i: arguments[i] for i in bound})
    result = kernel(*(a for i, a in enumerate(arguments) if i not in bound))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
