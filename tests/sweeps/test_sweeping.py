"""Sweeps with a worker: every outcome, in scripts and in event loops, and what their results say."""

import asyncio
import functools
import json
import os
import shutil
import signal
import time

import pytest

import lhkit
from lhkit.model.errors import UsageError
from lhkit.sweeps.record_store import Store, merge_stores
from lhkit.sweeps.sweep_files import compare_sweeps, load_records, save_frame, store_frame
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Ping
from tests.sweep_parts import OPS, PAYLOAD, SCHEDULE, WAYS, Listed, make_record, points_of

# Winners are confirmed in tests of their own.
sweep = functools.partial(lhkit.sweep, confirm=False)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A worker that has the op of the schedule."""
    file = tmp_path_factory.mktemp("ops") / "ops.py"
    file.write_text(OPS)
    worker = Worker(Limits(seconds=60))
    lhkit.load_ops(file, worker=worker)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def payload(own):
    return lhkit.load_payload(PAYLOAD, worker=own)


@pytest.fixture(scope="module")
def schedule(own):
    return lhkit.load_schedule(SCHEDULE, worker=own)


@pytest.fixture(scope="module")
def everything(own, payload, schedule, tmp_path_factory):
    """A sweep of every way, and one point that the schedule does not take."""
    points = [*points_of(way=WAYS, idle=[1]), *points_of(way=["ok"], idle=[2, 3])]
    store = tmp_path_factory.mktemp("sweep") / "s.jsonl"
    listed = Listed(points)
    # More than the worker takes by itself, and less than the hungry one has in no time.
    limits = Limits(10.0, 700 << 20)
    return sweep(payload, schedule, strategy=listed, store=store, worker=own, limits=limits)


def test_every_outcome_is_typed_and_costs_one_variant(everything):
    found = {tuple(r.values.values()): r for r in everything.records}
    expected = {
        ("ok", 1): "ok",
        ("slow", 1): "stopped-early",
        ("wrong", 1): "wrong-result",
        ("fails", 1): "schedule-failed",
        ("unlowerable", 1): "compile-failed",
        ("dies", 1): "crashed",
        ("hangs", 1): "timeout",
        ("hungry", 1): "out-of-memory",
        ("ok", 2): "same-as",
        ("ok", 3): "invalid-config",
    }
    # As slow as the first, which one disturbed timing may hide.
    assert found.pop(("other", 1)).status in ("ok", "stopped-early")
    assert {point: r.status for point, r in found.items()} == expected
    assert found["ok", 2].same_as == found["ok", 1].key
    assert found["slow", 1].time_ns.runs == 1
    assert found["slow", 1].time_ns.median > 3 * found["ok", 1].time_ns.median
    assert found["ok", 1].max_abs_error == 0 and found["ok", 1].time_ns.runs >= 3
    # One addition an element, in each of two rounds.
    assert found["ok", 1].gflops == pytest.approx(2 * 4096 / found["ok", 1].time_ns.median, rel=1e-3)


def test_messages_say_why(everything):
    found = {tuple(r.values.values()): r.message for r in everything.records}
    for point, words in {
        ("wrong", 1): "differs from the unscheduled payload: result 0 at [0] is nan",
        ("fails", 1): "not this way",
        ("unlowerable", 1): "cannot be lowered",
        ("dies", 1): "SIGABRT",
        ("hangs", 1): "longer than its limit of 10 s",
        ("hungry", 1): "over its limit of 700 MiB",
        ("ok", 3): "the schedule requires idle <= 2, which idle=3 does not meet",
    }.items():
        assert words in found[point], point
    assert found["ok", 1] is None


def test_the_result_says_what_failed_and_what_made_no_difference(everything):
    result = everything.result()
    assert set(result.failures) == {
        *("wrong-result", "schedule-failed", "compile-failed", "crashed", "timeout", "out-of-memory"),
        "invalid-config",
    }
    assert result.knobs_without_effect == ("idle",)
    assert result.best.values["way"] in ("ok", "other") and result.end == "finished"
    assert dict(result.spent_ns)["compile"] > 0
    frame = result.to_frame().set_index(["way", "idle"])
    assert frame.loc[("ok", 2), "median_ns"] == frame.loc[("ok", 1), "median_ns"]
    assert frame["median_ns"].isna().sum() == 7


def test_a_sweep_that_is_done_tries_nothing(everything, payload, schedule, own):
    before = everything.store_path.read_bytes()
    points = points_of(way=WAYS, idle=[1])
    again = sweep(payload, schedule, strategy=Listed(points), store=everything.store_path, worker=own)
    assert again.result().known == len(WAYS) and everything.store_path.read_bytes() == before
    assert again.best == everything.best


def test_other_options_in_the_text_use_what_is_known(everything, payload, own, tmp_path):
    store = shutil.copy(everything.store_path, tmp_path)
    longer = SCHEDULE.replace("options = [1, 2, 3]", "options = [1, 2, 3, 4, 0]").replace(
        "= 1 : i64", "= 2 : i64"
    )
    schedule = lhkit.load_schedule(longer, worker=own)
    points = points_of(way=["ok"], idle=[1, 2, 0])
    again = sweep(payload, schedule, strategy=Listed(points), store=store, worker=own)
    assert again.result().known == 2 and again.records[2].status == "same-as"


def test_frames_tables_merging_and_comparing(everything, tmp_path, monkeypatch):
    frame = store_frame(everything.store_path)
    assert {"way", "idle", "status", "median_ns", "key"} <= set(frame.columns)
    save_frame(frame, tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().count("\n") >= len(frame)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="Parquet needs pyarrow"):
        save_frame(frame, tmp_path / "s.parquet")
    with pytest.raises(UsageError, match="not a known kind of table"):
        save_frame(frame, tmp_path / "s.xlsx")
    with Store(tmp_path / "other.jsonl") as other:
        other.append(make_record(1))
    others = [Store(path, read_only=True) for path in (everything.store_path, tmp_path / "other.jsonl")]
    with Store(tmp_path / "all.jsonl") as whole:
        assert merge_stores(whole, others) == len(frame) + 1
    records = load_records(everything.store_path)
    same = compare_sweeps(records, records)
    assert same.quartiles.middle == 1 and {r.verdict for r in same.ratios} == {"no difference seen"}
    with pytest.raises(UsageError, match="of 2 environments"):
        compare_sweeps(records, load_records(tmp_path / "all.jsonl"))


def test_comparing_tells_faster_from_slower():
    fast = [make_record(n) for n in range(3)]
    slow = [make_record(n, time_ns=type(fast[0].time_ns)(4000, 3990, 20, 7)) for n in (1, 2, 3)]
    runs = compare_sweeps(fast, slow)
    assert [r.verdict for r in runs.ratios] == ["slower", "slower"] and runs.quartiles.middle < 0.26
    assert (len(runs.only_first), len(runs.only_second)) == (1, 1)
    other = [make_record(n, environment="f" * 64) for n in range(3)]
    with pytest.raises(UsageError, match="different machines"):
        compare_sweeps(fast, other)
    assert compare_sweeps(fast, other, across_environments=True).differences


TILE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %size = transform.tune.knob<"size"> = 4 : i64 from options = [2, 4, 8] -> !transform.param<i64>
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %add tile_sizes [%size]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_in_a_script_it_runs_to_the_end(worker, tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    done = sweep(PAYLOAD, TILE, knobs={"size": [2, 8]}, worker=worker)
    assert repr(done).startswith("Sweep(<schedule>: 2 of 2 variants, finished, best size=")
    assert done.store_path.parent.name == "sweeps" and not done.is_running
    text = done.best_schedule()
    assert "tune.knob" not in text and f"tile_sizes [{done.best.values['size']}]" in text
    applied = lhkit.load_schedule(text, worker=worker)
    assert lhkit.verify(lhkit.compile(PAYLOAD, applied, worker=worker)).ok
    # Without a store the same sweep has the same file.
    assert sweep(PAYLOAD, TILE, worker=worker).result().known == 2


def test_several_payloads_are_an_axis(worker, tmp_path):
    small = PAYLOAD.replace("4096", "64")
    swept = sweep({"64": small, "4096": PAYLOAD}, TILE, store=tmp_path / "s.jsonl", worker=worker)
    assert [r.values["payload"] for r in swept.records] == ["64"] * 3 + ["4096"] * 3
    assert {r.status for r in swept.records} <= {"ok", "stopped-early"} and swept.best.values["payload"] == "64"
    again = sweep({"4096": PAYLOAD}, TILE, store=tmp_path / "s.jsonl", worker=worker)
    assert again.result().known == 3


def test_memrefs_are_verified_and_restored(worker, tmp_path):
    text = """func.func @f(%a: memref<64xf32>, %sum: memref<f32>) {
      linalg.reduce ins(%a : memref<64xf32>) outs(%sum : memref<f32>) dimensions = [0]
        (%in: f32, %out: f32) { %s = arith.addf %in, %out : f32 linalg.yield %s : f32 }
      return
    }"""
    tile = TILE.replace("linalg.add", "linalg.reduce")
    swept = sweep(text, tile, store=tmp_path / "s.jsonl", worker=worker)
    assert {r.status for r in swept.records} <= {"ok", "stopped-early"}


def test_in_an_event_loop_it_returns_at_once_and_can_be_awaited(tmp_path):
    async def main():
        events = []
        swept = sweep(PAYLOAD, TILE, store=tmp_path / "s.jsonl", on_event=events.append)
        assert swept.is_running and swept.records == () and "running" in repr(swept)
        assert await swept is swept
        assert [e.done for e in events] == [1, 2, 3, 3] and events[-1].end == "finished"
        assert events[-1].best == swept.best and swept.result().end == "finished"

    asyncio.run(main())


def test_stop_ends_it_within_half_a_second_whatever_it_does(own, payload, schedule, tmp_path):
    async def main():
        points = [*points_of(way=["ok", "hangs"], idle=[1])]
        swept = sweep(
            payload,
            schedule,
            strategy=Listed(points),
            store=tmp_path / "s.jsonl",
            worker=own,
            limits=Limits(60),
        )
        while swept.is_running and not swept.records:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        asked = time.perf_counter()
        await asyncio.to_thread(swept.stop)
        await swept
        return swept, time.perf_counter() - asked

    swept, seconds = asyncio.run(main())
    assert swept.end == "stopped" and [r.status for r in swept.records] == ["ok"]
    assert seconds < 5  # half a second, on a machine that does nothing else
    assert own.ask(Ping()).output == ""


def test_what_cannot_be_swept_is_said_at_once(worker, tmp_path):
    store = tmp_path / "s.jsonl"
    for options, words in (
        ({"executor": "cloud"}, "no executor 'cloud'"),
        ({"strategy": "luck"}, "no strategy 'luck'"),
        ({"knobs": {"depth": [1]}}, "no knob 'depth'"),
        ({"wrong": 1}, "unexpected keyword argument 'wrong'"),
    ):
        with pytest.raises(UsageError, match=words):
            sweep(PAYLOAD, TILE, store=store, worker=worker, **options)
    with Store(store), pytest.raises(UsageError, match="another sweep"):
        sweep(PAYLOAD, TILE, store=store, worker=worker)


def test_a_sweep_that_breaks_off_in_an_event_loop_says_so(worker, tmp_path):
    payload = lhkit.load_payload(PAYLOAD, reference="nowhere.py:f", worker=worker)

    async def main():
        swept = sweep(payload, TILE, store=tmp_path / "s.jsonl")
        with pytest.raises(UsageError, match="no such file"):
            await swept
        assert "broke off" in repr(swept) and swept.failure.kind == "usage"
        with pytest.raises(UsageError):
            swept.result()

    asyncio.run(main())


def test_a_variant_whose_worker_was_killed_from_outside_is_tried_again(own, payload, schedule, tmp_path):
    async def main():
        points = points_of(way=["ok", "hangs", "other"], idle=[1])
        limits, store = Limits(5.0), tmp_path / "s.jsonl"
        swept = sweep(payload, schedule, strategy=Listed(points), store=store, worker=own, limits=limits)
        while swept.is_running and not swept.records:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        os.kill(own.pid, signal.SIGKILL)
        return await swept

    first, second, third = (r.status for r in asyncio.run(main()).records)
    assert (first, second) == ("ok", "timeout") and third in ("ok", "stopped-early")


def test_records_of_a_sweep_are_lines_of_json(everything):
    for line in everything.store_path.read_text().splitlines():
        assert json.loads(line)["schema"] == "lhkit.sweep/1"


def test_the_best_schedule_is_the_one_that_was_timed_with_ops_of_lhkit(worker, tmp_path):
    # Without the call no op of linalg is in reach of the second match.
    text = TILE.replace(
        "    %add =",
        """    %here = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %call = "lhkit.outline_ops"(%here) {name = "apart"} : (!transform.any_op) -> !transform.any_op
    %function = transform.get_parent_op %call {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %add =""",
    )
    done = sweep(
        PAYLOAD, f"// lhkit: optional lhkit.outline_ops\n{text}", store=tmp_path / "s.jsonl", worker=worker
    )
    assert '"lhkit.outline_ops"' in done.best_schedule()
    best = lhkit.load_schedule(done.best_schedule(), worker=worker)
    assert best.knobs == () and lhkit.verify(lhkit.compile(PAYLOAD, best, worker=worker)).ok
