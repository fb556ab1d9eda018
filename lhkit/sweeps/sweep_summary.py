"""The result of a sweep as a value: times, choices per payload, analysis of variance by knob."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lhkit.model.errors import UsageError, public, usage_error
from lhkit.model.file_io import write_file
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Printable
from lhkit.sweeps.confirmation import Confirmation, Knobs
from lhkit.sweeps.space import PAYLOAD_AXIS
from lhkit.sweeps.strategies.predicted import Prediction
from lhkit.sweeps.variant_record import FAILED, SweepEnd, SweepRecord, SweepStatus, originals

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of knobs on all payloads; a regret of 0.1 is 10 % more time than the best there."""

    knobs: Knobs
    times_ns: tuple[tuple[KnobValue, int], ...]
    regrets: tuple[tuple[KnobValue, float], ...]
    mean_regret: float

    @property
    def worst_regret(self) -> float:
        """The regret on the payload that it fits least."""
        return max(regret for _, regret in self.regrets)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a sweep: how many variants came to it, how many ended there, and its time.

    ``spent_ns`` is None where the next stage's holds it; ``cut`` is None at the last stage.
    """

    name: str
    variants: int
    cut: int | None
    spent_ns: int | None


@dataclass(frozen=True, slots=True)
class KindOutcome:
    """What a cluster's machines of another kind found: their variants are ranked apart."""

    name: str
    environment: str
    variants: int
    best: SweepRecord | None
    failure: str | None


def _sums(spent: Mapping[str, int], *parts: str) -> tuple[int]:
    return (sum(spent.get(part, 0) for part in parts),)


ImportanceMethod = Literal["variance of log time", "variance of ranks"]


@dataclass(frozen=True, slots=True)
class Importance:
    """The share of a knob in the variance (0 to 1), and how much longer its worst value takes than its best."""

    knob: str
    share: float
    gain: float
    best: KnobValue


@dataclass(frozen=True, slots=True)
class KnobImportance:
    """How much each knob explains.

    Attributes:
        method: What the shares are of. ``variance of log time`` where every combination of values was timed:
            an analysis of variance, whose main effects and interactions add up to 1. ``variance of ranks``
            where combinations are missing: the same of ranks (the effect size of Kruskal and Wallis), which
            outliers cannot rule; knobs that were not varied independently share what they explain, and where
            that adds up to more than all, shares are scaled down to 1.
        knobs: The most important first; empty where too little was timed to tell.
        interactions: What no knob explains alone; None for ranks, whose shares need not add up.
    """

    knobs: tuple[Importance, ...]
    method: ImportanceMethod
    interactions: float | None
    variants: int
    too_few: str | None = None  # Why there are no shares: how many were timed, and how many it takes


