"""Kernels on two threads beside one, run by hand on a quiet machine.

``pytest -m heavy -s tests/heavy/test_threads_speed.py``, where the extra ``openmp`` is installed and there are two cores with
nothing else to do; it prints a table. Both kernels are timed interleaved in one process.
"""

import math

import numpy as np
import pytest

import lhkit
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.sample_statistics import summarize

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

LEAST = 1.65
# Height and width of the result, channels and filters: the 3x3 layers of ResNet-50.
LAYERS = ((56, 64), (28, 128), (14, 256), (7, 512))


def speedup(payload, schedule, worker):
    """Return how many times as fast two threads are as one, after a look at the results, and print a line."""
    schedule = lhkit.load_schedule(schedule, worker=worker)
    one, two = (lhkit.compile(payload, schedule, {"threads": n}, worker=worker) for n in (1, 2))
    arguments = generate_arguments(one.function, 0)
    assert np.array_equal(one(*arguments), two(*arguments))
    found = {s.name: s for s in summarize(lhkit.measure({"one": one, "two": two}, seconds=8))}
    ratio = found["one"].median_ns / found["two"].median_ns
    # What else runs on the machine shows in the median first, and in the fastest rounds last.
    best = found["one"].percentiles_ns[0] / found["two"].percentiles_ns[0]
    print(f"\n{payload.source:55} {ratio:5.2f}, by the 5th percentiles {best:5.2f}", end="")
    return ratio


@pytest.mark.parametrize("n", [512, 1024])
def test_fc_relu(n, worker):
    assert speedup(lhkit.payloads.fc_relu(n, n, n), "fc_relu.mlir", worker) >= LEAST


def test_conv2d(worker):
    ratios = []
    for size, channels in LAYERS:
        payload = lhkit.payloads.conv2d_nhwc(1, size, size, channels, channels, 3)
        ratios.append(speedup(payload, "conv2d.mlir", worker))
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}")
    assert mean >= LEAST
