"""Sweeps on a Dask cluster: the same records as on this machine, and nothing lost with its workers."""

import asyncio
import dataclasses
import os
import sys

import psutil
import pytest
from distributed import LocalCluster

import lhkit
from lhkit.model.errors import UsageError
from lhkit.sweeps import dask_cluster, dask_host, machine_pool
from lhkit.sweeps.dask_executor import DaskSweep
from lhkit.sweeps.dask_host import Answer, Answers, Asked, try_here
from lhkit.sweeps.engine import LocalExecutor
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.sweep_task import SweepOptions, prepare_task
from lhkit.worker.client import Worker
from lhkit.worker.folders import machine_folder
from lhkit.worker.limits import Limits
from lhkit.worker.spare_workers import end_spare_workers
from tests.sweep_parts import OPS, PAYLOAD, SCHEDULE, Listed, points_of

LIMITS = Limits(20.0, 700 << 20)
SOME = points_of(way=["ok", "wrong"], idle=[1])
POINTS = points_of(way=["ok", "other", "wrong", "fails", "dies"], idle=[1, 2])
ONE_PROGRAM = ("ok", "stopped-early", "same-as")
# Once, it kills the process that started the worker: one of Dask's.
KILLING = """
    if way[0] == "other" and not os.path.exists({flag!r}):
        with open({flag!r}, "x") as file:
            file.write(str(os.getppid()))
        os.kill(os.getppid(), 9)
        os._exit(1)
"""


@pytest.fixture(scope="module")
def flag(tmp_path_factory):
    """A file: while it is not there, the next variant of the way ``other`` kills the process of Dask."""
    path = tmp_path_factory.mktemp("flag") / "killed"
    path.touch()
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory, flag):
    file = tmp_path_factory.mktemp("ops") / "ops.py"
    file.write_text(OPS + KILLING.format(flag=str(flag)))
    worker = Worker(Limits(seconds=60))
    lhkit.load_ops(file, worker=worker)
    yield worker
    worker.close()


def sweep(own, folder, executor, points=POINTS, store=None, **options):
    payload, schedule = lhkit.load_payload(PAYLOAD, worker=own), lhkit.load_schedule(SCHEDULE, worker=own)
    return lhkit.sweep(
        payload,
        schedule,
        strategy=Listed(points),
        store=store or folder / f"{executor[:5]}.jsonl",
        worker=own,
        limits=LIMITS,
        executor=executor,
        confirm=False,
        **options,
    )


def told(records):
    # On a machine that is disturbed a variant may look hopeless in one run and not in the other.
    statuses = ["ok" if r.status == "stopped-early" else r.status for r in records]
    facts = [(r.key, r.same_as, r.knobs, r.message, r.ir_sha256, r.environment) for r in records]
    return list(zip(statuses, facts, strict=True))


def test_a_cluster_gives_the_records_of_this_machine_though_a_worker_is_killed(
    own, tmp_path, flag, monkeypatch
):
    monkeypatch.setenv("LHKIT_SANDBOX", "off")  # with it, no op of a file can kill Dask's process
    local = sweep(own, tmp_path, "local")
    flag.unlink()
    # Other tests of this process have workers of theirs.
    others = {p.pid for p in psutil.Process().children(recursive=True)}
    two = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with LocalCluster(**two) as cluster:
        found = sweep(own, tmp_path, f"dask:{cluster.scheduler_address}", store=tmp_path / "dask.jsonl")
    assert not psutil.pid_exists(int(flag.read_text()))
    assert found.end == "finished" and told(found.records) == told(local.records)
    assert {r.status for r in found.records} >= {"ok", "same-as", "wrong-result", "schedule-failed", "crashed"}
    lines = found.store_path.read_text().splitlines()
    assert len(lines) == len(POINTS) == len(Store(found.store_path, read_only=True))
    # Neither Dask's processes nor workers of lhkit are left.
    left = [
        p for p in psutil.Process().children(recursive=True) if p.pid not in {own.pid, *others} and is_ours(p)
    ]
    assert not psutil.wait_procs(left, timeout=20)[1]


def is_ours(process):
    try:
        said = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return "lhkit.worker" in said or "spawn_main" in said


def test_a_stopped_sweep_goes_on_with_another_executor(own, tmp_path):
    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}

    async def main(address):
        points = points_of(way=["ok", "hangs"], idle=[1])
        found = sweep(own, tmp_path, f"dask:{address}", points=points)
        found.subscribe(lambda event: found.stop())
        await found
        return found

    with LocalCluster(**alone) as cluster:
        found = asyncio.run(main(cluster.scheduler_address))
    assert found.end == "stopped" and [r.status for r in found.records] == ["ok"]
    again = sweep(
        own, tmp_path, "local", points=points_of(way=["ok", "fails"], idle=[1]), store=found.store_path
    )
    assert again.result().known == 1 and [r.status for r in again.records] == ["ok", "schedule-failed"]


