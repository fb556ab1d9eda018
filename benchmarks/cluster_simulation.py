"""``python -m benchmarks.cluster_simulation``: a sweep on 200 simulated machines of a Dask cluster, beside one.

Scheduler, connections, engine and store are the real ones. Only the machines are simulated: each is a worker of
Dask that waits as long as a variant took when the grids in ``benchmarks/grids`` were recorded. It prints
variants a second, the scheduler's share of a core, bytes a call, and the seconds to the winner.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import itertools
import logging
import math
import pickle
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

import lhkit
from benchmarks.sweep_grids import FOLDER, load
from lhkit.cli.terminal import say
from lhkit.load.loader import as_schedule
from lhkit.sweeps import dask_host
from lhkit.sweeps.dask_cluster import DaskCluster
from lhkit.sweeps.dask_executor import DaskSweep
from lhkit.sweeps.dask_host import Answer, Answers, Asked, Host, Setup, try_here
from lhkit.sweeps.engine import SweepEvent, SweepProgress, SweepRun, Trial
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.space import Point
from lhkit.sweeps.sweep_task import SweepOptions, Task, Variant, prepare_task, sha256_of, variant_key
from lhkit.sweeps.variant_record import SweepTime
from lhkit.worker.client import own_worker
from lhkit.worker.limits import Limits

_GRIDS = ("matmul_512", "conv2d_14", "softmax_1024")
_FACTS = {"cpu": "simulated"}
_GOLDEN = (math.sqrt(5) - 1) / 2
_PROCESSES = 2
_WORKERS = 200
# The bytes of one call of so many are measured: to serialize each a second time would be work of the sweep.
_MEASURED = 8


def recorded() -> list[tuple[int, float]]:
    """Return the median in ns and the seconds on a machine of each timed variant of the grids.

    The first few are a fair sample of all, so that a short run on one machine compares with a long one on many:
    by their seconds, the order is the low-discrepancy sequence of the golden section.
    """
    grids = [load(FOLDER / f"{name}.json") for name in _GRIDS]
    found = [
        (v.median_ns, sum(v.spent_ns.values()) / 1e9)
        for grid in grids
        for v in grid.variants
        if v.median_ns is not None
    ]
    found.sort(key=lambda pair: pair[1])
    numbers = sorted(range(len(found)), key=lambda number: (number * _GOLDEN + 0.5) % 1)
    return [found[place] for place in sorted(range(len(found)), key=numbers.__getitem__)]


# The machines.


def _simulate() -> None:
    """Have the functions that a sweep calls on a machine answer as recorded."""
    variants, ready = recorded(), set[str]()
    turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def try_there(asked: Asked, dask_worker: Any) -> Answers:
        if dask_worker.name not in ready:
            if asked.key not in dask_worker.data:
                return Answers([Answer()])
            ready.add(dask_worker.name)
        async with turns[dask_worker.name]:
            return Answers(await try_variants(asked))

    async def try_variants(asked: Asked) -> list[Answer]:
        found: list[Answer] = []
        until = time.monotonic() + dask_host.BATCH_SECONDS
        for number in (int(values["number"]) for values in asked.variants):
            if found and time.monotonic() >= until:
                break
            median_ns, seconds = variants[number % len(variants)]
            await asyncio.sleep(seconds)
            time_ns = SweepTime(median_ns, median_ns, 1, 5)
            spent = {"time": int(1e9 * seconds)}
            found.append(Answer(Trial("ok", time_ns=time_ns, ir_sha256=sha256_of(number), spent_ns=spent)))
        return found

    async def probe(setup: Setup, dask_worker: Any = None) -> Host:
        return Host(_FACTS, f"boot {dask_worker.name}")

    async def keep_busy(is_begun: bool) -> None:
        return None

    async def sample(count: int) -> list[float]:
        return [1.0] * count

    simulated: dict[str, Callable[..., Any]] = {
        "try_here": try_there,
        "probe_host": probe,
        "keep_busy": keep_busy,
        "take_samples": sample,
    }
    for name, function in simulated.items():
        setattr(dask_host, name, function)


# A hundred workers in a process look at its host one after the other: real ones each have a machine for that.
_UNWATCHED = {
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.profile.enabled": False,
}


async def _serve(address: str, first: int, count: int) -> None:
    import dask
    from distributed import Worker

    _simulate()
    logging.getLogger("distributed").setLevel(logging.WARNING)  # a line for each variant
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(dask.config.set(_UNWATCHED))
        workers = [
            await stack.enter_async_context(
                Worker(address, nthreads=1, name=str(first + i), memory_limit=0, dashboard=False)
            )
            for i in range(count)
        ]
        gc.freeze()  # a collection goes through a hundred machines
        await asyncio.gather(*(worker.finished() for worker in workers))


@contextlib.contextmanager
def simulated_cluster(workers: int) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the address of a scheduler with so many simulated machines, and its process."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        file = Path(folder) / "scheduler.json"
        asked = ("--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file), "--no-dashboard")
        scheduler = stack.enter_context(_process("distributed.cli.dask_scheduler", *asked))
        while not file.exists() and scheduler.poll() is None:
            time.sleep(0.05)
        import distributed

        client_of: Any = distributed.Client

        with client_of(scheduler_file=str(file), set_as_default=False) as client:
            address = str(client.scheduler.address)
            each = -(-workers // _PROCESSES)
            for first in range(0, workers, each):
                count = min(each, workers - first)
                here = "benchmarks.cluster_simulation"
                stack.enter_context(_process(here, "--serve", address, str(first), str(count)))
            client.wait_for_workers(workers, timeout=100)
        yield address, psutil.Process(scheduler.pid)


@contextlib.contextmanager
def _process(*module: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-m", *module], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


# The sweep.


@dataclass(frozen=True, slots=True)
class NumberedTask(Task):
    """A task whose variants are numbers of recorded ones."""

    def variant(self, point: Point) -> Variant:
        """Return the variant of a number."""
        subject, values = self.subjects[""], dict(point)
        return Variant(point, subject, values, point, variant_key(subject.scope, values))


class _Numbers:
    """A strategy that asks for numbers in an order drawn once."""

    def __init__(self, count: int) -> None:
        order = list(range(count))
        random.Random(0).shuffle(order)
        self._left = iter(order)

    def ask(self) -> Point | None:
        return next(((("number", i),) for i in itertools.islice(self._left, 1)), None)

    def tell(self, point: Point, cost: float | None) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulated sweep took: bytes are of calls that try a variant; cores are shares of one."""

    machines: int
    variants: int
    seconds: float
    best_seconds: float
    prepare_seconds: float
    scheduler_cores: float
    sweep_cores: float
    mean_bytes: float
    most_bytes: int

    @property
    def rate(self) -> float:
        """Variants a second."""
        return self.variants / self.seconds


