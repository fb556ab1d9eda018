"""``lhkit.bench/1``: serialization of a comparison as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import Failure, UsageError, usage_error
from lhkit.model.file_io import parse_json, read_text
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import CacheState, Comparison, CoreLimits, Measurement, TimedBy, Verification
from lhkit.model.sample_statistics import PERCENTILES, Summary, judge_run, rank_entries, summarize

SCHEMA: Literal["lhkit.bench/1"] = "lhkit.bench/1"
# Fields that have one name in the file and in the values.
_OF_FILE = ("payload", "seed", "rounds", "core", "element_type", "limits")
_OF_RUN = ("payload_sha256", "cache", "alignment_bytes", "flops", "bytes", "anchor")
_OF_ENTRY = (
    *("name", "schedule_sha256", "samples_ns", "calls", "timed_by", "is_stable", "compile_ns"),
    "disturbed_rounds",
)


@dataclass(frozen=True, slots=True)
class BenchEntry:
    """An entry as the file holds it; ``schemas/bench-1.json`` says what each field is."""

    name: str
    payload_sha256: str
    schedule_sha256: str | None
    knobs: Mapping[str, KnobValue]
    environment: str
    samples_ns: tuple[tuple[int, float], ...]
    calls: int
    timed_by: TimedBy
    is_stable: bool
    median_ns: int
    mad_ns: int
    percentiles_ns: Mapping[str, float]
    compile_ns: int | None
    verify: Verification | None
    cache: CacheState
    alignment_bytes: int
    flops: int | None
    bytes: int | None
    rank: int
    anchor: str
    ratio_to_anchor: tuple[float, float, float]
    disturbed_rounds: tuple[int, ...] = ()  # older files have none


@dataclass(frozen=True, slots=True)
class BenchFile:
    """A file; ``failure`` says why there are no entries."""

    schema: Literal["lhkit.bench/1"]
    payload: str
    seed: int
    rounds: int
    core: int | None
    element_type: str | None
    environments: Mapping[str, Mapping[str, str]]
    limits: CoreLimits | None
    noise: str | None
    failure: Failure | None
    entries: tuple[BenchEntry, ...]


def bench_to_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON can hold it."""
    places = {r.name: r.place for r in rank_entries(comparison)}
    entries = [
        _entry(comparison, m, s, places[m.name])
        for m, s in zip(comparison.measurements, summarize(comparison), strict=True)
    ]
    file = BenchFile(
        **fields_of(comparison, _OF_FILE),
        schema=SCHEMA,
        environments={comparison.environment_sha256: dict(comparison.environment)},
        noise=judge_run(comparison).text,
        failure=None,
        entries=tuple(entries),
    )
    return _with_finite_errors(to_json(file))


def failed_bench_to_json(payload: str, seed: int, failure: Failure) -> dict[str, Any]:
    """Return the file of a benchmark that came to nothing."""
    return dict(to_json(BenchFile(SCHEMA, payload, seed, 0, None, None, {}, None, None, failure, ())))


def _entry(comparison: Comparison, m: Measurement, s: Summary, place: int) -> BenchEntry:
    return BenchEntry(
        **fields_of(m, _OF_ENTRY),
        **fields_of(comparison, _OF_RUN),
        knobs=dict(m.knobs),
        environment=comparison.environment_sha256,
        median_ns=round(s.median_ns),
        mad_ns=round(s.mad_ns),
        percentiles_ns={f"p{p}": v for p, v in zip(PERCENTILES, s.percentiles_ns, strict=True)},
        verify=m.verification,
        rank=place,
        ratio_to_anchor=(s.speed.low, s.speed.middle, s.speed.high),
    )


