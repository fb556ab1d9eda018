"""Winners on this machine: of sweeps over one program next to none has one, and 5 % more work is found.

Run by hand with ``pytest -m heavy -s``; each prints its figures.
"""

import statistics

import pytest

import lhkit

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(7200)]

RUNS = 50
SIZE = 64
# Knobs that do nothing to the payload: each variant is the same program, under another name.
IDLE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %idle = transform.tune.knob<"idle"> = 1 : i64 from options = [1, 2, 3, 4] -> !transform.param<i64>
    transform.yield
  }
}
"""
# Rows are padded to a multiple of the knob: 78 to 80 or to 84, which is 5 % more work of the same kind.
PADDED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %rows = transform.tune.knob<"rows"> = 84 : i64 from options = [80, 84] -> !transform.param<i64>
    %padded, %pads, %copy = transform.structured.pad %matmul pad_to_multiple_of [%rows] {
      padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0], nofold_flags = [0, 0, 0],
      copy_back_op = "none"
    } : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %each = transform.structured.match ops{["tensor.pad"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.rewrite_in_destination_passing_style %each : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def test_of_one_program_no_variant_wins(tmp_path):
    """A sweep without hashing over a knob without effect, and its confirmation, fifty times."""
    payload = lhkit.payloads.matmul(SIZE, SIZE, SIZE)
    schedule = lhkit.load_schedule(IDLE)
    winners, processes = 0, []
    for seed in range(RUNS):
        store = tmp_path / f"{seed}.jsonl"
        sweep = lhkit.sweep(payload, schedule, store=store, seed=seed, deduplicate=False, confirm=False)
        assert {r.status for r in sweep.records} == {"ok"}
        found = sweep.confirm(seconds=None).result()
        winners += found.verdict.winner is not None and len(found.verdict.standings) > 1
        processes.append(found.verdict.processes)
        print(f"\n{seed}: {found.verdict.reason}", end="")
    print(
        f"\nA against A: {winners} of {RUNS} sweeps have a winner; {sum(processes) / RUNS:.1f} processes each"
    )
    assert winners <= RUNS // 20


def test_5_percent_more_work_is_found(tmp_path):
    """A sweep over a knob that adds 5 % of work, and its confirmation, fifty times."""
    payload = lhkit.payloads.matmul(78, 128, 128)
    schedule = lhkit.load_schedule(PADDED)
    right, wrong, processes, leads = 0, 0, [], []
    for seed in range(RUNS):
        sweep = lhkit.sweep(payload, schedule, store=tmp_path / f"{seed}.jsonl", seed=seed, confirm=False)
        assert {r.status for r in sweep.records} == {"ok"}
        verdict = sweep.confirm(seconds=None).result().verdict
        right += verdict.winner == "rows=80"
        wrong += verdict.winner == "rows=84"
        processes.append(verdict.processes)
        leads.append(verdict.standings[-1].lead.middle)
        print(f"\n{seed}: {verdict.reason}", end="")
    how = f"{sum(processes) / RUNS:.1f} processes each, median lead {statistics.median(leads):.3f}"
    print(f"\nplanted 5 %: the right winner in {right} of {RUNS} sweeps, the wrong one in {wrong}; {how}")
    assert right >= 0.9 * RUNS and wrong <= 0.05 * RUNS
