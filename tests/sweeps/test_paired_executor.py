"""Two processes of a sweep: each variant is tried once, one of them times at a time, and the other is paused."""

import asyncio
import fcntl
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import lhkit
from lhkit.sweeps import paired_executor
from lhkit.sweeps.paired_executor import PairedExecutor
from lhkit.worker import spare_workers
from lhkit.worker.client import own_worker
from lhkit.worker.spare_workers import end_spare_workers
from lhkit.worker.timing_conditions import pause_file, signs_folder, turn_to_time

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="processes cannot be kept apart",
)


def test_one_process_at_a_time_has_its_turn(tmp_path):
    file, said = tmp_path / "turn", []
    file.touch()
    with turn_to_time(str(file)):

        def other():
            asked.set()
            with turn_to_time(str(file)):
                said.append("other")

        asked = threading.Event()
        thread = threading.Thread(target=other)
        thread.start()
        asked.wait()
        said.append("first")
    thread.join()
    assert said == ["first", "other"]


def test_variants_are_tried_once_by_two_processes_that_end(tmp_path, monkeypatch):
    begun = []

    def new_worker():
        begun.append(own_worker())
        return begun[-1]

    end_spare_workers()
    monkeypatch.setattr(spare_workers, "own_worker", new_worker)
    payload = lhkit.load_payload("fc_relu.mlir")  # by the session's worker, which stays
    before = set(psutil.Process().children(recursive=True))
    store = tmp_path / "s.jsonl"
    sweep = lhkit.sweep(payload, "fc_relu_handles.mlir", store=store, confirm=False, overlap=True)
    result = sweep.result()
    assert sweep.end == "finished" and len(begun) == 2
    assert sorted(r.values["tile"] for r in result.records) == [8, 16, 32, 64]
    assert {r.status for r in result.records} <= {"ok", "stopped-early", "same-as"}
    lhkit.sweep(payload, "fc_relu_handles.mlir", store=tmp_path / "t.jsonl", confirm=False, overlap=True)
    assert len(begun) == 2, "the next sweep has the processes of this one"
    end_spare_workers()
    assert set(psutil.Process().children(recursive=True)) == before


class Lane:
    """Stands for what tries variants in a process; it only notes when that is paused."""

    def __init__(self):
        self.said = []

    def pause(self, guard):
        self.said.append("paused")

    def resume(self, guard):
        self.said.append("resumed")

    async def close(self):
        pass


def is_free(file):
    with Path(file).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_a_process_begins_to_time_when_the_other_one_is_paused(monkeypatch):
    first, second = Lane(), Lane()
    monkeypatch.setattr(paired_executor, "LocalExecutor", lambda worker, limits, done_with: second)
    before = set(signs_folder().iterdir())
    executor = PairedExecutor(first, None, (SimpleNamespace(subjects={}),) * 2, None)
    (turn,) = (f for f in set(signs_folder().iterdir()) - before if f.name.count("-") == 1)
    own, other = (pause_file(str(turn), lane) for lane in (0, 1))
    assert not is_free(own) and not is_free(other)
    stages = ("compile", "call", "time", "compile", "call", "time", "time", "", "")
    for stage in stages:
        paused = stage == "time"
        first.at_stage(stage)
        assert is_free(own) is paused and not is_free(other)
        assert (second.said[-1:] == ["paused"]) is paused
    assert second.said == ["paused", "resumed"] * 2 and not first.said
    asyncio.run(executor.close())
    assert set(signs_folder().iterdir()) == before


@pytest.mark.parametrize("count", [0, 1, 4, 5, 30])
def test_both_processes_describe(monkeypatch, count):
    class Describing(Lane):
        async def describe(self, variants):
            self.said += variants
            await asyncio.sleep(0)
            return [f"described {v}" for v in variants]

    first, second = Describing(), Describing()
    monkeypatch.setattr(paired_executor, "LocalExecutor", lambda worker, limits, done_with: second)
    monkeypatch.setattr(PairedExecutor, "_on", lambda self, lane, variant: variant)
    executor = PairedExecutor(first, None, (SimpleNamespace(subjects={}),) * 2, None)
    assert asyncio.run(executor.describe(range(count))) == [f"described {n}" for n in range(count)]
    assert abs(len(first.said) - len(second.said)) <= 2
    executor.discard()


def test_threads_are_tried_beside_another_process_on_all_cores(tmp_path):
    store, before = tmp_path / "s.jsonl", os.sched_getaffinity(0)
    knobs = {"threads": [1, 2], "tile_m": [4, 8], "tile_n": [16], "lanes": [8], "large": [896], "block_m": [96]}
    knobs |= {"middle_n": [16], "narrow_tile_m": [4]}
    payload = lhkit.payloads.matmul(64, 64, 64)
    sweep = lhkit.sweep(payload, "matmul.mlir", knobs=knobs, store=store, confirm=False, overlap=True)
    found = {(r.values["threads"], r.values["tile_m"]): r.status for r in sweep.records}
    assert found.keys() == {(1, 4), (1, 8), (2, 4), (2, 8)}
    assert set(found.values()) <= {"ok", "stopped-early"}
    assert os.sched_getaffinity(0) == before


def test_two_processes_need_two_cores(monkeypatch):
    assert paired_executor.can_overlap()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert not paired_executor.can_overlap()
