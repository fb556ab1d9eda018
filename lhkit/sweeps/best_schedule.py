"""The winner of a sweep, its confirmation, and its schedule as portable text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhkit.load.schedule_export import portable_text
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.confirmation import Confirmation
from lhkit.sweeps.confirmation_run import Confirming, choose_contenders, confirm, require_contenders
from lhkit.sweeps.record_store import ConfirmationLog, log_path
from lhkit.sweeps.sweep_task import SweepOptions
from lhkit.sweeps.variant_record import SweepRecord, SweepResult
from lhkit.worker.requests import LoadOps


def best_schedule(result: SweepResult) -> str:
    """Return the schedule of the best variant for other programs; see `SweepResult.best_schedule`."""
    if result.best is None:
        raise usage_error("the sweep has no best variant", "No variant is ok; look at its failures.")
    names = {knob.name for knob in result.schedule.knobs}
    values = {name: value for name, value in result.best.knobs if name in names}
    return portable_text(result.schedule.with_knobs(values))


class ConfirmationRun:
    """A confirmation: in the background of a notebook, or done in a script; ``await`` gives what it found."""

    def __init__(self, confirming: Confirming, on_end: Callable[[Confirmation], None]) -> None:
        self._confirming, self._on_end = confirming, on_end
        self._stop = asyncio.Event()
        self._task: asyncio.Task[Confirmation] | None = None
        self._found: Confirmation | None = None

    def start(self) -> None:
        """Begin: in the background where an event loop is running, else to the end."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._finish(self._confirming.run())
            return
        self._task = loop.create_task(confirm(self._confirming, self._stop))
        self._task.add_done_callback(self._take)

    def _take(self, task: asyncio.Task[Confirmation]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._finish(task.result())

    def _finish(self, found: Confirmation) -> None:
        self._found = found
        self._on_end(found)

    def stop(self) -> None:
        """End it within half a second; what is known is its result."""
        self._stop.set()

    def result(self) -> Confirmation:
        """Return what is known so far.

        Raises:
            LhkitError: Nothing is, since no process came to its end.
        """
        if self._task is not None and self._task.done() and not self._task.cancelled():
            return self._task.result()
        return self._found if self._found is not None else self._confirming.confirmation()

    def __await__(self) -> Generator[Any, None, Confirmation]:
        if self._task is not None:
            yield from self._task
        return self.result()

    def __repr__(self) -> str:
        of = f"{self._confirming.processes} of at most {self._confirming.most_processes} processes"
        return f"ConfirmationRun({of}, {'running' if self._found is None else 'done'})"


@dataclass(frozen=True, slots=True)
class Confirmer:
    """Shared inputs of the confirmations of one sweep.

    Attributes:
        payloads: By the values of their axis; a single one by ``""``.
        axis: The axis whose values are payloads, or None.
        schedule: The schedule whose knobs were swept.
        how: How its variants were tried.
        store: The file of its records; what is measured is kept beside it.
        preparation: What each process is asked first, or None for what the session loaded.
    """

    payloads: Mapping[str, Payload]
    axis: str | None
    schedule: Schedule
    how: SweepOptions
    store: Path
    preparation: tuple[LoadOps, ...] | None

    def contenders(self, records: Sequence[SweepRecord], name: str) -> tuple[SweepRecord, ...]:
        """Return which variants may be the best for a payload."""
        return choose_contenders([r for r in records if self.axis is None or r.values[self.axis] == name])

    def prepare(self, records: Sequence[SweepRecord], name: str, *, resume: bool, **options: Any) -> Confirming:
        """Return a confirmation that has not begun."""
        contenders = self.contenders(records, name)
        require_contenders(contenders)
        log = ConfirmationLog(log_path(self.store))
        how = self.how
        try:
            return Confirming(
                self.payloads[name],
                self.schedule,
                contenders,
                seed=how.seed,
                arguments=how.arguments,
                compiling={
                    "function": how.function,
                    "opt_level": how.opt_level,
                    "target": how.target,
                    "microkernels": how.microkernels,
                },
                measuring={"pin": how.pin},
                log=log,
                resume=resume,
                preparation=self.preparation,
                **options,
            )
        except BaseException:
            log.close()
            raise
