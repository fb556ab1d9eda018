"""The Dask cluster of a sweep: what differs, is lost or silent is a typed failure."""

import asyncio
import logging
import pickle
import time

import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError

from lhkit.model.errors import CrashError, UsageError
from lhkit.sweeps import dask_cluster, machine_pool
from lhkit.sweeps.dask_cluster import DaskCluster, LostError, version_table
from lhkit.sweeps.dask_executor import DaskSweep
from lhkit.sweeps.dask_host import Answer, Answers, try_here, unpack_programs
from lhkit.sweeps.engine import Trial
from lhkit.sweeps.sweep_task import sha256_of
from lhkit.worker.limits import Limits
from tests.sweep_parts import make_task


def node(lhkit="0.1.0", python="3.11.7.final.0"):
    return {"host": {}, "packages": {"lhkit": lhkit, "python": python, "numpy": None}}


def test_a_table_of_versions_has_those_that_differ():
    workers = {"tcp://b:2": node("0.2.0"), "tcp://a:1": node(None, "3.12.1.final.0"), "tcp://c:3": node()}
    assert version_table({"client": node(), "scheduler": node(), "workers": workers}) == (
        "                  lhkit          python\n"
        "this process      0.1.0          3.11\n"
        "worker tcp://a:1  not installed  3.12\n"
        "worker tcp://b:2  0.2.0          3.11"
    )
    patch_level = {"tcp://c:3": node(python="3.11.9.final.0")}
    assert version_table({"client": node(), "scheduler": node(), "workers": patch_level}) is None
    assert "scheduler     0.2.0" in version_table({"client": node(), "scheduler": node("0.2.0"), "workers": {}})


@pytest.fixture
def cluster():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as one:
        yield one


FACTS = {"cpu": "a", "bindings": "1", "lhkit": "0.1.0", "pipeline": "p"}


def describe(_worker):
    return FACTS


def other_facts(_worker):
    return {**FACTS, "cpu": "b"}


def sweep_on(address, here=FACTS, describe=describe):
    return DaskSweep(address, Limits(), describe=describe, here=here)


def test_workers_of_other_versions_are_left_out_and_named(cluster, monkeypatch):
    address = next(iter(cluster.scheduler.workers))
    found = {"client": node(), "scheduler": node(), "workers": {"tcp://b:2": node("0.2.0"), address: node()}}
    monkeypatch.setattr(Client, "get_versions", lambda self, packages: found)
    monkeypatch.setattr(DaskCluster, "workers", lambda self: {"tcp://b:2", address})
    swept = sweep_on(cluster.scheduler_address)
    assert list(swept.pool.machines) == [address]
    assert "tcp://b:2 is left out: lhkit 0.2.0, here 0.1.0, python 3.11, here 3.11" in swept.pool.lines()
    swept.end()


@pytest.mark.parametrize("which", ["scheduler", "the only worker"])
def test_a_cluster_with_other_versions_is_refused(cluster, monkeypatch, which):
    address = next(iter(cluster.scheduler.workers))
    is_scheduler = which == "scheduler"
    found = {
        "client": node(),
        "scheduler": node("0.2.0" if is_scheduler else "0.1.0"),
        "workers": {address: node("0.1.0" if is_scheduler else "0.2.0")},
    }
    monkeypatch.setattr(Client, "get_versions", lambda self, packages: found)
    with pytest.raises(UsageError, match=r"other versions than this process[^$]*0\.2\.0") as caught:
        sweep_on(cluster.scheduler_address)
    assert "Start its scheduler and workers from" in caught.value.failure.advice


def test_a_machine_with_another_toolchain_is_refused(cluster):
    with pytest.raises(UsageError, match="has bindings 1, here 2"):
        sweep_on(cluster.scheduler_address, here={**FACTS, "bindings": "2"})


def test_a_machine_of_another_kind_is_told_apart(cluster):
    swept = sweep_on(cluster.scheduler_address, describe=other_facts)
    assert not swept.is_like_here and swept.kinds == [sha256_of(other_facts(None))]
    assert swept.pool.lines()[0].startswith("1 worker on b (")
    swept.end()


@pytest.mark.parametrize("is_raised", [True, False], ids=["the scheduler", "the only worker"])
def test_what_is_lost_while_it_is_looked_at_is_named(cluster, monkeypatch, is_raised):
    lost = CommClosedError("in <TCP> : Stream is closed")

    def run(self, function, *arguments, workers=None, on_error="raise"):
        if is_raised:
            raise lost
        return {"tcp://10.0.0.7:1": lost}

    monkeypatch.setattr(Client, "run", run)
    what = "was lost" if is_raised else "worker tcp://10.0.0.7:1 was lost"
    with pytest.raises(CrashError, match=f"{what} while .* looked at.*Stream is closed"):
        sweep_on(cluster.scheduler_address)


def without_workers(cluster, swept):
    """End the only worker."""
    cluster.scale(0)
    while cluster.scheduler.workers:
        time.sleep(0.01)


def acquire(swept):
    async def main():
        try:
            return await swept.pool.acquire(swept.kinds[0])
        finally:
            await swept.pool.close()

    return asyncio.run(main())


