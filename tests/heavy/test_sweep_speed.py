"""How long a sweep takes to a winner, beside trying everything; run by hand: ``make heavy``.

The space is that of the grid in ``data/sweeps``: matmul of 512, blocks and tiles, 578 variants.
"""

import statistics
import time

import pytest

import lhkit

pytestmark = pytest.mark.heavy
SEEDS = range(5)
BUDGET = 24
# A confirmation ends its last process after its time is up.
PROCESS_S = 3


def fresh_sweep(tmp_path, name, **options):
    payload, schedule = (
        lhkit.load_payload("matmul.mlir"),
        lhkit.load_schedule("matmul_block_tile_vectorize.mlir"),
    )
    return lhkit.sweep(payload, schedule, store=tmp_path / f"{name}.jsonl", confirm=False, **options)


@pytest.mark.parametrize("strategy", ["coordinate-descent", "tpe"])
def test_a_declared_winner_comes_in_a_third_of_the_time_of_trying_everything(strategy, tmp_path):
    started = time.perf_counter()
    grid = fresh_sweep(tmp_path, "grid")
    exhaustive_s = time.perf_counter() - started
    best = grid.result().best
    times_s, declared = [], {}
    for seed in SEEDS:
        started = time.perf_counter()
        sweep = fresh_sweep(tmp_path, f"{strategy}{seed}", strategy=strategy, budget=BUDGET, seed=seed)
        left_s = exhaustive_s / 3 - (time.perf_counter() - started) - PROCESS_S
        sweep.confirm(seconds=left_s)
        times_s.append(time.perf_counter() - started)
        declared[f"seed {seed}"] = sweep.result().best
        print(f"\nseed {seed}: {times_s[-1]:.1f} s, {sweep.confirmation.end}: {sweep.confirmation.verdict}")
    payload, schedule = (
        lhkit.load_payload("matmul.mlir"),
        lhkit.load_schedule("matmul_block_tile_vectorize.mlir"),
    )
    kernels = {"best of all": lhkit.compile(payload, schedule, dict(best.knobs))}
    for name, record in declared.items():
        kernels[name] = lhkit.compile(payload, schedule, dict(record.knobs))
    comparison = lhkit.measure(kernels, rounds=60, seconds=30)
    medians = {m.name: statistics.median(ns for _, ns in m.samples_ns) for m in comparison.measurements}
    ratios = [medians["best of all"] / medians[name] for name in declared]
    print(f"everything: {exhaustive_s:.1f} s; to a winner, median of 5: {statistics.median(times_s):.1f} s")
    print("speed of each winner as a share of the best of all:", ", ".join(f"{r:.3f}" for r in ratios))
    assert statistics.median(times_s) <= exhaustive_s / 3
    assert statistics.median(ratios) >= 0.98
