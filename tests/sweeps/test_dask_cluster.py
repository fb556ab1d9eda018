"""The Dask cluster of a sweep: what differs, is lost or silent is a typed failure."""

import logging
import threading
import time
from contextlib import closing

import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError

from lhkit.model.errors import CrashError, UsageError
from lhkit.sweeps import dask_executor as dask_cluster
from lhkit.sweeps.dask_executor import DaskCluster, DaskExecutor, version_table
from lhkit.worker.limits import Limits


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


def test_a_cluster_with_other_versions_is_refused(monkeypatch):
    found = {"client": node(), "scheduler": node(), "workers": {"tcp://b:2": node("0.2.0")}}
    monkeypatch.setattr(Client, "get_versions", lambda self, packages: found)
    with pytest.raises(UsageError, match=r"other versions than this process[^$]*tcp://b:2  0\.2\.0") as caught:
        DaskCluster(None)
    assert "Start its scheduler and workers from" in caught.value.failure.advice


@pytest.mark.parametrize("is_raised", [True, False], ids=["the scheduler", "the only worker"])
def test_what_is_lost_while_it_is_looked_at_is_named(monkeypatch, is_raised):
    lost = CommClosedError("in <TCP> : Stream is closed")

    def run(self, function, *arguments, on_error="raise"):
        if is_raised:
            raise lost
        return {"tcp://10.0.0.7:1": lost}

    monkeypatch.setattr(Client, "run", run)
    what = "scheduler in this process was lost" if is_raised else "worker tcp://10.0.0.7:1 was lost"
    with pytest.raises(CrashError, match=f"{what} while .* looked at.*Stream is closed"):
        DaskExecutor(None, Limits(), describe=str)


@pytest.fixture
def cluster():
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as one:
        yield one


def submit_without_workers(cluster, found):
    """Submit a call once the only worker is gone."""
    cluster.scale(0)
    while found.client.scheduler_info()["workers"]:
        time.sleep(0.01)
    return found.client.submit(abs, -3)


def test_the_last_worker_lost_is_said_after_a_while(cluster, monkeypatch):
    monkeypatch.setattr(dask_cluster, "_WITHOUT_WORKERS_SECONDS", 0.0)
    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 0.02)
    with closing(DaskCluster(cluster.scheduler_address)) as found:
        future = submit_without_workers(cluster, found)
        with pytest.raises(CrashError, match=r"inproc://.* lost its last worker, and none came back within"):
            found.result_of(future)
        assert future.cancelled()


def test_a_worker_that_comes_back_in_time_is_waited_for(cluster, monkeypatch):
    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 0.02)
    with closing(DaskCluster(cluster.scheduler_address)) as found:
        future = submit_without_workers(cluster, found)
        look = found._has_workers

        def has_workers():
            cluster.scale(1)
            return look()

        monkeypatch.setattr(found, "_has_workers", has_workers)
        assert found.result_of(future) == 3


def test_a_scheduler_that_is_gone_is_said(cluster, caplog):
    found = DaskCluster(cluster.scheduler_address)
    future = found.client.submit(wait)
    cluster.close()
    with pytest.raises(CrashError, match=r"inproc://.* is gone") as caught:
        found.result_of(future)
    assert "start the sweep again" in caught.value.failure.advice
    log = logging.getLogger("distributed.client")  # where Dask prints the traceback of a lost connection
    log.error("a traceback")
    found.close()
    IS_OVER.set()
    log.error("of others")
    assert [r.message for r in caplog.records if r.name == log.name] == ["of others"]


IS_OVER = threading.Event()


def wait():
    IS_OVER.wait()


def fail_there():
    raise ImportError("no module named lhkit.sweeps.new")


def test_what_a_worker_cannot_run_is_said(cluster):
    with closing(DaskCluster(cluster.scheduler_address)) as found:
        future = found.client.submit(fail_there)
        with pytest.raises(CrashError, match=r"cannot run a variant: ImportError: no module named"):
            found.result_of(future)