def test_the_cluster_of_this_machine_starts_no_process_and_speaks_to_no_other(own, tmp_path):
    here = psutil.Process()
    children, ports = set(here.children(recursive=True)), listening(here)
    seen = []
    local = sweep(own, tmp_path, "local", points=SOME)
    swept = sweep(own, tmp_path, "dask", points=SOME, on_event=lambda _: seen.append(listening(here) - ports))
    assert told(swept.records) == told(local.records) and seen
    # Dask's servers for HTTP cannot be left out; they have no pages and cannot be reached from other machines.
    assert {ip for found in seen for ip, _ in found} == {"127.0.0.1"}
    end_spare_workers()
    assert set(here.children(recursive=True)) <= children | {psutil.Process(own.pid)}


def listening(process):
    return {tuple(c.laddr) for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}


async def two_kinds(setup, dask_worker=None):
    host = await dask_host.probe_host(setup, dask_worker)
    if dask_worker.name == 0:
        return host
    return dataclasses.replace(host, facts={**host.facts, "cpu": "another"}, boot="another")


def test_each_kind_of_machine_has_its_own_records_and_its_own_winner(own, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "probe_host", two_kinds)
    monkeypatch.setattr(machine_pool, "is_slower", lambda alone, beside: False)
    two = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    payload, schedule = lhkit.load_payload(PAYLOAD, worker=own), lhkit.load_schedule(SCHEDULE, worker=own)
    knobs = {"way": ["ok", "fails"], "idle": [1]}
    with LocalCluster(**two) as cluster:
        found = lhkit.sweep(
            payload,
            schedule,
            knobs=knobs,
            store=tmp_path / "kinds.jsonl",
            worker=own,
            limits=LIMITS,
            executor=f"dask:{cluster.scheduler_address}",
            confirm=False,
        )
    (other,) = found.result().kinds
    stored = Store(tmp_path / "kinds.jsonl", read_only=True).records()
    first = {r.key for r in found.records}
    assert len(found.records) == other.variants == 2 and len(stored) == 4
    assert {r.environment for r in stored if r.key not in first} == {other.environment}
    assert found.best.environment != other.environment == other.best.environment
    assert "on another, " in found.result()._repr_mimebundle_()["text/plain"]


async def one_for_timing(setup, dask_worker=None):
    host = await dask_host.probe_host(setup, dask_worker)
    is_first = dask_worker.name == 0
    return dataclasses.replace(host, boot=f"boot {dask_worker.name}", is_reserved=is_first)


def test_what_is_timed_on_a_reserved_machine_is_compiled_on_the_other(own, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "probe_host", one_for_timing)
    monkeypatch.setattr(machine_pool, "is_slower", lambda alone, beside: False)
    asked = []
    for name in ("try_variants", "compile_variants"):
        whole = getattr(dask_host._HostState, name)
        monkeypatch.setattr(dask_host._HostState, name, noting(asked, name, whole))
    local = sweep(own, tmp_path, "local")
    two = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**two) as cluster:
        found = sweep(own, tmp_path, f"dask:{cluster.scheduler_address}", store=tmp_path / "two.jsonl")
    # Which of two variants that are one program was first differs, and the request that a process died of.
    said = [
        (r.key, r.status, (r.message or "").replace("compile_variant", "try_variant")) for r in found.records
    ]
    assert {s for s in said if s[1] not in ONE_PROGRAM} == {
        (r.key, r.status, r.message or "") for r in local.records if r.status not in ONE_PROGRAM
    }
    assert {r.key for r in found.records} == {r.key for r in local.records}
    tried = [code for name, what in asked if name == "try_variants" for code in what.codes or [b""]]
    # One that is the same program as one whose record is not here yet is compiled again.
    compiled = {tuple(sorted(what.variants[0].items())) for name, what in asked if name == "compile_variants"}
    assert len(compiled) == len(POINTS) and tried and all(tried)


def test_an_order_that_does_not_learn_is_tried_in_batches_with_the_same_records(own, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        dask_host._HostState, "try_variants", noting(asked, "", dask_host._HostState.try_variants)
    )
    payload, schedule = lhkit.load_payload(PAYLOAD, worker=own), lhkit.load_schedule(SCHEDULE, worker=own)
    what = {"knobs": {"way": ["ok", "other", "wrong", "fails"], "idle": [1, 2]}, "strategy": "grid"}
    how = {"worker": own, "limits": LIMITS, "confirm": False}
    local = lhkit.sweep(payload, schedule, **what, **how, store=tmp_path / "local.jsonl")
    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**alone) as cluster:
        executor = f"dask:{cluster.scheduler_address}"
        found = lhkit.sweep(payload, schedule, **what, **how, store=tmp_path / "dask.jsonl", executor=executor)
    assert max(len(each.variants) for _, each in asked) > 1 and len(found.records) == 8
    # Of variants that are one program, another one may have been the first.
    said = [sorted((r.key, r.status) for r in s.records if r.status not in ONE_PROGRAM) for s in (found, local)]
    assert said[0] == said[1] and {r.key for r in found.records} == {r.key for r in local.records}


