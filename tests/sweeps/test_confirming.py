"""Confirmation runs: fresh processes, programs compiled anew in each, and stopping at any moment."""

import asyncio
import threading

import pytest
from sweep_records import comparison, record

import lhkit
from lhkit.model.errors import Failure, LhkitError, UsageError, error_for
from lhkit.sweeps import confirmation_run as module
from lhkit.sweeps import live_sweep as winning
from lhkit.sweeps.confirmation import Rule, describe_confirmation
from lhkit.sweeps.confirmation_run import Confirming, confirm
from lhkit.sweeps.record_store import ConfirmationLog

PAYLOAD = lhkit.payloads.matmul(32, 64, 32)
SCHEDULE = lhkit.load_schedule("matmul_tile.mlir")


def variants(*tiles):
    return [record({"tile_m": m, "tile_n": 8, "tile_k": 8}, 100 + m, number=m) for m in tiles]


def run_of(*tiles, **options):
    return Confirming(PAYLOAD, SCHEDULE, variants(*tiles), **options)


def test_contenders_and_baseline_are_timed_in_fresh_processes():
    events = []
    found = run_of(8, 32, rule=Rule(looks=(2,)), rounds=3, on_event=events.append).run()
    assert [e.processes for e in events] == [0, 1, 2] and events[0].most == 2
    measured = [{m.name for m in run.measurements} for run in found.runs]
    assert measured == [{"NumPy", "tile_m=8", "tile_m=32", "default knobs"}] * 2
    assert found.runs[0].environment == found.runs[1].environment
    assert {s.over for s in found.speed_ups} == {"default knobs", "NumPy"}
    assert 0 < found.of_peak < 1 and found.hot_loops.loops
    assert describe_confirmation(found)[-1].startswith("timed side by side in 2 fresh processes")


def test_a_run_that_is_stopped_ends_at_once_and_leaves_no_process(monkeypatch):
    workers, started = [], threading.Event()

    class Recorded(module.Worker):
        def ask(self, *arguments, **options):
            answer = super().ask(*arguments, **options)
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
    assert (found.end, found.verdict.processes, found.is_settled) == ("out of time", 1, False)
    lines = describe_confirmation(found)
    assert lines[0].startswith("undecided: ") and lines[1].startswith("the one ahead so far has ")
    assert lines[-1].startswith("run the sweep again with more time for it ")


def test_what_cannot_be_told_apart_ends_with_the_processes():
    found = Scripted([(1.0, 1.0 + (-1) ** i / 10) for i in range(20)], 8, 32).run()
    assert (found.end, found.verdict.processes) == ("out of processes", 16)


def test_one_contender_is_measured_and_none_is_refused():
    found = Scripted([(1.0,)] * 9, 8).run()
    assert (found.verdict.processes, found.verdict.winner, found.end) == (4, "the best variant", "decided")
    with pytest.raises(UsageError, match="nothing to confirm"):
        run_of()


def test_a_sweep_is_confirmed_and_its_leader_is_its_best(worker, tmp_path):
    knobs = {"tile_m": [8, 32], "tile_n": [64], "tile_k": [64]}
    options = {"knobs": knobs, "worker": worker, "confirm": False}
    sweep = lhkit.sweep(PAYLOAD, SCHEDULE, store=tmp_path / "s.jsonl", **options)
    found = sweep.confirm(rule=Rule(looks=(1,))).result()
    assert found.is_settled and sweep.confirmation is found and sweep.best.key == found.leader_key
    assert sweep.result().best == sweep.best
    both = {"a": PAYLOAD, "b": PAYLOAD}
    several = lhkit.sweep(both, SCHEDULE, store=tmp_path / "t.jsonl", budget=1, **options)
    with pytest.raises(UsageError, match="Say which: payload='a', 'b'"):
        several.confirm()


FEW = {"tile_m": [8, 32], "tile_n": [64], "tile_k": [64]}


def scripted_sweeps(monkeypatch, script):
    """Have the confirmations of sweeps take what processes measure from a script; return who was asked for."""
    asked = []

    class FromScript(Confirming):
        def _process(self, alive):
            asked.append(alive)
            return next(script)(self, alive)

        def _compile(self, name, worker):
            raise error_for(Failure(kind="lowering", message="loops cannot be looked at"))

    monkeypatch.setattr(winning, "Confirming", FromScript)
    monkeypatch.setattr(winning, "choose_contenders", tuple)
    return asked


def measured(run, alive):
    """A process: each contender a tenth slower than the one before, one per cent more or less."""
    step = 10 + run.processes % 2
    return comparison({name: [100.0 + step * i] * 9 for i, name in enumerate(alive)})


def stopping(run, _alive):
    run.stop()
    raise error_for(Failure(kind="cancelled", message="stopped"))


