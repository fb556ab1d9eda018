"""Sweeps on a Dask cluster: the same records as on this machine, and nothing lost with its workers."""

import builtins
import os
import warnings
from pathlib import Path

import pytest

import lhkit
from lhkit.model.errors import UsageError
from lhkit.sweeping.dask_host import Setup
from lhkit.sweeping.store import Store
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from tests.sweep_parts import OPS, PAYLOAD, SCHEDULE, Listed, points_of

LIMITS = Limits(20.0, 700 << 20)
POINTS = points_of(way=["ok", "other", "wrong", "fails", "dies"], idle=[1, 2])
# Once, it kills the process that started the worker: one of Dask's.
KILLING = '''
    if way[0] == "other" and not os.path.exists({flag!r}):
        open({flag!r}, "x").close()
        os.kill(os.getppid(), 9)
        time.sleep(600)
'''


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
    lhkit.ops.load(file, worker=worker)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as made:
        yield made


def sweep(own, folder, name, **more):
    payload, schedule = lhkit.load_payload(PAYLOAD, worker=own), lhkit.load_schedule(SCHEDULE, worker=own)
    store, strategy = folder / f"{name}.jsonl", Listed(POINTS)
    return lhkit.sweep(
        payload, schedule, strategy=strategy, store=store, worker=own, limits=LIMITS, executor=name, **more
    )


def told(records):
    return [(r.key, r.status, r.same_as, r.knobs, r.message, r.ir_sha256, r.environment) for r in records]


def test_a_cluster_gives_the_records_of_this_machine_though_a_worker_is_killed(own, cluster, tmp_path, flag):
    local = sweep(own, tmp_path, "local")
    before = {worker.pid for worker in cluster.workers.values()}
    flag.unlink()
    found = sweep(own, tmp_path, f"dask:{cluster.scheduler_address}")
    assert flag.exists() and {worker.pid for worker in cluster.workers.values()} != before
    assert found.end == "finished" and told(found.records) == told(local.records)
    assert {r.status for r in found.records} >= {"ok", "same-as", "wrong-result", "schedule-failed", "crashed"}
    lines = found.store_path.read_text().splitlines()
    assert len(lines) == len(POINTS) == len(Store(found.store_path, read_only=True))
