"""Measuring: what a comparison says about how it was made is so."""

import os
import statistics

import numpy as np
import psutil
import pytest

import lhkit
from lhkit.bench.side_by_side import fastest_ns
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.target_choice import describe_environment
from lhkit.model.errors import UsageError
from lhkit.model.sample_statistics import summarize
from lhkit.worker.client import Worker
from lhkit.worker.timing_conditions import last_level_cache_bytes

IN_PLACE = """
func.func @double(%x: memref<4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4096 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<4096xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<4096xf32>
  }
  return
}
"""

DYNAMIC = """
func.func @scale(%x: tensor<?xf32>, %factor: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %filled = linalg.fill ins(%factor : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %scaled = linalg.mul ins(%x, %filled : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>)
    -> tensor<?xf32>
  return %scaled : tensor<?xf32>
}
"""
STRIDED = """
func.func @negate(%x: memref<8x8xf32, strided<[16, 1]>>) {
  linalg.negf ins(%x : memref<8x8xf32, strided<[16, 1]>>) outs(%x : memref<8x8xf32, strided<[16, 1]>>)
  return
}
"""


@pytest.fixture(scope="module")
def kernel(worker):
    payload = load_payload("row_sum.mlir", worker=worker)
    return lhkit.compile(payload, worker=worker)


@pytest.fixture(scope="module")
def comparison(kernel):
    return lhkit.measure({"k": kernel}, rounds=12, seconds=5)


def test_a_comparison_carries_how_it_was_made(comparison):
    assert comparison.anchor == "NumPy"
    assert [m.timed_by for m in comparison.measurements] == ["Python", "machine code"]
    assert all(len(m.samples_ns) == comparison.rounds for m in comparison.measurements)
    assert 5 <= comparison.rounds <= 12
    assert comparison.measurement("k").verification.ok
    assert comparison.cache == "warm"
    assert comparison.element_type == "float32"
    facts = dict(comparison.environment)
    assert facts["threads"].startswith("1 ")
    assert {"cpu", "clock", "affinity", "memory", "numpy"} <= set(facts)
    if hasattr(os, "sched_setaffinity"):
        assert comparison.core in os.sched_getaffinity(0)


def test_throughput_and_limits_are_there(comparison):
    assert comparison.flops > 0
    assert comparison.limits.fma_gflops > comparison.limits.fma_f64_gflops > 0
    for summary in summarize(comparison):
        assert 0 < summary.of_peak < 1
        assert summary.of_copy > 0


def test_the_same_environment_has_the_same_hash(comparison, kernel, worker):
    assert describe_environment(worker, {kernel.target}) == comparison.environment
    again = lhkit.measure({"k": kernel}, rounds=3, seconds=1)
    assert again.environment_sha256 == comparison.environment_sha256


def test_cold_calls_are_timed_one_by_one_and_are_slower(worker):
    kernel = lhkit.compile(lhkit.payloads.elementwise_chain(64, 64), worker=worker)
    warm = lhkit.measure({"k": kernel}, rounds=5).measurement("k")
    cold = lhkit.measure({"k": kernel}, rounds=5, cache="cold").measurement("k")
    assert (warm.calls > 100, cold.calls) == (True, 1)
    assert statistics.median(v for _, v in cold.samples_ns) > statistics.median(v for _, v in warm.samples_ns)


def test_written_arguments_are_restored_so_that_values_stay_finite(worker):
    kernel = lhkit.compile(load_payload(IN_PLACE, worker=worker), worker=worker)
    x = np.ones(4096, np.float32)
    comparison = lhkit.measure({"k": kernel}, [x], rounds=3)
    assert (x == 1).all()
    assert comparison.measurement("k").calls > 1


def test_results_of_dynamic_shape_are_freed_after_every_call(worker):
    kernel = lhkit.compile(load_payload(DYNAMIC, worker=worker), worker=worker)
    x = np.ones(1 << 20, np.float32)
    before = psutil.Process(worker.pid).memory_info().rss
    entry = lhkit.measure({"k": kernel}, [x, np.float32(2)], rounds=20).measurement("k")
    assert entry.verification.ok
    assert entry.timed_by == "Python"
    assert psutil.Process(worker.pid).memory_info().rss - before < (256 << 20) + 2 * last_level_cache_bytes()


