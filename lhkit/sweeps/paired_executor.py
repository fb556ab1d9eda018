"""Trying variants in two worker processes that compile side by side; one is paused while the other times."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec import structs

from lhkit.sweeps.engine import LocalExecutor, Programs, Trial
from lhkit.sweeps.sweep_task import Subject, Task, Variant
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import VariantDescription
from lhkit.worker.limits import Limits
from lhkit.worker.process_groups import PauseGuard
from lhkit.worker.spare_workers import give_back
from lhkit.worker.timing_conditions import locked, pause_file, signs_folder

# Two processes for fewer variants would begin for nothing.
LEAST_VARIANTS = 40
# At most so many by one request, so that both processes are done at the same time.
_DESCRIBED_TOGETHER = 4


def can_overlap() -> bool:
    """Return whether two processes can compile beside one another: each needs a core to stay on."""
    is_posix = hasattr(os, "sched_setaffinity") and hasattr(signal, "SIGSTOP")
    return is_posix and len(os.sched_getaffinity(0)) >= 2


class PairedExecutor:
    """Tries two variants at a time, each in a process of its own on a core of its own.

    A process that verifies and times holds the lock of a file, and it times while the other one is paused:
    times are those of a machine on which this sweep does nothing else.
    """

    capacity = depth = 2

    def __init__(self, first: LocalExecutor, second: Worker, tasks: tuple[Task, Task], limits: Limits) -> None:
        """Take the executor of the first process, the second process, and the task of each."""
        self._turn = Path(signs_folder()) / f"turn-{uuid.uuid4().hex}"
        self._turn.touch(mode=0o600)
        self._guard = PauseGuard()
        self._lanes = (first, LocalExecutor(second, limits, done_with=give_back))
        self._pauses = [
            _Pause(pause_file(str(self._turn), lane), self._lanes[1 - lane], self._guard)
            for lane in range(self.capacity)
        ]
        for executor, pause in zip(self._lanes, self._pauses, strict=True):
            executor.at_stage = pause.at_stage
        self._subjects = tuple(
            {s.scope: _in_turn(s, str(self._turn), lane) for s in each.subjects.values()}
            for lane, each in enumerate(tasks)
        )
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for lane in range(self.capacity):
            self._free.put_nowait(lane)

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant in the process that is free; see `Executor.try_variant`."""
        async with self._lane() as lane:
            return await self._lanes[lane].try_variant(self._on(lane, variant), best_ns, known)

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Apply the schedule with the values of variants, some in each process; see `Executor.describe`."""
        rounds = -(-len(variants) // (_DESCRIBED_TOGETHER * self.capacity))
        count = min(rounds * self.capacity, len(variants))

        async def share(first: int) -> Sequence[VariantDescription | None]:
            async with self._lane() as lane:
                own = [self._on(lane, v) for v in variants[first::count]]
                return await self._lanes[lane].describe(own)

        found: list[VariantDescription | None] = [None] * len(variants)
        for first, known in enumerate(await asyncio.gather(*map(share, range(count)))):
            found[first::count] = known
        return found

    def _on(self, lane: int, variant: Variant) -> Variant:
        return dataclasses.replace(variant, subject=self._subjects[lane][variant.subject.scope])

    @contextlib.asynccontextmanager
    async def _lane(self) -> AsyncIterator[int]:
        lane = await self._free.get()
        try:
            yield lane
        finally:
            self._free.put_nowait(lane)

    async def close(self) -> None:
        """End what is running, and both processes."""
        await asyncio.gather(*(lane.close() for lane in self._lanes))
        self.discard()

    def discard(self) -> None:
        """Remove the files, from any thread, when nothing is tried."""
        for pause in self._pauses:
            pause.close()
        self._guard.close()
        self._turn.unlink(missing_ok=True)


class _Pause:
    """Pauses the other process while that of a lane times, which begins when it gets the lock of a file."""

    def __init__(self, file: str, other: LocalExecutor, guard: PauseGuard) -> None:
        self._file, self._other, self._guard = Path(file), other, guard
        self._file.touch(mode=0o600)
        self._held = contextlib.ExitStack()
        self._held.enter_context(locked(file))
        self._is_paused = False

    def at_stage(self, stage: str) -> None:
        """Take note of what the process of the lane does next; before ``time`` it waits for the lock."""
        if stage == "time" and not self._is_paused:
            self._other.pause(self._guard)
            self._is_paused = True
            self._held.close()
        elif stage != "time" and self._is_paused:
            self._other.resume(self._guard)
            self._is_paused = False
            self._held.enter_context(locked(str(self._file)))

    def close(self) -> None:
        """Let go of the file and remove it."""
        self._held.close()
        self._file.unlink(missing_ok=True)


def _in_turn(subject: Subject, turn: str, lane: int) -> Subject:
    return dataclasses.replace(subject, preparation=structs.replace(subject.preparation, turn=turn, lane=lane))
