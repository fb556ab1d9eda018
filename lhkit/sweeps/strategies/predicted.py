"""Search by a cost model: a Gaussian process on knobs, and trees on knobs and features of the scheduled IR.

Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006. Stages, the cheap ones first: the process, which
knows the knobs alone, ranks all points; the schedule is applied to the best of them, which takes a tenth of the
time of compiling; trees that also know the features of the result and the process rank these together; the best
few are compiled and timed. Where the trees are constant between points, the process follows the trend.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.space import Places, Point, Space
from lhkit.sweeps.strategies.gaussian_process import KnobProcess
from lhkit.sweeps.strategies.strategy import Proposer
from lhkit.worker.kernel_requests import VariantDescription

# Points that are tried before a model means something, and in each round after that.
_START, _ROUND = 10, 6
# Points are described for the next round while so many of this one are still tried.
_AHEAD = 2
# Points that a schedule is applied to in each round: the best by the knobs alone, and neighbours of the best.
_POOL, _NEIGHBOURS = 6, 4
_NEIGHBOURED = 2  # So many of the best points have their neighbours looked at
# Rounds without a gain of a per cent, or the share of the points, after which a search without a budget ends.
_PATIENCE, _GAIN = 5, 0.01
_LEAST_TRIED, _SHARE = 41, 0.06
# Points that the Gaussian process ranks; of larger spaces so many random ones.
_MOST_RANKED, _DRAWN = 4000, 400
_TREES = 32  # Each costs half a millisecond
# How much a point is preferred whose prediction is uncertain, in standard deviations of the trees: a lower
# confidence bound of 95 %. With less the search stays in the first good region that it finds.
_OPTIMISM = 2.0
_FOLDS = 5
_LEAST = 1e-9  # Costs of nothing have no logarithm
_FAILED = 3.0  # Natural logarithm of how much slower than the slowest a failure counts

# Of those that were not tried, so many are named.
_REST = 8


@dataclass(frozen=True, slots=True)
class Prediction:
    """How far a cost model can be believed: each time beside what the model says without having seen it.

    Attributes:
        pairs: (point, predicted ns, measured ns), cross-validated.
        rank_correlation: Spearman's, 1 where predictions order the variants as their times do.
        described: To how many variants the schedule was applied to read their features.
        spent_ns: Time that fitting and predicting took.
        rest: (point, predicted ns) of the fastest that were not tried, by what it says of them.
    """

    pairs: tuple[tuple[Point, float, float], ...]
    rank_correlation: float | None
    described: int
    spent_ns: int
    rest: tuple[tuple[Point, float], ...] = ()


class Predicted(Proposer):
    """Points that a cost model predicts to be fast; without descriptions it learns from the knobs alone."""

    # A short timing that is so many times that of the best variant need not be followed by a full one.
    cut = 1.5

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        self._seed = seed
        # While processes begin: importing it takes as long as that.
        self._import = threading.Thread(target=_import_early, daemon=True)
        self._import.start()
        self._costs: dict[Places, float | None] = {}
        self._found: dict[Places, VariantDescription] = {}
        self._described: set[Places] = set()
        self._waiting: set[Places] = set()
        self._queue: deque[Places] = deque()
        self._pool_of_round: list[Places] = []
        self._best, self._idle_rounds, self._rounds = math.inf, 0, 0
        self._names: tuple[str, ...] = ()
        self._spent_ns = 0
        self._every: list[Places] = []
        self._known_rows: dict[Places, list[float]] = {}
        self._process: KnobProcess | None = None

    @classmethod
    def require(cls) -> None:
        """See `Proposer.require`: scikit-learn has to be installed."""
        if importlib.util.find_spec("sklearn") is None:
            what = "the strategy predicted needs scikit-learn, which is not installed"
            raise usage_error(what, "pip install 'lhkit[predict]' adds it.")

    def learn(self, places: Places, cost: float | None) -> None:
        """Take note of a cost."""
        self._costs[places] = cost
        self._waiting.discard(places)

    def to_describe(self) -> Sequence[Point]:
        """Return the points of the next round that nothing is known of."""
        if self._left == 0 or self._queue or self._pool_of_round or not self._is_about_to_end:
            return ()
        self._import.join()  # before the first variant: it would disturb what is timed
        started = time.perf_counter_ns()
        self._pool_of_round = self._pool_for_round()
        self._spent_ns += time.perf_counter_ns() - started
        new = [places for places in self._pool_of_round if places not in self._described]
        self._described.update(new)
        return [self.space.point_of(places) for places in new]

    def take_descriptions(self, points: Sequence[Point], found: Sequence[VariantDescription | None]) -> None:
        """Take note of the programs and features of variants."""
        for point, description in zip(points, found, strict=True):
            places = self.space.places_of(point)
            if places is not None and description is not None:
                self._found[places] = description
        known = self._found.values()
        self._names = tuple(next(iter(known)).features) if known else ()

    def propose(self) -> Places | None:
        """Return the next point of the round, of the next round, or None where no gain is expected."""
        while True:
            while self._queue:
                places = self._queue.popleft()
                if places not in self.seen:
                    self._waiting.add(places)
                    return places
            if self._waiting:
                # The last ones of a round decide too; most often they have ended when the next are described.
                return None if self._is_about_to_end else self.draw()
            if not self._pool_of_round:
                self._pool_of_round = self._pool_for_round()
            if not self._pool_of_round:
                return None
            started = time.perf_counter_ns()
            self._queue.extend(self._chosen(self._pool_of_round))
            self._pool_of_round = []
            self._rounds += 1
            self._spent_ns += time.perf_counter_ns() - started

    def prediction(self) -> Prediction | None:
        """Return how far the model can be believed, or None if there is too little to tell."""
        timed = [(p, cost) for p, cost in self._costs.items() if cost is not None]
        if len(timed) < 2 * _FOLDS:
            return None
        logs = np.array([_log(cost) for _, cost in timed])
        rows = self._rows([p for p, _ in timed])
        guessed = np.empty(len(timed))
        order = np.random.default_rng(self._seed).permutation(len(timed))
        for fold in range(_FOLDS):
            held = order[fold::_FOLDS]
            rest = np.setdiff1d(order, held)
            guessed[held] = self._fitted(rows[rest], logs[rest]).predict(rows[held])
        pairs = tuple(
            (self.space.point_of(p), float(np.exp(guess)), cost)
            for (p, cost), guess in zip(timed, guessed, strict=True)
        )
        believed = _rank_correlation(guessed, logs)
        untried = self._fastest_of_rest(self._fitted(rows, logs))
        return Prediction(pairs, believed, len(self._described), self._spent_ns, untried)

    def _fastest_of_rest(self, model: Any) -> tuple[tuple[Point, float], ...]:
        left = sorted(self._found.keys() - self._costs.keys())
        if not left:
            return ()
        guessed = np.exp(model.predict(self._rows(left)))
        return tuple((self.space.point_of(left[i]), float(guessed[i])) for i in np.argsort(guessed)[:_REST])

    # Rounds.

    @property
    def _is_about_to_end(self) -> bool:
        """Whether the points of the round before were tried, or all but the last two."""
        return len(self._waiting) <= (_AHEAD if self._costs else 0)

    def _pool_for_round(self) -> list[Places]:
        """Return the points that the next round chooses from; none where the search has converged."""
        if not self._costs:
            return self._spread()
        best = min((c for c in self._costs.values() if c is not None), default=math.inf)
        self._idle_rounds = 0 if best < self._best * (1 - _GAIN) else self._idle_rounds + 1
        self._best = min(best, self._best)
        most = max(_LEAST_TRIED, self.space.count() * _SHARE)
        tried_count = len(self._costs) + len(self._waiting)
        if self._left is None and (self._idle_rounds > _PATIENCE or tried_count >= most):
            return []
        new = [p for p in self._candidates() if p not in self.seen]
        if not new:
            return []
        tried = list(self._costs)
        rows = self._knob_rows(new)
        if self._process is None:
            self._process = KnobProcess(np.vstack([self._knob_rows(tried), rows]))
        self._process.fit(self._knob_rows(tried), self._logs(tried))
        by_knobs = np.argsort(self._process.optimistic(rows))
        pool = dict.fromkeys(new[i] for i in by_knobs[:_POOL])
        ranked = sorted(tried, key=lambda p: math.inf if (c := self._costs[p]) is None else c)
        beside = [p for near in ranked[:_NEIGHBOURED] for p in self._beside(near) if self.is_new(p)]
        self.rng.shuffle(beside)
        pool.update(dict.fromkeys(beside[:_NEIGHBOURS]))
        # What was described before costs nothing more.
        pool.update(dict.fromkeys(p for p in self._found if p not in self.seen))
        return list(pool)

    def _candidates(self) -> list[Places]:
        count = self.space.count()
        if count.is_exact and count <= _MOST_RANKED:
            self._every = self._every or list(self.space.plan.points())
            return self._every
        # What was drawn and not tried stays a candidate: nothing is drawn twice.
        self._every = [p for p in self._every if p not in self.seen]
        self._every += itertools.islice(self._shuffled, max(_DRAWN - len(self._every), 0))
        return self._every

    def _spread(self) -> list[Places]:
        """Return points far apart, the defaults first."""
        start = self.space.nearest()
        every = list(self._candidates())
        self.rng.shuffle(every)
        if not every:
            return []
        chosen = [every[0] if start is None else start]
        rows = self._knob_rows([*chosen, *every])
        rows = (rows - rows.mean(0)) / (rows.std(0) + 1e-9)
        first, rows = rows[0], rows[1:]
        distance = np.linalg.norm(rows - first, axis=1)
        while len(chosen) < min(_START, len(every)):
            furthest = int(distance.argmax())
            chosen.append(every[furthest])
            distance = np.minimum(distance, np.linalg.norm(rows - rows[furthest], axis=1))
        return chosen

    def _chosen(self, pool: Sequence[Places]) -> list[Places]:
        """Return the points of a pool that are compiled: the best by all that is known, no program twice."""
        if not self._costs:
            return list(pool)
        tried = list(self._costs)
        model = self._fitted(self._rows(tried), self._logs(tried))
        scores = _ranks(_optimistic(model, self._rows(pool), self._slowest()))
        if self._process is not None:
            self._process.fit(self._knob_rows(tried), self._logs(tried), again=True)
            scores += _ranks(self._process.optimistic(self._knob_rows(pool)))
        programs = {self._found[p].ir_sha256 for p in tried if p in self._found}
        chosen: list[Places] = []
        for i in np.argsort(scores, kind="stable"):
            described = self._found.get(pool[i])
            if described is not None and described.ir_sha256 in programs:
                self.seen.add(pool[i])
                continue
            if described is not None:
                programs.add(described.ir_sha256)
            chosen.append(pool[i])
            if len(chosen) == _ROUND:
                break
        return chosen

    def _beside(self, places: Places) -> list[Places]:
        found = []
        for i, domain in enumerate(self.space.plan.domains):
            own = domain.index(places[i])
            for j in (own - 1, own + 1) if self.space.axes[i].is_ordered else range(len(domain)):
                if 0 <= j < len(domain) and j != own:
                    found.append((*places[:i], domain[j], *places[i + 1 :]))
        return found

    # What the models see.

    def _slowest(self) -> float:
        return max((_log(c) for c in self._costs.values() if c is not None), default=0.0)

    def _logs(self, tried: Sequence[Places]) -> np.ndarray:
        failed = self._slowest() + _FAILED
        costs = [self._costs[p] for p in tried]
        return np.array([failed if c is None else _log(c) for c in costs])

    def _knob_rows(self, points: Sequence[Places]) -> np.ndarray:
        for p in points:
            if p not in self._known_rows:
                values = [(axis, axis.values[i], i) for axis, i in zip(self.space.axes, p, strict=True)]
                self._known_rows[p] = [_number(value, i) for axis, value, i in values if len(axis.values) > 1]
        return np.array([self._known_rows[p] for p in points], float).reshape(len(points), -1)

    def _rows(self, points: Sequence[Places]) -> np.ndarray:
        nothing = [math.nan] * len(self._names)
        known = [self._found.get(p) for p in points]
        features = [nothing if d is None else [d.features.get(n, math.nan) for n in self._names] for d in known]
        return np.hstack([self._knob_rows(points), np.array(features, float).reshape(len(points), -1)])

    def _fitted(self, rows: np.ndarray, logs: np.ndarray) -> Any:
        return _import_trees()(_TREES, random_state=self._seed).fit(rows, logs)


def _log(cost: float) -> float:
    return math.log(max(cost, _LEAST))


def _number(value: KnobValue, place: int) -> float:
    """Return a value as models see it: numbers by their logarithm, others by their place."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float(place)
    return math.copysign(math.log2(1 + abs(value)), value)


def _optimistic(model: Any, rows: np.ndarray, slowest: float) -> np.ndarray:
    """Return for each row the mean of the trees, less where they disagree on how fast it is, if it runs."""
    narrow = rows.astype(np.float32)
    each = np.array([tree.predict(narrow, check_input=False) for tree in model.estimators_])
    scores: np.ndarray = each.mean(0) - _OPTIMISM * each.clip(max=slowest).std(0)
    return scores


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(scores, kind="stable"), kind="stable")


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    import pandas as pd

    found = pd.Series(a).rank().corr(pd.Series(b).rank())
    return None if math.isnan(found) else float(found)


def _import_trees() -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor


def _import_early() -> None:
    with contextlib.suppress(ImportError):  # the first fit raises it again
        _import_trees()
