"""``python -m benchmarks.sweep_speed``: seconds of searches to a declared winner beside trying everything.

Searches are replayed on the grids in ``benchmarks/grids``: a search pays what each of its variants cost when
the grid was recorded, in processor time, and the time that its own decisions take now. Its winner is the best
of the few that a confirmation would time side by side; the cost of that is not counted, it is the same for all.
``--record`` records grids anew, ``--describe`` reads their features again, ``--again N`` times the fastest of
each in N more rounds, ``--real`` runs the search itself.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import lhkit
from benchmarks.sweep_grids import (
    FOLDER,
    TASKS,
    Grid,
    GridTask,
    GridVariant,
    described,
    load,
    record,
    save,
    timed_again,
)
from lhkit.cli.terminal import say
from lhkit.sweeps.space import Point, Space
from lhkit.sweeps.strategies import make_strategy
from lhkit.sweeps.strategies.predicted import Predicted
from lhkit.worker.kernel_requests import VariantDescription

_SEEDS = 50
# What applies to a search that says nothing else: the engine's own rule.
_HOPELESS = 3.0
_CONTENDERS = 5
# Calls before a variant is given up after a short timing, and what a batch lasts at least.
_SHORT_CALLS, _BATCH_NS = 3, 2e6
# Reading the features of a variant, as a multiple of applying the schedule to it (both in a quiet process).
_FEATURES = 0.6


@dataclass(frozen=True, slots=True)
class Replay:
    """One replayed search: seconds by part, variants by stage, and the loss against the best of all."""

    seconds: Mapping[str, float]
    described: int
    compiled: int
    timed: int
    loss: float
    rank_correlation: float | None

    @property
    def total(self) -> float:
        """All seconds."""
        return sum(self.seconds.values())


class _Machine:
    """What a grid answers in place of a machine, and what a search has spent there."""

    def __init__(self, grid: Grid, cut: float) -> None:
        self._grid, self._cut = grid, cut
        self._by_knobs = {frozenset(v.knobs): v for v in grid.variants}
        self._programs: dict[str, GridVariant] = {}
        for variant in grid.variants:
            if variant.program is not None and variant.status != "same":
                self._programs.setdefault(variant.program, variant)
        self.seconds = dict.fromkeys(("describe", "compile", "time", "decide"), 0.0)
        self.done: dict[str | int, float | None] = {}
        self.observed: list[tuple[float, GridVariant]] = []
        self.described = self.timed = 0
        self._best = math.inf

    def describe(self, points: Sequence[Point]) -> list[VariantDescription | None]:
        """Return what applying the schedule tells."""
        found = []
        for own in (self._by_knobs[frozenset(p)] for p in points):
            apply_ns = self._programs[own.program].spent_ns["apply"] if own.program else 0
            self.seconds["describe"] += apply_ns * (1 + _FEATURES) / 1e9
            features = dict(zip(self._grid.features, own.features, strict=False))
            found.append(VariantDescription(own.program, features) if own.program else None)
        self.described += len(points)
        return found

    def run(self, point: Point) -> float | None:
        """Return what a point costs, None if it fails."""
        own = self._by_knobs[frozenset(point)]
        variant = self._programs[own.program] if own.status == "same" and own.program else own
        name = variant.program or id(variant)
        spent = {part: ns / 1e9 for part, ns in variant.spent_ns.items()}
        self.seconds["compile"] += spent.get("apply", 0)
        if name in self.done:
            return self.done[name]
        self.seconds["compile"] += spent.get("compile", 0) + spent.get("verify", 0)
        cost: float | None = None
        if variant.median_ns is not None and variant.short_ns is not None:
            cost = variant.median_ns
            if variant.short_ns > self._cut * self._best:
                cost = variant.short_ns
                self.seconds["time"] += max(_SHORT_CALLS * cost, _BATCH_NS) / 1e9
            else:
                self.seconds["time"] += spent["time"]
                self.timed += 1
            self._best = min(self._best, cost)
            self.observed.append((cost, variant))
        self.done[name] = cost
        return cost

    def loss(self) -> float:
        """Return how much slower than the best of all the best of the contenders is."""
        contenders = sorted(self.observed, key=lambda pair: pair[0])[:_CONTENDERS]
        true = [v.true_ns for _, v in contenders if v.true_ns is not None]
        return min(true) / min(v.true_ns for v in self._grid.variants if v.true_ns is not None) - 1


def replay(grid: Grid, space: Space, strategy: str, seed: int, budget: int | None) -> Replay:
    """Replay a search on a grid."""
    started = time.thread_time()
    search = make_strategy(strategy, space, seed=seed, budget=budget)
    machine = _Machine(grid, getattr(search, "cut", _HOPELESS))
    away = 0.0
    while True:
        if isinstance(search, Predicted) and (points := search.to_describe()):
            search.take_descriptions(points, machine.describe(points))
        if (point := search.ask()) is None:
            break
        left = time.thread_time()
        cost = machine.run(point)
        away += time.thread_time() - left
        search.tell(point, cost)
    machine.seconds["decide"] = time.thread_time() - started - away
    prediction = search.prediction() if isinstance(search, Predicted) else None
    correlation = prediction.rank_correlation if prediction is not None else None
    counts = (machine.described, len(machine.done), machine.timed)
    return Replay(machine.seconds, *counts, machine.loss(), correlation)


def _report(task: GridTask, grid: Grid, strategy: str, budget: int | None, seeds: int) -> None:
    space = task.load()[2]
    runs = [replay(grid, space, strategy, seed, budget) for seed in range(seeds)]
    seconds = statistics.median(r.total for r in runs)
    parts = ", ".join(
        f"{part} {statistics.median(r.seconds[part] for r in runs):.1f}" for part in runs[0].seconds
    )
    losses = sorted(r.loss for r in runs)
    lost = sum(loss > 0.02 for loss in losses)
    middle = statistics.median(losses)
    stages = " → ".join(
        str(round(statistics.median(n)))
        for n in zip(*((r.described, r.compiled, r.timed) for r in runs), strict=True)
    )
    correlations = [r.rank_correlation for r in runs if r.rank_correlation is not None]
    rank = f"; rank correlation {statistics.median(correlations):.2f}" if correlations else ""
    say(
        f"{grid.name:13} {strategy:18} {seconds:6.1f} s of {grid.seconds:6.1f}: 1/{grid.seconds / seconds:.1f}"
        f" ({parts}); described → compiled → timed: {stages}; loss: median {middle:.1%},"
        f" worst {losses[-1]:.1%}, above 2 %: {lost} of {seeds}{rank}"
    )


def _run_real(task: GridTask, budget: int | None) -> None:
    """Run the search itself on this machine, confirmation included, and say what it cost."""
    payload, schedule, _ = task.load()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        found = lhkit.sweep(
            payload,
            schedule,
            knobs=task.knobs,
            strategy="predicted",
            budget=budget,
            store=Path(folder) / "real.jsonl",
        )
        say(f"{task.name}: {time.perf_counter() - started:.1f} s with the confirmation")
        say(str(found.result()))


def main() -> None:
    """Record grids, or replay searches on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grids", nargs="*", default=[t.name for t in TASKS])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--describe", action="store_true")
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--strategy", action="append", default=[])
    options = parser.parse_args()
    for task in TASKS:
        if task.name not in options.grids:
            continue
        path = FOLDER / f"{task.name}.json"
        if options.record:
            save(record(task), path)
        grid = load(path)
        if options.describe:
            grid = described(task, grid)
        if options.again:
            grid = timed_again(task, grid, options.again)
        if options.describe or options.again:
            save(grid, path)
        elif options.real:
            _run_real(task, options.budget)
        elif not options.record:
            for strategy in options.strategy or ["predicted"]:
                _report(task, grid, strategy, options.budget, options.seeds)


if __name__ == "__main__":
    main()
