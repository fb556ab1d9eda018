"""Files that an earlier version wrote are read by this one, and hold what they held."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import lhkit
from benchmarks.suite_file import load_suite
from benchmarks.suite_table import FOLDER
from lhkit.bench.bench_file import load_bench
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.sweeps.record_store import ConfirmationLog, log_path
from lhkit.sweeps.sweep_files import load_records, store_frame

OLD = Path(__file__).parent


def data_of(name):
    return json.loads((OLD / name).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    """A copy that may be written to."""
    return Path(shutil.copytree(OLD, tmp_path / "old", ignore=shutil.ignore_patterns("*.py", "__pycache__")))


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("trace.json", "trace-1"),
        ("check.json", "check-1"),
        ("bench.json", "bench-1"),
        ("suite.json", "suite-1"),
        ("workbench.json", "workbench-1"),
    ],
)
def test_an_old_file_fits_the_schema_of_its_name(name, schema):
    folder = FOLDER if schema == "suite-1" else Path(lhkit.__file__).parent / "schemas"
    found = json.loads((folder / f"{schema}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(found).validate(data_of(name))


def test_an_old_trace_has_its_steps_and_handles():
    trace = trace_from_json(data_of("trace.json"))
    assert trace.outcome.status == "ok" and trace.outcome.failed_step is None
    assert [s.op.removeprefix("transform.") for s in trace.step_records] == [
        "tune.knob", "tune.knob", "structured.match", "structured.tile_using_for"
    ]  # fmt: skip
    assert [h.name for h in trace.handle_records] == [
        "%root", "%m", "%n", "%add", "%tiled", "%loops#0", "%loops#1"
    ]  # fmt: skip
    assert dict(trace.schedule.knobs) == {"m": 2, "n": 4} and trace.payload.source == "payload.mlir"
    assert trace.last_snapshot_text().count("scf.for") == 2 and "tensor<2x4xf32>" in trace.last_snapshot_text()
    assert json.loads(json.dumps(trace_to_json(trace))) == data_of("trace.json")
    assert "%add" in lhkit.show.timeline(trace).svg()


def test_an_old_trace_is_what_the_same_files_give_today(folder):
    trace = lhkit.trace(folder / "payload.mlir", folder / "schedule.mlir", {"m": 2})
    old = trace_from_json(data_of("trace.json"))
    assert trace.last_snapshot_text() == old.last_snapshot_text()
    assert trace.handle_records == old.handle_records


def test_an_old_benchmark_has_its_samples():
    comparison = load_bench(OLD / "bench.json")
    assert [m.name for m in comparison.measurements] == ["unscheduled", "schedule"]
    plain, tiled = comparison.measurements
    assert len(plain.samples_ns) == len(tiled.samples_ns) == comparison.rounds == 3
    assert dict(tiled.knobs) == {"m": 4, "n": 4} and plain.knobs == ()
    assert tiled.verification.ok and tiled.verification.max_abs_error == 0
    written = data_of("bench.json")["entries"]
    assert [list(s) for s in tiled.samples_ns] == written[1]["samples_ns"]
    assert comparison.payload == "payload.mlir" and comparison.anchor == "unscheduled"


def test_an_old_benchmark_is_compared_with_itself(lhkit_here):
    done = lhkit_here("compare", OLD / "bench.json", OLD / "bench.json")
    assert done.returncode == 0 and done.stdout.count("1×") >= 1, done.stderr


def test_an_old_suite_has_its_rows():
    result = load_suite(OLD / "suite.json")
    assert [(row.family, row.shape) for row in result.rows] == [("softmax", (32, 64)), ("softmax", (5, 150))]
    assert result.is_quick and result.is_complete and result.target == "avx512"
    assert [m.name for m in result.rows[0].comparison.measurements] == [
        e["name"] for e in data_of("suite.json")["rows"][0]["bench"]["entries"]
    ]


@pytest.mark.parametrize("name", ["sweep.jsonl", "sweep.json"])
def test_an_old_sweep_has_its_records(name):
    records = {dict(r.knobs)["m"]: r for r in load_records(OLD / name)}
    assert sorted(records) == [2, 4] and all(r.status == "ok" for r in records.values())
    assert records[2].time_ns.median == 196 and records[2].time_ns.runs == 6
    assert records[4].time_ns.median == 77 and records[4].compile_ns == 54752556
    assert records[4].key.startswith("128800f0311f") and records[4].started == "2026-11-22T17:00:02.947+00:00"


def test_an_old_store_is_a_frame_and_compares_with_itself(lhkit_here):
    frame = store_frame(OLD / "sweep.jsonl")
    assert sorted(frame["m"]) == [2, 4] and set(frame["status"]) == {"ok"}
    assert lhkit_here("compare", OLD / "sweep.jsonl", OLD / "sweep.json").returncode == 0


def test_a_sweep_goes_on_with_an_old_store(folder):
    before = (folder / "sweep.jsonl").read_bytes()
    found = lhkit.sweep(
        folder / "payload.mlir",
        folder / "schedule.mlir",
        knobs={"m": [2, 8], "n": [4]},
        store=folder / "sweep.jsonl",
        confirm=False,
    )
    assert (folder / "sweep.jsonl").read_bytes().startswith(before)
    assert {2, 4, 8} <= set(store_frame(folder / "sweep.jsonl")["m"])
    assert {dict(r.knobs)["m"] for r in found.result().records} == {2, 8}


def test_an_old_confirmation_has_its_runs(folder):
    lines = [json.loads(line) for line in (OLD / "sweep.confirmed.jsonl").read_text().splitlines()]
    contest = lines[0]["contest"]
    log = ConfirmationLog(log_path(folder / "sweep.jsonl"))
    (run,) = log.runs(contest)
    assert [m.name for m in run.measurements] == [e["name"] for e in lines[0]["run"]["entries"]]
    assert {m.name for m in run.measurements} >= {"m=2", "m=4"} and run.rounds == lines[0]["run"]["rounds"]
    loops = log.hot_loops(contest, "m=2")
    assert loops is not None and loops.loops
    assert log.hot_loops(contest, "m=4") is None


def test_the_best_schedule_of_an_old_sweep_loads():
    schedule = lhkit.load_schedule(OLD / "best.mlir")
    assert schedule.knobs == () and "tile_sizes [4, 4]" in schedule.text


def test_an_old_workbench_opens_as_it_was_left():
    widget = lhkit.explore(OLD / "workbench.json", trust=True)
    try:
        assert widget.schedule.values == {"m": 8, "n": 4} and widget.session.payload.source == "payload.mlir"
        assert list(widget.session.checkpoints) == ["eight"]
        (result,) = widget.results
        assert (result.kind, result.status, dict(result.knobs)) == ("run", "ok", {"m": 8, "n": 4})
        assert widget.trace is not None and widget.trace.outcome.status == "ok"
        widget.do({"do": "undo"})
        assert widget.schedule.values == {"m": 4, "n": 4}
    finally:
        widget.close()


def test_old_progress_is_remembered(monkeypatch, folder):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(folder))
    frame = lhkit.exercises.progress()
    assert frame.loc["read_the_tile", "solved"] == "2026-11-22"
    assert set(frame["solved"]) == {"", "2026-11-22"}


def test_requests_of_an_earlier_reproducer_run_again():
    command = [sys.executable, "-m", "lhkit.worker", str(OLD / "reproducer.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("request ") == len(data_of("reproducer.json")["requests"]) == 15
