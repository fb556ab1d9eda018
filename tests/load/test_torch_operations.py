"""Operations of PyTorch that the conversion has no loops for, or the wrong numbers."""

import numpy as np
import pytest
import torch_cases
from torch_cases import torch

import lhkit

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


@pytest.mark.parametrize("schedule", [None, "cpu.mlir"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_pytorch_gives(name, schedule):
    payload = lhkit.from_torch(Computes(OPERATIONS[name]), X)
    verdict = lhkit.verify(lhkit.compile(payload, schedule))
    assert verdict.ok, verdict.difference


def test_sums_of_a_dimension_whose_extent_is_not_known():
    length = torch.export.Dim("length")
    payload = lhkit.from_torch(Computes(OPERATIONS["products"]), X, dynamic_shapes=(({1: length}),))
    given = np.random.default_rng(0).standard_normal((5, 13, 33)).astype(np.float32)
    result = lhkit.compile(payload, "cpu.mlir")(given)
    assert torch_cases.difference(result, np.cumprod(1 + given / 10, axis=1)) < 1e-6


def test_sums_of_nothing():
    payload = lhkit.from_torch(Computes(lambda x: x[:, :0].cumsum(1)), X)
    assert lhkit.compile(payload)(X.numpy()).shape == (5, 0, 33)
