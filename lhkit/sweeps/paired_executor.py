"""Trying variants in two worker processes: one compiles while the other times, one timing at a time."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import os
import statistics
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from msgspec import structs

from lhkit.model.knob import THREADS_KNOB
from lhkit.model.schedule import Schedule
from lhkit.sweeps.engine import CompiledVariant, LocalExecutor, Programs, Trial
from lhkit.sweeps.space import Space
from lhkit.sweeps.sweep_task import Subject, Task, Variant
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import VariantDescription
from lhkit.worker.limits import Limits
from lhkit.worker.timing_conditions import signs_folder

# Two processes for fewer variants would begin for nothing.
LEAST_VARIANTS = 40
# Times beside a busy core may be longer than alone by as much as these differ among themselves, within these
# bounds: the sweep ranks with that scatter anyway, and its winner is confirmed with nothing beside it. Several
# of each are compared; where they differ, more of them: something else may have been at work.
_LEAST_ALLOWED, _MOST_ALLOWED = 0.02, 0.05
_ROUNDS, _LOOKS = 5, 3
_BUSY_WITH = 8


def can_overlap(schedule: Schedule, space: Space) -> bool:
    """Return whether one process may compile while another times: if there are cores to spare.

    What runs on several threads is timed while the other process waits; with nothing else there is no gain.
    """
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        return False  # each process has to stay on a core
    axis = next((axis.values for axis in space.axes if axis.name == THREADS_KNOB), None)
    return 1 in (axis or [schedule.values.get(THREADS_KNOB, 1)])


class PairedExecutor:
    """Tries two variants at a time, each in a process of its own on a core of its own.

    A file is locked by the process that verifies and times, and another one by what needs all cores.
    """

    capacity = 2

    def __init__(
        self,
        first: LocalExecutor,
        second: Worker,
        task: Task,
        limits: Limits,
        prepare: Callable[[Worker], Task],
    ) -> None:
        """Take the executor and the task of the first process; ``prepare`` makes the task of the second."""
        self._turn = Path(signs_folder()) / f"turn-{uuid.uuid4().hex}"
        self._work = self._turn.with_name(f"{self._turn.name}-work")
        self._turn.touch(mode=0o600)
        self._work.touch(mode=0o600)
        self._lanes = (first, LocalExecutor(second, limits))
        try:
            tasks = (task, prepare(second))
        except BaseException:
            self.discard()
            raise
        self._subjects = tuple(
            {s.scope: _in_turn(s, str(self._turn), lane) for s in each.subjects.values()}
            for lane, each in enumerate(tasks)
        )
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for lane in range(self.capacity):
            self._free.put_nowait(lane)

    async def moves_times(self, variants: Sequence[Variant]) -> bool:
        """Return whether the first variant is slower while the other process is busy, or cannot be timed."""
        variants = [v for v in variants if v.values.get(THREADS_KNOB, 1) == 1]
        if not variants:
            return True
        # Compiled once: times are what is compared.
        made = await self._lanes[0].compile_variant(self._on(0, variants[0]), None)
        code = made.code if isinstance(made, CompiledVariant) else b""
        alone: list[int] = []
        beside: list[int] = []
        is_slower = True
        for _ in range(_LOOKS):
            for times in itertools.chain.from_iterable([(alone, beside)] * _ROUNDS):
                is_timed = asyncio.Event()
                busy = asyncio.ensure_future(self._keep_busy(variants, is_timed)) if times is beside else None
                trial = await self._time(variants[0], code, is_timed)
                if busy is not None:
                    await busy
                if trial.time_ns is None:
                    return True
                times.append(trial.time_ns.median)
            is_slower = _is_moved(alone, beside)
            if not is_slower:
                break
        for lane in self._lanes:
            lane.forget()  # the program that was timed is a new one for the sweep
        return is_slower

    async def _time(self, variant: Variant, code: bytes, is_timed: asyncio.Event) -> Trial:
        try:
            return await self._lanes[0].try_variant(self._on(0, variant), None, None, code)
        finally:
            is_timed.set()

    async def _keep_busy(self, variants: Sequence[Variant], stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._lanes[1].describe([self._on(1, v) for v in variants[:_BUSY_WITH]])

    def _on(self, lane: int, variant: Variant) -> Variant:
        return dataclasses.replace(variant, subject=self._subjects[lane][variant.subject.scope])

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant in the process that is free; see `Executor.try_variant`."""
        async with self._lane() as lane:
            return await self._lanes[lane].try_variant(self._on(lane, variant), best_ns, known)

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Apply the schedule with the values of variants; see `Executor.describe`."""
        async with self._lane() as lane:
            return await self._lanes[lane].describe([self._on(lane, v) for v in variants])

    @contextlib.asynccontextmanager
    async def _lane(self) -> AsyncIterator[int]:
        lane = await self._free.get()
        try:
            yield lane
        finally:
            self._free.put_nowait(lane)

    def discard(self) -> None:
        """Remove the files, from any thread, before anything was tried."""
        self._unlink()

    async def close_second(self) -> None:
        """End the second process: the first goes on alone."""
        await self._lanes[1].close()
        self._lanes[0].forget()  # what it is ready for waits for its turn
        self._unlink()

    async def close(self) -> None:
        """End what is running, and both processes."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))
        self._unlink()

    def _unlink(self) -> None:
        self._turn.unlink(missing_ok=True)
        self._work.unlink(missing_ok=True)


def _is_moved(alone: Sequence[int], beside: Sequence[int]) -> bool:
    """Return whether times beside a busy core are longer by more than those alone differ among themselves."""
    middle = statistics.median(alone)
    scatter = statistics.median(abs(ns - middle) for ns in alone) / middle
    allowed = min(max(scatter, _LEAST_ALLOWED), _MOST_ALLOWED)
    return statistics.median(beside) > (1 + allowed) * middle


def _in_turn(subject: Subject, turn: str, lane: int) -> Subject:
    return dataclasses.replace(subject, preparation=structs.replace(subject.preparation, turn=turn, lane=lane))
