"""The Gaussian process on knobs: what it says of points that it has not seen."""

import itertools
import warnings

import numpy as np
from threadpoolctl import threadpool_info

from lhkit.sweeps.strategies import gaussian_process
from lhkit.sweeps.strategies.gaussian_process import KnobProcess

# Two knobs that matter, one that does not, and one with a single value.
EVERY = np.array(list(itertools.product(range(8), range(8), range(3), (5,))), float)


def logs(rows):
    return np.log(1 + (rows[:, 0] - 5) ** 2 + 0.5 * (rows[:, 1] - 2) ** 2)


def fitted(seed, count=30):
    some = np.random.default_rng(seed).permutation(len(EVERY))[:count]
    process = KnobProcess(EVERY)
    process.fit(EVERY[some], logs(EVERY[some]))
    return process, some


def test_what_it_prefers_is_near_the_best():
    for seed in range(5):
        process, _ = fitted(seed)
        (m, n, _, _) = EVERY[process.optimistic(EVERY).argmin()]
        assert abs(m - 5) <= 1 and abs(n - 2) <= 1


def test_it_is_sure_of_what_it_was_told():
    process, some = fitted(0)
    near = logs(EVERY[some]) < logs(EVERY).min() + gaussian_process._FAR
    told = np.abs(process.optimistic(EVERY[some]) - logs(EVERY[some]))[near]
    rest = np.setdiff1d(np.arange(len(EVERY)), some)
    unknown = logs(EVERY[rest]) - process.optimistic(EVERY[rest])
    assert told.max() < 0.5 and np.median(unknown) > np.median(told)


def test_what_is_far_from_the_best_is_slow_and_no_more():
    some = EVERY[::5]
    costs = logs(some)
    one, other = KnobProcess(EVERY), KnobProcess(EVERY)
    one.fit(some, costs)
    other.fit(some, np.where(costs > costs.min() + gaussian_process._FAR, 40.0, costs))
    assert np.allclose(one.optimistic(EVERY), other.optimistic(EVERY))


def test_points_without_a_difference_are_no_matter():
    process = KnobProcess(EVERY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.fit(EVERY[:3], np.zeros(3))
    assert np.isfinite(process.optimistic(EVERY)).all()


def test_linear_algebra_has_one_thread(monkeypatch):
    from sklearn.gaussian_process import GaussianProcessRegressor

    seen = []
    fit = GaussianProcessRegressor.fit

    def spy(self, *given):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return fit(self, *given)

    monkeypatch.setattr(GaussianProcessRegressor, "fit", spy)
    fitted(0)
    assert set(seen) == {1}


def test_of_many_points_the_fastest_count(monkeypatch):
    monkeypatch.setattr(gaussian_process, "_MOST_POINTS", 20)
    process = KnobProcess(EVERY)
    process.fit(EVERY, logs(EVERY))
    assert len(process._model.X_train_) == 20
    assert abs(EVERY[process.optimistic(EVERY).argmin()][0] - 5) <= 1
