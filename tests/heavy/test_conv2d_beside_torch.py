"""The speed of schedules/conv2d.mlir beside PyTorch, run by hand on a quiet machine.

``pytest -m heavy -s tests/heavy/test_conv2d_beside_torch.py``, where torch is installed; it prints a table. PyTorch
runs in the worker's process, on one thread, interleaved with the kernel, with images and filters whose channels
are last (``channels_last``).
"""

import dataclasses
import math
import statistics
from pathlib import Path

import pytest

import lhkit
from lhkit.analysis.statistics import summarize

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

REFERENCES = Path(__file__).with_name("torch_convolutions.py")
# Height and width of the result, channels and filters: the 3x3 layers of ResNet-50.
LAYERS = ((56, 64), (28, 128), (14, 256), (7, 512))
STRIDED_LAYERS = LAYERS[1:]
MOST_COMPILE_NS = 500_000_000


def measured(size, channels, stride, worker):
    """Measure the family on a layer, print a line, and return its speed as a multiple of PyTorch's."""
    payload = lhkit.payloads.conv2d_nhwc(1, size, size, channels, channels, 3, stride=stride)
    reference = "conv2d" if stride == 1 else "conv2d_stride2"
    payload = dataclasses.replace(payload, reference=f"{REFERENCES}:{reference}")
    kernel = lhkit.compile(payload, lhkit.load_schedule("conv2d.mlir", worker=worker), worker=worker)
    compile_ns = statistics.median(rebuilt(kernel) for _ in range(3))
    torch, ours = sorted(
        summarize(lhkit.measure({"family": kernel}, seconds=8)), key=lambda s: s.name == "family"
    )
    low, middle, high = ours.speed.low, ours.speed.middle, ours.speed.high
    print(
        f"\n{size:3} x {size:2} x {channels:3} stride {stride}  {middle:5.2f} of torch ({low:.2f} to {high:.2f}),"
        f" {ours.of_peak:6.1%} of peak, torch {torch.of_peak:6.1%}, compiled in {compile_ns / 1e6:4.0f} ms",
        end="",
    )
    assert compile_ns < MOST_COMPILE_NS
    return middle


def rebuilt(kernel):
    """Compile a kernel again and return how long it took."""
    kernel.forget()
    kernel.build()
    return kernel.compile_ns


def geometric_mean(ratios):
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}")
    return mean


def test_layers_of_resnet_50(worker):
    assert geometric_mean([measured(size, channels, 1, worker) for size, channels in LAYERS]) >= 1.1


def test_strided_layers_of_resnet_50(worker):
    assert geometric_mean([measured(size, channels, 2, worker) for size, channels in STRIDED_LAYERS]) >= 1.1
