"""Confirmation runs: fresh processes, programs compiled anew in each, and stopping at any moment."""

import asyncio
import threading

import pytest
from sweep_records import comparison, record

import lhkit
from lhkit.analysis.confirmation import describe_confirmation
from lhkit.analysis.winner import Rule
from lhkit.model.errors import LhkitError, UsageError, error_for
from lhkit.model.failure import Failure
from lhkit.session import confirming as module
from lhkit.session.confirming import Confirming, confirm

PAYLOAD = lhkit.payloads.matmul(32, 64, 32)
SCHEDULE = lhkit.load_schedule("matmul_tile.mlir")


def variants(*tiles):
    return [record({"tile_m": m, "tile_n": 8, "tile_k": 8}, 100 + m, number=m) for m in tiles]


def run_of(*tiles, **options):
    return Confirming(PAYLOAD, SCHEDULE, variants(*tiles), **options)


def test_contenders_and_baseline_are_timed_in_fresh_processes():
    events = []
    found = run_of(8, 32, rule=Rule(looks=(2,)), rounds=3, on_event=events.append).run()
    assert [e.processes for e in events] == [1, 2] and events[0].most == 2
    measured = [{m.name for m in run.measurements} for run in found.runs]
    assert measured == [{"NumPy", "tile_m=8", "tile_m=32", "default knobs"}] * 2
    assert found.runs[0].environment == found.runs[1].environment
    assert {s.over for s in found.speed_ups} == {"default knobs", "NumPy"}
    assert 0 < found.of_peak < 1 and found.hot_loops.loops
    assert describe_confirmation(found)[-1].startswith("timed side by side in 2 fresh processes")


def test_a_run_that_is_stopped_ends_at_once_and_leaves_no_process(monkeypatch):
    workers, started = [], threading.Event()

    class Recorded(module.Worker):
        def request(self, *arguments, **options):
            answer = super().request(*arguments, **options)
            workers.append(self)
            started.set()
            return answer

    monkeypatch.setattr(module, "Worker", Recorded)

    async def stopped():
        stop = asyncio.Event()
        running = asyncio.ensure_future(confirm(run_of(8, 32), stop))
        await asyncio.to_thread(started.wait)
        stop.set()
        done, _ = await asyncio.wait({running}, timeout=5)
        assert done
        return running.exception()

    error = asyncio.run(stopped())
    assert error.failure.kind == "cancelled" and "before its first process was done" in str(error)
    assert all(w.pid is None for w in workers)


class Scripted(Confirming):
    """A run whose processes are scripted: a failure, or times."""

    def __init__(self, script, *tiles, **options):
        super().__init__(PAYLOAD, SCHEDULE, variants(*tiles), **options)
        self.script, self.asked = iter(script), []

    def _process(self, alive):
        self.asked.append(alive)
        step = next(self.script)
        if step == "crash":
            raise error_for(Failure(kind="crash", message="the worker died"))
        if step == "stop":
            self.stop()
            raise error_for(Failure(kind="cancelled", message="stopped"))
        names = ("tile_m=8", "tile_m=32") if len(step) == 2 else alive
        return comparison({name: [time] for name, time in zip(names, step, strict=True)})


FAST_FIRST = [(1.0, 2.0 + i / 100) for i in range(20)]


def test_a_process_that_dies_is_replaced():
    run = Scripted(["crash", *FAST_FIRST], 8, 32)
    found = run.run()
    assert found.verdict.winner == "tile_m=8" and found.end == "decided" and len(run.asked) == 5
    assert describe_confirmation(found)[-1] == "a process failed: the worker died"


def test_where_all_processes_die_the_reason_is_said():
    with pytest.raises(LhkitError, match="the worker died"):
        Scripted(["crash"] * 9, 8, 32).run()


def test_after_a_stop_what_is_known_is_told():
    found = Scripted([(1.0, 1.0), (1.0, 1.1), "stop"], 8, 32).run()
    assert (found.end, found.verdict.processes, found.verdict.winner) == ("stopped", 2, None)


def test_time_that_is_up_ends_a_run_after_its_process():
    found = Scripted([(1.0, 1.0)] * 9, 8, 32, seconds=0.0).run()
    assert (found.end, found.verdict.processes) == ("out of time", 1)


def test_what_cannot_be_told_apart_ends_with_the_processes():
    found = Scripted([(1.0, 1.0 + (-1) ** i / 10) for i in range(20)], 8, 32).run()
    assert (found.end, found.verdict.processes) == ("out of processes", 16)


def test_one_contender_is_measured_and_none_is_refused():
    found = Scripted([(1.0,)] * 9, 8).run()
    assert (found.verdict.processes, found.verdict.winner, found.end) == (4, "the best variant", "decided")
    with pytest.raises(UsageError, match="nothing to confirm"):
        run_of()


def test_a_sweep_is_confirmed_and_its_leader_is_its_best(tmp_path):
    knobs = {"tile_m": [8, 32], "tile_n": [64], "tile_k": [64]}
    sweep = lhkit.sweep(PAYLOAD, SCHEDULE, knobs=knobs, store=tmp_path / "s.jsonl")
    found = sweep.confirm(rule=Rule(looks=(1,))).result()
    assert sweep.confirmation is found and sweep.best.key == found.leader_key
    assert sweep.result().best == sweep.best
    several = lhkit.sweep(
        {"a": PAYLOAD, "b": PAYLOAD}, SCHEDULE, knobs=knobs, store=tmp_path / "t.jsonl", budget=1
    )
    with pytest.raises(UsageError, match="Say which: payload='a', 'b'"):
        several.confirm()
