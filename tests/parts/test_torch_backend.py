"""``torch.compile`` with kernels of scheduled parts: results, sizes that differ, and what stays in eager mode."""

import dataclasses

import pytest

import lhkit
from tests.torch_cases import difference, models, torch

# PyTorch first: without it these tests are left out.
from lhkit.parts import torch_backend  # isort: skip
from lhkit.parts.torch_backend import lhkit_backend  # isort: skip


def test_torch_compile_runs_a_model_by_parts(capfd):
    module, (x,) = models().example("small_cnn", 2)
    compiled = torch.compile(module, backend=lhkit_backend)
    with torch.no_grad():
        assert difference(compiled(x).numpy(), module(x).numpy()) < 1e-5
    assert "lhkit: a graph of 6 parts; largest error" in capfd.readouterr().err
    compiled(x).sum().backward()
    assert module.conv1.weight.grad is not None
    assert "stays in eager mode: it trains" in capfd.readouterr().err
    assert "lhkit" in torch._dynamo.list_backends()


# How often a model is compiled for three batches: with dynamo's defaults the second time for any.
SIZES = {
    "default": ({}, 2),
    "static": ({"dynamic": False}, 3),
    "dynamic": ({"dynamic": True}, 1),
    "marked": ({}, 1),
}


@pytest.mark.parametrize("how", SIZES)
def test_torch_compile_takes_other_batches(how, capfd):
    options, compiled_times = SIZES[how]
    torch._dynamo.reset()
    module = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 10)).eval()
    compiled = torch.compile(module, backend=lhkit_backend, **options)
    with torch.no_grad():
        for batch in (4, 7, 5):
            x = torch.randn(batch, 64)
            if how == "marked":
                torch._dynamo.mark_dynamic(x, 0)
            assert difference(compiled(x).numpy(), module(x).numpy()) < 1e-5
    said = capfd.readouterr().err
    assert said.count("a graph of 2 parts") == said.count("lhkit:") == compiled_times


def test_torch_compile_drops_a_kernel_that_is_wrong_for_other_sizes(capfd, monkeypatch):
    def verify(kernel, arrays):
        found = lhkit.verify(kernel, arrays)
        return found if len(arrays[0]) < 8 else dataclasses.replace(found, ok=False, difference="it is not")

    monkeypatch.setattr(torch_backend, "verify", verify)
    torch._dynamo.reset()
    module = torch.nn.Linear(16, 8)
    compiled = torch.compile(module, backend=lhkit_backend, dynamic=True)
    with torch.no_grad():
        for batch in (4, 9, 3):
            x = torch.randn(batch, 16)
            assert difference(compiled(x).numpy(), module(x).numpy()) < 1e-5
    assert capfd.readouterr().err.splitlines()[1:] == [
        "lhkit: a graph stays in eager mode: it is compiled wrong: it is not"
    ]


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        (lambda x: x * x.sum().item(), "makes a number of a tensor"),
        (lambda x: (x + 1, x.shape[0]), "returns sizes"),
        (lambda x: torch.cat([x, x])[: x.shape[0]] + 1, None),
    ],
    ids=["number", "size", "slice"],
)
def test_torch_compile_says_which_sizes_it_does_not_take(forward, said, capfd):
    torch._dynamo.reset()
    with torch.no_grad(), torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(forward, backend=lhkit_backend, dynamic=True)
        for rows in (4, 6):
            x = torch.randn(rows, 8)
            torch.testing.assert_close(compiled(x), forward(x))
    err = capfd.readouterr().err
    assert f"stays in eager mode: it {said}" in err if said else "eager" not in err