@pytest.mark.parametrize("alignment", [4, 64])
def test_buffers_with_gaps_are_measured_in_their_layout(worker, alignment):
    kernel = lhkit.compile(load_payload(STRIDED, worker=worker), worker=worker)
    entry = lhkit.measure({"k": kernel}, rounds=3, alignment_bytes=alignment).measurement("k")
    assert entry.verification.ok
    assert entry.timed_by == "machine code"


def test_two_names_of_a_kernel_can_be_measured_side_by_side(kernel):
    comparison = lhkit.measure({"a": kernel, "b": kernel}, rounds=15)
    speeds = {s.name: s.speed.middle for s in summarize(comparison)}
    assert 0.5 < speeds["a"] / speeds["b"] < 2  # a true tie is ranked apart now and then


def test_the_budget_of_seconds_ends_the_rounds(kernel):
    comparison = lhkit.measure({"k": kernel}, rounds=1000, seconds=1e-6)
    assert comparison.rounds == 5


def test_more_seconds_allow_more_rounds_unless_rounds_are_given(kernel):
    def most(**budget):
        seen = set()
        lhkit.measure({"k": kernel}, progress=lambda _, most: seen.add(most), **budget)
        return seen

    assert most(seconds=0.5) == {50} and most(rounds=6, seconds=0.5) == {6}
    assert most() == {40} and most(seconds=1e-6) == {5}


def test_a_slow_entry_does_not_leave_the_others_with_few_samples(worker):
    payload = lhkit.payloads.matmul(384, 384, 384)
    schedule = load_schedule("matmul_tile_fuse_vectorize.mlir", worker=worker)
    kernels = {"slow": lhkit.compile(payload, worker=worker)}
    kernels["fast"] = lhkit.compile(payload, schedule, worker=worker)
    comparison = lhkit.measure(kernels, rounds=14, seconds=1.5)
    slow, fast = ([ns for _, ns in comparison.measurement(name).samples_ns] for name in ("slow", "fast"))
    assert 5 <= len(slow) <= len(fast)
    assert len(fast) > 5
    # A hundred to one; a place in a ranking may be left open by five pairs of samples on a busy machine.
    assert statistics.median(slow) > statistics.median(fast)


@pytest.mark.parametrize(
    ("alignment", "message"), [(3, "power of two"), (2, "from 4"), (1 << 30, "cannot be aligned"), (0, "power")]
)
def test_alignments_that_cannot_be_are_refused(kernel, alignment, message):
    with pytest.raises(UsageError, match=message):
        lhkit.measure({"k": kernel}, alignment_bytes=alignment)


def test_nothing_and_what_cannot_be_compared_are_refused(kernel, worker):
    with pytest.raises(UsageError, match="nothing to measure"):
        lhkit.measure({})
    other = lhkit.compile(lhkit.payloads.row_sum(8, 8), worker=worker)
    for no_names in (kernel, [kernel], {"payload": kernel.payload}):
        with pytest.raises(UsageError, match="kernels with names"):
            lhkit.measure(no_names)
    with pytest.raises(UsageError, match="different payloads or workers"):
        lhkit.measure({"a": kernel, "b": other})
    with pytest.raises(UsageError, match="name of the reference"):
        lhkit.measure({"NumPy": kernel})


def test_a_worker_says_how_many_threads_its_libraries_have():
    worker = Worker(threads=2)
    try:
        assert dict(describe_environment(worker))["threads"].startswith("2 ")
    finally:
        worker.close()


def test_the_fastest_batches_tell_large_differences(worker):
    payload = lhkit.payloads.matmul(64, 64, 64)
    slow = lhkit.compile(payload, worker=worker)
    fast = lhkit.compile(payload, "matmul_tile_fuse_vectorize.mlir", worker=worker)
    times = fastest_ns({"slow": slow, "fast": fast}, rounds=20)
    assert list(times) == ["slow", "fast"]
    assert times["slow"] > 3 * times["fast"] > 0
    with pytest.raises(UsageError, match="nothing to measure"):
        fastest_ns({})
