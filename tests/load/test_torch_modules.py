"""PyTorch modules as payloads: results, weights, layers, and what cannot be imported."""

import dataclasses
import errno
import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lhkit
from lhkit.load import torch_modules
from lhkit.model.codec import to_json
from lhkit.model.errors import PayloadError, UsageError
from lhkit.worker.client import Worker
from lhkit.worker.requests import ImportTorch
from tests.torch_cases import difference, imported, models, torch

nn = torch.nn

NAMES = ("mlp", "residual_block", "separable_block", "attention_block", "encoder_layer", "small_cnn")
# What becomes of constants as arguments: weights by the products and convolutions that they are for.
ROLES = {
    "mlp": "matmul_0_B matmul_0_epilogue matmul_1_B matmul_1_epilogue matmul_2_B matmul_2_epilogue",
    "separable_block": "conv_0_B conv_0_epilogue conv_0_epilogue_1 conv_0_epilogue_2 conv_0_epilogue_3"
    " conv_1_B conv_1_epilogue conv_1_epilogue_1 conv_1_epilogue_2 conv_1_epilogue_3",
}


def test_the_models_are_these():
    assert models().NAMES == NAMES


# What is tried by hand with inputs of eight, and with its weights apart: with inputs of one it is in every run.
BY_HAND = ("residual_block", "encoder_layer", "small_cnn")


def models_and_batches():
    for name in NAMES:
        yield name, 1
        yield pytest.param(name, 8, marks=marks_of(name))


def marks_of(name):
    return pytest.mark.heavy if name in BY_HAND else []


@pytest.mark.parametrize(("name", "batch"), list(models_and_batches()))
def test_a_model_computes_what_pytorch_does(name, batch):
    module, inputs, payload = imported(name, batch)
    with torch.no_grad():
        expected = module(*map(torch.from_numpy, inputs)).numpy()
    kernel = lhkit.compile(payload, "cpu.mlir")
    assert difference(kernel(*inputs), expected) < 1e-5
    # The module says so too: it is what results are verified against.
    verification = lhkit.verify(kernel, inputs)
    assert verification.ok and verification.against == "the PyTorch module"


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in NAMES])
def test_weights_are_those_of_the_state_dict_as_constants_and_as_arguments(name):
    module, inputs, payload = imported(name)
    state = module.state_dict()
    weights = payload.weights()
    assert set(weights) == {n for n, t in state.items() if t.numel() > 1}
    assert all(np.array_equal(array, state[n].numpy()) for n, array in weights.items())
    given = payload.constants_to_arguments(append_untied=True)
    named = [w.name for w in given.function("main").weights]
    assert {w.resource for w in given.function("main").weights} == set(weights)
    if name in ROLES:
        assert sorted(named) == sorted(ROLES[name].split())
    kernel = lhkit.compile(given)
    with torch.no_grad():
        expected = module(*map(torch.from_numpy, inputs)).numpy()
    assert difference(kernel(*inputs), expected) < 1e-5
    assert lhkit.verify(kernel).ok


def test_no_weight_is_printed_and_comments_name_layers():
    _, _, payload = imported("encoder_layer")
    assert len(payload.text) < 40_000 and "dense<[" not in payload.text
    layers = set(re.findall(r"^ +// (.*)$", payload.text, re.MULTILINE))
    assert {"attention.norm LayerNorm", "attention softmax", "widen Linear", "gelu"} <= layers
    # They are comments: the text is the payload without them too.
    assert lhkit.load_payload(re.sub(r" +// .*\n", "", payload.text)).functions


def test_a_module_stays_as_it_is():
    module = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.BatchNorm1d(8))
    module.train()
    x = torch.randn(4, 8)
    payload = lhkit.from_torch(module, x)
    assert all(m.training for m in module.modules()) and module[2].num_batches_tracked == 0
    assert gc.isenabled() and gc.get_freeze_count() == 0
    assert lhkit.verify(lhkit.compile(payload)).ok  # what dropout does for inference: nothing


def test_dynamic_shapes_named_inputs_and_several_results():
    class Two(nn.Module):
        def forward(self, x, *, scale, how="twice"):
            return x * scale, (x + 1).sum(dim=1) if how == "twice" else x

    batch = torch.export.Dim("batch", min=2, max=64)
    payload = lhkit.from_torch(
        Two(),
        torch.randn(4, 8),
        kwargs={"scale": torch.randn(8)},
        dynamic_shapes={"x": {0: batch}, "scale": None},
    )
    kernel = lhkit.compile(payload)
    x, scale = np.ones((7, 8), np.float32), np.arange(8, dtype=np.float32)
    scaled, summed = kernel(x, scale)
    assert np.array_equal(scaled, x * scale) and np.array_equal(summed, np.full(7, 16, np.float32))


def test_an_exported_program_is_taken_and_bf16_weights():
    module = nn.Linear(64, 32).bfloat16().eval()
    program = torch.export.export(module, (torch.randn(4, 64).bfloat16(),), strict=False)
    payload = lhkit.from_torch(program)
    assert {a.dtype.name for a in payload.weights().values()} == {"bfloat16"}
    assert lhkit.verify(lhkit.compile(payload)).ok


class Decides(nn.Module):
    """Looks at a sum."""

    def forward(self, x):
        """Return what depends on it."""
        if x.sum() > 0:  # decided here
            return x + 1
        return x - 1


class Sorts(nn.Module):
    """Has an operation without a conversion."""

    def forward(self, x):
        """Return eigenvalues."""
        doubled = x + x
        return torch.linalg.eigvals(doubled).real  # not converted


