"""Summaries of the records of a sweep: outcomes, times, choices per payload, analysis of variance by knob."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.axes import PAYLOAD_AXIS
from lhkit.sweeps.confirmation import Knobs
from lhkit.sweeps.variant_record import (
    Choice,
    Importance,
    ImportanceMethod,
    KnobImportance,
    SweepRecord,
    SweepResult,
    originals,
)


def median_times(records: Sequence[SweepRecord], *, hopeless: bool = False) -> dict[str, int]:
    """Return the median times in ns by key; the same programs have the times of the one that was timed."""
    wanted = ("ok", "stopped-early") if hopeless else ("ok",)
    timed = {key: r.time_ns for key, r in originals(records).items() if r.status in wanted}
    return {key: time.median for key, time in timed.items() if time is not None}


def relative_times(records: Sequence[SweepRecord], *, hopeless: bool = False) -> dict[str, float]:
    """Return the median times by key, as multiples of the best one of the same payload."""
    times, best = median_times(records, hopeless=hopeless), best_by_payload(records)
    of = {r.key: r.values.get(PAYLOAD_AXIS) for r in records}
    return {key: ns / best[of[key]][1] for key, ns in times.items() if of[key] in best}


def best_by_payload(records: Sequence[SweepRecord]) -> dict[KnobValue | None, tuple[str, int]]:
    """Return the key and the median time in ns of the best variant of each payload; a single one is None."""
    times = median_times(records)
    found: dict[KnobValue | None, tuple[str, int]] = {}
    for record in records:
        payload, time_ns = record.values.get(PAYLOAD_AXIS), times.get(record.key)
        if time_ns is not None and (payload not in found or time_ns < found[payload][1]):
            found[payload] = (record.key, time_ns)
    return found


def knob_values(records: Sequence[SweepRecord]) -> dict[str, tuple[KnobValue, ...]]:
    """Return the values of each knob that occur: numbers in order, others as they came."""
    found: dict[str, list[KnobValue]] = {}
    for record in records:
        for name, value in record.knobs:
            own = found.setdefault(name, [])
            if all(value != v or isinstance(value, bool) != isinstance(v, bool) for v in own):
                own.append(value)
    return {name: _ordered(values) for name, values in found.items()}


def _ordered(values: Sequence[KnobValue]) -> tuple[KnobValue, ...]:
    numbers = [v for v in values if isinstance(v, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else tuple(values)


def varied_knobs(records: Sequence[SweepRecord]) -> tuple[str, ...]:
    """Return the knobs that have more than one value."""
    return tuple(name for name, values in knob_values(records).items() if len(values) > 1)


def rank_choices(records: Sequence[SweepRecord]) -> tuple[Choice, ...]:
    """Return the choices that were timed on every payload, the least mean regret first."""
    times = _times(records)
    best = {payload: min(choices.values()) for payload, choices in times.items()}
    common = [k for k in next(iter(times.values())) if all(k in choices for choices in times.values())]
    if not common:
        raise usage_error("no choice of knobs was timed on all payloads", "Sweep them over the same knobs.")
    ranked = []
    for knobs in common:
        own = {payload: choices[knobs] for payload, choices in times.items()}
        ratios = {payload: own[payload] / best[payload] for payload in own}
        mean = math.exp(math.fsum(map(math.log, ratios.values())) / len(ratios))
        regrets = tuple((payload, ratio - 1) for payload, ratio in ratios.items())
        ranked.append(Choice(knobs, tuple(own.items()), regrets, mean - 1))
    return tuple(sorted(ranked, key=lambda c: c.mean_regret))


def payload_rows(result: SweepResult) -> list[dict[str, KnobValue | float | None]]:
    """Return one row per payload: arguments, best knobs, their time, and the regret of one choice for all.

    The best knobs of a payload are those that won when the best few were timed again, or that were ahead then
    where there was no difference; ``confirmed`` says which. The regret is None where no choice was timed on
    all payloads.
    """
    records = result.records
    try:
        one = dict(rank_choices(records)[0].regrets)
    except UsageError:
        one = {}
    found = dict(result.confirmations)
    signatures = dict(result.signatures)
    knobs_of = {r.key: tuple(k for k in r.knobs if k[0] != PAYLOAD_AXIS) for r in records}
    rows: list[dict[str, KnobValue | float | None]] = []
    for payload, times in _times(records).items():
        knobs, outcome = min(times, key=lambda choice: times[choice]), None
        confirmation = found.get(str(payload))
        if confirmation is not None and (confirmation.winner_key or confirmation.is_settled):
            knobs = knobs_of.get(confirmation.leader_key, knobs)
            outcome = confirmation.verdict.outcome
        rows.append(
            {
                PAYLOAD_AXIS: payload,
                "arguments": signatures.get(str(payload)),
                **dict(knobs),
                "median_ns": times[knobs],
                "confirmed": outcome,
                "regret_of_one_choice": one.get(payload),
            }
        )
    return rows


def _times(records: Sequence[SweepRecord]) -> dict[KnobValue, dict[Knobs, int]]:
    """Return the median time of each choice, by payload."""
    times = median_times(records)
    found: dict[KnobValue, dict[Knobs, int]] = defaultdict(dict)
    for record in records:
        values = record.values
        if PAYLOAD_AXIS in values and record.key in times:
            knobs = tuple(k for k in record.knobs if k[0] != PAYLOAD_AXIS)
            found[values[PAYLOAD_AXIS]][knobs] = times[record.key]
    if not found:
        raise usage_error(f"no variant that was timed has an axis {PAYLOAD_AXIS!r}")
    return dict(found)


def knob_importance(records: Sequence[SweepRecord]) -> KnobImportance:
    """Return how much each knob explains of the times of a sweep; those that failed count nowhere.

    Where there are several payloads, times are multiples of the best of the same one.
    """
    import pandas as pd

    times = relative_times(records, hopeless=True)
    timed = [r for r in records if r.key in times]
    is_grid = _is_grid(timed)
    logs = [math.log(times[r.key]) for r in timed]
    levels = logs if is_grid else pd.Series(logs, dtype=float).rank().tolist()  # equal ones share the mean
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
    method: ImportanceMethod = "variance of log time" if is_grid else "variance of ranks"
    rest = max(0.0, 1 - sum(i.share for i in found)) if is_grid and total else None
    return KnobImportance(tuple(found), method, rest, len(timed))


def _is_grid(timed: Sequence[SweepRecord]) -> bool:
    names = varied_knobs(timed)
    values = knob_values(timed)
    points = {tuple(r.values[n] for n in names) for r in timed}
    return len(points) == len(timed) == math.prod(len(values[n]) for n in names)


def _between(levels: Sequence[float], groups: Sequence[Sequence[int]]) -> float:
    mean = statistics.fmean(levels)
    return sum(len(g) * (statistics.fmean(levels[i] for i in g) - mean) ** 2 for g in groups)


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
