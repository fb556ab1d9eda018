"""Variants as a sweep found them: one record each, a line of the store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec

from lhkit.model.errors import public, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Printable
from lhkit.sweeps.confirmation import Confirmation, Knobs

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd


SCHEMA: Literal["lhkit.sweep/1"] = "lhkit.sweep/1"
SweepStatus = Literal[
    "ok",
    "same-as",
    "stopped-early",
    "invalid-config",
    "schedule-failed",
    "compile-failed",
    "wrong-result",
    "crashed",
    "timeout",
    "out-of-memory",
]
# What a file may hold: a record with a negative time would be the best of its sweep.
_Natural = Annotated[int, msgspec.Meta(ge=0)]
_Positive = Annotated[float, msgspec.Meta(ge=0)]
SWEEP_STATUSES: tuple[SweepStatus, ...] = get_args(SweepStatus)
# From here on a status says how a variant failed.
FAILED = SWEEP_STATUSES[SWEEP_STATUSES.index("invalid-config") :]


@dataclass(frozen=True, slots=True)
class SweepTime:
    """Times of one variant in ns; a run is a call, or the mean of a batch of short ones."""

    median: _Natural
    min: _Natural
    mad: _Natural
    runs: Annotated[int, msgspec.Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """The outcome of one variant; ``schemas/sweep-1.json`` describes its line in a store.

    Attributes:
        key: Hash of payload, schedule, knobs, toolchain, machine and pipeline: what decides the rest.
        status: ``ok``; ``same-as`` another variant, as a program; ``stopped-early``, being much slower than
            the best; or how it failed.
        same_as: The key of the variant that is the same program, or None.
        time_ns: Its times, or None where it was not timed; of one stopped early those of its only run.
        gflops: 10^9 floating-point operations a second, or None if they are not counted.
        max_abs_error: The largest difference from the reference, or None where it did not run, or where
            only one of both is finite.
        hot_loops: What bounds its loops, or None if that was not looked for.
        environment: Hash of machine, toolchain and pipeline; times of different ones do not mix.
    """

    schema: Literal["lhkit.sweep/1"]
    key: str
    knobs: tuple[tuple[str, KnobValue], ...]
    status: SweepStatus
    message: str | None
    same_as: str | None
    time_ns: SweepTime | None
    compile_ns: _Natural | None
    gflops: _Positive | None
    max_abs_error: _Positive | None
    hot_loops: Mapping[str, Any] | None
    ir_sha256: str | None
    environment: str
    started: str

    @property
    def values(self) -> dict[str, KnobValue]:
        """The value of every knob, by name."""
        return dict(self.knobs)


SweepEnd = Literal["finished", "stopped", "out of time"]


@dataclass(frozen=True, slots=True)
class SweepResult(Printable):
    """The result of a sweep, as a value.

    Attributes:
        payloads: What the payloads are called.
        schedule: The schedule, its knobs as they were given.
        axes: The knobs that were swept and their values; a payload axis is among them.
        records: Of the variants asked for, in that order.
        best: The best variant, or None.
        known: How many of the variants were in the store before.
        end: How it ended, or None while it runs.
        spent_ns: Time by what it was spent on: ``prepare``, then ``apply``, ``compile``, ``verify`` and
            ``time`` of variants, ``engine`` for everything beside them, and ``confirm``.
        store: The file of the records.
        confirmations: What the best few were found to be when they were timed again, by payload; of a single
            one by ``""``.
        unconfirmed: Why they could not be timed again, or None.
        signatures: What each payload takes, as (payload, types of its arguments).
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
        from lhkit.sweeps.sweep_summary import knobs_without_effect

        return knobs_without_effect(self)

    @public
    def knob_importance(self) -> KnobImportance:
        """Return how much of the variance of the times each knob explains, the most important first."""
        from lhkit.sweeps.sweep_summary import knob_importance

        return knob_importance(self.records)

    @public
    def best_schedule(self) -> str:
        """Return the schedule of the best variant for other programs: MLIR text with the knobs folded in.

        Raises:
            UsageError: No variant is ok, or something prevents the export.
        """
        if self.best is None:
            raise usage_error("the sweep has no best variant", "No variant is ok; look at its failures.")
        names = {knob.name for knob in self.schedule.knobs}
        return self.schedule.with_knobs({n: v for n, v in self.best.knobs if n in names}).portable_text()

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `to_frame` as CSV, or as Parquet if the name ends in ``.parquet``; return the path.

        Raises:
            UsageError: A name that ends otherwise, no pyarrow for Parquet, or a file that cannot be written.
        """
        from lhkit.sweeps.sweep_files import save_frame

        return save_frame(self.to_frame(), path)

    @public
    def choices(self) -> tuple[Choice, ...]:
        """Return the choices of knobs that were timed on every payload, the least mean regret first.

        Raises:
            UsageError: There were not several payloads, or no choice was timed on all of them.
        """
        from lhkit.sweeps.sweep_summary import rank_choices

        return rank_choices(self.records)

    @public
    def by_payload(self) -> pd.DataFrame:
        """Return a table with one row per payload: its best knobs, and the regret of one choice for all.

        The one choice is the first of `choices`; its regret is how much longer it takes than the best (0.1 is
        10 %). ``confirmed`` says whether the knobs won when they were timed again.

        Raises:
            UsageError: There were not several payloads, or no variant was timed.
        """
        import pandas as pd

        from lhkit.sweeps.sweep_summary import payload_rows

        return pd.DataFrame(payload_rows(self))

    @public
    def save_by_payload(self, path: str | os.PathLike[str]) -> Path:
        """Write the table of `by_payload` for other programs and return its path: CSV, or JSON by its name.

        Raises:
            UsageError: As for `by_payload`; a name that ends otherwise, or a file that cannot be written.
        """
        from lhkit.sweeps.sweep_files import save_by_payload

        return save_by_payload(self, path)

    @public
    def to_frame(self) -> pd.DataFrame:
        """Return one row per variant: its knobs, status, times, and the other fields of its record."""
        from lhkit.sweeps.sweep_files import frame_of_records

        return frame_of_records(self.records)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.sweeps.sweep_table import sweep_result_bundle

        return sweep_result_bundle(self)


def record_to_json(record: SweepRecord) -> dict[str, Any]:
    """Return a record as JSON can hold it."""
    time = record.time_ns
    data = {name: getattr(record, name) for name in _FIELDS}
    return {**data, "knobs": dict(record.knobs), "time_ns": None if time is None else dataclasses.asdict(time)}


def record_to_line(record: SweepRecord) -> str:
    """Return a record as a line of a store, without the line break."""
    return json.dumps(record_to_json(record), allow_nan=False)


def record_from_json(data: Any) -> SweepRecord:
    """Return the record that a line holds, decoded; a `ValueError` names the field that does not fit."""
    if not isinstance(data, dict) or data.keys() != _NAMES:
        raise ValueError(f"it is not a record of {SCHEMA}")
    knobs, time, status = data["knobs"], data["time_ns"], data["status"]
    if not isinstance(knobs, dict):
        raise ValueError(f"knobs is {knobs!r}")
    if isinstance(time, dict) and time.keys() != _TIME_NAMES:
        raise ValueError(f"time_ns is {time!r}")
    try:
        record = msgspec.convert({**data, "knobs": tuple(knobs.items())}, SweepRecord)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if (data["same_as"] is None) == (status == "same-as"):
        raise ValueError(f"same_as is {data['same_as']!r} where the status is {status!r}")
    return record


def originals(records: Iterable[SweepRecord]) -> dict[str, SweepRecord]:
    """Return for each key the record that was tried: itself, or the one that is the same program."""
    by_key = {r.key: r for r in records}
    return {key: by_key.get(r.same_as or key, r) for key, r in by_key.items()}


def timed_records(records: Iterable[SweepRecord]) -> list[tuple[SweepTime, SweepRecord]]:
    """Return the records that are ``ok`` with their times, the fastest first."""
    timed = [(r.time_ns, r) for r in records if r.status == "ok" and r.time_ns is not None]
    return sorted(timed, key=lambda pair: pair[0].median)


def best_of(records: Iterable[SweepRecord]) -> SweepRecord | None:
    """Return the fastest of the records that are ``ok``, or None."""
    return next((record for _, record in timed_records(records)), None)


_FIELDS = tuple(SweepRecord.__dataclass_fields__)
_NAMES, _TIME_NAMES = frozenset(_FIELDS), frozenset(SweepTime.__dataclass_fields__)


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
            outliers cannot rule; knobs that were not varied independently then share what they explain.
        interactions: What no knob explains alone; None for ranks, whose shares need not add up.
    """

    knobs: tuple[Importance, ...]
    method: ImportanceMethod
    interactions: float | None
    variants: int
