"""Two processes of a sweep: one of them times at a time, each variant is tried once, times that suffer end the second."""

import asyncio
import dataclasses
import os
import threading
from types import SimpleNamespace

import psutil
import pytest
from sweep_parts import ok, points_of

import lhkit
from lhkit.sweeps import live_sweep, paired_executor
from lhkit.sweeps.engine import CompiledVariant
from lhkit.sweeps.paired_executor import PairedExecutor
from lhkit.sweeps.space import space_of
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import own_worker
from lhkit.worker.kernel_requests import PrepareSweep
from lhkit.worker.timing_conditions import beside_timing, signs_folder, turn_to_time

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

    monkeypatch.setattr(live_sweep, "own_worker", new_worker)
    payload = lhkit.load_payload("fc_relu.mlir")  # by the session's worker, which stays
    before = set(psutil.Process().children(recursive=True))
    store = tmp_path / "s.jsonl"
    sweep = lhkit.sweep(payload, "fc_relu_handles.mlir", store=store, confirm=False, overlap=True)
    result = sweep.result()
    assert sweep.end == "finished" and len(begun) == 2
    assert sorted(r.values["tile"] for r in result.records) == [8, 16, 32, 64]
    assert {r.status for r in result.records} <= {"ok", "stopped-early", "same-as"}
    assert set(psutil.Process().children(recursive=True)) == before


class Lane:
    """Times a variant, and takes longer while another lane is at work if it is told so."""

    busy = 0

    def __init__(self, slower=1.0, trial=None, disturbed=0):
        self.slower, self.trial, self.disturbed, self.is_forgetful = slower, trial, disturbed, False

    async def compile_variant(self, variant, known):
        assert known is None
        self.compiled = getattr(self, "compiled", 0) + 1
        return CompiledVariant(b"code", {})

    async def try_variant(self, variant, best_ns, known, code):
        assert known is None and variant.subject.preparation.turn and code == b"code"
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.disturbed -= bool(Lane.busy)
        slower = 2 if Lane.busy and self.disturbed >= 0 else self.slower if Lane.busy else 1
        return self.trial or ok(0, median=round(1000 * slower))

    async def describe(self, variants):
        Lane.busy += 1
        for _ in range(9):
            await asyncio.sleep(0)
        Lane.busy -= 1
        return [None] * len(variants)

    def forget(self):
        self.is_forgetful = True

    async def close(self):
        pass


@pytest.fixture
def paired(monkeypatch):
    """Return a function that makes an executor of two lanes, and a variant for it."""

    def make(**lane):
        second = Lane(**lane)
        monkeypatch.setattr(paired_executor, "LocalExecutor", lambda worker, limits: second)
        preparation = PrepareSweep(None, None, (), (), None)
        task = SimpleNamespace(subjects={"": Subject("scope", preparation, None)})
        (point,) = points_of(a=[1])
        variant = Variant(point, task.subjects[""], {"a": 1}, (), "key")
        return PairedExecutor(Lane(**lane), None, task, None, lambda _worker: task), variant

    return make


def test_a_second_process_that_cannot_be_made_ready_leaves_no_files(monkeypatch):
    before = set(signs_folder().iterdir())
    monkeypatch.setattr(paired_executor, "LocalExecutor", lambda worker, limits: Lane())

    def prepare(_worker):
        raise RuntimeError("not ready")

    with pytest.raises(RuntimeError, match="not ready"):
        PairedExecutor(Lane(), None, SimpleNamespace(subjects={}), None, prepare)
    assert set(signs_folder().iterdir()) == before


@pytest.mark.parametrize(("slower", "moves"), [(1.0, False), (1.015, False), (1.1, True)])
def test_times_are_compared_with_those_beside_a_busy_process(paired, slower, moves):
    executor, variant = paired(slower=slower)
    assert asyncio.run(executor.moves_times([variant])) is moves
    assert executor._lanes[0].compiled == 1
    if not moves:  # nothing that was tried on the way counts as known
        assert all(lane.is_forgetful for lane in executor._lanes)


@pytest.mark.parametrize(
    ("alone", "slower", "moves"),
    [
        ([100, 100, 101, 100, 101], 1.015, False),
        ([100, 100, 101, 100, 101], 1.03, True),
        ([96, 100, 104, 96, 104], 1.03, False),  # they differ by as much themselves
        ([80, 100, 120, 80, 120], 1.04, False),
        ([80, 100, 120, 80, 120], 1.06, True),  # but this is too much anywhere
    ],
)
def test_times_may_move_by_as_much_as_they_differ_alone(alone, slower, moves):
    assert paired_executor._is_moved(alone, [slower * each for each in alone]) is moves


@pytest.mark.parametrize(("disturbed", "moves"), [(2, False), (5, False), (15, True)])
def test_a_difference_is_looked_at_again(paired, disturbed, moves):
    executor, variant = paired(disturbed=disturbed)
    assert asyncio.run(executor.moves_times([variant])) is moves


def test_what_cannot_be_timed_is_not_overlapped(paired):
    executor, variant = paired(trial=dataclasses.replace(ok(0), status="crashed", time_ns=None))
    assert asyncio.run(executor.moves_times([variant]))
    assert asyncio.run(executor.moves_times([]))


def test_what_needs_all_cores_waits_for_work_on_them_and_keeps_it_out(tmp_path):
    file, said = tmp_path / "turn", []
    file.touch()
    with beside_timing(str(file)), beside_timing(str(file)):  # two may work at once

        def time_on_all():
            begun.set()
            with turn_to_time(str(file), on_all_cores=True):
                said.append("timed")

        begun = threading.Event()
        thread = threading.Thread(target=time_on_all)
        thread.start()
        begun.wait()
        said.append("worked")
    thread.join()
    assert said == ["worked", "timed"]
    with turn_to_time(str(file)), beside_timing(str(file)):  # on one core it is timed beside that
        pass
    with turn_to_time(str(file), on_all_cores=True):

        def work():
            begun.set()
            with beside_timing(str(file)):
                said.append("worked again")

        begun = threading.Event()
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        said.append("timed again")
    thread.join()
    assert said[2:] == ["timed again", "worked again"]


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


def test_threads_alone_and_single_cores_are_left_alone(monkeypatch):
    schedule = lhkit.load_schedule("matmul.mlir")
    spaces = [space_of(schedule, knobs={"threads": values}) for values in ("1", "1,2", "2,4")]
    assert [paired_executor.can_overlap(schedule, space) for space in spaces] == [True, True, False]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert not paired_executor.can_overlap(schedule, spaces[0])