def noting(asked, name, whole):
    def act(state, what):
        asked.append((name, what))
        return whole(state, what)

    return act


def make_own_task(own):
    payload, schedule = lhkit.load_payload(PAYLOAD, worker=own), lhkit.load_schedule(SCHEDULE, worker=own)
    first = {"way": "ok", "idle": 1}
    return prepare_task({"": payload}, schedule, first, None, SweepOptions(), own, "e" * 64)


def test_the_code_of_another_process_is_what_is_tried(own):
    task = make_own_task(own)
    ok, wrong = (task.variant((("way", way), ("idle", 1))) for way in ("ok", "wrong"))

    async def main():
        one, two = (LocalExecutor(own, LIMITS, done_with=None) for _ in range(2))
        codes = [(await one.compile_variant(v, {}.keys())).code for v in (ok, wrong)]
        found = [await two.try_variant(ok, None, None, code) for code in (*codes, codes[0][:99])]
        await one.close()
        await two.close()
        return [trial.status for trial in found]

    assert asyncio.run(main()) == ["ok", "wrong-result", "ok"]  # it compiles what it cannot load


def test_programs_that_others_tried_are_not_tried_again(own):
    task = make_own_task(own)
    ok, other, last = (task.variant((("way", w), ("idle", n))) for w, n in (("ok", 1), ("other", 1), ("ok", 2)))

    async def main():
        one, two = (LocalExecutor(own, LIMITS, done_with=None) for _ in range(2))
        tried = await one.try_variant(ok, None, {}.keys())
        await two.try_variant(other, None, {}.keys())
        known = {tried.ir_sha256: "", "another": "", "and another": ""}.keys()
        again = await two.try_variant(last, None, known)
        await one.close()
        await two.close()
        return tried, again

    tried, again = asyncio.run(main())
    assert (tried.status, again.status) == ("ok", "same") and again.ir_sha256 == tried.ir_sha256


def describe(_worker):
    return {"cpu": "mine"}


def test_a_process_that_is_not_ready_says_so():
    assert asyncio.run(try_here(Asked("s", "scope", "key", [{}], None))) == Answers([Answer()])


def test_without_dask_or_a_scheduler_it_says_what_to_do(monkeypatch):
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at no://where[^$]*dask scheduler"):
        DaskSweep("no://where", LIMITS, describe=describe, here={})
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'lhkit\[dask\]'"):
        DaskSweep(None, LIMITS, describe=describe, here={})


def test_waiting_for_another_sweep_of_this_machine_ends_with_what_it_waits_for(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(dask_host, "_WAIT_SECONDS", 0.0)
    with dask_host._locked("lock"):
        failure = asyncio.run(try_here(Asked("s", "scope", "key", [{}], None))).each[0].failure
    assert failure.kind == "timeout" and f"process {os.getpid()} of " in failure.message
    assert str(tmp_path) in failure.message and "start this sweep again" in failure.advice


def test_a_call_behind_one_that_tries_a_slow_variant_gives_its_own_back(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(dask_host, "_BEHIND_SECONDS", 0.0)
    asked = Asked("s", "scope", "key", [{}], None)
    with dask_host._one_at_a_time() as is_mine:
        assert is_mine and asyncio.run(try_here(asked)) == Answers([])
    assert asyncio.run(try_here(asked)) == Answers([Answer()])  # both locks are free again


def test_one_that_waits_comes_before_the_next_one_of_a_process_that_always_has_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(dask_host, "_WAIT_SECONDS", 0.0)
    with dask_host._one_at_a_time():
        with dask_host._locked("next"):  # another process waits behind it
            failure = asyncio.run(try_here(Asked("s", "scope", "key", [{}], None))).each[0].failure
        assert failure.kind == "timeout" and str(machine_folder("sweeps") / "next") in failure.message
        with dask_host._locked("next"):
            pass


def test_the_lock_of_sweeps_is_not_opened_through_a_link(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    (machine_folder("sweeps") / "lock").symlink_to(tmp_path / "target")
    failure = asyncio.run(try_here(Asked("s", "scope", "key", [{}], None))).each[0].failure
    assert failure.kind == "usage" and "lock" in failure.message and not (tmp_path / "target").exists()
