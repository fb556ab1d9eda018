"""Variants as a sweep found them: one record each, a line of the store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import msgspec

from lhkit.model.knob import KnobValue

SCHEMA: Literal["lhkit.sweep/1"] = "lhkit.sweep/1"
SweepStatus = Literal[
    "ok",
    "same-as",
    "stopped-early",
    "invalid-config",
    "schedule-failed",
    "unmet-expectation",
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


def record_to_json(record: SweepRecord) -> dict[str, Any]:
    """Return a record as JSON can hold it."""
    time = record.time_ns
    data = {name: getattr(record, name) for name in _FIELDS}
    return {**data, "knobs": dict(record.knobs), "time_ns": None if time is None else dataclasses.asdict(time)}


def record_to_line(record: SweepRecord) -> str:
    """Return a record as a line of a store, without the line break."""
    return _ENCODER.encode(record_to_json(record))


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


_ENCODER = json.JSONEncoder(allow_nan=False)
_FIELDS = tuple(SweepRecord.__dataclass_fields__)
_NAMES, _TIME_NAMES = frozenset(_FIELDS), frozenset(SweepTime.__dataclass_fields__)
