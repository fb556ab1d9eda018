"""Where the time of a kernel goes: samples by a timer, which lie on its instructions."""

import platform
import sys
from collections import Counter

import pytest

import lhkit
from lhkit.kernels.kernel import compile_kernel

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="no timer samples here"
)
TWO = """func.func @two(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = linalg.add ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.matmul ins(%0, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
"""


@pytest.fixture(scope="module")
def kernel(worker):
    return compile_kernel(lhkit.load_payload(TWO, name="two.mlir", worker=worker), worker=worker)


def test_samples_are_on_instructions_and_most_in_the_loop_with_most_work(kernel):
    rounds, listing, counts = [], kernel.listing(), Counter()
    while sum(counts.values()) < 100 and len(rounds) < 50:  # a busy machine gives few at a time
        rounds.append(kernel.samples(seconds=0.3))
        counts.update(dict(rounds[-1].places))
    assert all(not each.reason and each.period_ns > 0 for each in rounds)
    total = sum(counts.values())

    def share(loop):
        return sum(counts[each.instruction.address] for each in loop.instructions) / total

    # The matmul does 512 times the work of the addition.
    product = next(
        loop for loop in listing.loops if "linalg.matmul" in listing.ir.split("\n")[loop.lines[-1] - 1]
    )
    assert total >= 100 and share(product) > 0.8
    # In the middle of an instruction nothing is ever interrupted.
    starts = {each.instruction.address for loop in listing.loops for each in loop.instructions}
    inside = [
        place
        for loop in listing.loops
        for each in loop.instructions
        for place in range(each.instruction.address + 1, each.instruction.end)
        if place in counts
    ]
    assert not set(inside) - starts


def test_the_worker_goes_on_after_it(kernel):
    before = kernel.build(), kernel.worker.generation
    assert kernel.samples(seconds=0.05).total > 0 and kernel.samples(seconds=0.05).total > 0
    assert (kernel.build(), kernel.worker.generation) == before