def test_a_sweep_confirms_its_winner_and_goes_on_where_it_was_interrupted(worker, tmp_path, monkeypatch):
    events, script = [], iter([measured, measured, stopping, *[measured] * 20])
    asked = scripted_sweeps(monkeypatch, script)
    options = {"knobs": FEW, "store": tmp_path / "s.jsonl", "deduplicate": False, "worker": worker}
    first = lhkit.sweep(PAYLOAD, SCHEDULE, on_event=events.append, **options)
    assert (first.end, first.confirmation.end, first.confirmation.verdict.processes) == (
        "finished",
        "stopped",
        2,
    )
    steps = [e.confirming.processes for e in events if e.confirming]
    assert steps == [0, 1, 2] and events[-1].end == "finished" and len(asked) == 3
    again = lhkit.sweep(PAYLOAD, SCHEDULE, **options)
    found = again.confirmation
    assert len(asked) == 3 + 2 and (found.verdict.processes, found.known, found.end) == (4, 2, "decided")
    assert found.verdict.winner is not None and again.best.key == found.leader_key
    third = lhkit.sweep(PAYLOAD, SCHEDULE, **options)  # nothing is measured again
    assert len(asked) == 5 and third.confirmation.known == 4 and third.best == again.best
    assert third.result().confirmation.verdict == found.verdict
    third.confirm()  # asked for, it begins anew
    assert len(asked) == 9 and third.confirmation.known == 0
    log = ConfirmationLog(tmp_path / "s.confirmed.jsonl")
    log.close()
    assert [len(runs) for runs in log._runs.values()] == [4]


def test_the_one_that_is_ahead_while_nothing_is_decided_is_the_best(worker, tmp_path, monkeypatch):
    scripted_sweeps(monkeypatch, iter([measured, stopping]))  # side by side the first one is ahead
    slowest_first = lambda records: tuple(sorted(records, key=lambda r: -r.time_ns.median))  # noqa: E731
    monkeypatch.setattr(winning, "choose_contenders", slowest_first)
    options = {"knobs": FEW, "store": tmp_path / "s.jsonl", "deduplicate": False, "worker": worker}
    swept = lhkit.sweep(PAYLOAD, SCHEDULE, **options)
    assert swept.confirmation.winner_key is None and not swept.confirmation.is_settled
    slowest_alone = max(swept.records, key=lambda r: r.time_ns.median)
    assert swept.confirmation.leader_key == slowest_alone.key == swept.best.key
    assert f"tile_sizes [{swept.best.values['tile_m']}, " in swept.best_schedule()


def test_what_prevents_a_confirmation_is_said_and_costs_no_variant(worker, tmp_path):
    (tmp_path / "s.confirmed.jsonl").write_text("not ours\n")
    options = {"knobs": FEW, "worker": worker, "deduplicate": False}
    swept = lhkit.sweep(PAYLOAD, SCHEDULE, store=tmp_path / "s.jsonl", **options)
    assert swept.end == "finished" and swept.best is not None and swept.confirmation is None
    text = swept.result()._repr_mimebundle_()["text/plain"]
    assert (
        "the best few were not timed again: " in text and "s.confirmed.jsonl:1: this is not a line of" in text
    )
    assert (tmp_path / "s.confirmed.jsonl").read_text() == "not ours\n"


def test_each_of_several_payloads_has_its_winner(worker, tmp_path, monkeypatch):
    asked = scripted_sweeps(monkeypatch, iter([measured] * 40))
    payloads = {"a": PAYLOAD, "b": lhkit.payloads.matmul(64, 64, 32)}
    options = {"knobs": FEW, "worker": worker, "deduplicate": False}
    swept = lhkit.sweep(payloads, SCHEDULE, store=tmp_path / "s.jsonl", **options)
    assert set(swept.confirmations) == {"a", "b"} and len(asked) == 8
    assert "\na: winner: " in swept.result()._repr_mimebundle_()["text/plain"]


def test_stop_ends_a_confirmation_and_keeps_the_sweep(worker, tmp_path):
    async def main():
        options = {"knobs": FEW, "worker": worker, "deduplicate": False}
        swept = lhkit.sweep(PAYLOAD, SCHEDULE, store=tmp_path / "s.jsonl", **options)
        reached = asyncio.Event()
        swept.subscribe(lambda event: reached.set() if event.confirming else None)
        await reached.wait()
        assert swept.is_running and swept.end is None and "confirming" in repr(swept)
        swept.stop()
        done, _ = await asyncio.wait({asyncio.ensure_future(swept)}, timeout=5)
        assert done
        return swept

    swept = asyncio.run(main())
    assert swept.end == "finished" and len(swept.records) == 2 and swept.best is not None
    assert swept.confirmation is None and swept.confirming_failure is None


@pytest.mark.parametrize("content", ["{}", '{"schema": "lhkit.sweep/1"}', "[1", "\x00x"])
def test_another_file_is_no_log_and_is_left_as_it_is(tmp_path, content):
    path = tmp_path / "s.confirmed.jsonl"
    path.write_text(f"{content}\n")
    with pytest.raises(UsageError, match=r"confirmed\.jsonl:1: this is not a line of lhkit\.confirmation/1"):
        ConfirmationLog(path)
    assert path.read_text() == f"{content}\n"


def test_a_log_that_was_cut_at_any_byte_is_mended(tmp_path):
    path, contest = tmp_path / "s.confirmed.jsonl", "c" * 64
    log = ConfirmationLog(path)
    for i in range(2):
        log.add_run(contest, i, comparison({"a": [1.0, 2.0], "b": [2.0, 4.0]}, seed=i))
    with pytest.raises(UsageError, match="another sweep"):
        ConfirmationLog(path)
    log.close()
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in [first, first + 1, first + 30, (first + len(whole)) // 2, len(whole) - 1]:
        path.write_bytes(whole[:cut])
        log = ConfirmationLog(path)
        assert [run.seed for run in log.runs(contest)] == [0] and path.read_bytes() == whole[:first]
        log.add_run(contest, 1, comparison({"a": [1.0, 2.0], "b": [2.0, 4.0]}, seed=1))
        log.close()
        assert path.read_bytes() == whole
