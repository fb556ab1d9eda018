"""Replay of strategies on a stored grid, without running a variant."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

from lhkit.model.errors import public, usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.constraints import Constraint
from lhkit.sweeps.space import Axis, Point, Space, numbers_in
from lhkit.sweeps.strategies import STRATEGIES, make_strategy, why_missing
from lhkit.sweeps.sweep_files import load_records
from lhkit.sweeps.sweep_summary import median_times

if TYPE_CHECKING:
    import pandas as pd

SEEDS = 50
_NEVER = 1e300


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """The result of replaying one strategy.

    Attributes:
        median: How many variants it tries until one is close to the best, median of the seeds; None: more than
            the budget.
        reached: With how many seeds it came close within the budget.
        share: The median as a share of the grid, or None.
        missing: Why it was not replayed and what adds it, or None.
    """

    strategy: str
    median: float | None
    low: float | None
    high: float | None
    reached: int
    seeds: int
    share: float | None
    missing: str | None = None


@public
def replay_strategies(
    path: str | os.PathLike[str],
    *,
    strategies: Sequence[str] = tuple(STRATEGIES),
    seeds: int = SEEDS,
    within: float = 0.05,
    budget: int | None = None,
) -> pd.DataFrame:
    """Return how many variants of a stored grid each strategy tries; nothing runs.

    Args:
        path: A store of a sweep over all variants, or the output of ``lhkit sweep --json``.
        strategies: Their names.
        seeds: Each strategy is replayed with the seeds from 0 below this.
        within: How much slower than the best a variant may be to count as found (0.05 is 5 %).
        budget: How many variants a strategy may try; None: all.

    Returns:
        One row per strategy with the fields of `ReplayRow`.

    Raises:
        UsageError: No such file, no variant of it ran, or there is no such strategy.
    """
    records = load_records(path)
    times = median_times(records, hopeless=True)
    costs: dict[Point, float | None] = {record.knobs: times.get(record.key) for record in records}
    return replay_frame(replay(costs, strategies=strategies, seeds=seeds, within=within, budget=budget))


def replay(
    costs: Mapping[Point, float | None],
    *,
    strategies: Sequence[str] = tuple(STRATEGIES),
    seeds: int = SEEDS,
    within: float = 0.05,
    budget: int | None = None,
) -> tuple[ReplayRow, ...]:
    """Return for each strategy how many variants it tries until one is close to the best of a grid."""
    if seeds < 1:
        raise usage_error(f"a replay with {seeds} seeds", "Give at least one.")
    known = [cost for cost in costs.values() if cost is not None]
    if not known:
        advice = "Replay a grid of which at least one variant ran."
        raise usage_error("the grid has no point with a cost", advice)
    ground = grid_space(costs)
    goal = min(known) * (1 + within)
    rows = []
    for name in strategies:
        if name in STRATEGIES and (missing := why_missing(name)) is not None:
            rows.append(ReplayRow(name, None, None, None, 0, 0, None, missing))
            continue
        tried = [_variants(costs, name, ground, seed, goal, budget) for seed in range(seeds)]
        # Quantiles of large numbers instead of infinities, whose differences are no numbers.
        values = [min(n, _NEVER) for n in tried]
        found = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        low, median, high = (None if n > _NEVER / 1e6 else n for n in found)
        share = None if median is None else median / len(costs)
        reached = sum(n < math.inf for n in tried)
        rows.append(ReplayRow(name, median, low, high, reached, seeds, share))
    return tuple(rows)


def grid_space(points: Iterable[Point]) -> Space:
    """Return the space that has just some points; numbers in ascending order, other values as they come."""
    every = list(points)
    if not every:
        raise usage_error("a grid without points")
    names, *others = dict.fromkeys(tuple(name for name, _ in point) for point in every)
    if others:
        both = f"{', '.join(names)}, and {', '.join(others[0])}"
        raise usage_error(f"the points of the grid have different names: {both}")
    rows = [tuple(value for _, value in point) for point in every]
    axes = tuple(
        Axis(name, _ascending(list(dict.fromkeys(column))))
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    )
    if math.prod(len(axis.values) for axis in axes) == len(set(rows)):
        return Space(axes)
    return Space(axes, tuple(_begins(names[:n], rows) for n in range(2, len(names) + 1)))


def replay_frame(rows: Sequence[ReplayRow]) -> pd.DataFrame:
    """Return the rows of a replay as a table with one line for each strategy; ``missing`` only where one is."""
    import pandas as pd

    columns = [name for name in ReplayRow.__slots__ if name != "missing" or any(row.missing for row in rows)]
    return pd.DataFrame([[getattr(row, name) for name in columns] for row in rows], columns=columns)


def _ascending(values: list[KnobValue]) -> tuple[KnobValue, ...]:
    numbers = numbers_in(values)
    return tuple(sorted(numbers) if len(numbers) == len(values) else values)


def _begins(names: Sequence[str], rows: Sequence[tuple[KnobValue, ...]]) -> Constraint:
    """Return the constraint that some point of a grid begins with the values of these names."""
    allowed = {row[: len(names)] for row in rows}

    def predicate(**values: KnobValue) -> bool:
        return tuple(values[name] for name in names) in allowed

    return Constraint(f"the grid has {', '.join(names)}", tuple(names), predicate)


def _variants(
    costs: Mapping[Point, float | None], name: str, space: Space, seed: int, goal: float, budget: int | None
) -> float:
    """Return how many variants a strategy tries until one costs no more than the goal; infinity: never."""
    strategy = make_strategy(name, space, seed=seed, budget=budget)
    tried = 0
    while (point := strategy.ask()) is not None:
        tried += 1
        cost = costs[point]
        if cost is not None and cost <= goal:
            return tried
        strategy.tell(point, cost)
    return math.inf
