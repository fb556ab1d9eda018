"""schedules/matmul.mlir: right for every class of shapes, and vector code where it says so."""

import re

import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import verify
from lhkit.load.loader import load_schedule
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.target import VECTORS, available_cores

SHAPES = {
    "whole tiles": (12, 128, 16),
    "ends in all directions": (13, 70, 9),
    "primes": (31, 101, 41),
    "below the tile": (3, 5, 7),
    "a vector wide": (24, 16, 8),
    "one row": (1, 83, 20),
    "one column": (29, 1, 37),
    "four columns": (9, 4, 16),
    "a reduction of 1": (20, 90, 1),
    "a long reduction": (5, 6, 301),
    "1 throughout": (1, 1, 1),
    "whole panels": (12, 640, 33),
    "panels with ends": (13, 70, 513),
    "few rows of much": (3, 541, 300),
    "blocks with ends": (1285, 261, 1283),
}
TO_ADD_TO = """
func.func @add(%lhs: tensor<{m}x{k}xf32>, %rhs: tensor<{k}x{n}xf32>, %out: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %sum = linalg.matmul ins(%lhs, %rhs : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
    outs(%out : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %sum : tensor<{m}x{n}xf32>
}}
"""
# The fill is read twice, so that none of the matmuls can take it along.
SHARED_FILL = """
func.func @two(%a: tensor<40x20xf32>, %b: tensor<20x90xf32>, %c: tensor<20x90xf32>)
    -> (tensor<40x90xf32>, tensor<40x90xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x90xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x90xf32>) -> tensor<40x90xf32>
  %d = linalg.matmul ins(%a, %b : tensor<40x20xf32>, tensor<20x90xf32>)
    outs(%init : tensor<40x90xf32>) -> tensor<40x90xf32>
  %e = linalg.matmul ins(%a, %c : tensor<40x20xf32>, tensor<20x90xf32>)
    outs(%init : tensor<40x90xf32>) -> tensor<40x90xf32>
  return %d, %e : tensor<40x90xf32>, tensor<40x90xf32>
}
"""


@pytest.fixture(scope="module")
def family(worker):
    return load_schedule("matmul.mlir", worker=worker)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_class_of_shapes(shape, family, worker):
    kernel = lhkit.compile(lhkit.payloads.matmul(*shape), family, worker=worker)
    assert verify(kernel).ok


def test_dynamic_shapes(family, worker):
    kernel = lhkit.compile(lhkit.payloads.matmul_dynamic(), family, worker=worker)
    for m, n, k in [(1, 1, 1), (7, 5, 3), (12, 128, 16), (13, 85, 33), (40, 15, 2)]:
        numbers = np.random.default_rng(m)
        arguments = [numbers.random(s, dtype=np.float32) for s in ((m, k), (k, n))]
        assert verify(kernel, arguments).ok, (m, n, k)


@pytest.mark.parametrize("k", [8, 50])
def test_few_rows_and_columns_of_an_unknown_number(k, family, worker):
    payload = lhkit.load_payload(TO_ADD_TO.replace("{n}", "?").format(m=3, k=k))
    kernel = lhkit.compile(payload, family, worker=worker)
    for n in (1, 5, 16, 77):
        numbers = np.random.default_rng(n)
        lhs, rhs, out = (numbers.random(s, dtype=np.float32) for s in ((3, k), (k, n), (3, n)))
        np.testing.assert_allclose(kernel(lhs, rhs, out), out + lhs @ rhs, rtol=1e-5)


@pytest.mark.skipif(available_cores() < 2, reason="two threads need two cores")
@pytest.mark.parametrize("shape", [(24, 256, 64), (40, 37, 33), (3, 5, 7), (20, 1, 9)])
def test_two_threads_share_the_columns(shape, family, worker):
    kernel = lhkit.compile(lhkit.payloads.matmul(*shape), family, {"threads": 2}, worker=worker)
    assert "scf.forall" in kernel.ir("scheduled") and verify(kernel).ok


@pytest.mark.parametrize("target", sorted(VECTORS))
def test_defaults_of_every_target(target, worker):
    schedule = load_schedule("matmul.mlir", target=target, worker=worker)
    assert verify(lhkit.compile(lhkit.payloads.matmul(13, 45, 9), schedule, worker=worker)).ok


@pytest.mark.parametrize(
    "shape", [(13, 70, 9), (9, 3, 18), (2, 20, 5), (2, 520, 300)], ids=["panels", "dots", "rows", "streams"]
)
def test_a_matrix_to_add_to(shape, family, worker):
    m, n, k = shape
    kernel = lhkit.compile(lhkit.load_payload(TO_ADD_TO.format(m=m, n=n, k=k)), family, worker=worker)
    lhs, rhs, out = generate_arguments(kernel.function, 0)
    np.testing.assert_allclose(kernel(lhs, rhs, out), out + lhs @ rhs, rtol=1e-4, atol=1e-5)


def test_two_of_one_fill(family, worker):
    kernel = lhkit.compile(lhkit.load_payload(SHARED_FILL), family, worker=worker)
    a, b, c = generate_arguments(kernel.function, 0)
    for result, expected in zip(kernel(a, b, c), (a @ b, a @ c), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize(
    "shape", [(120, 256, 64), (127, 131, 113), ("tile_m", 500, 64), (100, 200, 3)], ids=str
)
def test_nothing_scalar_is_left(shape, target, worker):
    family = load_schedule("matmul.mlir", target=target, worker=worker)
    m, n, k = (family.values.get(extent, extent) for extent in shape)
    kernel = lhkit.compile(lhkit.payloads.matmul(m, n, k), family, worker=worker)
    scheduled, buffers = kernel.ir("scheduled"), kernel.ir("bufferized")
    assert "vector.fma" in scheduled
    assert not re.findall(
        r"linalg\.\w+|vector\.contract|vector\.outerproduct|vector\.multi_reduction", scheduled
    )
    stored = re.findall(r"memref\.store .*|linalg\.\w+", buffers)
    assert not stored
    sizes = [
        np.prod([int(n) for n in found.split("x")]) for found in re.findall(r"vector<([\dx]+)xf32>", scheduled)
    ]
    assert max(sizes) <= family.values["tile_m"] * family.values["tile_n"]
