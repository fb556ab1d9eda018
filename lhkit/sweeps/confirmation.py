"""The result of a confirmation run, and the sequential test for the fastest of a few programs.

The placement of code and data is drawn once per process and moves times by some per cent, however long that
process is sampled. So a process counts as one observation of each ratio, and processes are added until the
fastest separates from all others, or nothing that is worth naming can lie between them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.errors import usage_error
from lhkit.model.instructions import HotLoops
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Comparison, Interval
from lhkit.model.sample_statistics import MARGIN, centre_interval, paired_ratios, values_ns
from lhkit.model.showable import Printable

Outcome = Literal["winner", "no difference", "open"]
State = Literal["leader", "slower", "equal", "open"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Stopping rule of the test.

    Attributes:
        looks: After so many processes the samples are looked at; the last is the most there will be.
        error: How often, at most, something is named that is not the fastest, over all looks and contenders.
        margin: A winner is faster than the others by more than this (0.01 is 1 %), at that certainty.
        same: Contenders are equal if the fastest is faster by less than this, at that certainty.
    """

    looks: tuple[int, ...] = (4, 6, 9, 12, 16)
    error: float = 0.05
    margin: float = 0.01
    same: float = MARGIN

    def confidence(self, contenders: int) -> float:
        """Return how certain each interval must be.

        Naming one of n equal contenders takes that one of n beats another particular one, on one side of an
        interval: n/2 errors a look. One look more is allowed for, when time runs out.
        """
        return 1 - self.error / (max(contenders, 2) / 2) / (len(self.looks) + 1)


@dataclass(frozen=True, slots=True)
class Standing:
    """The current estimate for one contender.

    Attributes:
        state: ``leader``: the fastest so far; ``slower``: beyond the margin, and no longer sampled; ``equal``:
            the leader is faster by next to nothing; ``open``: not known.
        lead: The leader's speed as a multiple of its own, with the interval that decided.
    """

    name: str
    state: State
    processes: int
    median_ns: float
    lead: Interval


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of the test.

    Attributes:
        outcome: ``winner``: the first standing is; ``no difference``: the fastest cannot be told from others;
            ``open``: more processes are needed.
        standings: The contenders: the leader first, then the others by speed.
    """

    outcome: Outcome
    standings: tuple[Standing, ...]
    processes: int
    confidence: float
    reason: str

    @property
    def winner(self) -> str | None:
        """The name of the winner, or None if there is none (yet)."""
        return self.leader.name if self.outcome == "winner" else None

    @property
    def leader(self) -> Standing:
        """The fastest so far."""
        return self.standings[0]

    @property
    def tied(self) -> tuple[str, ...]:
        """The leader and those that it was not told from."""
        return tuple(s.name for s in self.standings if s.state != "slower")


def contest(
    sample: Callable[[tuple[str, ...]], Comparison | None], contenders: Sequence[str], rule: Rule | None = None
) -> tuple[Verdict, tuple[Comparison, ...]]:
    """Sample process after process until a winner is named or none can be, or ``sample`` returns None."""
    rule = rule or Rule()
    runs: list[Comparison] = []
    alive = tuple(contenders)
    while (run := sample(alive)) is not None:
        runs.append(run)
        if len(runs) not in rule.looks:
            continue
        verdict = judge(runs, contenders, rule)
        if verdict.outcome != "open":
            return verdict, tuple(runs)
        alive = verdict.tied
    return judge(runs, contenders, rule, is_over=True), tuple(runs)


def judge(
    runs: Sequence[Comparison], contenders: Sequence[str], rule: Rule | None = None, *, is_over: bool = False
) -> Verdict:
    """Return the verdict on contenders after some processes.

    Sampling goes on with those of `Verdict.tied` while the outcome is open.
    """
    rule = rule or Rule()
    if not contenders:
        raise usage_error("there is no contender to judge")
    measured = set().union(*map(_names, runs))
    if missing := [name for name in contenders if name not in measured]:
        raise usage_error(f"{missing[0]} was never measured", f"Measured were: {', '.join(sorted(measured))}.")
    if len(contenders) == 1:
        standing = _standing(runs, contenders[0], contenders[0], Interval(1.0, 1.0, 1.0), "leader")
        return Verdict("winner", (standing,), len(runs), 1.0, f"{contenders[0]} is the only contender")
    confidence = rule.confidence(len(contenders))
    alive = [c for c in contenders if c in _names(runs[-1])]
    # Medians of ratios are not transitive: the one that is least behind any other, whatever their order.
    leader = max(alive, key=lambda name: _least_lead(runs, name, alive))
    standings = [_standing(runs, leader, leader, Interval(1.0, 1.0, 1.0), "leader")]
    for name in contenders:
        if name != leader:
            lead = ratio_over_processes(runs, leader, name, confidence=confidence)
            standings.append(_standing(runs, leader, name, lead, _state(lead, rule, is_out=name not in alive)))
    ordered = (standings[0], *sorted(standings[1:], key=lambda s: s.lead.middle))
    outcome, reason = _outcome(ordered, rule, len(runs), is_over=is_over or len(runs) >= rule.looks[-1])
    return Verdict(outcome, ordered, len(runs), confidence, reason)


def _least_lead(runs: Sequence[Comparison], name: str, alive: Sequence[str]) -> float:
    return min((ratio_over_processes(runs, name, o).middle for o in alive if o != name), default=1.0)


def ratio_over_processes(
    runs: Sequence[Comparison], name: str, other: str, *, confidence: float = 0.95
) -> Interval:
    """Return the speed of one entry as a multiple of another's, over the processes that sampled both.

    Each process gives one value, the median over its rounds: what drifts within a process cancels.
    """
    both = [run for run in runs if {name, other} <= _names(run)]
    paired = [paired_ratios(run.measurement(name), run.measurement(other)) for run in both]
    ratios = [statistics.median(of_process) for of_process in paired if of_process]
    if not ratios:
        raise usage_error(f"{name} and {other} were never measured side by side")
    return centre_interval(ratios, confidence=confidence)


def median_over_processes(runs: Sequence[Comparison], name: str) -> float:
    """Return the median over processes of the median time of a call in ns."""
    medians = [statistics.median(values_ns(run.measurement(name))) for run in runs if name in _names(run)]
    return statistics.median(medians)


def _names(run: Comparison) -> set[str]:
    return {m.name for m in run.measurements}


def _standing(runs: Sequence[Comparison], leader: str, name: str, lead: Interval, state: State) -> Standing:
    processes = sum({leader, name} <= _names(run) for run in runs)
    return Standing(name, state, processes, median_over_processes(runs, name), lead)


def _state(lead: Interval, rule: Rule, *, is_out: bool) -> State:
    if is_out or lead.low > 1 + rule.margin:
        return "slower"
    return "equal" if lead.high < 1 + rule.same else "open"


def _outcome(
    standings: Sequence[Standing], rule: Rule, processes: int, *, is_over: bool
) -> tuple[Outcome, str]:
    leader, *others = standings
    near = [s for s in others if s.state != "slower"]
    if not near:
        least = min(others, key=lambda s: s.lead.low)
        percent = 100 * (least.lead.middle - 1)
        rest = ", the next" if len(others) > 1 else ""
        return "winner", f"{leader.name} is faster than {least.name}{rest}, by {percent:.3g} %"
    names = [leader.name, *(s.name for s in near)]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if all(s.state == "equal" for s in near):
        return "no difference", f"{listed} are equal within {100 * rule.same:.2g} %"
    if is_over:
        most = 100 * (max(s.lead.high for s in near) - 1)
        known = f"{leader.name} may be faster by up to {most:.2g} %" if most < 100 else "little is known"
        return "no difference", f"{listed} were not told apart in {_processes(processes)}: {known}"
    return "open", f"{listed} are not told apart yet, after {_processes(processes)}"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


ConfirmationEnd = Literal["decided", "out of processes", "out of time", "stopped", "failed"]


Finding = Literal["only contender", "winner", "no difference", "undecided"]
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
    def finding(self) -> Finding:
        """What it found, in the words of every table, line of text and drawing."""
        if len(self.verdict.standings) == 1:
            return "only contender"
        if self.verdict.winner is not None:
            return "winner"
        return "no difference" if self.is_settled else "undecided"

    @property
    def bound(self) -> str | None:
        """The bound of the leader's heaviest innermost loop, as a sentence, or None."""
        return self.hot_loops.loops[0].sentence if self.hot_loops and self.hot_loops.loops else None

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": "\n".join(describe_confirmation(self))}


