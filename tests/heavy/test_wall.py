"""Long measurements of the wall, run by hand: ``make heavy``. Each prints its figures."""

import os
import random
import signal
import statistics
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import lhkit
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.errors import CrashError
from lhkit.model.sample_statistics import summarize
from lhkit.worker.client import Worker
from lhkit.worker.requests import Ping

pytestmark = pytest.mark.heavy
MIB = 1 << 20


def test_a_request_that_does_nothing_takes_less_than_2_ms(own_worker):
    own_worker.ask(Ping())
    times = []
    for _ in range(2000):
        started = time.perf_counter()
        own_worker.ask(Ping())
        times.append(1e3 * (time.perf_counter() - started))
    print(f"\nping: median {statistics.median(times):.3f} ms, p99 {sorted(times)[1980]:.3f} ms")
    assert statistics.median(times) < 2


@pytest.mark.timeout(3600)
def test_100_kills_at_random_moments_of_mixed_requests(own_worker):
    """Kills while loading, tracing, compiling and calling: a named error each, and the next request works.

    What is answered is right, and neither processes nor folders of the dead are left.
    """
    draw = random.Random(0)
    before = own_folders()
    payload = lhkit.load_payload("fc_relu.mlir", worker=own_worker)
    schedule = lhkit.load_schedule("fc_relu_tile_fuse_vectorize.mlir", worker=own_worker)
    arguments = generate_arguments(payload.function())
    steps = len(lhkit.trace(payload, schedule, worker=own_worker).step_records)
    expected = lhkit.compile(payload, worker=own_worker)(*arguments)

    def load():
        assert lhkit.load_payload("fc_relu.mlir", worker=own_worker).sha256 == payload.sha256

    def trace():
        # A trace that its worker's death ends is a value: it says which step it was.
        found = lhkit.trace(payload, schedule, worker=own_worker)
        if found.outcome.status == "crashed":
            traced.append(found.outcome.failed_step)
        else:
            assert found.outcome.status == "ok" and len(found.step_records) == steps

    def call():
        kernel = lhkit.compile(payload, draw.choice([schedule, None]), worker=own_worker)
        assert np.allclose(kernel(*arguments), expected, rtol=1e-4, atol=1e-3)

    def ping():
        own_worker.ask(Ping())

    requests = [load, trace, call, ping]
    stages: list[str] = []
    traced: list[int | None] = []
    between = 0
    while len(stages) + len(traced) < 100:
        own_worker.ask(Ping())
        generation = own_worker.generation
        timer = threading.Timer(draw.uniform(0, 0.25), os.kill, (own_worker.pid, signal.SIGKILL))
        timer.start()
        try:
            while own_worker.generation == generation:
                draw.choice(requests)()
        except CrashError as error:
            failure = error.failure
            assert failure.kind == "crash" and failure.request and failure.reproducer
            assert "SIGKILL" in failure.message
            stages.append(f"{failure.request}/{failure.stage}")
        else:  # it died between two requests, or in a trace: its successor answered
            between += 1
        timer.join()
        assert own_worker.ask(Ping()) is not None
        assert own_worker.generation == generation + 1
    counts = {s: stages.count(s) for s in sorted(set(stages))}
    print(
        f"\n{len(stages)} kills with a named error, by request and stage: {counts}; {len(traced)} traces that say "
        f"it; {between - len(traced)} between requests"
    )
    own_worker.close()
    assert own_folders() <= before
    assert not [p for p in psutil.Process().children() if "lhkit.worker" in p.cmdline()]


def own_folders():
    """Return the temporary folders that this process holds."""
    held = {Path(f.path).parent for f in psutil.Process().open_files() if f.path.endswith(".lhkit-owner")}
    return {folder for folder in held if folder.is_dir()}


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
def test_1000_compiles_stay_bounded(kept):
    worker = Worker()
    payload = lhkit.load_payload("fc_relu.mlir", worker=worker)
    schedule = lhkit.load_schedule("fc_relu_tile_fuse_vectorize.mlir", worker=worker)
    kernels = [lhkit.compile(payload, schedule, worker=worker)]
    own = psutil.Process()
    before = own.memory_info().rss
    most = 0
    for _ in range(1000):
        kernel = lhkit.compile(payload, schedule, worker=worker)
        if kept:
            kernels.append(kernel)
        most = max(most, psutil.Process(worker.pid).memory_info().rss)
    grown = own.memory_info().rss - before
    print(f"\n1,000 compiles: worker at most {most / MIB:.0f} MiB, caller grew {grown / MIB:.1f} MiB")
    worker.close()
    assert most < 1 << 30 and grown < 20 * MIB


def test_the_vectorized_schedule_of_fc_relu_512():
    payload = lhkit.load_payload("fc_relu.mlir")
    schedule = lhkit.load_schedule("fc_relu_tile_fuse_vectorize.mlir")
    kernels = {"unscheduled": lhkit.compile(payload), "vectorized": lhkit.compile(payload, schedule)}
    comparison = lhkit.measure(kernels, rounds=15)
    assert all(m.verification.ok for m in comparison.measurements if m.verification)
    speed = {s.name: s.speed.middle for s in summarize(comparison)}
    times = {s.name: s.median_ns for s in summarize(comparison)}
    print(
        f"\nvectorized: {speed['vectorized']:.3f} of NumPy,"
        f" {times['unscheduled'] / times['vectorized']:.1f} times the unscheduled payload"
    )
    assert speed["vectorized"] >= 0.4 and times["unscheduled"] >= 20 * times["vectorized"]
