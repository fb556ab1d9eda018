"""The executor protocol, and the executor that uses a worker on this machine."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from lhkit.model.errors import Failure, FailureKind, LhkitError
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.sweeps.variant_record import SweepStatus, SweepTime
from lhkit.worker.client import Worker
from lhkit.worker.framing import Message, record
from lhkit.worker.limits import Limits
from lhkit.worker.worker_process import was_killed

# Hashes of programs that need not be tried again; None: every one is tried.
Programs = Collection[str] | None
TrialStatus = SweepStatus | Literal["same"]

_STATUSES: Mapping[FailureKind, SweepStatus] = {
    "usage": "invalid-config",
    "lowering": "compile-failed",
    "payload-parse": "compile-failed",
    "payload-verify": "compile-failed",
    "crash": "crashed",
    "timeout": "timeout",
    "memory": "out-of-memory",
}
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one trial of a variant.

    Attributes:
        status: A status of records; ``same``: its program was tried before.
        spent_ns: How long each part took: ``apply``, ``compile``, ``verify``, ``time``.
    """

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

    def __init__(
        self,
        worker: Worker,
        limits: Limits,
        *,
        prepare_limits: Limits | None = None,
        close_worker: bool = True,
    ) -> None:
        self._worker, self._limits = worker, limits
        self._prepare_limits = prepare_limits
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
        subject, notes = variant.subject, {"ir_sha256": None}
        fields = {"knobs": dict(variant.values), "best_ns": best_ns, "is_looked_up": known is not None}
        is_again = False
        while True:
            name = self._ready(subject, known)
            preparing = functools.partial(self._preparation, subject, name, known)
            try:
                asked = {"sweep": name, "learned": self._new_programs(name, known), **fields}
                answer = self._ask(asked, subject, preparing, notes.update)
            except LhkitError as error:
                if error.failure.request == "start":
                    raise
                if was_killed(error.failure) and not is_again:
                    is_again = True
                    continue
                status = _STATUSES.get(error.failure.kind, "schedule-failed")
                return Trial(status, _in_a_line(error.failure), ir_sha256=notes["ir_sha256"])
            if not answer.header.get("gone"):
                self._told[name].add(answer.header["ir_sha256"])
                return _trial(answer.header, subject)
            del self._names[subject.scope]  # the process was replaced

    def _ask(
        self,
        fields: dict[str, Any],
        subject: Subject,
        preparing: Callable[[], dict[str, Any]],
        on_progress: Callable[[Mapping[str, Any]], None],
    ) -> Message:
        return self._worker.request(
            "try_variant",
            fields,
            limits=self._limits,
            before=lambda: [record("prepare_sweep", preparing(), subject.body)],
            on_progress=on_progress,
        )

    def _ready(self, subject: Subject, known: Programs) -> str:
        """Return what the worker calls a payload, once it is ready for it."""
        name, generation = self._names.get(subject.scope, ("", -1))
        if generation != self._worker.generation:
            name = f"{subject.scope[:12]}-{next(_NUMBERS)}"
            fields = self._preparation(subject, name, known)
            self._worker.request("prepare_sweep", fields, subject.body, limits=self._prepare_limits)
            self._names[subject.scope] = (name, self._worker.generation)
            self._told[name] = set(known or ())
        return name

    def _new_programs(self, name: str, known: Programs) -> list[str]:
        """Return the programs that other workers tried since."""
        told = self._told[name]
        if known is None or len(known) <= len(told):  # most often
            return []
        news = [program for program in known if program not in told]
        told.update(news)
        return news

    def _preparation(self, subject: Subject, name: str, known: Programs) -> dict[str, Any]:
        """Return the fields of the request that makes a process ready."""
        return {**subject.fields, "sweep": name, "known": list(known or ())}


def _trial(answer: Mapping[str, Any], subject: Subject) -> Trial:
    status, times = answer["status"], answer.get("time_ns")
    message = subject.difference(answer["shapes"]) if status == "wrong-result" else None
    return Trial(
        status,
        message,
        None if times is None else SweepTime(**times),
        answer.get("compile_ns"),
        answer.get("max_abs_error"),
        answer["ir_sha256"],
        answer["spent_ns"],
    )


def _in_a_line(failure: Failure) -> str:
    """Return what went wrong, where and why, in a line."""
    said = failure.message
    for diagnostic in failure.diagnostics[:1]:
        place = f"{diagnostic.span}: " if diagnostic.span else ""
        reason = diagnostic.message.strip().partition("\n")[0]
        if reason and reason not in said:
            said += f": {place}{reason}"
    return said
