"""``lhkit.suite/1``: serialization of a run of the suite as JSON; each row holds its ``lhkit.bench/1``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.suite import (
    OURS,
    ChosenSetting,
    LeftOut,
    Limit,
    Missing,
    RivalVersion,
    Shape,
    SuiteResult,
    SuiteRow,
)
from lhkit.bench.bench_file import bench_from_json, bench_to_json, fields_of, read_json
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import UsageError, usage_error

SCHEMA: Literal["lhkit.suite/1"] = "lhkit.suite/1"
# Fields that have one name in the file and in the values.
_OF_FILE = ("threads", "target", "rivals", "missing")
_OF_ROW = ("family", "shape", "schedule", "limit", "left_out", "settings", "threads", "starts")


@dataclass(frozen=True, slots=True)
class RowEntry:
    """A row as the file holds it."""

    family: str
    shape: Shape
    schedule: str
    limit: Limit
    bench: Any
    left_out: tuple[LeftOut, ...]
    settings: tuple[ChosenSetting, ...] = ()
    threads: int = 1
    starts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A file; ``schemas/suite-1.json`` says what each field is."""

    schema: Literal["lhkit.suite/1"]
    quick: bool
    complete: bool
    threads: int
    target: str
    rivals: tuple[RivalVersion, ...]
    missing: tuple[Missing, ...]
    rows: tuple[RowEntry, ...]


def is_suite(data: Any) -> bool:
    """Return whether JSON says that it is a run of the suite, of whatever version."""
    schema = data.get("schema") if isinstance(data, dict) else None
    return isinstance(schema, str) and schema.startswith("lhkit.suite/")


def suite_to_json(result: SuiteResult) -> dict[str, Any]:
    """Return a run of the suite as JSON can hold it."""
    rows = tuple(
        RowEntry(
            **fields_of(row, _OF_ROW),
            bench=None if row.comparison is None else bench_to_json(row.comparison),
        )
        for row in result.rows
    )
    file = SuiteFile(
        schema=SCHEMA,
        quick=result.is_quick,
        complete=result.is_complete,
        **fields_of(result, _OF_FILE),
        rows=rows,
    )
    return dict(to_json(file))


def suite_from_json(data: Any, source: str) -> SuiteResult:
    """Return the run of the suite that a file holds."""
    if not is_suite(data):
        raise usage_error(f"{source} is not a {SCHEMA} file", "lhkit bench --suite --json FILE writes one.")
    if data["schema"] != SCHEMA:
        raise usage_error(
            f"{source} is of version {data['schema']!r}", f"This lhkit reads {SCHEMA}; run the suite again."
        )
    try:
        file = from_json(SuiteFile, data)
    except (ValueError, TypeError) as error:
        raise _damaged(source, str(error)) from None
    names = [(row.family, row.shape) for row in file.rows]
    if len(set(names)) != len(names):
        raise _damaged(source, "two rows are of one family and shape")
    return SuiteResult(
        is_quick=file.quick,
        is_complete=file.complete,
        **fields_of(file, _OF_FILE),
        rows=tuple(_row(entry, source) for entry in file.rows),
    )


def _row(entry: RowEntry, source: str) -> SuiteRow:
    comparison = None if entry.bench is None else bench_from_json(entry.bench, source)
    if comparison is not None and all(m.name != OURS for m in comparison.measurements):
        raise _damaged(source, f"a row of {entry.family} has no entry {OURS!r}")
    return SuiteRow(**fields_of(entry, _OF_ROW), comparison=comparison)


def _damaged(source: str, what: str) -> UsageError:
    return usage_error(f"{source} is a damaged {SCHEMA} file: {what}")


def load_suite(path: str | os.PathLike[str]) -> SuiteResult:
    """Return the run that ``lhkit bench --suite --json`` wrote."""
    return suite_from_json(read_json(Path(path)), str(path))
