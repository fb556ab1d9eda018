"""The winner of a sweep: which one it is, whether it really is, and its schedule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from lhkit.analysis.confirmation import Confirmation
from lhkit.analysis.contenders import choose_contenders
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.sweep import SweepRecord, SweepResult, best_of
from lhkit.session.confirming import Confirming, confirm
from lhkit.session.exporting import portable_text
from lhkit.session.sweep_subjects import Preparation


def choose_winner(records: Sequence[SweepRecord]) -> SweepRecord | None:
    """Return the winner of a sweep that has ended, or None where no variant is ok."""
    return best_of(records)


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


def start_confirmation(
    records: Sequence[SweepRecord],
    which: tuple[Mapping[str, Payload], str | None, str | None],
    schedule: Schedule,
    how: Preparation,
    on_end: Callable[[Confirmation], None],
    **options: Any,
) -> ConfirmationRun:
    """Return a confirmation of a sweep that has begun, or is done.

    Args:
        records: Of the sweep.
        which: Its payloads, their axis, and the one of them that is meant.
        schedule: The schedule.
        how: How its variants were tried.
        on_end: Called with what was found.
        **options: More of `Confirming`.

    Raises:
        UsageError: It is not said which payload is meant, or no variant was timed.
    """
    payloads, axis, name = which
    if axis is not None and name not in payloads:
        advice = f"Say which: payload={', '.join(map(repr, payloads))}."
        raise usage_error("what is best for one payload may not be for another", advice)
    own = [r for r in records if axis is None or r.values[axis] == name]
    confirming = Confirming(
        payloads[name or ""],
        schedule,
        choose_contenders(own),
        seed=how.seed,
        arguments=how.arguments,
        compiling={"function": how.function, "opt_level": how.opt_level, "microkernels": how.microkernels},
        measuring={"pin": how.pin},
        **options,
    )
    run = ConfirmationRun(confirming, on_end)
    run.start()
    return run
