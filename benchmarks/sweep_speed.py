"""``python -m benchmarks.sweep_speed``: seconds of searches to a declared winner beside trying everything.

Searches are replayed on the grids in ``benchmarks/grids``: a search pays what each of its variants cost when
the grid was recorded, in processor time, and the time that its own decisions take now. Its winner is the best
of the few that a confirmation would time side by side; the cost of that is not counted, it is the same for all.
``--record`` records grids anew, ``--describe`` reads their features again, ``--again N`` times the fastest of
each in N more rounds, ``--plain`` times all as plain code. ``--real --seeds 5`` runs five searches and a sweep
of everything on this machine instead, and tells seconds of the clock, with and without the confirmation.

A grid that knows the times of plain code is searched with that stage. ``--strategy random`` with a budget of
all points loses only what the stage and the cut prune. Settings of the search were chosen on these grids with
seeds below 1000, and judged with seeds from 1000 to 5199: ``--first 10000`` replays others.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections import deque
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
    timed_plain,
)
from lhkit.cli.terminal import say
from lhkit.sweeps.space import Point, Space
from lhkit.sweeps.strategies import make_strategy
from lhkit.sweeps.strategies.predicted import Predicted
from lhkit.worker.kernel_requests import VariantDescription
from lhkit.worker.plain_code_stage import PlainCodeStage

_SEEDS = 50
# What applies to a search that says nothing else: the engine's own rules for many variants.
_HOPELESS, _HOPELESS_OF_ALL = 1.5, 3.0
_CONTENDERS = 5
# Variants that are tried at a time.
_AT_A_TIME = 2
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
    plain: int
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
        self._stage = PlainCodeStage(cut)
        self.seconds = dict.fromkeys(("describe", "plain", "compile", "time", "decide"), 0.0)
        self.done: dict[str | int, float | None] = {}
        self.observed: list[tuple[float, GridVariant]] = []
        self.described = self.timed = self.plain = 0
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
        cost = self._plain_cost(variant)
        if cost is None:
            cost = self._optimized_cost(variant)
        else:
            self.observed.append((cost, variant))
        self.done[name] = cost
        return cost

    def _plain_cost(self, variant: GridVariant) -> float | None:
        """Return what a variant costs that its plain code gives up, None for one that has to be optimized."""
        is_staged = self._cut < _HOPELESS_OF_ALL and not math.isinf(self._best)
        if variant.plain_ns is None or not is_staged or not self._stage.pays(self._best):
            return None
        # Lowering is done once for both codes; here it is counted twice, grids do not tell it apart.
        spent_ns = sum(variant.plain_spent_ns[part] for part in ("compile", "verify", "time"))
        self.seconds["plain"] += spent_ns / 1e9
        self._stage.take_plain(variant.plain_ns, spent_ns)
        if self._stage.is_hopeless(variant.plain_ns, self._best):
            self.plain += 1
            return variant.plain_ns
        optimized_ns = variant.min_ns or variant.plain_ns
        self._stage.take_optimized(variant.plain_ns, optimized_ns, sum(variant.spent_ns.values()))
        return None

    def _optimized_cost(self, variant: GridVariant) -> float | None:
        spent = {part: ns / 1e9 for part, ns in variant.spent_ns.items()}
        self.seconds["compile"] += spent.get("compile", 0) + spent.get("verify", 0)
        if variant.median_ns is None or variant.short_ns is None:
            return None
        cost: float = variant.median_ns
        if variant.short_ns > self._cut * self._best:
            cost = variant.short_ns
            self.seconds["time"] += max(_SHORT_CALLS * cost, _BATCH_NS) / 1e9
        else:
            self.seconds["time"] += spent["time"]
            self.timed += 1
        self._best = min(self._best, cost)
        self.observed.append((cost, variant))
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
    cut = _HOPELESS_OF_ALL if strategy == "grid" else _HOPELESS
    machine = _Machine(grid, getattr(search, "cut", cut))
    away = 0.0
    trying: deque[tuple[Point, float | None]] = deque()
    while True:
        if isinstance(search, Predicted) and (points := search.to_describe()):
            search.take_descriptions(points, machine.describe(points))
            while trying:  # what was tried meanwhile has ended
                search.tell(*trying.popleft())
        point = search.ask()
        if point is None and not trying:
            break
        left = time.thread_time()
        if point is not None:
            trying.append((point, machine.run(point)))
        away += time.thread_time() - left
        # Of two that are tried at a time the first one is known when the third begins.
        if len(trying) == _AT_A_TIME or point is None:
            search.tell(*trying.popleft())
    machine.seconds["decide"] = time.thread_time() - started - away
    prediction = search.prediction() if isinstance(search, Predicted) else None
    correlation = prediction.rank_correlation if prediction is not None else None
    counts = (machine.described, len(machine.done), machine.timed, machine.plain)
    return Replay(machine.seconds, *counts, machine.loss(), correlation)


def _report(task: GridTask, grid: Grid, strategy: str, budget: int | None, seeds: range) -> None:
    space = task.load()[2]
    runs = [replay(grid, space, strategy, seed, budget) for seed in seeds]
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
    plain = round(statistics.median(r.plain for r in runs))
    correlations = [r.rank_correlation for r in runs if r.rank_correlation is not None]
    rank = f"; rank correlation {statistics.median(correlations):.2f}" if correlations else ""
    say(
        f"{grid.name:13} {strategy:18} {seconds:6.1f} s of {grid.seconds:6.1f}: 1/{grid.seconds / seconds:.1f}"
        f" ({parts}); described → compiled → timed: {stages}, {plain} given up as plain code;"
        f" loss: median {middle:.1%}, worst {losses[-1]:.1%}, above 2 %: {lost} of {len(seeds)}{rank}"
    )


def _run_real(task: GridTask, budget: int | None, seeds: int) -> None:
    """Run searches and one sweep of everything on this machine, and say how long they took."""
    searches = [_real_seconds(task, "predicted", budget, seed) for seed in range(seeds)]
    everything = _real_seconds(task, "grid", None, 0)
    for what, part in (("without the confirmation", 0), ("with it", 1)):
        found, whole = statistics.median(each[part] for each in searches), everything[part]
        say(f"{task.name}: {found:.1f} s of {whole:.1f}, 1/{whole / found:.1f}, {what}")


def _real_seconds(task: GridTask, strategy: str, budget: int | None, seed: int) -> tuple[float, float]:
    """Return the seconds of a sweep without its confirmation, and with it."""
    payload, schedule, _ = task.load()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "real.jsonl"
        started = time.perf_counter()
        swept = lhkit.sweep(
            payload, schedule, knobs=task.knobs, strategy=strategy, budget=budget, seed=seed, store=store
        )
        seconds = time.perf_counter() - started
        result = swept.result()
    say(str(result))
    return seconds - dict(result.spent_ns)["confirm"] / 1e9, seconds


def main() -> None:
    """Record grids, or replay searches on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grids", nargs="*", default=[t.name for t in TASKS])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--describe", action="store_true")
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--seeds", type=int, default=_SEEDS)
    parser.add_argument("--first", type=int, default=0)
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
        if options.plain:
            grid = timed_plain(task, grid)
        if options.describe or options.again or options.plain:
            save(grid, path)
        elif options.real:
            _run_real(task, options.budget, options.seeds)
        elif not options.record:
            for strategy in options.strategy or ["predicted"]:
                seeds = range(options.first, options.first + options.seeds)
                _report(task, grid, strategy, options.budget, seeds)


if __name__ == "__main__":
    main()