def test_the_last_worker_lost_is_said_after_a_while(cluster, monkeypatch):
    monkeypatch.setattr(machine_pool, "_WITHOUT_WORKERS_SECONDS", 0.0)
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.02)
    swept = sweep_on(cluster.scheduler_address)
    without_workers(cluster, swept)
    with pytest.raises(CrashError, match=r"inproc://.* lost its last worker, and none came back within"):
        asyncio.run(swept.pool.look()) or acquire(swept)
    swept.end()


def test_a_worker_that_comes_late_is_used(cluster, monkeypatch):
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.02)
    swept = sweep_on(cluster.scheduler_address)
    first = list(swept.pool.machines)
    without_workers(cluster, swept)
    asyncio.run(swept.pool.look())
    assert not swept.pool.machines and swept.pool.losses == 1
    look = swept.cluster.workers

    def workers():
        cluster.scale(1)
        return look()

    monkeypatch.setattr(swept.cluster, "workers", workers)
    assert acquire(swept).address not in first
    swept.end()


def test_a_scheduler_that_is_gone_is_said(cluster, caplog, monkeypatch):
    monkeypatch.setattr(machine_pool, "_WITHOUT_WORKERS_SECONDS", 0.0)
    monkeypatch.setattr(dask_cluster, "_CONNECT_SECONDS", 0.1)
    swept = sweep_on(cluster.scheduler_address)
    cluster.close()
    asyncio.run(swept.pool.look())
    with pytest.raises(CrashError, match=r"inproc://.* is gone") as caught:
        acquire(swept)
    assert "start the sweep again" in caught.value.failure.advice
    log = logging.getLogger("distributed.client")  # where Dask prints the traceback of a lost connection
    log.error("a traceback")
    swept.end()
    log.error("of others")
    assert [r.message for r in caplog.records if r.name == log.name] == ["of others"]


def fail_there(*_arguments):
    raise ImportError("no module named lhkit.sweeps.new")


def test_what_a_worker_cannot_run_is_said(cluster):
    swept = sweep_on(cluster.scheduler_address)
    worker = next(iter(swept.pool.machines))
    with pytest.raises(CrashError, match=r"cannot run a variant: ImportError: no module named"):
        asyncio.run(swept.cluster.call(worker, fail_there))
    swept.end()


def test_a_variant_that_loses_every_worker_is_crashed_and_bytes_of_a_call_are_bounded(cluster, monkeypatch):
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.02)
    swept, sent = sweep_on(cluster.scheduler_address), []

    async def bring(subject, workers):
        return set(workers)

    async def call(worker, function, *arguments):
        if function is try_here:
            sent.append(arguments)
            raise LostError("it ended")
        return 1.0

    monkeypatch.setattr(swept.cluster, "bring", bring)
    monkeypatch.setattr(swept.cluster, "key_of", lambda subject: "key")
    monkeypatch.setattr(swept.cluster, "call", call)
    variant = make_task().variant((("a", 1),))
    known = dict.fromkeys(f"{i:064x}" for i in range(10_000)).keys()

    async def main():
        trial = await swept.executor(swept.kinds[0]).try_variant(variant, None, known)
        await swept.pool.close()
        return trial

    assert asyncio.run(main()).status == "crashed" and len(sent) == 3
    assert {len(pickle.dumps(each)) < 9_000 for each in sent} == {True}
    swept.end()


def test_a_worker_is_told_of_each_program_once(cluster, monkeypatch):
    swept, told = sweep_on(cluster.scheduler_address), []

    async def bring(subject, workers):
        return set(workers)

    async def call(worker, function, *arguments):
        told.append(unpack_programs(arguments[0].news))
        return Answers([Answer(Trial("ok", ir_sha256="f" * 64))])

    monkeypatch.setattr(swept.cluster, "bring", bring)
    monkeypatch.setattr(swept.cluster, "key_of", lambda subject: "key")
    monkeypatch.setattr(swept.cluster, "call", call)
    variant = make_task().variant((("a", 1),))
    known = dict.fromkeys(f"{i:064x}" for i in range(300))

    async def main():
        executor = swept.executor(swept.kinds[0])
        for _ in range(3):
            await executor.try_variant(variant, None, known.keys())
        known["f" * 64] = None
        await executor.try_variant(variant, None, known.keys())
        await swept.pool.close()

    asyncio.run(main())
    assert [len(each) for each in told] == [256, 44, 0, 1]
    assert [p for each in told for p in each] == list(known)
    swept.end()


def test_copies_of_a_payload_are_not_deleted_while_they_are_passed_on(cluster, monkeypatch):
    swept, said = sweep_on(cluster.scheduler_address), []
    manager = cluster.scheduler.extensions["amm"]
    replicate = swept.cluster.client.replicate

    def noting(*arguments, **how):
        said.append(manager.running)
        return replicate(*arguments, **how)

    monkeypatch.setattr(dask_cluster, "pack_subject", lambda subject: "packed")
    monkeypatch.setattr(swept.cluster.client, "replicate", noting)
    worker = next(iter(swept.pool.machines))
    subject = make_task().subjects[""]
    for was_running in (True, False):
        manager.start() if was_running else manager.stop()
        assert asyncio.run(swept.cluster.bring(subject, [worker])) == {worker}
        assert manager.running is was_running
    manager.start()
    assert said == [False, False] and swept.cluster.key_of(subject).startswith("lhkit-payload-")
    swept.end()
