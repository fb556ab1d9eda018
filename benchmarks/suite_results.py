"""Ratios against each rival, shares of limits, goals, and two runs against each other."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.suite import OURS, Goal, SuiteFamily, SuiteResult, SuiteRow, shape_text
from lhkit.bench.run_comparison import Difference, RunComparison, RunRatio, compare_entries, compare_runs
from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison, CoreLimits, Interval, Measurement
from lhkit.model.sample_statistics import median_interval, ratio_interval, summarize

Verdict = Literal["reaches the aim", "reaches what it must", "below the aim", "MISSES", "not measured"]


@dataclass(frozen=True, slots=True)
class RivalRatio:
    """The speed of a kernel as a multiple of a rival's, with a 95 % interval."""

    rival: str
    speed: Interval


@dataclass(frozen=True, slots=True)
class FamilyMean:
    """The speeds of a family's kernels as multiples of a rival's.

    Attributes:
        rival: The rival.
        mean: Their geometric mean.
        low: The least.
        high: The greatest.
        shapes: How many shapes both were measured in.
    """

    rival: str
    mean: float
    low: float
    high: float
    shapes: int


@dataclass(frozen=True, slots=True)
class JudgedGoal:
    """A goal, the figure that counts for it (None where nothing was measured), and the verdict."""

    family: str
    goal: Goal
    value: float | None
    verdict: Verdict


def rival_ratios(row: SuiteRow) -> tuple[RivalRatio, ...]:
    """Return the speed of a row's kernel as a multiple of each other entry's, paired by rounds.

    Processes differ, by where their code and data lie, in what more rounds of one of them do not show. So the
    ratio is the median of those of the processes, and its interval is at least Student's of their logarithms.
    """
    if row.comparison is None:
        return ()
    ours = row.comparison.measurement(OURS)
    others = [m for m in row.comparison.measurements if m.name != OURS]
    return tuple(RivalRatio(m.name, _speed(ours, m, row.starts)) for m in others)


def _speed(ours: Measurement, other: Measurement, starts: Sequence[int]) -> Interval:
    theirs = dict(other.samples_ns)
    ratios = [(r, theirs[r] / value) for r, value in ours.samples_ns if r in theirs]
    within = median_interval([ratio for _, ratio in ratios])
    groups = itertools.groupby(ratios, lambda each: bisect.bisect(starts, each[0]))
    medians = [statistics.median(ratio for _, ratio in group) for _, group in groups]
    if len(medians) < 2:
        return within
    between = ratio_interval(medians, confidence=0.95)
    return Interval(min(within.low, between.low), between.middle, max(within.high, between.high))


def share_of_limit(row: SuiteRow, entry: str = OURS) -> float | None:
    """Return which share an entry has of the limit that its family is nearer to, or None."""
    summary = next((s for s in summarize(row.comparison) if s.name == entry), None) if row.comparison else None
    if summary is None:
        return None
    if row.limit in ("copy", "read"):
        return summary.of_copy if row.limit == "copy" else summary.of_read
    return None if summary.of_peak is None else summary.of_peak / row.threads


def pooled_rows(before: SuiteRow | None, after: SuiteRow) -> SuiteRow:
    """Return the row of the rounds of two sets of processes; what is wrong in either has no times."""
    if before is None:
        return after
    left_out = tuple(dict.fromkeys((*before.left_out, *after.left_out)))
    first, second = before.comparison, after.comparison
    if first is None or second is None:
        is_wrong = any(left.name == OURS and left.kind == "wrong-result" for left in left_out)
        kept = dataclasses.replace(after if first is None else before, left_out=left_out)
        return dataclasses.replace(kept, comparison=None) if is_wrong else kept
    entries = {m.name: m for m in first.measurements}
    for m in second.measurements:
        moved = _moved(m, first.rounds)
        entries[m.name] = _joined(entries[m.name], moved) if m.name in entries else moved
    joined = dataclasses.replace(
        first,
        measurements=tuple(entries.values()),
        rounds=first.rounds + second.rounds,
        limits=_mean_limits(first.limits, second.limits, len(before.starts)),
        core=first.core if first.core == second.core else None,
    )
    starts = (*before.starts, first.rounds)
    return dataclasses.replace(before, comparison=joined, left_out=left_out, starts=starts)


def _moved(entry: Measurement, rounds: int) -> Measurement:
    """Return an entry whose first round has this number."""
    samples = tuple((number + rounds, ns) for number, ns in entry.samples_ns)
    disturbed = tuple(number + rounds for number in entry.disturbed_rounds)
    return dataclasses.replace(entry, samples_ns=samples, disturbed_rounds=disturbed)


