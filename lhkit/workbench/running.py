"""Running, measuring and sweeping a version of a schedule: the work itself, whatever thread it is done in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lhkit.bench.bar_chart import speed_bars
from lhkit.bench.side_by_side import measure
from lhkit.draw.tables import format_ns
from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.model.errors import LhkitError
from lhkit.model.measurement import Comparison, Verification
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.sweep_options import prepare_sweep
from lhkit.sweeps.variant_record import SweepRecord, SweepResult
from lhkit.workbench.run_results import Knobs, Result, ResultBar, RunProgress, RunStatus, knob_words

if TYPE_CHECKING:
    from lhkit.worker.client import Worker

UNSCHEDULED = "unscheduled"
_ROUNDS, _SECONDS = 12, 3.0
_MOST_VARIANTS = 8


class Watch(Protocol):
    """Who follows a run and may end it."""

    def tell(self, progress: RunProgress) -> None:
        """Take note of how far it has come.

        Raises:
            LhkitError: It was stopped.
        """

    def ended_by(self, end: Callable[[], None]) -> None:
        """Take note of what ends that which runs now, from another thread."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What runs.

    Attributes:
        payload: The payload.
        schedule: The version of the schedule.
        knobs: The value of every knob.
        title: What led to that version.
        number: Which run of the session it is.
    """

    payload: Payload
    schedule: Schedule
    knobs: Knobs
    title: str
    number: int


Work = Callable[[Subject, "Worker", Watch], Result]


def run_once(subject: Subject, worker: Worker, watch: Watch) -> Result:
    """Compile a version and hold its numbers against the reference.

    Raises:
        LhkitError: It does not apply, cannot be compiled, or was stopped.
    """
    watch.ended_by(worker.cancel)
    watch.tell(RunProgress("run", "compiling"))
    kernel = compile_kernel(subject.payload, subject.schedule, worker=worker)
    watch.tell(RunProgress("run", "running it beside its reference"))
    verdict = verify(kernel)
    said = f"{_verdict_words(verdict)}; compiled in {format_ns(kernel.compile_ns)}"
    return Result(
        subject.number,
        "run",
        "ok" if verdict.ok else "wrong",
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
    )


def measure_it(subject: Subject, worker: Worker, watch: Watch) -> Result:
    """Time a version beside NumPy, if the payload has such a reference, and the payload without a schedule.

    Raises:
        LhkitError: It does not apply, cannot be compiled, or was stopped.
    """
    watch.ended_by(worker.cancel)
    watch.tell(RunProgress("measure", "compiling"))
    name = subject.schedule.source
    kernels = {UNSCHEDULED: compile_kernel(subject.payload, worker=worker)}
    watch.tell(RunProgress("measure", "compiling"))
    kernels[name] = compile_kernel(subject.payload, subject.schedule, worker=worker)
    watch.tell(RunProgress("measure", "warming up"))

    def tell(done: int, total: int) -> None:
        watch.tell(RunProgress("measure", "sampling in rounds", done, total))

    comparison = measure(kernels, rounds=_ROUNDS, seconds=_SECONDS, progress=tell)
    return measured(comparison, name, subject)


def measured(comparison: Comparison, name: str, subject: Subject) -> Result:
    """Return a comparison as a result of the session.

    Args:
        comparison: What was measured.
        name: Which of its entries is the schedule.
        subject: The version that it was.
    """
    bars = tuple(
        ResultBar("" if bar.label == name else bar.label, bar.value, bar.low, bar.high, bar.text, bar.is_anchor)
        for bar in speed_bars(comparison)
    )
    own = next(bar for bar in bars if not bar.label)
    verdict = comparison.measurement(name).verification
    status: RunStatus = "ok" if verdict is None or verdict.ok else "wrong"
    said = f"{own.value:.3g} times as fast as {comparison.anchor}"
    if verdict is not None:
        said += f"; {_verdict_words(verdict)}"
    return Result(
        subject.number,
        "measure",
        status,
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
        comparison.anchor,
        bars,
    )


def sweep_it(subject: Subject, _: Worker, watch: Watch) -> Result:
    """Try all variants of a version's knobs, until it is stopped; what is in the store is not tried again.

    It has a process of its own, which ends with it.

    Raises:
        LhkitError: It has no knobs, or nothing can be tried.
    """
    # A knob that was moved is swept like the others.
    schedule = dataclasses.replace(subject.schedule, settings=())
    watch.tell(RunProgress("sweep", "getting ready"))
    found = prepare_sweep(subject.payload, schedule)
    watch.ended_by(found.stop)

    def follow(event: SweepEvent) -> None:
        best = _record_words(event.best)
        said = f"ahead: {best}" if best else "nothing was timed yet"
        if event.end is None:
            try:
                watch.tell(RunProgress("sweep", said, event.done, event.total))
            except LhkitError:
                found.stop()

    found.subscribe(follow)
    # Short timings, one after the other: what is ahead is measured with the button beside this one.
    found.start(is_confirmed=False)
    return swept(found.result(), subject)


def swept(result: SweepResult, subject: Subject) -> Result:
    """Return what a sweep found as a result of the session: its best variants as bars."""
    timed = sorted((r for r in result.records if r.status == "ok" and r.time_ns), key=_median)
    anchor = next((r for r in timed if r.values == dict(subject.knobs)), timed[-1] if timed else None)
    shown = timed[:_MOST_VARIANTS]
    if anchor is not None and anchor not in shown:
        shown = [*shown[:-1], anchor] if len(shown) == _MOST_VARIANTS else [*shown, anchor]
    bars = tuple(_variant_bar(r, anchor) for r in shown if anchor is not None)
    count = f"{len(result.records)} variants"
    failed = sum(map(len, result.failures.values()))
    end = "" if result.end == "finished" else f", {result.end}"
    said = f"{count}{f' ({failed} failed)' if failed else ''}{end}"
    if result.best is not None:
        said += f"; ahead: {_record_words(result.best)}"
    status: RunStatus = "ok" if result.end == "finished" else "stopped"
    label = knob_words(anchor.knobs) if anchor is not None else ""
    return Result(
        subject.number,
        "sweep",
        status,
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
        label,
        bars,
    )


def _variant_bar(record: SweepRecord, anchor: SweepRecord) -> ResultBar:
    speed = _median(anchor) / _median(record)
    text = f"{speed:.3g}×  ({format_ns(_median(record))})"
    # One median has no interval: the engine times most variants only as long as they may still win.
    return ResultBar(knob_words(record.knobs), speed, speed, speed, text, record is anchor, tuple(record.knobs))


def _median(record: SweepRecord) -> int:
    return record.time_ns.median if record.time_ns is not None else 0


def _record_words(record: SweepRecord | None) -> str:
    if record is None or record.time_ns is None:
        return ""
    return f"{knob_words(record.knobs)} in {format_ns(record.time_ns.median)}"


def _verdict_words(verdict: Verification) -> str:
    if verdict.ok:
        return f"right: as {verdict.against} says, to {verdict.max_abs_error:.2g}"
    return f"WRONG against {verdict.against}: {verdict.difference or f'off by {verdict.max_abs_error:.2g}'}"