@dataclass(frozen=True, slots=True)
class SweepResult(Printable):
    """The result of a sweep, as a value.

    Attributes:
        payloads: What the payloads are called.
        schedule: The schedule, its knobs as they were given.
        axes: The knobs that were swept and their values; a payload axis is among them.
        records: Of the variants asked for, in that order.
        best: The best variant, or None: of a single payload the winner of its confirmation, or the one that is
            ahead in it; else the fastest when timed alone.
        known: How many of the variants were in the store before.
        end: How it ended, or None while it runs.
        spent_ns: Time by what it was spent on: ``prepare``, then ``apply``, ``compile``, ``verify`` and
            ``time`` of variants, ``engine`` for everything beside them, and ``confirm``.
        store: The file of the records.
        confirmations: What the best few were found to be when they were timed again, by payload; of a single
            one by ``""``.
        unconfirmed: Why they could not be timed again, or None.
        signatures: What each payload takes, as (payload, types of its arguments).
        prediction: How far the cost model of the strategy can be believed, or None without one.
        machines: Of a cluster: who took part and who did not, a line each.
        kinds: Of a cluster: what machines of other kinds than the first found.
    """

    payloads: tuple[str, ...]
    schedule: Schedule
    axes: tuple[tuple[str, tuple[KnobValue, ...]], ...]
    records: tuple[SweepRecord, ...]
    best: SweepRecord | None
    known: int
    end: SweepEnd | None
    spent_ns: tuple[tuple[str, int], ...]
    store: str
    confirmations: tuple[tuple[str, Confirmation], ...] = ()
    unconfirmed: str | None = None
    signatures: tuple[tuple[str, str], ...] = ()
    prediction: Prediction | None = None
    machines: tuple[str, ...] = ()
    kinds: tuple[KindOutcome, ...] = ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that variants went through, the cheapest first: how many each cut, and what it cost."""
        tried = [r for r in self.records if r.status not in ("same-as", "invalid-config")]
        early = sum(r.status == "stopped-early" for r in tried)
        full = sum(r.status == "ok" for r in tried)
        spent = dict(self.spent_ns)
        described = self.prediction.described if self.prediction is not None else len(self.records)
        applying = spent.get("describe", 0) + spent.get("apply", 0)
        return (
            Stage("schedule alone", described, max(described - len(tried), 0), applying),
            Stage(
                "compiled and verified",
                len(tried),
                len(tried) - early - full,
                *_sums(spent, "compile", "verify"),
            ),
            Stage("short timing", early + full, early, None),
            Stage("full timing", full, max(full - len(self._contenders), 0), *_sums(spent, "time")),
            Stage("side by side", len(self._contenders), None, *_sums(spent, "confirm")),
        )

    @property
    def _contenders(self) -> set[str]:
        return {key for _, found in self.confirmations for _, key in found.keys}

    @property
    def confirmation(self) -> Confirmation | None:
        """The confirmation of the only payload, or None."""
        return dict(self.confirmations).get("")

    @property
    def failures(self) -> dict[SweepStatus, tuple[SweepRecord, ...]]:
        """The variants that failed, by how; not those that are the same program as one of them."""
        listed = {kind: tuple(r for r in self.records if r.status == kind) for kind in FAILED}
        return {kind: found for kind, found in listed.items() if found}

    @property
    def knobs_without_effect(self) -> tuple[str, ...]:
        """The knobs that made no difference: every two variants that differ in one alone are one program."""
        found = []
        for name, _ in self.axes:
            by_others: dict[tuple[tuple[str, KnobValue], ...], list[str]] = {}
            for record in self.records:
                if record.ir_sha256 is not None:
                    others = tuple(pair for pair in record.knobs if pair[0] != name)
                    by_others.setdefault(others, []).append(record.ir_sha256)
            groups = [hashes for hashes in by_others.values() if len(hashes) > 1]
            if groups and all(len(set(hashes)) == 1 for hashes in groups):
                found.append(name)
        return tuple(found)

    @public
    def knob_importance(self) -> KnobImportance:
        """Return how much of the variance of the times each knob explains, the most important first."""
        return knob_importance(self.records)

    @public
    def best_schedule(self) -> str:
        """Return the schedule of the best variant as it was timed: knobs folded in, libraries copied in.

        Other programs take it if its steps are MLIR's own; else its ``portable_text()`` leaves out what it can.

        Raises:
            UsageError: No variant is ok.
        """
        from lhkit.load.schedule_export import folded_schedule

        if self.best is None:
            raise usage_error("the sweep has no best variant", "No variant is ok; look at its failures.")
        names = {knob.name for knob in self.schedule.knobs}
        return folded_schedule(self.schedule.with_knobs({n: v for n, v in self.best.knobs if n in names}))

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `to_frame` as CSV or Parquet, or a study of Optuna, by the name's end; return the path.

        The ends are ``.csv``, ``.parquet``, and ``.db`` for the SQLite file that ``optuna-dashboard`` opens.

        Raises:
            UsageError: A name that ends otherwise, no pyarrow for Parquet, no Optuna for a study, or a file
                that cannot be written.
        """
        from lhkit.sweeps.sweep_files import save_records

        return save_records(self.records, path)

    @public
    def choices(self) -> tuple[Choice, ...]:
        """Return the choices of knobs that were timed on every payload, the least mean regret first.

        Raises:
            UsageError: There were not several payloads, or no choice was timed on all of them.
        """
        return rank_choices(self.records)

    @public
    def by_payload(self) -> pd.DataFrame:
        """Return a table with one row per payload: its best knobs, and the regret of one choice for all.

        The one choice is the first of `choices`; its regret is how much longer it takes than the best (0.1 is
        10 %). ``confirmed`` says what was found when the best few were timed again (`Confirmation.finding`).

        Raises:
            UsageError: There were not several payloads, or no variant was timed.
        """
        import pandas as pd

        return pd.DataFrame(payload_rows(self))

    @public
    def save_by_payload(self, path: str | os.PathLike[str]) -> Path:
        """Write the table of `by_payload` for other programs and return its path: CSV, or JSON by its name.

        Raises:
            UsageError: As for `by_payload`; a name that ends otherwise, or a file that cannot be written.
        """
        target, rows = Path(path), payload_rows(self)
        if target.suffix == ".json":
            text = json.dumps(rows, indent=1) + "\n"
        elif target.suffix == ".csv":
            file = io.StringIO()
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            text = file.getvalue()
        else:
            raise usage_error(f"{target} is not a known kind of table", "Name it FILE.csv or FILE.json.")
        write_file(target, text.encode())
        return target

    @public
    def to_frame(self) -> pd.DataFrame:
        """Return one row per variant: its knobs, status, times, and the other fields of its record."""
        from lhkit.sweeps.sweep_files import frame_of_records

        return frame_of_records(self.records)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.sweeps.sweep_table import sweep_result_bundle

        return sweep_result_bundle(self)


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
    return {name: ordered_values(values) for name, values in found.items()}


