"""Strategies: in which order the points of a space are tried.

- ``strategy``: The strategy protocol, the base class of strategies, and grid, random and Latin-hypercube
  orders.
- ``coordinate_descent``: Coordinate descent: one axis after another, from the defaults, then again from
  random points.
- ``predicted``: Search by a cost model: a Gaussian process on knobs, and trees on knobs and features of the
  scheduled IR.
- ``gaussian_process``: Gaussian process on the values of knobs: what variants cost of which nothing else is
  known.
- ``tpe``: Tree-structured Parzen estimators, by Optuna.
"""

from __future__ import annotations

from collections.abc import Mapping

from lhkit.model.errors import UsageError, usage_error
from lhkit.sweeps.space import Space
from lhkit.sweeps.strategies.coordinate_descent import CoordinateDescent
from lhkit.sweeps.strategies.predicted import Predicted
from lhkit.sweeps.strategies.strategy import Grid, LatinHypercube, Proposer, RandomOrder, Strategy
from lhkit.sweeps.strategies.tpe import Tpe

STRATEGIES: Mapping[str, type[Proposer]] = {
    "coordinate-descent": CoordinateDescent,
    "grid": Grid,
    "latin-hypercube": LatinHypercube,
    "predicted": Predicted,
    "random": RandomOrder,
    "tpe": Tpe,
}


def why_missing(name: str) -> str | None:
    """Return why a strategy cannot be used here and what adds it, or None if it can."""
    try:
        STRATEGIES[name].require()
    except UsageError as error:
        return f"{error.failure.message}: {error.failure.advice}"
    return None


def make_strategy(name: str, space: Space, *, seed: int = 0, budget: int | None = None) -> Strategy:
    """Return a strategy by its name."""
    if name not in STRATEGIES:
        raise usage_error(f"there is no strategy {name!r}", f"There are {', '.join(STRATEGIES)}.")
    return STRATEGIES[name](space, seed=seed, budget=budget)
