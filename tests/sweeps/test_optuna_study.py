"""Sweeps as studies of Optuna."""

import dataclasses

import pytest

from lhkit.model.errors import UsageError
from lhkit.sweeps.sweep_files import check_table, save_records
from tests.sweep_records import grid, record

optuna = pytest.importorskip("optuna")


def test_a_study_holds_every_variant_with_its_outcome(tmp_path):
    records = grid(lambda m, n: "crashed" if m == 8 else 1000 * m + n, m=(2, 4, 8), n=(16, 32))
    early = record({"m": 16, "n": 16}, 90_000, status="stopped-early", number=50)
    same = record({"m": 16, "n": 32}, status="same-as", same_as=records[0].key, number=51)
    path = save_records([*records, early, same], tmp_path / "tiles.db")
    study = optuna.load_study(study_name="tiles", storage=f"sqlite:///{path}")
    assert study.best_params == {"m": 2, "n": 16}
    assert study.best_value == 2016
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE"] * 4 + ["FAIL"] * 2 + ["PRUNED", "COMPLETE"]
    assert study.trials[4].user_attrs["status"] == "crashed"
    assert study.trials[6].user_attrs["short_ns"] == 90_000
    assert study.trials[7].value == 2016
    assert [p.name for p in tmp_path.iterdir()] == ["tiles.db"]


def test_a_study_replaces_an_older_one(tmp_path):
    path = tmp_path / "tiles.db"
    for ns in (1000, 2000):
        save_records(grid(lambda m, ns=ns: ns * m, m=(1, 2)), path)
    study = optuna.load_study(study_name="tiles", storage=f"sqlite:///{path}")
    assert [trial.value for trial in study.trials] == [2000, 4000]


def test_what_cannot_be_written_is_named(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="there is no folder"):
        save_records(grid(lambda m: m, m=(1, 2)), tmp_path / "none" / "tiles.db")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs Optuna") as caught:
        check_table("tiles.db")
    assert "lhkit[optuna]" in caught.value.failure.advice


def test_knobs_may_be_texts_and_truths(tmp_path):
    knobs = ({"order": "mnk", "pack": True}, {"order": "nmk", "pack": False})
    records = [dataclasses.replace(record(k, 10 + i, number=i)) for i, k in enumerate(knobs)]
    path = save_records(records, tmp_path / "a.db")
    study = optuna.load_study(study_name="a", storage=f"sqlite:///{path}")
    assert [trial.params for trial in study.trials] == list(knobs)