def _joined(first: Measurement, second: Measurement) -> Measurement:
    return dataclasses.replace(
        first,
        samples_ns=first.samples_ns + second.samples_ns,
        disturbed_rounds=first.disturbed_rounds + second.disturbed_rounds,
        is_stable=first.is_stable and second.is_stable,
    )


def _mean_limits(first: CoreLimits | None, second: CoreLimits | None, weight: int) -> CoreLimits | None:
    """Return the means of limits, the first of which are of so many sets of processes."""
    if first is None or second is None:
        return first or second
    pairs = zip(dataclasses.astuple(first), dataclasses.astuple(second), strict=True)
    # What one of them did not measure, since its file is older, the other may have.
    return CoreLimits(
        *((a or b) if a is None or b is None else (weight * a + b) / (weight + 1) for a, b in pairs)
    )


def family_means(rows: Sequence[SuiteRow]) -> tuple[FamilyMean, ...]:
    """Return the geometric means of the rows of a family, one a rival."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for ratio in rival_ratios(row):
            found.setdefault(ratio.rival, []).append(ratio.speed.middle)
    return tuple(FamilyMean(name, _mean(v), min(v), max(v), len(v)) for name, v in found.items())


def judge_goals(result: SuiteResult, families: Sequence[SuiteFamily]) -> tuple[JudgedGoal, ...]:
    """Return which goals of families a run reaches."""
    rows = {family.name: [r for r in result.rows if r.family == family.name] for family in families}
    return tuple(
        _judged(family, goal, rows[family.name])
        for family in families
        for goal in family.goals
        if goal.target in ("", result.target) and not _is_without(rows[family.name], goal.knob)
    )


def _is_without(rows: Sequence[SuiteRow], knob: str) -> bool:
    """Return whether a knob of the kernels is 0, as it is where the CPU lacks its instructions."""
    kernels = [row.comparison.measurement(OURS) for row in rows if row.comparison is not None]
    return any(dict(kernel.knobs).get(knob) == 0 for kernel in kernels)


def goal_text(goal: Goal) -> str:
    """Return a goal in words."""
    where = "geometric mean" if goal.of == "mean" else shape_text(goal.shape) or "each shape"
    what = f"of the speed of {goal.against}" if goal.against else "of the limit"
    return (
        f"{where}: {goal.must:g} {what}, aim {goal.aim:g}" if goal.must else f"{where}: aim {goal.aim:g} {what}"
    )


def _judged(family: SuiteFamily, goal: Goal, rows: Sequence[SuiteRow]) -> JudgedGoal:
    wanted = [goal.shape] if goal.shape else list(family.shapes)
    by_shape = {row.shape: row for row in rows}
    values = [_value(goal, by_shape[shape]) if shape in by_shape else None for shape in wanted]
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return JudgedGoal(family.name, goal, None, "not measured")
    value = _mean(known) if goal.of == "mean" else min(known)
    below: Verdict = "reaches what it must" if goal.must else "below the aim"
    reached: Verdict = "reaches the aim" if value >= goal.aim else below
    return JudgedGoal(family.name, goal, value, reached if value >= goal.must else "MISSES")


def _value(goal: Goal, row: SuiteRow) -> float | None:
    if not goal.against:
        return share_of_limit(row)
    known = {r.rival: r.speed.middle for r in rival_ratios(row)}
    return min(
        (v for name, v in known.items() if goal.against in (name, name.partition(", ")[0])), default=None
    )


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def compare_suites(
    first: SuiteResult, second: SuiteResult, *, across_environments: bool = False
) -> RunComparison:
    """Return how much faster the kernels of a second run are than those of a first, relative to NumPy."""
    differences: dict[Difference, None] = {}

    def ratio(name: str, before: Comparison, after: Comparison) -> RunRatio:
        found = compare_runs(before, after, across_environments=across_environments)
        differences.update(dict.fromkeys(found.differences))
        ours = next(r for r in found.ratios if r.name == OURS)
        return dataclasses.replace(ours, name=name)

    rows = [{r.name: r.comparison for r in run.rows if r.comparison is not None} for run in (first, second)]
    runs = compare_entries(rows[0], rows[1], ratio, relative_to="NumPy")
    if not runs.ratios:
        why = runs.not_compared[0][1] if runs.not_compared else "they have no row in common"
        raise usage_error(f"the runs of the suite cannot be compared: {why}")
    return dataclasses.replace(runs, differences=tuple(differences))