def fields_of(value: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a value by name."""
    return {name: getattr(value, name) for name in names}


def _with_finite_errors(data: dict[str, Any]) -> dict[str, Any]:
    """Write an infinite error as null: JSON has no infinity."""
    for entry in data["entries"]:
        verdict = entry["verify"]
        if verdict is not None and not math.isfinite(verdict["max_abs_error"]):
            verdict["max_abs_error"] = None
    return data


def bench_from_json(data: Any, source: str) -> Comparison:
    """Return the comparison that a file holds."""
    _check_schema(data, source)
    try:
        file = from_json(BenchFile, _with_infinite_errors(data))
    except (ValueError, TypeError) as error:
        raise _damaged(source, str(error)) from None
    if file.failure is not None:
        raise usage_error(f"{source} holds a failure, not a measurement: {file.failure.message}")
    if not file.entries:
        raise _damaged(source, "it has no entries")
    comparison = _comparison(file, source)
    _check(file, comparison, source)
    return comparison


def _check_schema(data: Any, source: str) -> None:
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith("lhkit.bench/"):
        advice = f"This lhkit reads {SCHEMA}; measure again, or read it with the lhkit that wrote it."
        raise usage_error(f"{source} is of version {schema!r}", advice)
    what = f"it says {schema!r}" if schema is not None else 'it has no "schema"'
    raise usage_error(f"{source} is not a {SCHEMA} file: {what}", "lhkit bench PAYLOAD --json FILE writes one.")


def _with_infinite_errors(data: dict[str, Any]) -> dict[str, Any]:
    """Undo `_with_finite_errors` in a copy, as far as the data has its form."""
    entries = data.get("entries")
    if not isinstance(entries, list):
        return data
    read = []
    for entry in entries:
        verdict = entry.get("verify") if isinstance(entry, dict) else None
        if isinstance(verdict, dict) and verdict.get("max_abs_error", 0) is None:
            entry = {**entry, "verify": {**verdict, "max_abs_error": math.inf}}  # noqa: PLW2901
        read.append(entry)
    return {**data, "entries": read}


def _comparison(file: BenchFile, source: str) -> Comparison:
    first = file.entries[0]
    if first.environment not in file.environments:
        raise _damaged(source, f"environment {first.environment!r} is not among its environments")
    return Comparison(
        **fields_of(file, _OF_FILE),
        **fields_of(first, _OF_RUN),
        measurements=tuple(
            Measurement(**fields_of(e, _OF_ENTRY), knobs=tuple(e.knobs.items()), verification=e.verify)
            for e in file.entries
        ),
        environment=tuple(file.environments[first.environment].items()),
    )


def _check(file: BenchFile, comparison: Comparison, source: str) -> None:
    names = [e.name for e in file.entries]
    if len(set(names)) != len(names):
        raise _damaged(source, "two entries have the same name")
    if comparison.anchor not in names:
        raise _damaged(source, f"its anchor {comparison.anchor!r} is none of its entries")
    if comparison.environment_sha256 != file.entries[0].environment:
        raise _damaged(source, "the hash of its environment is another one")
    anchor_rounds = {number for number, _ in comparison.measurement(comparison.anchor).samples_ns}
    for entry in file.entries:
        if any(value <= 0 or not math.isfinite(value) for _, value in entry.samples_ns):
            raise _damaged(source, f"entry {entry.name!r} has a sample that is not a time")
        if not anchor_rounds & {number for number, _ in entry.samples_ns}:
            raise _damaged(source, f"entry {entry.name!r} shares no round with the anchor")
        for field in ("payload_sha256", "environment", "cache", "alignment_bytes", "anchor", "flops", "bytes"):
            if getattr(entry, field) != getattr(file.entries[0], field):
                what = f"entries {names[0]!r} and {entry.name!r} differ in {field}"
                raise _damaged(source, f"{what}, and results of different runs do not mix")


def _damaged(source: str, what: str) -> UsageError:
    return usage_error(f"{source} is a damaged {SCHEMA} file: {what}")


def load_bench(path: str | os.PathLike[str]) -> Comparison:
    """Return the comparison that ``lhkit bench --json`` wrote."""
    return bench_from_json(read_json(Path(path)), str(path))


def read_json(path: Path) -> Any:
    """Return what a JSON file holds."""
    try:
        text = read_text(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise usage_error(f"{path} is not JSON: it is not text in UTF-8") from None
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise usage_error(f"{path} is not JSON: {place}: {error.msg}") from None
    except ValueError as error:
        raise usage_error(f"{path} is not JSON: {error}") from None
