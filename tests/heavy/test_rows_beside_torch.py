"""The speed of the row families beside PyTorch and the copy bandwidth, run by hand on a quiet machine.

``pytest -m heavy -s tests/heavy/test_rows_beside_torch.py``, where torch is installed; it prints a table. PyTorch
runs in the worker's process, on one thread, interleaved with the kernel.
"""

import dataclasses
import statistics
from pathlib import Path

import pytest

import lhkit
from lhkit.analysis.statistics import summarize

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

REFERENCES = Path(__file__).with_name("torch_rows.py")
SHAPES = ((1024, 1024), (64, 1024), (4096, 512))
MOST_COMPILE_NS = 500_000_000


def measured(name, shape, reference, seconds, worker):
    """Measure a family beside a function of PyTorch's, print a line, and return its summary and kernel."""
    payload = getattr(lhkit.payloads, name)(*shape)
    if reference is not None:
        payload = dataclasses.replace(payload, reference=f"{REFERENCES}:{reference}")
    kernel = lhkit.compile(payload, lhkit.load_schedule(f"{name}.mlir", worker=worker), worker=worker)
    compile_ns = statistics.median(rebuilt(kernel) for _ in range(3))
    (ours,) = (s for s in summarize(lhkit.measure({"family": kernel}, seconds=seconds)) if s.name == "family")
    low, middle, high = ours.speed.low, ours.speed.middle, ours.speed.high
    against = "NumPy" if reference is None else f"torch {reference}"
    print(
        f"\n{name:17} {shape[0]:5} x {shape[1]:4}  {middle:5.2f} of {against} ({low:.2f} to {high:.2f}),"
        f" {ours.of_copy:6.1%} of copy, compiled in {compile_ns / 1e6:4.0f} ms",
        end="",
    )
    return ours, compile_ns


def rebuilt(kernel):
    """Compile a kernel again and return how long it took."""
    kernel.forget()
    kernel.build()
    return kernel.compile_ns


@pytest.mark.parametrize("reference", ["softmax", "softmax_out"])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, reference, worker):
    ours, compile_ns = measured("softmax", shape, reference, 8, worker)
    assert ours.speed.middle >= 1.1 and compile_ns < MOST_COMPILE_NS


@pytest.mark.parametrize("shape", SHAPES)
def test_layernorm(shape, worker):
    ours, compile_ns = measured("layernorm", shape, "layernorm", 8, worker)
    assert ours.speed.middle >= 0.9 and compile_ns < MOST_COMPILE_NS


def test_elementwise_chain_of_16_million(worker):
    ours, compile_ns = measured("elementwise_chain", (4096, 4096), None, 20, worker)
    assert ours.of_copy >= 0.7 and compile_ns < MOST_COMPILE_NS
