"""``lhkit sweep``: exit codes, files, and sweeps that are killed or interrupted and go on where they were."""

import contextlib
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
from lhkit.cli.main import run_program
from lhkit.sweeps import confirmation_run as confirming
from lhkit.sweeps.confirmation import Rule
from lhkit.sweeps.record_store import Store

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((Path(lhkit.__file__).parent / "schemas" / "sweep-1.json").read_text(encoding="utf-8"))
LOG_SCHEMA = json.loads(
    (Path(lhkit.__file__).parent / "schemas" / "confirmation-1.json").read_text(encoding="utf-8")
)
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


def sweep(folder, *options, schedule="s.mlir", is_confirmed=False):
    paths = [folder / "p.mlir", folder / schedule, "--store", folder / "s.jsonl"]
    more = () if is_confirmed else ("--no-confirm",)
    return run_program(["sweep", *map(str, (*paths, *more, *options))])


def test_a_small_sweep_prints_a_table_and_writes_what_was_asked_for(folder, capsys):
    files = [folder / "records.json", folder / "best.mlir"]
    options = ("--knob", "m=4..16*2", "--knob", "n=8,16", "--where", "m * n <= 128")
    assert sweep(folder, *options, "--json", files[0], "--best", files[1]) == 0
    out, err = capsys.readouterr()
    assert "speed vs first row" in out and "variants: 5 (" in out and "; 0 of them known before" in out
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


def test_a_knob_given_twice_is_swept_over_the_values_of_both(folder):
    given = ("--knob", "m=4", "--knob", "n=8", "--knob", "m=8,4")
    assert sweep(folder, *given, "--json", folder / "f.json") == 0
    records = json.loads((folder / "f.json").read_text())
    assert [r["knobs"] for r in records] == [{"m": 4, "n": 8}, {"m": 8, "n": 8}]


def test_exit_codes_follow_from_the_outcome(folder, capsys):
    one = ("--knob", "m=4", "--knob", "n=4", "--json", folder / "f.json")
    assert sweep(folder, *one, schedule="fails.mlir") == 1
    out, err = capsys.readouterr()
    assert "no variant is ok; the first is schedule-failed" in err and "schedule-failed: m=4 n=4" in out
    assert [r["status"] for r in json.loads((folder / "f.json").read_text())] == ["schedule-failed"]
    for options, message in (
        (("--knob", "m"), "expected NAME=V1,V2"),
        (("--store", folder / "p.mlir"), "not a line of lhkit.sweep/1"),
    ):
        assert sweep(folder, *options) == 2
        assert message in capsys.readouterr().err
    assert (folder / "p.mlir").read_text() == PAYLOAD


def test_several_payloads_have_a_table_from_payload_to_knobs(folder, capsys):
    (folder / "q.mlir").write_text(PAYLOAD.replace("64x64", "32x64"))
    options = ("--also", folder / "q.mlir", "--knob", "m=4,8", "--knob", "n=8", "--by-payload")
    assert sweep(folder, *options, folder / "t.csv") == 0
    out = capsys.readouterr().out
    assert "regret of one choice" in out and "one choice for all: m = " in out
    header, *rows = (folder / "t.csv").read_text().splitlines()
    assert header == "payload,arguments,m,n,median_ns,confirmed,regret_of_one_choice"
    assert [row.split(",")[0] for row in rows] == ["p", "q"] and '"32x64xfloat32, 32x64xfloat32"' in rows[1]
    assert sweep(folder, *options, folder / "t.txt") == 2
    assert sweep(folder, "--also", folder / "p.mlir") == 2
    assert "two have the same name" in capsys.readouterr().err


