"""Interference probe: which machines of a cluster disturb each other's timings, as those on one processor do.

Containers of one machine share neither folders nor names, and guests of a hypervisor not even a kernel. So one
machine keeps all its cores busy while another one times the same work alone and beside it.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np

# Who of the first is slower while all of the second are busy; both are numbers of machines.
Disturbed = Callable[[Sequence[int], Sequence[int]], Awaitable[set[int]]]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Work that leaves the second-level cache, so that shared caches and memory show as well as shared cores.
_WORK_BYTES = 4 << 20
# Longer than a time slice of the scheduler, so that a shared core shows in each sample.
_SAMPLE_SECONDS = 0.03
MOST_SLOWER = 1.15


def boot_id() -> str:
    """Return the kernel's name for this boot, the same in all containers of a machine; empty if it has none."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


_BUSY: list[tuple[threading.Event, list[threading.Thread]]] = []
# What began it may be lost before it ends it.
_MOST_SECONDS = 10.0


def keep_cores_busy() -> None:
    """Keep every core that this process may use busy, with its caches and its share of the memory's rate."""
    stop, end = threading.Event(), time.monotonic() + _MOST_SECONDS
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = [threading.Thread(target=_walk_until, args=(stop, end), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    _BUSY.append((stop, threads))


def leave_cores() -> None:
    """End what `keep_cores_busy` began."""
    while _BUSY:
        stop, threads = _BUSY.pop()
        stop.set()
        for thread in threads:
            thread.join()


def _walk_until(stop: threading.Event, end: float) -> None:
    data = np.ones(_WORK_BYTES // 8)
    while not stop.is_set() and time.monotonic() < end:
        data.sum()


def sample_ns() -> float:
    """Return the mean time of the same work; it grows while others use the core, the caches or the memory."""
    data = np.ones(_WORK_BYTES // 8)
    data.sum()
    started, walks = time.perf_counter_ns(), 0
    while (spent := time.perf_counter_ns() - started) < _SAMPLE_SECONDS * 1e9:
        data.sum()
        walks += 1
    return spent / max(walks, 1)


def is_slower(alone: Sequence[float], beside: Sequence[float]) -> bool:
    """Return whether work beside others took longer than alone, by the medians of samples taken in turn."""
    return statistics.median(beside) > MOST_SLOWER * statistics.median(alone)


async def find_core_sets(count: int, disturbed: Disturbed) -> list[int]:
    """Return a number for each of so many machines; those that share cores have the same one.

    Two machines differ in some bit of their numbers. So for each bit those with it keep busy while the others
    time, then the other way round: every sharing machine is found in 2 log2(count) rounds. With which one it
    shares is in the bits, if that is one alone; else it is found by halving.
    """
    found = list(range(count))
    marks = [0] * count
    for bit in range((count - 1).bit_length()):
        for side in (0, 1):
            busy = [i for i in range(count) if i >> bit & 1 == side]
            timing = [i for i in range(count) if i >> bit & 1 != side]
            for i in await disturbed(timing, busy):
                marks[i] |= 1 << bit
    suspects = [i for i in range(count) if marks[i]]
    for i in suspects:
        guess = i ^ marks[i]
        if guess < count and found[guess] != found[i] and await disturbed([i], [guess]):
            _join(found, i, guess)
        others = [j for j in suspects if found[j] != found[i]]
        while others and await disturbed([i], others):
            partner = await _one_of(i, others, disturbed)
            _join(found, i, partner)
            others = [j for j in others if found[j] != found[i]]
    return found


async def _one_of(i: int, others: Sequence[int], disturbed: Disturbed) -> int:
    """Return one of the machines that disturb this one, which all of them together do."""
    while len(others) > 1:
        half = others[: len(others) // 2]
        others = half if await disturbed([i], half) else others[len(half) :]
    return others[0]


def _join(found: list[int], one: int, other: int) -> None:
    kept, gone = sorted((found[one], found[other]))
    found[:] = [kept if number == gone else number for number in found]
