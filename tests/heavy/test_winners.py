"""Winners on this machine: of sweeps over one program next to none has one, and 5 % more work is found.

Run by hand on a quiet machine, about half an hour: ``pytest -m heavy -s tests/heavy/test_winners.py``. The figures so far
are printed after every sweep. With ``LHKIT_WINNERS=FOLDER`` each outcome is kept there, and a run that was broken off
goes on where it was; ``LHKIT_WINNERS_RUNS=5`` makes a short one.
"""

import json
import os
import statistics
from pathlib import Path

import pytest

import lhkit

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(7200)]

RUNS = int(os.environ.get("LHKIT_WINNERS_RUNS", "50"))
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


class Outcomes:
    """What came of each sweep, by its seed; kept in a file, a line a sweep, if a folder for it is given."""

    def __init__(self, name, folder):
        self.file = Path(os.environ.get("LHKIT_WINNERS", folder)) / f"{name}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.of = {known["seed"]: known for known in map(json.loads, lines) if known["seed"] < RUNS}

    def missing(self):
        return [seed for seed in range(RUNS) if seed not in self.of]

    def add(self, seed, found):
        verdict = found.verdict
        lead = verdict.standings[-1].lead.middle if len(verdict.standings) > 1 else None
        winner = dict(dict(found.knobs)[verdict.winner]) if verdict.winner else None
        what = {"winner": winner, "contenders": len(verdict.standings), "lead": lead}
        outcome = {"seed": seed, **what, "processes": verdict.processes, "reason": verdict.reason}
        self.of[seed] = outcome
        with self.file.open("a") as file:
            file.write(json.dumps(outcome) + "\n")

    def winners(self):
        """Who won, once for each sweep that had a winner among several."""
        return [o["winner"] for o in self.of.values() if o["winner"] is not None and o["contenders"] > 1]

    def say(self, words):
        count = len(self.of)
        processes = sum(o["processes"] for o in self.of.values()) / max(count, 1)
        return f"{words}, {count} of {RUNS} sweeps done; {processes:.1f} processes each"


def test_of_one_program_no_variant_wins(tmp_path):
    """A sweep without hashing over a knob without effect, and its confirmation, fifty times."""
    payload = lhkit.payloads.matmul(SIZE, SIZE, SIZE)
    schedule = lhkit.load_schedule(IDLE)
    outcomes = Outcomes("one-program", tmp_path)
    for seed in outcomes.missing():
        store = tmp_path / f"{seed}.jsonl"
        sweep = lhkit.sweep(payload, schedule, store=store, seed=seed, deduplicate=False, confirm_seconds=None)
        assert {r.status for r in sweep.records} <= {"ok", "stopped-early"}  # the latter of a disturbance
        outcomes.add(seed, sweep.confirmation)
        print(f"\n{seed}: {sweep.confirmation.verdict.reason}")
        print(outcomes.say(f"A against A: {len(outcomes.winners())} have a winner"), flush=True)
    print("\n" + outcomes.say(f"A against A: {len(outcomes.winners())} have a winner"))
    assert len(outcomes.winners()) <= max(RUNS // 20, 1)


def test_5_percent_more_work_is_found(tmp_path):
    """A sweep over a knob that adds 5 % of work, and its confirmation, fifty times."""
    payload = lhkit.payloads.matmul(78, 128, 128)
    schedule = lhkit.load_schedule(PADDED)
    outcomes = Outcomes("5-percent", tmp_path)
    for seed in outcomes.missing():
        store = tmp_path / f"{seed}.jsonl"
        sweep = lhkit.sweep(payload, schedule, store=store, seed=seed, confirm_seconds=None)
        assert {r.status for r in sweep.records} <= {"ok", "stopped-early"}  # the latter of a disturbance
        outcomes.add(seed, sweep.confirmation)
        print(f"\n{seed}: {sweep.confirmation.verdict.reason}")
        print(figures_of(outcomes), flush=True)
    print("\n" + figures_of(outcomes))
    right, wrong = right_and_wrong(outcomes)
    assert right >= 0.9 * RUNS and wrong <= max(0.05 * RUNS, 1)


def right_and_wrong(outcomes):
    named = [o["winner"]["rows"] for o in outcomes.of.values() if o["winner"] is not None]
    return named.count(80), named.count(84)


def figures_of(outcomes):
    right, wrong = right_and_wrong(outcomes)
    leads = [o["lead"] for o in outcomes.of.values() if o["lead"] is not None]
    lead = f", median lead {statistics.median(leads):.3f}" if leads else ""
    return outcomes.say(f"planted 5 %: the right winner in {right}, the wrong one in {wrong}{lead}")
