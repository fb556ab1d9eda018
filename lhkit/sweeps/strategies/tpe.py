"""Tree-structured Parzen estimators, by Optuna.

Bergstra, Bardenet, Bengio and Kégl, "Algorithms for hyper-parameter optimization", 2011.
"""

from __future__ import annotations

import warnings
from typing import Any

from lhkit.model.errors import usage_error
from lhkit.sweeps.space import Places, Space
from lhkit.sweeps.strategies.strategy import Proposer

# Random points before the estimates mean something.
_RANDOM_POINTS = 10
# If a suggestion and its neighbours were tried, another one is requested, at most so often.
_SUGGESTIONS = 3


class Tpe(Proposer):
    """Multivariate TPE: points from regions where good points are denser than bad ones."""

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        self._optuna = _import_optuna()
        with warnings.catch_warnings():
            # The joint estimate is what Optuna calls experimental.
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            sampler = self._optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=1)
        said = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        try:  # it logs that there is a study, as news
            self._study = self._optuna.create_study(sampler=sampler)
        finally:
            self._optuna.logging.set_verbosity(said)
        made = self._optuna.distributions
        # The places in the domain of each axis with a choice; near ones are alike if it has an order.
        self._distributions = {
            axis.name: made.IntDistribution(0, len(domain) - 1)
            if axis.is_ordered
            else made.CategoricalDistribution(range(len(domain)))
            for axis, domain in zip(space.axes, space.plan.domains, strict=True)
            if len(domain) > 1
        }
        self._random = _RANDOM_POINTS
        self._first = True

    @classmethod
    def require(cls) -> None:
        """See `Proposer.require`: Optuna has to be installed."""
        _import_optuna()

    def learn(self, places: Places, cost: float | None) -> None:
        """Hand a cost to the estimates; a failure counts as worse than all that ran."""
        state = self._optuna.trial.TrialState
        params = {
            axis.name: domain.index(place)
            for axis, domain, place in zip(self.space.axes, self.space.plan.domains, places, strict=True)
            if axis.name in self._distributions
        }
        trial = self._optuna.trial.create_trial(
            params=params,
            distributions=self._distributions,
            value=cost,
            state=state.PRUNED if cost is None else state.COMPLETE,
        )
        self._study.add_trial(trial)

    def propose(self) -> Places | None:
        """Return the defaults, then random points, then what the estimates suggest."""
        if self._first:
            self._first = False
            start = self.space.nearest()
            if start is not None and start not in self.seen:
                return start
        if self._random or not self._distributions:
            self._random = max(0, self._random - 1)
            return self.draw()
        suggested: Places = ()
        for _ in range(_SUGGESTIONS):
            suggested = self._suggest()
            if self.is_new(suggested):
                return suggested
            # It is forbidden, or was made before.
            moved = self.space.nearest(dict(self.space.point_of(suggested)))
            if moved is not None and moved not in self.seen:
                return moved
            if beside := self._beside(suggested if moved is None else moved):
                return beside[self.rng.randrange(len(beside))]
        return self.draw_best(lambda places: -self._distance(places, suggested))

    def _beside(self, places: Places) -> list[Places]:
        """Return the points that were not seen and differ in one axis, by one step where it has an order."""
        found = []
        for i, (axis, domain) in enumerate(zip(self.space.axes, self.space.plan.domains, strict=True)):
            own = domain.index(places[i])
            steps = (own - 1, own + 1) if axis.is_ordered else range(len(domain))
            others = [domain[j] for j in steps if 0 <= j < len(domain) and j != own]
            found += [(*places[:i], place, *places[i + 1 :]) for place in others]
        return [each for each in found if self.is_new(each)]

    def _suggest(self) -> Places:
        trial = self._study.ask(self._distributions)
        params = trial.params
        # What is learned is what was tried, which may be another point.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return tuple(
            domain[params.get(axis.name, 0)]
            for axis, domain in zip(self.space.axes, self.space.plan.domains, strict=True)
        )

    def _distance(self, places: Places, wanted: Places) -> float:
        """Return how far points lie apart; the ends of an axis, or two values without order, by 1."""
        return sum(
            abs(i - j) / len(axis.values) if axis.is_ordered else float(i != j)
            for axis, i, j in zip(self.space.axes, places, wanted, strict=True)
        )


def _import_optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError:
        what = "the strategy tpe needs Optuna, which is not installed"
        raise usage_error(what, "pip install 'lhkit[optuna]' adds it.") from None
    return optuna
