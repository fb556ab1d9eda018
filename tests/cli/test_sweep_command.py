"""``lhkit sweep``: exit codes, files, and sweeps that are killed or interrupted and go on where they were."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import jsonschema
import psutil
import pytest

import lhkit
from lhkit.analysis.winner import Rule
from lhkit.cli.main import run_program
from lhkit.session import confirming
from lhkit.sweeping.store import Store

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((Path(lhkit.__file__).parent / "schemas" / "sweep-1.json").read_text(encoding="utf-8"))
PAYLOAD = """func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %empty = tensor.empty() : tensor<64x64xf32>
  %sum = linalg.add ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %sum : tensor<64x64xf32>
}
"""
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %m = transform.tune.knob<"m"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %n = transform.tune.knob<"n"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %add tile_sizes [%m, %n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
FAILS = SCHEDULE.replace(
    "    transform.yield",
    "    transform.loop.unroll %tiled {factor = 2} : !transform.any_op\n    transform.yield",
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.mlir").write_text(PAYLOAD)
    (tmp_path / "s.mlir").write_text(SCHEDULE)
    (tmp_path / "fails.mlir").write_text(FAILS)
    return tmp_path


def sweep(folder, *options, schedule="s.mlir"):
    paths = [folder / "p.mlir", folder / schedule, "--store", folder / "s.jsonl"]
    return run_program(["sweep", *map(str, (*paths, *options))])


def test_a_small_sweep_prints_a_table_and_writes_what_was_asked_for(folder, capsys):
    files = [folder / "records.json", folder / "best.mlir"]
    options = ("--knob", "m=4..16*2", "--knob", "n=8,16", "--where", "m * n <= 128")
    assert sweep(folder, *options, "--json", files[0], "--best", files[1]) == 0
    out, err = capsys.readouterr()
    assert "speed vs best" in out and "variants: 5 (" in out and "; 0 of them known before" in out
    assert f"records are kept in {folder / 's.jsonl'}" in err
    records = json.loads(files[0].read_text())
    for record in records:
        jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert [json.loads(line) for line in (folder / "s.jsonl").read_text().splitlines()] == records
    assert "tune.knob" not in files[1].read_text()
    assert sweep(folder, *options, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out) == records
    for a, b in ((folder / "s.jsonl", files[0]), (files[0], folder / "s.jsonl")):
        assert run_program(["compare", str(a), str(b)]) == 0
        assert "variants in common: median speed B / A 1×" in capsys.readouterr().out


def test_exit_codes_say_what_became_of_it(folder, capsys):
    one = ("--knob", "m=4", "--knob", "n=4", "--json", folder / "f.json")
    assert sweep(folder, *one, schedule="fails.mlir") == 1
    out, err = capsys.readouterr()
    assert "no variant is ok; the first is schedule-failed" in err and "schedule-failed: m=4 n=4" in out
    assert [r["status"] for r in json.loads((folder / "f.json").read_text())] == ["schedule-failed"]
    for options, message in (
        (("--knob", "m"), "expected NAME=V1,V2"),
        (("--store", folder / "p.mlir"), "no line of lhkit.sweep/1"),
    ):
        assert sweep(folder, *options) == 2
        assert message in capsys.readouterr().err
    assert (folder / "p.mlir").read_text() == PAYLOAD


class Killed:
    """Sweeps of one store in processes that are killed, one after the other."""

    def __init__(self, folder):
        self.store = folder / "s.jsonl"
        self._command = [sys.executable, "-m", "lhkit", "sweep", folder / "p.mlir", folder / "s.mlir"]
        self._command = [*map(str, self._command), "--store", str(self.store)]
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(self):
        return subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def wait_for_lines(self, process, count):
        while process.poll() is None and self.count() < count:
            time.sleep(0.002)

    def count(self):
        return self.store.read_bytes().count(b"\n") if self.store.exists() else 0

    def finish(self):
        """Run to the end; check that each variant has one line and none was lost."""
        kept = self.store.read_bytes()
        process = self.start()
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        content = self.store.read_bytes()
        assert content.startswith(kept[: kept.rfind(b"\n") + 1])
        keys = Counter(json.loads(line)["key"] for line in content.splitlines())
        assert len(keys) == 25 and set(keys.values()) == {1}
        assert {r.status for r in Store(self.store, read_only=True).records()} <= {"ok", "stopped-early"}
        return out.decode()


def workers_of(process):
    return [p for p in psutil.Process(process.pid).children() if "lhkit.worker" in p.cmdline()]


def kill_at(killed, line, delay, *, kill_worker=False):
    """Kill a sweep, or its worker, a moment after a line was written; return what is left."""
    process = killed.start()
    killed.wait_for_lines(process, line)
    time.sleep(delay)
    for worker in workers_of(process) if kill_worker else ():
        worker.kill()
    if kill_worker:
        killed.wait_for_lines(process, killed.count() + 1)
    process.kill()
    process.communicate()


def test_a_sweep_that_is_killed_loses_nothing_and_runs_nothing_twice(folder):
    rng = random.Random(9)
    killed = Killed(folder)
    for i in range(3):
        before = killed.count()
        kill_at(killed, before + rng.randrange(2, 5), rng.random() * 0.05, kill_worker=i == 1)
        assert killed.count() > before
    known = killed.count()
    assert f"{known} of them known before" in killed.finish()


@pytest.mark.heavy
@pytest.mark.timeout(3600)
def test_sweeps_that_are_killed_at_50_moments(folder):
    rng = random.Random(50)
    for i in range(50):
        killed = Killed(folder)
        if killed.count() > 15:
            killed.finish()
            killed.store.unlink()
        kill_at(killed, killed.count() + rng.randrange(3), rng.random() * 0.1, kill_worker=i % 3 == 0)
        lines = killed.store.read_bytes()[: killed.store.read_bytes().rfind(b"\n") + 1].splitlines()
        assert all(json.loads(line)["schema"] == "lhkit.sweep/1" for line in lines)
    killed.finish()


def test_an_interrupted_sweep_keeps_everything(folder):
    killed = Killed(folder)
    process = killed.start()
    killed.wait_for_lines(process, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err and b"lhkit: interrupted" in err
    assert b"run again, it goes on where it was" in out
    assert len(Store(killed.store, read_only=True).records()) == killed.count() >= 2


def test_the_best_few_are_timed_again_where_asked_for(folder, capsys, monkeypatch):
    monkeypatch.setattr(confirming, "Rule", lambda: Rule(looks=(1,)))
    assert sweep(folder, "--knob", "m=4", "--knob", "n=8", "--confirm", "--best", folder / "b.mlir") == 0
    out = capsys.readouterr().out
    assert "winner: the best variant is the only contender" in out
    assert "× that of default knobs (95 % interval " in out and "timed side by side in 1 fresh process," in out
    assert (folder / "b.mlir").is_file()
