"""Operations of PyTorch that the conversion has no loops for, or the wrong numbers."""

import importlib
import random

import numpy as np
import pytest
import torch_cases
from torch_cases import torch

import lhkit
from lhkit.kernels.verification import payload_work

X = torch.randn(5, 70, 33, generator=torch.Generator().manual_seed(3))


class Computes(torch.nn.Module):
    """Computes what it is given."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        """Return the result of the function."""
        return self.function(x)


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


OPERATIONS = {
    "sums along rows": lambda x: x.cumsum(2),
    "sums of rows": lambda x: x.cumsum(0),
    "products": lambda x: (1 + x / 10).cumprod(1),
    "counts": lambda x: (x > 0).cumsum(-1),
    "sums of halves": lambda x: x.half().cumsum(-1),
    "one dimension": lambda x: x[0, 0].cumsum(0),
    "logarithms of sums": lambda x: x.logcumsumexp(1),
    "gelu by tanh": gelu,
    "gelu by tanh, bf16": lambda x: gelu(x.bfloat16()),
    "gelu": torch.nn.functional.gelu,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_pytorch_gives(name):
    payload = lhkit.from_torch(Computes(OPERATIONS[name]), X)
    for schedule in (None, "cpu.mlir"):
        verdict = lhkit.verify(lhkit.compile(payload, schedule))
        assert verdict.ok, (schedule, verdict.difference)


def test_sums_of_a_dimension_whose_extent_is_not_known():
    length = torch.export.Dim("length")
    payload = lhkit.from_torch(Computes(OPERATIONS["products"]), X, dynamic_shapes=(({1: length}),))
    given = np.random.default_rng(0).standard_normal((5, 13, 33)).astype(np.float32)
    result = lhkit.compile(payload, "cpu.mlir")(given)
    assert torch_cases.difference(result, np.cumprod(1 + given / 10, axis=1)) < 1e-6


def test_running_sums_write_each_element_once_and_say_their_layer():
    text = lhkit.from_torch(Computes(OPERATIONS["sums along rows"]), X).text
    assert "linalg.fill" not in text and "// cumsum\n" in text


def test_sums_of_nothing():
    payload = lhkit.from_torch(Computes(lambda x: x[:, :0].cumsum(1)), X)
    assert lhkit.compile(payload)(X.numpy()).shape == (5, 0, 33)


def test_transposed_convolutions_by_phases_are_those_of_pytorch():
    """On random sizes, strides, dilations, paddings and groups, in f64."""
    decompositions = importlib.import_module("lhkit.worker.torch_decompositions")
    by_phases = decompositions.decompositions()[torch.ops.aten.convolution.default]
    draw = random.Random(0)
    compared = 0
    for _ in range(400):
        rank, groups = draw.choice([1, 2, 3]), draw.choice([1, 1, 2])
        sizes, strides, dilations, paddings = (
            [draw.randint(low, high) for _ in range(rank)] for low, high in ((1, 5), (1, 5), (1, 3), (0, 3))
        )
        extra = [draw.randint(0, stride - 1) for stride in strides]
        x = torch.randn(2, 4, *(draw.randint(1, 6) for _ in range(rank)), dtype=torch.float64)
        weight = torch.randn(4, 3, *sizes, dtype=torch.float64)
        given = (x, weight, torch.randn(3 * groups).double(), strides, paddings, dilations, True, extra, groups)
        try:
            expected = torch.ops.aten.convolution(*given)
        except RuntimeError:  # nothing is left of the image
            continue
        found = by_phases(*given)
        if found is not NotImplemented:
            assert found.shape == expected.shape and torch.allclose(found, expected), given[3:]
            compared += 1
    assert compared > 150


def test_transposed_convolutions_multiply_no_zeros():
    module = torch.nn.ConvTranspose2d(8, 16, 4, stride=2, padding=1)
    payload = lhkit.from_torch(module, torch.randn(1, 8, 12, 12))
    assert payload_work(payload).flops < 1.5 * 2 * 8 * 16 * 16 * 12 * 12
    assert lhkit.verify(lhkit.compile(payload, "cpu.mlir")).ok
