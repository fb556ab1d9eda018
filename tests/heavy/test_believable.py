"""Measuring over many runs: ties of a thing with itself, a stable order, limits beside a C loop, cost of calls.

Run by hand with ``pytest -m heavy -s``; each prints its figures.
"""

import itertools
import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import pytest

import lhkit
from lhkit.compiler.machine.timing_runs import CoreProbe
from lhkit.load.random_inputs import generate_arguments
from lhkit.load.target_choice import widest_vector_bits
from lhkit.model.sample_statistics import percentile, rank_entries, summarize
from lhkit.worker.timing_conditions import last_level_cache_bytes, pinned_to, quietest_core

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_against_a_is_a_tie(worker, cache):
    """The same kernel compiled twice, so that its code lies in two places, a hundred times."""
    payload = lhkit.payloads.row_sum(64, 256)
    one, two = (lhkit.compile(payload, worker=worker) for _ in range(2))
    ties, ratios = 0, []
    for seed in range(100):
        comparison = lhkit.measure({"a": one, "b": two}, rounds=20, seconds=5, seed=seed, cache=cache)
        places = {r.name: r.place for r in rank_entries(comparison)}
        ties += places["a"] == places["b"]
        speeds = {s.name: s.speed.middle for s in summarize(comparison)}
        ratios.append(speeds["a"] / speeds["b"])
    spread = f"ratios from {min(ratios):.3f} to {max(ratios):.3f}"
    print(f"\nA against A, {cache}: {ties} of 100 are ties; {spread}")
    assert ties >= 95


def test_ten_benchmarks_give_the_same_order_up_to_ties(lhkit_command, tmp_path):
    """No pair is ranked one way in one run and the other way in another."""
    orders = []
    files = ["fc_relu.mlir", "fc_relu_tile.mlir", "fc_relu_tile_fuse.mlir", "fc_relu_tile_fuse_vectorize.mlir"]
    for number in range(10):
        file = tmp_path / f"{number}.json"
        finished = lhkit_command("bench", *files, "--seconds", 8, "--json", file)
        assert finished.returncode == 0, finished.stderr
        entries = json.loads(file.read_text())["entries"]
        orders.append({e["name"]: e["rank"] for e in entries})
        print("\n" + next(x for x in finished.stdout.splitlines() if x.startswith("order:")), end="")
    contradictions = [
        (a, b)
        for a, b in itertools.permutations(orders[0], 2)
        if any(o[a] < o[b] for o in orders) and any(o[b] < o[a] for o in orders)
    ]
    print(f"\nbench ten times: {len(contradictions)} contradictions")
    assert not contradictions


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_limits_agree_with_a_c_loop(tmp_path):
    program = tmp_path / "limits"
    source = Path(__file__).parent / "limits.c"
    flags = ["-O3", "-march=native", "-ffp-contract=fast", "-mprefer-vector-width=512"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(program)], check=True)
    nbytes = last_level_cache_bytes()
    ours, theirs = [], []
    with pinned_to(quietest_core()):
        probe = CoreProbe(widest_vector_bits(), nbytes)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([str(program), str(nbytes)], **pipes) as c:
            for _ in range(11):
                pairs = []
                for _ in range(8):  # turn and turn about, so that what disturbs one disturbs the other
                    c.stdin.write("go\n")
                    c.stdin.flush()
                    pairs.append(([float(x) for x in c.stdout.readline().split()], [*probe.sample().values()]))
                theirs.append([max(v) for v in zip(*(p[0] for p in pairs), strict=True)])
                ours.append([max(v) for v in zip(*(p[1] for p in pairs), strict=True)])
            c.stdin.close()
    for i, name in enumerate(("FMA float32 GFLOP/s", "FMA float64 GFLOP/s", "copy GB/s")):
        ratio = statistics.median(a[i] / b[i] for a, b in zip(ours, theirs, strict=True))
        figures = [statistics.median(x[i] for x in xs) for xs in (ours, theirs)]
        print(f"\n{name}: {figures[0]:.4g} ours, {figures[1]:.4g} in C, ratio {ratio:.3f}", end="")
        assert 0.9 < ratio < 1.1
    print()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("inline, 1 KB", lambda: lhkit.payloads.row_sum(16, 16)),
        ("three of 16 KB in, one out", lambda: lhkit.payloads.elementwise_chain(64, 64)),
        ("1 MB in", lambda: lhkit.payloads.row_sum(512, 512)),
        ("4 MB in", lambda: lhkit.payloads.row_sum(1024, 1024)),
        ("three of 1 MB in, one out: 4 MB", lambda: lhkit.payloads.elementwise_chain(512, 512)),
    ],
)
def test_a_call_costs_less_than_a_millisecond_beyond_its_own_time(worker, name, make):
    """A call against the same kernel run in place with cold caches: in a call another core wrote the data."""
    kernel = lhkit.compile(make(), worker=worker)
    arguments = generate_arguments(kernel.function)
    own = lhkit.measure({"k": kernel}, arguments, cache="cold").measurement("k")
    own_ns = percentile([value for _, value in own.samples_ns], 25)
    calls_ns = []
    for _ in range(200):
        started = time.perf_counter_ns()
        kernel(*arguments)
        calls_ns.append(time.perf_counter_ns() - started)
    call_ns = percentile(calls_ns, 25)
    beyond_ms = (call_ns - own_ns) / 1e6
    print(f"\n{name}: a call {call_ns / 1e6:.3f} ms, its own {own_ns / 1e6:.3f} ms, {beyond_ms:.3f} ms beyond")
    assert beyond_ms < 1.0
