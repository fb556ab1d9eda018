"""Sweeps as studies of Optuna: a SQLite file that ``optuna-dashboard`` and Optuna's plots open."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lhkit.model.errors import usage_error
from lhkit.sweeps.sweep_summary import knob_values
from lhkit.sweeps.variant_record import SweepRecord, originals

STUDY_SUFFIX = ".db"
_ATTRIBUTES = ("status", "message", "gflops", "compile_ns", "max_abs_error", "started", "environment", "key")


def save_study(records: Sequence[SweepRecord], path: Path) -> Path:
    """Write a study named after the file, a trial per variant; its value is the median time in ns.

    A variant that is the same program as another one has its time. One that was stopped early is pruned, with
    the time of its only run as ``short_ns``; one that failed has failed: ``status`` and ``message`` say how.
    """
    import optuna

    tried, values = originals(records), knob_values(records)
    made = optuna.distributions
    distributions = {name: made.CategoricalDistribution(own) for name, own in values.items()}
    trials = [_trial(optuna, record, tried[record.key], distributions) for record in records]
    if not path.parent.is_dir():
        raise usage_error(f"{path} cannot be written: there is no folder {path.parent}")
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    Path(beside).unlink()  # a database is begun in a file that is not there
    said = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            storage = optuna.storages.RDBStorage(f"sqlite:///{beside}")
            study = optuna.create_study(storage=storage, study_name=path.stem, direction="minimize")
            study.add_trials(trials)
            storage.engine.dispose()
        Path(beside).replace(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        optuna.logging.set_verbosity(said)
        with contextlib.suppress(FileNotFoundError):
            Path(beside).unlink()
    return path


def _trial(optuna: Any, record: SweepRecord, tried: SweepRecord, distributions: dict[str, Any]) -> Any:
    states = optuna.trial.TrialState
    time = tried.time_ns
    is_ok = tried.status == "ok" and time is not None
    attributes = {name: getattr(record, name) for name in _ATTRIBUTES if getattr(record, name) is not None}
    if time is not None and not is_ok:
        attributes["short_ns"] = time.median
    return optuna.trial.create_trial(
        state=states.COMPLETE if is_ok else states.PRUNED if tried.status == "stopped-early" else states.FAIL,
        value=float(time.median) if is_ok and time is not None else None,
        params=record.values,
        distributions={name: distributions[name] for name in record.values},
        user_attrs=attributes,
    )
