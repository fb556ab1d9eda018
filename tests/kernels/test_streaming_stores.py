"""Results that are written past the caches: where, and that they are right wherever they lie."""

import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import verify

FROM_1_MIB = {"stream_bytes": 1 << 20}


def chain(rows, columns, worker, **options):
    payload = lhkit.payloads.elementwise_chain(rows, columns)
    schedule = lhkit.load_schedule("elementwise_chain.mlir", worker=worker, **options)
    return lhkit.compile(payload, schedule, knobs=FROM_1_MIB, worker=worker, **options)


@pytest.mark.parametrize("target", ["avx2", "sse"])
def test_large_results_are_streamed(target, worker):
    kernel = chain(512, 512, worker, target=target)
    text = kernel.ir("llvm")
    assert text.count("nontemporal") == 1
    assert text.index("nontemporal") < text.index("llvm.x86.sse.sfence") < text.index("@lhkit_kernel_plain")
    assert "movnt" in kernel.assembly()
    assert verify(kernel).ok


# Nothing that is small, or whose lines are not whole.
@pytest.mark.parametrize("shape", [(511, 512), (600, 500), (4096, 72)], ids=str)
def test_others_are_not(shape, worker):
    kernel = chain(*shape, worker)
    assert "nontemporal" not in kernel.ir("llvm")
    assert verify(kernel).ok


def test_results_off_a_line_are_written_plainly(worker):
    kernel = chain(512, 512, worker)
    # An aligned store to such an address would end the worker.
    found = lhkit.measure({"streamed": kernel}, rounds=2, seconds=0.01, alignment_bytes=4)
    assert found.measurement("streamed").samples_ns
    assert found.measurement("streamed").verification.ok


def test_marked_functions_that_write_no_results_in_lines_stay_as_they_are(worker):
    payload = lhkit.load_payload("data/relu_dynamic.mlir", worker=worker)
    kernel = lhkit.compile(payload, "elementwise_chain.mlir", knobs=FROM_1_MIB, worker=worker)
    assert "lhkit_kernel_plain" not in kernel.ir("llvm")
    assert "stream_results" not in kernel.ir("llvm")
    x = np.linspace(-1, 1, 640 * 512, dtype=np.float32).reshape(640, 512)
    np.testing.assert_array_equal(kernel(x), np.maximum(x, 0))
