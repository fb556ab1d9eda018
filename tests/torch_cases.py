"""The six models that come with lhkit, imported once for all tests of a process."""

import functools
import importlib.util
import os
import sys

import numpy as np
import pytest

import lhkit

if os.environ.get("LHKIT_TESTS_NEED_TORCH"):
    import torch
else:
    torch = pytest.importorskip("torch")

torch.set_num_threads(1)  # the processes of a run share the cores


@functools.cache
def models():
    """Return the module with the models."""
    file = lhkit.shipped_folder("data") / "torch_models.py"
    spec = importlib.util.spec_from_file_location("torch_models", file)
    sys.modules["torch_models"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def imported(name, batch=1):
    """Return a model, its inputs as arrays, and its payload."""
    example = models().example(name, batch)
    inputs = [x.numpy() for x in example.inputs]
    return example.module, inputs, lhkit.from_torch(example.module, *example.inputs, name=name)


def difference(result, expected):
    """Return the largest difference as a share of the largest magnitude."""
    return float(np.abs(result - expected).max() / np.abs(expected).max())