def _numbered_task() -> tuple[NumberedTask, Any]:
    worker = own_worker()
    try:
        payload = lhkit.payloads.matmul(128, 128, 128)
        schedule = as_schedule("matmul_tile_fuse_vectorize.mlir", worker)
        first = {knob.name: knob.default for knob in schedule.knobs if knob.default is not None}
        made = prepare_task({"": payload}, schedule, first, None, SweepOptions(), worker, sha256_of(_FACTS))
    except BaseException:
        worker.close()
        raise
    return NumberedTask(schedule, (), made.subjects, made.environment), worker


def simulate(machines: int, variants: int) -> Simulated:
    """Sweep so many variants on so many simulated machines."""
    task, worker = _numbered_task()
    sizes: list[int] = []
    calls = itertools.count()
    call = DaskCluster.call

    async def counted(self: DaskCluster, address: str, function: Any, *arguments: Any) -> Any:
        if function is try_here and next(calls) % _MEASURED == 0:
            sizes.append(len(pickle.dumps((function, arguments))))
        return await call(self, address, function, *arguments)

    DaskCluster.call = counted  # type: ignore[method-assign, assignment]
    with contextlib.closing(worker), simulated_cluster(machines) as (address, scheduler), _store() as store:
        started = time.perf_counter()
        swept = DaskSweep(address, Limits(), describe=lambda _: _FACTS, here=_FACTS)
        prepared = time.perf_counter()
        at_best: list[float] = []

        def note(event: SweepEvent) -> None:
            if event.record is not None and event.best is event.record:
                at_best.append(time.perf_counter())

        executor, progress = swept.executor(swept.kinds[0], batched=variants), SweepProgress()
        run = SweepRun(replace(task), _Numbers(variants), store, executor, progress, variants, note)
        before, own = _cpu(scheduler), _cpu(psutil.Process())
        began = time.perf_counter()
        asyncio.run(run.run(asyncio.Event()))
        ended = time.perf_counter()
        after, own_after = _cpu(scheduler), _cpu(psutil.Process())
        keys = {r.key for r in progress.records}
        if not len(keys) == len(progress.records) == variants:
            raise RuntimeError(f"{len(progress.records)} records of {len(keys)} variants, asked for {variants}")
    DaskCluster.call = call  # type: ignore[method-assign]
    spent = ended - began
    return Simulated(
        machines,
        variants,
        spent,
        at_best[-1] - began,
        prepared - started,
        (after - before) / spent,
        (own_after - own) / spent,
        sum(sizes) / len(sizes),
        max(sizes),
    )


@contextlib.contextmanager
def _store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "simulated.jsonl") as store:
        yield store


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    """Print what one machine and 200 take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=3, metavar=("ADDRESS", "FIRST", "COUNT"), help=argparse.SUPPRESS)
    parser.add_argument("--machines", type=int, default=_WORKERS)
    parser.add_argument("--variants", type=int, default=10_000)
    parser.add_argument("--alone", type=int, default=40, help="variants of the single machine")
    asked = parser.parse_args()
    if asked.serve:
        address, first, count = asked.serve
        asyncio.run(_serve(address, int(first), int(count)))
        return
    rates: list[float] = []
    runs = ((1, asked.alone), (asked.machines, asked.variants))
    for machines, variants in [run for run in runs if run[1]]:
        found = simulate(machines, variants)
        rates.append(found.rate)
        say(
            f"{machines} machines: {variants} variants in {found.seconds:.1f} s, {found.rate:.1f} a second; "
            f"the best after {found.best_seconds:.1f} s; looked at in {found.prepare_seconds:.1f} s; "
            f"scheduler {found.scheduler_cores:.2f} cores, sweep {found.sweep_cores:.2f}; "
            f"{found.mean_bytes:.0f} bytes a call, at most {found.most_bytes}"
        )
    if len(rates) > 1:
        say(f"{rates[1] / rates[0]:.0f} times the rate of one")


if __name__ == "__main__":
    main()
