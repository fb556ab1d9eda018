"""Sequential test for the fastest of a few programs, with processes as the unit of sampling.

The placement of code and data is drawn once per process and moves times by some per cent, however long that
process is sampled. So a process counts as one observation of each ratio, and processes are added until the
fastest separates from all others, or nothing that is worth naming can lie between them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import MARGIN, Interval, centre_interval, paired_ratios, values_ns

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
    leader = max(alive, key=lambda name: ratio_over_processes(runs, name, alive[0]).middle)
    standings = [_standing(runs, leader, leader, Interval(1.0, 1.0, 1.0), "leader")]
    for name in contenders:
        if name != leader:
            lead = ratio_over_processes(runs, leader, name, confidence=confidence)
            standings.append(_standing(runs, leader, name, lead, _state(lead, rule, is_out=name not in alive)))
    ordered = (standings[0], *sorted(standings[1:], key=lambda s: s.lead.middle))
    outcome, reason = _outcome(ordered, rule, len(runs), is_over=is_over or len(runs) >= rule.looks[-1])
    return Verdict(outcome, ordered, len(runs), confidence, reason)


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
