"""Stored grids of sweeps: every variant tried once, with what it cost, so that searches can be replayed on it.

A grid is a JSON file in ``benchmarks/grids``: knobs, and for each variant its status, times and costs. It is
recorded on a machine that others may use: so the least of several runs counts as the time of a variant, and the
fastest ones are timed in several rounds, far apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

import lhkit
from lhkit.cli.terminal import say
from lhkit.load.loader import as_schedule
from lhkit.load.target_choice import describe_environment
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.engine import LocalExecutor
from lhkit.sweeps.space import Point, Space, space_of
from lhkit.sweeps.sweep_task import VARIANT_LIMITS, SweepOptions, Task, environment_hash, prepare_task
from lhkit.worker.client import own_worker

FOLDER = Path(__file__).parent / "grids"
_AGAIN = 1.25  # Variants within this of the best are timed again
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class GridTask:
    """What a grid is of."""

    name: str
    payload: Callable[[], Payload]
    schedule: str
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> tuple[Payload, Schedule, Space]:
        """Return payload, schedule and space."""
        payload, schedule = self.payload(), as_schedule(self.schedule, None)
        return payload, schedule, space_of(schedule, knobs=self.knobs, constraints=(), payload=payload)


_ROOT = Path(__file__).parent.parent
TASKS = (
    GridTask(
        "matmul_512",
        lambda: lhkit.payloads.matmul(512, 512, 512),
        str(_ROOT / "schedules/matmul_block_tile_vectorize.mlir"),
    ),
    GridTask(
        "conv2d_14",
        lambda: lhkit.payloads.conv2d_nhwc(1, 14, 14, 256, 256),
        str(_ROOT / "schedules/conv2d.mlir"),
        {"lanes": 8, "winograd": 0, "strip_f": "64,128,256", "tiles": 64, "threads": 1},
    ),
    GridTask("softmax_1024", lambda: lhkit.payloads.softmax(1024, 1024), str(FOLDER / "softmax_rows.mlir")),
)


@dataclass(frozen=True, slots=True)
class GridVariant:
    """One variant: times in ns (the median and the least of its runs, one short run), costs in ns by part.

    ``again_ns`` are the least times of later rounds, of variants that are among the fastest. ``plain_ns`` is
    one short run of code that LLVM's optimizer has not seen, and ``plain_spent_ns`` what it cost.
    """

    knobs: Point
    status: str
    program: str | None
    median_ns: int | None
    min_ns: int | None
    short_ns: int | None
    spent_ns: Mapping[str, int]
    again_ns: tuple[int, ...] = ()
    features: tuple[float, ...] = ()
    plain_ns: int | None = None
    plain_spent_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def true_ns(self) -> int | None:
        """The lower quartile of the least times of all rounds, or None if it was not timed.

        The least of all would be that of a lucky round: of many variants one has it.
        """
        if self.min_ns is None:
            return None
        times = sorted((self.min_ns, *self.again_ns))
        return times[(len(times) - 1) // 4]


@dataclass(frozen=True, slots=True)
class Grid:
    """All variants of a space, in its order."""

    name: str
    machine: Mapping[str, str]
    recorded: str
    features: tuple[str, ...]
    variants: tuple[GridVariant, ...]

    @property
    def seconds(self) -> float:
        """What trying all of them cost."""
        return sum(sum(v.spent_ns.values()) for v in self.variants) / 1e9


def record(task: GridTask) -> Grid:
    """Try every variant of a task as a sweep over the grid does, and the fastest ones again."""
    payload, schedule, space = task.load()
    worker = own_worker()
    executor = LocalExecutor(worker, VARIANT_LIMITS, done_with=None)
    try:
        options = SweepOptions()
        first = dict(next(space.points()))
        environment = environment_hash(worker, opt_level=options.opt_level)
        prepared = prepare_task({"": payload}, schedule, first, None, options, worker, environment)
        variants = asyncio.run(_try_all(task.name, _on_thread_clock(prepared), space, executor))
        known: dict[str, str] = {n: str(v) for n, v in describe_environment(worker)}
    finally:
        worker.close()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    machine = {n: value for n, value in known.items() if n in ("cpu", "bindings")}
    return described(task, Grid(task.name, machine, now, (), tuple(variants)))


def described(task: GridTask, grid: Grid) -> Grid:
    """Return a grid with the features of its variants, and the time that reading them took, as ``describe``."""
    payload, schedule, _ = task.load()
    with contextlib.closing(own_worker()) as worker:
        executor = LocalExecutor(worker, VARIANT_LIMITS, done_with=None)
        options, first = SweepOptions(), dict(grid.variants[0].knobs)
        ready = prepare_task({"": payload}, schedule, first, None, options, worker, "")
        found = asyncio.run(executor.describe([ready.variant(v.knobs) for v in grid.variants]))
    names = tuple(next(d for d in found if d is not None).features)
    rows = [() if d is None else tuple(d.features[n] for n in names) for d in found]
    variants = tuple(replace(v, features=row) for v, row in zip(grid.variants, rows, strict=True))
    return replace(grid, features=names, variants=variants)


def timed_again(task: GridTask, grid: Grid, rounds: int) -> Grid:
    """Return a grid whose fastest variants are timed in more rounds."""
    payload, schedule, _ = task.load()
    with contextlib.closing(own_worker()) as worker:
        executor = LocalExecutor(worker, VARIANT_LIMITS, done_with=None)
        options, first = SweepOptions(), dict(grid.variants[0].knobs)
        ready = prepare_task({"": payload}, schedule, first, None, options, worker, "")
        found = list(grid.variants)
        asyncio.run(_time_again(task.name, _on_thread_clock(ready), executor, found, rounds))
    return replace(grid, variants=tuple(found))


def timed_plain(task: GridTask, grid: Grid) -> Grid:
    """Return a grid whose variants are timed as plain code, too: each program once, shortly."""
    payload, schedule, _ = task.load()
    with contextlib.closing(own_worker()) as worker:
        executor = LocalExecutor(worker, VARIANT_LIMITS, done_with=None)
        options, first = SweepOptions(opt_level=0), dict(grid.variants[0].knobs)
        ready = prepare_task({"": payload}, schedule, first, None, options, worker, "")
        found = asyncio.run(_try_plain(task.name, _on_thread_clock(ready), executor, grid.variants))
    return replace(grid, variants=tuple(found))


async def _try_plain(
    name: str, task: Task, executor: LocalExecutor, variants: Sequence[GridVariant]
) -> list[GridVariant]:
    started = time.monotonic()
    found = []
    for i, variant in enumerate(variants):
        found.append(variant)
        if variant.short_ns is not None:
            # All are far behind a best time of 1 ns: a run or two.
            trial = await executor.try_variant(task.variant(variant.knobs), 1.0, None)
            if trial.short_ns is not None:
                found[i] = replace(variant, plain_ns=trial.short_ns, plain_spent_ns=trial.spent_ns)
        if i % 50 == 49:
            say(f"{name}: {i + 1} variants as plain code, {time.monotonic() - started:.0f} s")
    return found


def _on_thread_clock(task: Task) -> Task:
    """Return the task, timed in processor time: other programs run beside it."""
    subject = task.subjects[""]
    rules = replace(subject.preparation.rules, clock="thread")
    preparation = structs.replace(subject.preparation, rules=rules)
    return replace(task, subjects={"": replace(subject, preparation=preparation)})


async def _try_all(name: str, task: Task, space: Space, executor: LocalExecutor) -> list[GridVariant]:
    best: float | None = None
    programs: dict[str, int] = {}
    found: list[GridVariant] = []
    started = time.monotonic()
    for i, point in enumerate(space.points()):
        variant = task.variant(point)
        trial = await executor.try_variant(variant, best, programs.keys())
        times = trial.time_ns
        found.append(
            GridVariant(
                knobs=point,
                status=trial.status,
                program=None if trial.ir_sha256 is None else trial.ir_sha256[:16],
                median_ns=times.median if times else None,
                min_ns=times.min if times else None,
                short_ns=trial.short_ns,
                spent_ns=trial.spent_ns,
            )
        )
        if trial.ir_sha256 is not None:
            programs.setdefault(trial.ir_sha256, i)
        if trial.status == "ok" and times is not None and (best is None or times.median < best):
            best = times.median
        if i % 50 == 49:
            say(f"{name}: {i + 1} variants, {time.monotonic() - started:.0f} s")
    await _time_again(name, task, executor, found, _ROUNDS)
    return found


async def _time_again(
    name: str, task: Task, executor: LocalExecutor, found: list[GridVariant], rounds: int
) -> None:
    """Time the fastest again, once a round, in alternating order."""
    started = time.monotonic()
    for number in range(rounds):
        least = min(v.true_ns for v in found if v.true_ns is not None)
        near = [i for i, v in enumerate(found) if v.true_ns is not None and v.true_ns < _AGAIN * least]
        for i in near if number % 2 == 0 else reversed(near):
            trial = await executor.try_variant(task.variant(found[i].knobs), None, None)
            if trial.time_ns is not None:
                found[i] = replace(found[i], again_ns=(*found[i].again_ns, trial.time_ns.min))
        say(f"{name}: round {number + 1} of {rounds}, {len(near)} variants, {time.monotonic() - started:.0f} s")


def save(grid: Grid, path: Path) -> None:
    """Write a grid, a variant a line."""
    head = {"name": grid.name, "machine": grid.machine, "recorded": grid.recorded, "features": grid.features}
    lines = [json.dumps({**asdict(v), "knobs": dict(v.knobs)}) for v in grid.variants]
    text = json.dumps(head)[:-1] + ', "variants": [\n' + ",\n".join(lines) + "\n]}\n"
    path.write_text(text, encoding="utf-8")


def load(path: Path) -> Grid:
    """Return a grid from its file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    variants = []
    for each in data["variants"]:
        knobs: dict[str, KnobValue] = each.pop("knobs")
        again, features = tuple(each.pop("again_ns")), tuple(each.pop("features", ()))
        variants.append(GridVariant(knobs=tuple(knobs.items()), again_ns=again, features=features, **each))
    names = tuple(data.get("features", ()))
    return Grid(data["name"], data["machine"], data["recorded"], names, tuple(variants))
