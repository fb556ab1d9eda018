"""Ratios against each rival, shares of limits, goals, and two runs against each other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.suite import OURS, Goal, SuiteFamily, SuiteResult, SuiteRow, shape_text
from lhkit.bench.run_comparison import Difference, RunComparison, RunRatio, compare_entries, compare_runs
from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import Interval, median_interval, paired_ratios, summarize

Verdict = Literal["reaches the aim", "reaches what it must", "MISSES", "not measured"]


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
    """Return the speed of a row's kernel as a multiple of each other entry's, paired by rounds."""
    if row.comparison is None:
        return ()
    ours = row.comparison.measurement(OURS)
    others = [m for m in row.comparison.measurements if m.name != OURS]
    return tuple(RivalRatio(m.name, median_interval(paired_ratios(ours, m))) for m in others)


def share_of_limit(row: SuiteRow, entry: str = OURS) -> float | None:
    """Return which share an entry has of the limit that its family is nearer to, or None."""
    summary = next((s for s in summarize(row.comparison) if s.name == entry), None) if row.comparison else None
    if summary is None:
        return None
    return summary.of_peak if row.limit == "fma" else summary.of_copy


def family_means(rows: Sequence[SuiteRow]) -> tuple[FamilyMean, ...]:
    """Return the geometric means of the rows of a family, one a rival."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for ratio in rival_ratios(row):
            found.setdefault(ratio.rival, []).append(ratio.speed.middle)
    return tuple(FamilyMean(name, _mean(v), min(v), max(v), len(v)) for name, v in found.items())


def judge_goals(result: SuiteResult, families: Sequence[SuiteFamily]) -> tuple[JudgedGoal, ...]:
    """Return which goals of families a run reaches."""
    return tuple(
        _judged(family, goal, [r for r in result.rows if r.family == family.name])
        for family in families
        for goal in family.goals
    )


def goal_text(goal: Goal) -> str:
    """Return a goal in words."""
    where = "geometric mean" if goal.of == "mean" else shape_text(goal.shape) or "each shape"
    what = f"of the speed of {goal.against}" if goal.against else "of the limit"
    return f"{where}: {goal.must:g} {what}, aim {goal.aim:g}"


def _judged(family: SuiteFamily, goal: Goal, rows: Sequence[SuiteRow]) -> JudgedGoal:
    wanted = [goal.shape] if goal.shape else list(family.shapes)
    by_shape = {row.shape: row for row in rows}
    values = [_value(goal, by_shape[shape]) if shape in by_shape else None for shape in wanted]
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return JudgedGoal(family.name, goal, None, "not measured")
    value = _mean(known) if goal.of == "mean" else min(known)
    reached: Verdict = "reaches the aim" if value >= goal.aim else "reaches what it must"
    return JudgedGoal(family.name, goal, value, reached if value >= goal.must else "MISSES")


def _value(goal: Goal, row: SuiteRow) -> float | None:
    if not goal.against:
        return share_of_limit(row)
    return next((r.speed.middle for r in rival_ratios(row) if r.rival == goal.against), None)


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
