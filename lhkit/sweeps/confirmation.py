"""The result of a confirmation run: winner or tie, speed-up, and the bound of the hot loops."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.instructions import HotLoops
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import Interval
from lhkit.model.showable import Printable
from lhkit.sweeps.winner import Verdict, median_over_processes, ratio_over_processes

ConfirmationEnd = Literal["decided", "out of processes", "out of time", "stopped", "failed"]


Knobs = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class ConfirmingEvent:
    """Progress of a confirmation; processes of an interrupted run count too."""

    processes: int
    most: int
    contenders: tuple[str, ...]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """The leader's speed as a multiple of another program's, with a 95 % interval over processes."""

    over: str
    speed: Interval


@dataclass(frozen=True, slots=True)
class Confirmation(Printable):
    """The best few of a sweep and the baseline, timed again side by side in fresh processes.

    Attributes:
        speed_ups: How much faster the leader is than the baseline and the NumPy reference, where they are.
        of_peak: Its share of the core's FMA peak, as the same processes measured it, or None.
        runs: What was measured, a comparison a process.
        known: How many of the processes an earlier run, in whole or in part, had measured.
    """

    verdict: Verdict
    knobs: tuple[tuple[str, Knobs], ...]
    keys: tuple[tuple[str, str], ...]
    speed_ups: tuple[SpeedUp, ...]
    gflops: float | None
    of_peak: float | None
    hot_loops: HotLoops | None
    end: ConfirmationEnd
    seconds: float
    runs: tuple[Comparison, ...]
    problem: str | None = None
    known: int = 0

    @property
    def leader_key(self) -> str:
        """The key of the winner's record; where there is no winner, of the one that is ahead."""
        return dict(self.keys)[self.verdict.leader.name]

    @property
    def winner_key(self) -> str | None:
        """The key of the winner's record, or None if there is no winner."""
        return self.leader_key if self.verdict.winner is not None else None

    @property
    def is_settled(self) -> bool:
        """True if it came to its end; an interrupted one may be decided after it is resumed."""
        return self.end in ("decided", "out of processes")

    @property
    def bound(self) -> str | None:
        """The bound of the leader's heaviest innermost loop, as a sentence, or None."""
        return self.hot_loops.loops[0].sentence if self.hot_loops and self.hot_loops.loops else None

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": "\n".join(describe_confirmation(self))}


def find_speed_ups(runs: Sequence[Comparison], leader: str, others: Sequence[str]) -> tuple[SpeedUp, ...]:
    """Return how much faster the leader is than others, of those that were measured beside it."""
    measured = {m.name for run in runs for m in run.measurements}
    beside = [name for name in others if name in measured and name != leader]
    return tuple(SpeedUp(name, ratio_over_processes(runs, leader, name)) for name in beside)


def find_throughput(runs: Sequence[Comparison], leader: str) -> tuple[float | None, float | None]:
    """Return 10^9 operations a second and the share of the core's FMA peak; None for what is not known."""
    flops = runs[0].flops
    if flops is None:
        return None, None
    gflops = flops / median_over_processes(runs, leader)
    peaks = [run.limits.peak_gflops(run.element_type) if run.limits else None for run in runs]
    known = [(run, peak) for run, peak in zip(runs, peaks, strict=True) if peak]
    shares = [flops / median_over_processes([run], leader) / peak for run, peak in known]
    return gflops, statistics.median(shares) if shares else None


def describe_confirmation(confirmation: Confirmation) -> list[str]:
    """Return the outcome in lines: verdict, choice, speed-ups, throughput, bound, and how it was found."""
    verdict = confirmation.verdict
    knobs = dict(confirmation.knobs)[verdict.leader.name]
    choice = ", ".join(f"{name} = {value}" for name, value in knobs) or "no knobs"
    if verdict.winner is not None:
        lines = [f"winner: {verdict.reason}", f"it has {choice}"]
    elif confirmation.is_settled:
        lines = [f"no difference: {verdict.reason}", f"any of them will do; the one ahead has {choice}"]
    else:
        lines = [f"undecided: {verdict.reason}", f"the one ahead so far has {choice}"]
    for s in confirmation.speed_ups:
        interval = f"95 % interval {_multiple(s.speed.low)} – {_multiple(s.speed.high)}"
        known = interval if math.isfinite(s.speed.high) else "of one process, which tells no interval"
        lines.append(f"speed: {_multiple(s.speed.middle)}× that of {s.over} ({known})")
    if confirmation.gflops is not None:
        share = confirmation.of_peak
        of_peak = "" if share is None else f", {100 * share:.0f} % of the core's FMA peak"
        lines.append(f"throughput: {confirmation.gflops:.3g} GFLOP/s{of_peak}")
    if confirmation.bound is not None:
        lines.append(f"bound: {confirmation.bound}")
    count, seconds = verdict.processes, confirmation.seconds
    processes = "1 fresh process" if count == 1 else f"{count} fresh processes"
    known = f" ({confirmation.known} of them before)" if confirmation.known else ""
    lines.append(f"timed side by side in {processes}{known}, {seconds:.3g} s; {confirmation.end}")
    if not confirmation.is_settled:
        lines.append(
            "run the sweep again with more time for it (confirm_seconds=…, or --confirm-seconds …):"
            " the confirmation resumes where it left off"
        )
    if confirmation.problem is not None:
        lines.append(f"a process failed: {confirmation.problem}")
    return lines


def _multiple(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.4g}"
