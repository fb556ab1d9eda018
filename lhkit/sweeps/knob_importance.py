"""Analysis of variance: the share of each knob in the variance of times."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.model.knob import KnobValue
from lhkit.sweeps.sweep_summary import knob_values, relative_times, varied_knobs
from lhkit.sweeps.variant_record import SweepRecord, SweepResult

Method = Literal["variance of log time", "variance of ranks"]


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of one knob.

    Attributes:
        knob: Its name.
        share: The share of the variance that lies between its values, from 0 to 1.
        gain: The median time at its worst value as a multiple of that at its best.
        best: The value with the shortest median time.
    """

    knob: str
    share: float
    gain: float
    best: KnobValue


@dataclass(frozen=True, slots=True)
class KnobImportance:
    """The importance of all knobs.

    Attributes:
        knobs: The knobs with more than one value, the most important first.
        method: What the shares are of. ``variance of log time`` where every combination of values was timed:
            an analysis of variance, whose main effects and interactions add up to 1. ``variance of ranks``
            where combinations are missing: the same of ranks (the effect size of Kruskal and Wallis), which
            outliers cannot rule; knobs that were not varied independently then share what they explain.
        interactions: What no knob explains alone; None for ranks, whose shares need not add up.
        variants: How many variants it rests on.
    """

    knobs: tuple[Importance, ...]
    method: Method
    interactions: float | None
    variants: int


def knob_importance(records: Sequence[SweepRecord]) -> KnobImportance:
    """Return how much each knob explains of the times of a sweep; those that failed count nowhere.

    Where there are several payloads, times are multiples of the best of the same one.
    """
    times = relative_times(records, hopeless=True)
    timed = [r for r in records if r.key in times]
    is_grid = _is_grid(timed)
    logs = [math.log(times[r.key]) for r in timed]
    levels = logs if is_grid else _ranks(logs)
    total = sum((v - statistics.fmean(levels)) ** 2 for v in levels) if levels else 0.0
    found = []
    for knob in varied_knobs(timed):
        groups: dict[KnobValue, list[int]] = defaultdict(list)
        for i, record in enumerate(timed):
            groups[record.values[knob]].append(i)
        middles = {value: statistics.median(logs[i] for i in members) for value, members in groups.items()}
        best = min(middles, key=lambda value: middles[value])
        share = _between(levels, list(groups.values())) / total if total else 0.0
        found.append(Importance(knob, share, math.exp(max(middles.values()) - middles[best]), best))
    found.sort(key=lambda i: -i.share)
    method: Method = "variance of log time" if is_grid else "variance of ranks"
    rest = max(0.0, 1 - sum(i.share for i in found)) if is_grid and total else None
    return KnobImportance(tuple(found), method, rest, len(timed))


def _is_grid(timed: Sequence[SweepRecord]) -> bool:
    """Return whether every combination of values was timed, once."""
    names = varied_knobs(timed)
    values = knob_values(timed)
    points = {tuple(r.values[n] for n in names) for r in timed}
    return len(points) == len(timed) == math.prod(len(values[n]) for n in names)


def _between(levels: Sequence[float], groups: Sequence[Sequence[int]]) -> float:
    """Return the sum of squares between groups."""
    mean = statistics.fmean(levels)
    return sum(len(g) * (statistics.fmean(levels[i] for i in g) - mean) ** 2 for g in groups)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1; equal ones share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in order[start : end + 1]:
            ranks[i] = (start + end) / 2 + 1
        start = end + 1
    return ranks


# Knobs without effect.


def knobs_without_effect(result: SweepResult) -> tuple[str, ...]:
    """Return the knobs that made no difference.

    Of such a knob several values were tried, some with the others as they were, and every two variants that
    differ in it alone are the same program, as the hashes of their scheduled payloads say.
    """
    found = []
    for name, _ in result.axes:
        by_others: dict[tuple[tuple[str, KnobValue], ...], list[str]] = {}
        for record in result.records:
            if record.ir_sha256 is not None:
                others = tuple(pair for pair in record.knobs if pair[0] != name)
                by_others.setdefault(others, []).append(record.ir_sha256)
        groups = [hashes for hashes in by_others.values() if len(hashes) > 1]
        if groups and all(len(set(hashes)) == 1 for hashes in groups):
            found.append(name)
    return tuple(found)