class Killed:
    """Sweeps of one store in processes that are killed, one after the other; their winner is confirmed."""

    def __init__(self, folder):
        self.store, self.log = folder / "s.jsonl", folder / "s.confirmed.jsonl"
        command = [sys.executable, "-m", "lhkit", "sweep", folder / "p.mlir", folder / "s.mlir"]
        self._command = [*map(str, command), "--store", str(self.store), "--confirm-seconds", "1"]
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(self):
        return subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def wait_for_lines(self, process, count):
        """Wait until store and log have so many lines together, or the sweep has ended."""
        while process.poll() is None and self.count() < count:
            time.sleep(0.002)

    def count(self):
        return self.count_of(self.store) + self.count_of(self.log)

    def count_of(self, file):
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def kill(self, line, delay, *, kill_worker=False):
        """Kill a sweep, or first its worker, a moment after a line was written; check what is left.

        Returns whether it was killed before it ended.
        """
        before = [whole_lines(file) for file in (self.store, self.log)]
        process = self.start()
        self.wait_for_lines(process, line)
        time.sleep(delay)
        if kill_worker:
            kill_workers_of(process)
            self.wait_for_lines(process, self.count() + 1)
        process.kill()
        process.communicate()
        for file, kept in zip((self.store, self.log), before, strict=True):
            found = whole_lines(file)
            assert found[: len(kept)] == kept
            assert len(set(found)) == len(found)
        self.check()
        return process.returncode == -signal.SIGKILL

    def check(self):
        """Check that no line is damaged, and that no variant and no process was measured twice."""
        keys = Counter(json.loads(line)["key"] for line in whole_lines(self.store))
        assert set(keys.values()) <= {1}
        for line in whole_lines(self.store):
            jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))
        lines = [json.loads(line) for line in whole_lines(self.log)]
        for line in lines:
            jsonschema.Draft202012Validator(LOG_SCHEMA).validate(line)
        numbers = {}
        for line in lines:
            if line["process"] is not None:
                numbers.setdefault(line["contest"], []).append(line["process"])
        assert len(numbers) <= 1 and all(n == list(range(len(n))) for n in numbers.values())

    def finish(self):
        """Run to the end; check that each variant has one line and none was lost."""
        kept = [whole_lines(file) for file in (self.store, self.log)]
        process = self.start()
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        for file, lines in zip((self.store, self.log), kept, strict=True):
            assert whole_lines(file)[: len(lines)] == lines
        self.check()
        assert self.count_of(self.store) == 25
        assert {r.status for r in Store(self.store, read_only=True).records()} <= {"ok", "stopped-early"}
        return out.decode()


def whole_lines(file):
    content = file.read_bytes() if file.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()


def kill_workers_of(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children():
            if "lhkit.worker" in child.cmdline():
                child.kill()


def test_a_sweep_that_is_killed_loses_nothing_and_runs_nothing_twice(folder):
    """Twice among its variants, once with its worker killed before, and once in its confirmation."""
    rng = random.Random(9)
    killed = Killed(folder)
    for i in range(2):
        before = killed.count()
        killed.kill(before + rng.randrange(2, 5), rng.random() * 0.05, kill_worker=i == 1)
        assert killed.count() > before
    killed.kill(26, rng.random() * 0.05)
    assert killed.count_of(killed.store) == 25
    known = len([line for line in whole_lines(killed.log) if json.loads(line)["run"]])
    out = killed.finish()
    assert "variants: 25 (" in out and "25 of them known before" in out
    assert f"({known} of them before)" in out and known >= 1


@pytest.mark.heavy
@pytest.mark.timeout(3600)
def test_sweeps_that_are_killed_at_50_moments(folder):
    """At any moment of their life, the start and the confirmation among them; when one ends, another begins."""
    rng = random.Random(50)
    killed = Killed(folder)
    ended, moments = 0, Counter()
    while moments.total() < 50:
        before = killed.count_of(killed.store)
        lines, delay = rng.randrange(6), rng.random() * 0.5
        was_killed = killed.kill(killed.count() + lines, delay, kill_worker=moments.total() % 3 == 0)
        after = killed.count_of(killed.store)
        if was_killed:
            where = (
                "among variants" if after < 25 else "in the confirmation" if before == 25 else "between both"
            )
            moments[where if after else "before the first variant"] += 1
            print(f"\r{moments.total()} of 50", end="", flush=True)
        if not was_killed or killed.count_of(killed.log) > 8:
            killed.finish()
            ended += 1
            killed.store.unlink()
            killed.log.unlink()
    killed.finish()
    how = ", ".join(f"{count} {when}" for when, count in moments.items())
    print(
        f"\nkilled at 50 moments: {how}; {ended + 1} sweeps came to their end: no line lost, nothing run twice"
    )


def test_an_interrupted_sweep_keeps_everything(folder):
    killed = Killed(folder)
    process = killed.start()
    killed.wait_for_lines(process, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err and b"lhkit: interrupted" in err
    assert b"run it again to resume" in out
    assert len(Store(killed.store, read_only=True).records()) == killed.count() >= 2


def test_the_best_few_are_timed_again_unless_told_not_to(folder, capsys, monkeypatch):
    monkeypatch.setattr(confirming, "Rule", lambda: Rule(looks=(1,)))
    knobs = ("--knob", "m=4", "--knob", "n=8")
    assert sweep(folder, *knobs, "--best", folder / "b.mlir", is_confirmed=True) == 0
    out, err = capsys.readouterr()
    assert "timing the best variant again in fresh processes (at most 1, 30 s; not with --no-confirm)" in err
    assert "only contender: no other variant that was tried came near it" in out and "winner" not in out
    assert "× that of default knobs (of one process, which tells no interval)" in out
    assert "timed side by side in 1 fresh process," in out
    assert (folder / "b.mlir").is_file()
    assert sweep(folder, *knobs, is_confirmed=True) == 0
    assert "timed side by side in 1 fresh process (1 of them before)," in capsys.readouterr().out
    assert sweep(folder, *knobs) == 0
    out = capsys.readouterr().out
    assert "whether the first is really the fastest is not known" in out and "winner" not in out
