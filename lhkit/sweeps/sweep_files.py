"""Stores of sweeps on disk: default path, export as tables, comparison of two stores by knobs."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from lhkit.bench.run_comparison import RunComparison, RunRatio, compare_entries
from lhkit.model.errors import usage_error
from lhkit.model.file_io import open_input, parse_json, read_bytes
from lhkit.model.measurement import Interval
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.optuna_study import STUDY_SUFFIX, save_study
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.sweep_task import schedule_facts, sha256_of
from lhkit.sweeps.variant_record import SCHEMA, SweepRecord, SweepTime, originals, record_from_json
from lhkit.worker.folders import state_folder

if TYPE_CHECKING:
    import pandas as pd


# Columns of a frame: times, and what a record says itself where it is the same program as another.
_TIMES = {"median_ns": "median", "min_ns": "min", "mad_ns": "mad", "runs": "runs"}
_RECORDED = ("message", "same_as", "ir_sha256", "environment", "started", "key")


def frame_of_records(records: Iterable[SweepRecord]) -> pd.DataFrame:
    """Return a row a variant: a column a knob, status, times in ns, and what else a record holds.

    A variant that is the same program as another one has the times of that one.
    """
    import pandas as pd

    records = list(records)
    tried = originals(records)
    rows = []
    for record in records:
        source = tried[record.key]
        row: dict[str, Any] = {**record.values, "status": record.status}
        row |= {column: getattr(source.time_ns, name, None) for column, name in _TIMES.items()}
        row |= {name: getattr(source, name) for name in ("gflops", "compile_ns", "max_abs_error")}
        rows.append(row | {name: getattr(record, name) for name in _RECORDED})
    frame = pd.DataFrame(rows).convert_dtypes()
    # A column without any value is left as it is, and would be written otherwise than what others lack.
    return frame.astype({name: "string" for name in frame if frame[name].isna().all()})


# The first record says what it is within so many bytes.
_LOOKED_AT = 200

PathLike = str | os.PathLike[str]


def default_store(payloads: Mapping[str, Payload], schedule: Schedule) -> Path:
    """Return where the records of a sweep go if no store is named: always the same file for the same sweep."""
    decides = {"payloads": [p.sha256 for p in payloads.values()], "schedule": schedule_facts(schedule)}
    sources = (next(iter(payloads.values())).source, schedule.source)
    names = [re.sub(r"[^\w.-]+", "", PurePath(source).stem)[:40] or "unnamed" for source in sources]
    try:
        folder = state_folder("sweeps")
    except OSError as error:
        raise usage_error(
            f"the store of this sweep cannot be placed at {error.filename}: {error.strerror or error}",
            "Name one (--store FILE, or store=…), or set LHKIT_STATE_DIR to another folder.",
        ) from None
    return folder / f"{'-'.join(names)}-{sha256_of(decides)[:12]}.jsonl"


def store_frame(path: PathLike) -> pd.DataFrame:
    """Return the records of a store as a pandas frame, a row a variant."""
    return frame_of_records(Store(path, read_only=True).records())


def check_table(path: PathLike) -> None:
    """Refuse the name of a table that cannot be written."""
    target = Path(path)
    if target.suffix not in (".csv", ".parquet", STUDY_SUFFIX):
        advice = f"Name it FILE.csv, FILE.parquet or FILE{STUDY_SUFFIX}."
        raise usage_error(f"{target} is not a known kind of table", advice)
    if target.suffix == STUDY_SUFFIX and importlib.util.find_spec("optuna") is None:
        what = "a file for Optuna's dashboard needs Optuna, which is not installed"
        raise usage_error(what, "pip install 'lhkit[optuna]' adds it.")
    if target.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        advice = "pip install pyarrow, or name a file that ends in .csv."
        raise usage_error("Parquet needs pyarrow, which is not installed", advice)


def save_records(records: Sequence[SweepRecord], path: PathLike) -> Path:
    """Write records as a table, or as a study of Optuna, by the end of the name."""
    if Path(path).suffix == STUDY_SUFFIX:
        check_table(path)
        return save_study(records, Path(path))
    return save_frame(frame_of_records(records), path)


def save_frame(frame: pd.DataFrame, path: PathLike) -> Path:
    """Write a frame as CSV, or as Parquet where the name ends in ``.parquet``."""
    check_table(path)
    target = Path(path)
    try:
        if target.suffix == ".csv":
            frame.to_csv(target, index=False)
        else:
            frame.to_parquet(target, index=False)
    except OSError as error:
        raise usage_error(f"{target} cannot be written: {error.strerror or error}") from None
    return target


def is_sweep_file(path: Path) -> bool:
    """Return whether a file begins as a store does, or as what ``lhkit sweep --json`` writes."""
    try:
        with open_input(path) as file:
            start = file.read(_LOOKED_AT)
    except OSError:
        return False
    return f'"{SCHEMA}"'.encode() in start


def load_records(path: PathLike) -> list[SweepRecord]:
    """Return the records of a store, or of what ``lhkit sweep --json`` wrote."""
    content = b""
    with contextlib.suppress(OSError):
        content = read_bytes(path)
    if not content.startswith(b"["):
        return Store(path, read_only=True).records()
    try:
        return [record_from_json(each) for each in parse_json(content)]
    except ValueError as error:
        raise usage_error(f"{path} is a damaged file of records: {error}") from None


# The normal quantile of a 99 % interval, as in `lhkit.bench.run_comparison`.
_DEVIATIONS = 2.58
# The standard error of a median from the median absolute deviation, for normally distributed samples.
_ERROR_OF_MEDIAN = 1.2533 * 1.4826


def compare_sweeps(
    first: Sequence[SweepRecord], second: Sequence[SweepRecord], *, across_environments: bool = False
) -> RunComparison:
    """Return how much faster the variants of a second sweep are than those of a first, fastest first.

    Variants are the same if their knobs are; a sweep has no anchor, so these are raw times.
    """
    environments = [_environment(records, name) for records, name in ((first, "first"), (second, "second"))]
    is_same = environments[0] == environments[1]
    if not is_same and not across_environments:
        raise usage_error(
            "the sweeps are of different machines, toolchains or pipelines: ratios say nothing of the code",
            "To compare them anyway: --across-environments.",
        )
    ours, theirs = _timed(first, "first"), _timed(second, "second")
    if not ours.keys() & theirs.keys():
        raise usage_error("the sweeps have no variant in common that both timed")
    by_speed = dict(sorted(ours.items(), key=lambda item: theirs[item[0]].median if item[0] in theirs else 0))
    differences = () if is_same else (("environment", environments[0], environments[1]),)
    return compare_entries(by_speed, theirs, _ratio, differences=differences)


def _environment(records: Iterable[SweepRecord], name: str) -> str:
    found = sorted({record.environment for record in records})
    if len(found) != 1:
        what = f"the {name} store holds records of {len(found)} environments"
        raise usage_error(what, "Compare stores of one machine and toolchain each.")
    return found[0]


def _timed(records: Sequence[SweepRecord], name: str) -> dict[str, SweepTime]:
    """Return the times of variants, their own or those of the same program, by their sorted knobs."""
    tried = originals(records)
    found: dict[str, SweepTime] = {}
    keys: dict[str, str] = {}
    for record in records:
        knobs = " ".join(f"{knob}={value}" for knob, value in sorted(record.knobs)) or "the only variant"
        if keys.setdefault(knobs, record.key) != record.key:
            what = f"the {name} store holds sweeps of several payloads or schedules"
            raise usage_error(what, "Compare stores of one sweep each.")
        source = tried[record.key]
        if source.status == "ok" and source.time_ns is not None:
            found[knobs] = source.time_ns
    return found


def _ratio(name: str, before: SweepTime, after: SweepTime) -> RunRatio:
    middle = before.median / max(after.median, 1)
    errors = [_ERROR_OF_MEDIAN * t.mad / max(t.median, 1) / math.sqrt(t.runs) for t in (before, after)]
    spread = math.exp(_DEVIATIONS * math.hypot(*errors))
    return RunRatio(name, Interval(middle / spread, middle, middle * spread), (before.median, after.median))