@dataclass(frozen=True, slots=True)
class Ahead:
    """Which variants a drawing or table shows as the best of a sweep, and the words for what that means."""

    keys: frozenset[str]
    words: str


_AHEAD: Mapping[Finding, str] = {
    "only contender": "the only contender",
    "winner": "winner when timed again",
    "no difference": "not told apart when timed again",
    "undecided": "ahead so far, undecided",
}


def ahead_of(confirmations: Sequence[Confirmation], fastest: Iterable[str]) -> Ahead:
    """Return the variants that are ahead: the one rule for every drawing.

    A winner stands alone, those that were not told apart stand together; one that is ahead while nothing is
    decided is said to be, as is the fastest of timings that were not repeated.

    Args:
        confirmations: Of each payload, as far as they got.
        fastest: The keys of the fastest of each payload when timed alone.
    """
    if not confirmations:
        return Ahead(frozenset(fastest), "fastest when timed alone, not confirmed")
    keys: set[str] = set()
    words: dict[str, None] = {}
    for found in confirmations:
        known, words[_AHEAD[found.finding]] = dict(found.keys), None
        if found.finding == "no difference":
            keys |= {known[name] for name in found.verdict.tied if name in known}
        else:
            keys.add(found.leader_key)
    return Ahead(frozenset(keys), "; ".join(words))


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


def more_time_for(unsettled: Sequence[str]) -> list[str]:
    """Return the advice on confirmations that ended early, in one line; an only payload has no name."""
    if not unsettled:
        return []
    named = f" on {', '.join(unsettled)}" if any(unsettled) else ""
    return [
        f"run the sweep again with more time for it{named} (confirm_seconds=…, or --confirm-seconds …):"
        " the confirmation resumes where it left off"
    ]


_CHOSEN: Mapping[Finding, str] = {
    "only contender": "it has",
    "winner": "it has",
    "no difference": "any of them will do; the one ahead has",
    "undecided": "the one ahead so far has",
}


def describe_confirmation(confirmation: Confirmation, *, advise: bool = True) -> list[str]:
    """Return the outcome in lines: verdict, choice, speed-ups, throughput, bound, and how it was found.

    With ``advise`` they say how an interrupted one is resumed.
    """
    verdict = confirmation.verdict
    knobs = dict(confirmation.knobs)[verdict.leader.name]
    choice = ", ".join(f"{name} = {value}" for name, value in knobs) or "no knobs"
    finding = confirmation.finding
    is_only = finding == "only contender"
    reason = "no other variant that was tried came near it" if is_only else verdict.reason
    lines = [f"{finding}: {reason}", f"{_CHOSEN[finding]} {choice}"]
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
    if advise and not confirmation.is_settled:
        lines += more_time_for([""])
    if confirmation.problem is not None:
        lines.append(f"a process failed: {confirmation.problem}")
    return lines


def _multiple(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.4g}"
