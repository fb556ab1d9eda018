"""The executor protocol, and the executor that uses a worker on this machine."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec import structs

from lhkit.model.errors import Failure, LhkitError
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.sweeps.variant_record import SweepStatus, SweepTime
from lhkit.worker.client import Worker
from lhkit.worker.framing import Progress
from lhkit.worker.kernel_requests import PrepareSweep, TryVariant
from lhkit.worker.limits import Limits
from lhkit.worker.worker_process import was_killed

# Hashes of programs that need not be tried again; None: every one is tried.
Programs = Collection[str] | None
TrialStatus = SweepStatus | Literal["same"]

_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one trial of a variant; status ``same``: its program was tried before."""

    status: TrialStatus
    message: str | None = None
    time_ns: SweepTime | None = None
    compile_ns: int | None = None
    max_abs_error: float | None = None
    ir_sha256: str | None = None
    spent_ns: Mapping[str, int] = field(default_factory=dict)


class Executor(Protocol):
    """Tries variants."""

    @property
    def capacity(self) -> int:
        """The number of variants that it tries at a time."""

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant.

        Args:
            variant: The variant.
            best_ns: Median time of the best variant of its payload so far; one much slower is stopped early.
            known: Hashes of the programs of its payload that need not be tried again; None: try every one.
        """

    async def close(self) -> None:
        """End, within a moment, what it is doing."""


class LocalExecutor:
    """Tries variants one after the other in a worker process of this machine."""

    capacity = 1

    def __init__(self, worker: Worker, limits: Limits, *, close_worker: bool = True) -> None:
        self._worker, self._limits = worker, limits
        self._close_worker = close_worker
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lhkit-sweep")
        self._names: dict[str, tuple[str, int]] = {}
        # Of each name: the programs that the process has been told of or has tried.
        self._told: dict[str, set[str]] = {}
        self._is_busy = self._is_closed = False

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant; see `Executor.try_variant`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._try, variant, best_ns, known)

    async def close(self) -> None:
        """End the request that is running, and the worker if it is its own."""
        self._is_closed = True
        if self._is_busy:
            self._worker.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._close_worker:
            self._worker.close()

    def _try(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        self._is_busy = True
        try:
            return self._try_now(variant, best_ns, known)
        finally:
            self._is_busy = False
            if self._is_closed and self._close_worker:  # closed while the process was starting
                self._worker.close()

    def _try_now(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        subject = variant.subject
        notes: list[Progress] = []
        is_again = False
        while True:
            name = self._ready(subject, known)
            before = functools.partial(_preparations, subject, name, known)
            learned = self._new_programs(name, known)
            request = TryVariant(name, variant.values, best_ns, known is not None, learned)
            try:
                answer = self._worker.ask(request, limits=self._limits, before=before, on_progress=notes.append)
            except LhkitError as error:
                if error.failure.request == "start":
                    raise
                if was_killed(error.failure) and not is_again:
                    is_again = True
                    continue
                program = next((n.ir_sha256 for n in reversed(notes) if n.ir_sha256), None)
                return Trial(error.failure.reaction.variant, _in_a_line(error.failure), ir_sha256=program)
            if answer.status == "gone":  # the process was replaced
                del self._names[subject.scope]
                continue
            self._told[name].add(answer.ir_sha256)
            return Trial(
                answer.status,
                subject.difference(answer.shapes) if answer.status == "wrong-result" else None,
                None if answer.time_ns is None else SweepTime(**answer.time_ns),
                answer.compile_ns,
                answer.max_abs_error,
                answer.ir_sha256,
                answer.spent_ns,
            )

    def _ready(self, subject: Subject, known: Programs) -> str:
        """Return what the worker calls a payload, once it is ready for it."""
        name, generation = self._names.get(subject.scope, ("", -1))
        if generation != self._worker.generation:
            name = f"{subject.scope[:12]}-{next(_NUMBERS)}"
            self._worker.ask(*_preparations(subject, name, known))
            self._names[subject.scope] = (name, self._worker.generation)
            self._told[name] = set(known or ())
        return name

    def _new_programs(self, name: str, known: Programs) -> tuple[str, ...]:
        """Return the programs that other workers tried since."""
        told = self._told[name]
        if known is None or len(known) <= len(told):  # most often
            return ()
        news = tuple(program for program in known if program not in told)
        told.update(news)
        return news


def _preparations(subject: Subject, name: str, known: Programs) -> tuple[PrepareSweep]:
    """Return the request that makes a process ready."""
    return (structs.replace(subject.preparation, sweep=name, known=tuple(known or ())),)


def _in_a_line(failure: Failure) -> str:
    """Return what went wrong, where and why, in a line."""
    said = failure.message
    for diagnostic in failure.diagnostics[:1]:
        place = f"{diagnostic.span}: " if diagnostic.span else ""
        reason = diagnostic.message.strip().partition("\n")[0]
        if reason and reason not in said:
            said += f": {place}{reason}"
    return said
