"""Workers of a cluster from a wheel in another folder: one killed, one of another version, one that comes late."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from distributed import Client

import lhkit
from lhkit.sweeps import machine_pool
from lhkit.sweeps.dask_cluster import DaskCluster
from lhkit.sweeps.dask_host import try_here
from lhkit.sweeps.record_store import Store

ROOT = Path(__file__).parents[2]
KNOBS = {"tile_m": [1, 2, 4, 8, 16], "tile_n": [8, 16, 32, 64, 128]}


def waiting_sweep(extent, folder, address):
    """Return a sweep of a product on a cluster, which has not begun."""
    return lhkit.sweep(
        lhkit.payloads.matmul(extent, extent, extent),
        "matmul_tile_fuse_vectorize.mlir",
        knobs=KNOBS,
        store=folder / "records.jsonl",
        executor=f"dask:{address}",
        confirm=False,
        start=False,
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder that a wheel of this tree was installed into, and one of another version."""
    where = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", where / "wheels", ROOT], check=True)
    (wheel,) = (where / "wheels").glob("lhkit-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", where / "this", wheel], check=True)
    shutil.copytree(where / "this", where / "other")
    package = where / "other" / "lhkit" / "__init__.py"
    text, count = re.subn(r'__version__ = "[^"]+"', '__version__ = "9.9.9"', package.read_text())
    assert count == 1
    package.write_text(text)
    return where / "this", where / "other"


@contextlib.contextmanager
def process(folder, state, *module):
    """A process that has nothing of this one but the network: its folder, its state, its place."""
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    own |= {"PYTHONPATH": str(folder), "LHKIT_STATE_DIR": str(state)}
    state.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", *module], env=own, cwd=state, stderr=subprocess.DEVNULL
    ) as one:
        try:
            yield one
        finally:
            for each in psutil.Process(one.pid).children(recursive=True) if one.poll() is None else ():
                each.terminate()
            one.terminate()


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_workers_of_a_wheel_share_a_sweep_through_what_happens_to_them(folders, tmp_path, monkeypatch):
    this, other = folders
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "ours"))
    with contextlib.ExitStack() as stack:
        file = tmp_path / "scheduler.json"
        start = ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
        stack.enter_context(process(this, tmp_path / "scheduler", *start, "--scheduler-file", str(file)))
        while not file.exists():
            time.sleep(0.05)
        begin = ["distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
        begin += ["--no-dashboard", "--no-nanny", "--name"]
        running = {n: stack.enter_context(process(this, tmp_path / n, *begin, n)) for n in ("a", "b")}
        stack.enter_context(process(other, tmp_path / "other", *begin, "other"))
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(3, timeout=100)
            address = client.scheduler.address
            named = {w["name"]: a for a, w in client.scheduler_info(n_workers=-1)["workers"].items()}
        tried, calls, lost = {}, [], []
        call = DaskCluster.call

        async def killing(self, worker, function, *arguments):
            while function is try_here and lost and found._elsewhere.pool.machines.keys() <= {*named.values()}:
                await asyncio.sleep(0.05)  # the sweep is short: the late one has to come in time
            asked = asyncio.ensure_future(call(self, worker, function, *arguments))
            if function is try_here:
                calls.append(worker)
                if worker == named["a"] and calls.count(worker) == 2:
                    await asyncio.sleep(0.05)  # a variant takes longer than that
                    assert not asked.done()
                    lost.extend(arguments[0].variants)
                    running["a"].kill()
                    stack.enter_context(process(this, tmp_path / "late", *begin, "late"))
            return await asked

        def watch(event):
            tried.update({m.address: m.tried for m in found._elsewhere.pool.machines.values()})

        monkeypatch.setattr(DaskCluster, "call", killing)
        monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.1)
        found = waiting_sweep(256, tmp_path, address)
        found.subscribe(watch)
        found.start()
        lines = found.result().machines
    count = len(list(found.space.points()))
    keys = [r.key for r in found.records]
    assert found.end == "finished" and len(keys) == len(set(keys)) == count
    assert len(Store(tmp_path / "records.jsonl", read_only=True)) == count
    assert (tmp_path / "records.jsonl").read_text().count("\n") == count
    assert {r.status for r in found.records} <= {"ok", "same-as", "stopped-early"}
    assert lost and any("lost: 1" in line for line in lines)
    assert "crashed" not in [r.status for r in found.records for v in lost if v.items() <= r.values.items()]
    late = [a for a in tried if a not in named.values()]
    assert tried[named["a"]] and tried[named["b"]] and [tried[a] for a in late] and named["other"] not in tried
    assert any(f"{named['other']} is left out: lhkit 9.9.9, here" in line for line in lines)
    print(f"\n{count} variants: {tried}\n" + "\n".join(lines))


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_a_sweep_goes_on_when_its_scheduler_comes_back(folders, tmp_path, monkeypatch):
    this, _ = folders
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "ours"))
    monkeypatch.setattr(machine_pool, "_LOOK_SECONDS", 0.2)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    start = ["distributed.cli.dask_scheduler", "--port", str(port), "--host", "127.0.0.1", "--no-dashboard"]
    begin = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(process(this, tmp_path / "first", *start))
        stack.enter_context(process(this, tmp_path / "a", *begin))

        def watch(event):
            if event.record is not None and event.done == 5:
                scheduler.kill()
                scheduler.wait()
                stack.enter_context(process(this, tmp_path / "second", *start))
                stack.enter_context(process(this, tmp_path / "b", *begin))

        with contextlib.suppress(OSError), Client(address, set_as_default=False, timeout=60) as client:
            client.wait_for_workers(1, timeout=100)
        found = waiting_sweep(64, tmp_path, address)
        found.subscribe(watch)
        found.start()
    keys = [r.key for r in found.records]
    assert found.end == "finished" and len(keys) == len(set(keys)) == len(list(found.space.points()))
    assert not {r.status for r in found.records} & {"crashed", "timeout"}
    print("\n" + "\n".join(found.result().machines))