class Counts(nn.Module):
    """Writes to a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x):
        """Count and return."""
        self.calls.add_(1)
        return x + self.calls


class Orders(nn.Module):
    """Sorts rows."""

    def forward(self, x):
        """Return sorted rows."""
        return x.sort(1)[0]  # in order


class Turns(nn.Module):
    """Uses complex numbers."""

    def forward(self, x):
        """Return nothing new."""
        return (x * 1j).imag  # turned


class Quantizes(nn.Module):
    """Uses quantized numbers."""

    def forward(self, x):
        """Return rounded numbers."""
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()  # rounded


def line_of(words):
    """Return the line of this file that ends with a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"  # {words}"))


@pytest.mark.parametrize(
    ("module", "inputs", "said", "line"),
    [
        (Decides(), (torch.randn(3),), "data-dependent", "decided here"),
        (Sorts(), (torch.randn(4, 4),), "eig", "not converted"),
        (nn.Linear(8, 8), (torch.randn(4, 5),), "got [4, 5] X [8, 8]", None),
        (Counts(), (torch.randn(3),), "writes to its buffers: calls", None),
        (Orders(), (torch.randn(3, 4),), "tm_tensor.sort would be left", "in order"),
        (Turns(), (torch.randn(3, 4),), "complex numbers have no conversion", "turned"),
        (Quantizes(), (torch.randn(3, 4),), "quantize_per_tensor", "rounded"),
    ],
    ids=["control flow", "operation", "example input", "buffer", "sorting", "complex", "quantized"],
)
def test_what_cannot_be_imported_is_said_with_its_place(module, inputs, said, line, capfd):
    with pytest.raises(PayloadError) as caught:
        lhkit.from_torch(module, *inputs)
    message = str(caught.value)
    assert said in message and "Traceback" not in message
    if line is not None:
        assert (
            f"{__file__}:{line_of(line)}" in message and f"# {line}" in message
        )  # the place, and the line itself
    assert "Traceback" not in capfd.readouterr().err
    # Nothing is lost.
    assert lhkit.from_torch(nn.Linear(4, 4), torch.randn(2, 4)).functions


@pytest.mark.skipif(sys.platform != "linux", reason="a process is forked on Linux only")
def test_a_fork_and_a_process_of_its_own_convert_alike(monkeypatch):
    started = []
    ask = Worker.ask

    def noted(self, request, **how):
        if isinstance(request, ImportTorch):
            started.append(self.forked is not None)
        return ask(self, request, **how)

    monkeypatch.setattr(Worker, "ask", noted)
    example = models().example("encoder_layer")

    def convert():
        with pytest.raises(PayloadError) as caught:
            lhkit.from_torch(Sorts(), torch.randn(4, 4))
        return lhkit.from_torch(example.module, *example.inputs), caught.value.failure

    forked, failed = convert()
    monkeypatch.setattr(torch_modules, "_may_fork", lambda torch: False)
    sent, failed_too = convert()
    assert started == [True, True, False, False]
    assert (forked.text, forked.blobs, failed) == (sent.text, sent.blobs, failed_too)


@pytest.mark.skipif(sys.platform != "linux", reason="a process is forked on Linux only")
def test_without_room_for_a_fork_a_process_of_its_own_converts(monkeypatch):
    def fork():
        raise BlockingIOError(errno.EAGAIN, "no room")

    monkeypatch.setattr(os, "fork", fork)
    assert lhkit.from_torch(nn.Linear(4, 4), torch.randn(2, 4)).functions


def test_what_is_no_module_is_refused():
    with pytest.raises(UsageError, match=r"neither a torch\.nn\.Module nor an ExportedProgram"):
        lhkit.from_torch(lambda x: x, torch.randn(3))


def test_without_pytorch_the_error_names_the_command():
    code = (
        "import sys; sys.modules['torch'] = None\nimport lhkit\n"
        "try: lhkit.from_torch(None)\nexcept lhkit.LhkitError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyTorch is not installed" in done.stdout and "pip install 'lhkit[torch]'" in done.stdout


def test_tensors_that_are_used_again_and_again_are_one_weight():
    payload = lhkit.from_torch(nn.LSTM(16, 16, batch_first=True).eval(), torch.randn(2, 5, 16))
    assert set(payload.weights()) == {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}
    assert lhkit.verify(lhkit.compile(payload, "cpu.mlir")).ok


def test_a_pytorch_that_the_conversion_does_not_know_is_said(monkeypatch):
    from lhkit.compiler.frontends import torch_importer

    def missing(name):
        raise AttributeError(f"{name}: no attribute of that name")

    monkeypatch.setattr(torch_importer.importlib, "import_module", missing)
    monkeypatch.setenv("LHKIT_MLIR", "")  # set by what is tried, and restored
    with pytest.raises(UsageError, match="do not work together: AttributeError") as caught:
        torch_importer.Handlers()
    assert torch.__version__ in str(caught.value) and "constraints.txt" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="a process is forked on Linux only")
def test_what_a_decomposition_raises_is_an_error_of_the_payload(monkeypatch):
    def refuse(program, table):
        raise NotImplementedError("no such\ndecomposition")

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    with pytest.raises(PayloadError, match="NotImplementedError: no such"):
        lhkit.from_torch(nn.Linear(4, 4), torch.randn(2, 4), name="layer")


def test_a_module_stays_in_its_process():
    _, _, payload = imported("mlp")
    assert "local_reference" not in to_json(dataclasses.replace(payload, blobs=()))