def ordered_values(values: Sequence[KnobValue]) -> tuple[KnobValue, ...]:
    """Return the values of a knob as drawings have them: numbers in order, others as they came."""
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
    where there was no difference or it is undecided; ``confirmed`` says which. The regret is None where no
    choice was timed on all payloads.
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
        if confirmation is not None:
            knobs = knobs_of.get(confirmation.leader_key, knobs)
            outcome = confirmation.finding
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


# Where not all combinations were timed: with fewer, every knob seems to explain nearly everything.
_VARIANTS_AN_EFFECT = 1.5


def knob_importance(records: Sequence[SweepRecord]) -> KnobImportance:
    """Return how much each knob explains of the times of a sweep; those that failed count nowhere.

    Where there are several payloads, times are multiples of the best of the same one.
    """
    import pandas as pd

    times = relative_times(records, hopeless=True)
    timed = [r for r in records if r.key in times]
    knobs, values = varied_knobs(timed), knob_values(timed)
    points = {tuple(r.values[name] for name in knobs) for r in timed}
    is_grid = len(points) == len(timed) == math.prod(len(values[name]) for name in knobs)
    method: ImportanceMethod = "variance of log time" if is_grid else "variance of ranks"
    effects = sum(len(values[name]) - 1 for name in knobs)
    least = 1 + math.ceil(_VARIANTS_AN_EFFECT * effects)
    if knobs and not is_grid and len(timed) < least:
        why = f"too few variants were timed to tell what the knobs explain: {len(timed)}, and it takes {least}"
        return KnobImportance((), method, None, len(timed), why)
    logs = [math.log(times[r.key]) for r in timed]
    levels = logs if is_grid else pd.Series(logs, dtype=float).rank().tolist()  # equal ones share the mean
    mean = statistics.fmean(levels) if levels else 0.0
    total = sum((v - mean) ** 2 for v in levels)
    found = []
    for knob in knobs:
        groups: dict[KnobValue, list[int]] = defaultdict(list)
        for i, record in enumerate(timed):
            groups[record.values[knob]].append(i)
        middles = {value: statistics.median(logs[i] for i in members) for value, members in groups.items()}
        best = min(middles, key=lambda value: middles[value])
        between = sum(
            len(members) * (statistics.fmean(levels[i] for i in members) - mean) ** 2
            for members in groups.values()
        )
        share = between / total if total else 0.0
        found.append(Importance(knob, share, math.exp(max(middles.values()) - middles[best]), best))
    whole = sum(i.share for i in found)
    if whole > 1:
        found = [dataclasses.replace(i, share=i.share / whole) for i in found]
    found.sort(key=lambda i: -i.share)
    rest = max(0.0, 1 - sum(i.share for i in found)) if is_grid and total else None
    return KnobImportance(tuple(found), method, rest, len(timed))
