"""The suite: its file, its ratios, its goals, and two runs against each other."""

import copy
import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
from suite_samples import CRASHED, FAMILIES, RESULT, row

import lhkit
from benchmarks.suite import Goal, LeftOut, shape_text
from benchmarks.suite_file import suite_from_json, suite_to_json
from benchmarks.suite_results import (
    compare_suites,
    family_means,
    goal_text,
    judge_goals,
    pooled_rows,
    rival_ratios,
    share_of_limit,
)
from benchmarks.suite_table import FOLDER
from lhkit.model.errors import UsageError

FILES = FOLDER / "suite-1.json", Path(lhkit.__file__).parent / "schemas" / "bench-1.json"
SCHEMA, BENCH = (json.loads(file.read_text(encoding="utf-8")) for file in FILES)


def written(result=RESULT):
    return json.loads(json.dumps(suite_to_json(result), allow_nan=False))


def test_a_file_fits_its_schemas_and_reads_back_the_same():
    data = written()
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    for each in data["rows"]:
        jsonschema.Draft202012Validator(BENCH).validate(each["bench"])
    assert suite_from_json(data, "f.json") == RESULT


def test_a_row_that_came_to_nothing_reads_back_too():
    result = dataclasses.replace(RESULT, rows=(row((8, 8), left_out=(CRASHED,)),), is_complete=False)
    data = written(result)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert suite_from_json(data, "f.json") == result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="lhkit.suite/2"), "of version 'lhkit.suite/2'"),
        (lambda d: d.update(schema="lhkit.bench/1"), "is not a lhkit.suite/1 file"),
        (lambda d: d.update(more=1), "unknown field 'more'"),
        (lambda d: d["rows"].append(d["rows"][0]), "two rows are of one family and shape"),
        (lambda d: d["rows"][0]["bench"].update(seed="x"), "seed"),
        (lambda d: d["rows"][0]["bench"]["entries"].pop(1), "has no entry 'lhkit'"),
        (lambda d: d["rows"][0]["left_out"].append({"name": "x", "kind": "bad", "message": ""}), "kind"),
    ],
)
def test_a_damaged_file_is_refused(change, message):
    data = copy.deepcopy(written())
    change(data)
    with pytest.raises(UsageError, match=message):
        suite_from_json(data, "f.json")


def test_ratios_are_of_the_same_rounds_and_shares_of_the_limit_that_counts():
    first, second, third = RESULT.rows
    assert {r.rival: round(r.speed.middle, 6) for r in rival_ratios(first)} == {"NumPy": 1.0, "torch": 2.0}
    assert [r.rival for r in rival_ratios(second)] == ["NumPy"]
    assert share_of_limit(first) == pytest.approx(0.8, rel=0.01)
    assert share_of_limit(third) == pytest.approx(0.4, rel=0.01)
    assert share_of_limit(second, "torch") is None
    assert share_of_limit(row((8, 8))) is None and rival_ratios(row((8, 8))) == ()


def test_processes_are_pooled_and_differ_more_than_their_rounds_do():
    first, again = (row((8, 8), NumPy=100.0, lhkit=ours) for ours in (100.0, 80.0))
    pooled = pooled_rows(pooled_rows(None, first), again)
    assert pooled.starts == (0, 8) and pooled.comparison.rounds == 16
    assert [n for n, _ in pooled.comparison.measurement("lhkit").samples_ns] == list(range(16))
    (ratio,) = rival_ratios(pooled)
    assert ratio.speed.middle == pytest.approx(1.125) and ratio.speed.low < 0.5 and ratio.speed.high > 2
    assert rival_ratios(first)[0].speed.high == pytest.approx(1.0)
    assert suite_from_json(written(dataclasses.replace(RESULT, rows=(pooled,))), "f.json").rows == (pooled,)


def test_a_row_that_fails_once_keeps_its_times_unless_it_is_wrong():
    measured = row((8, 8), NumPy=100.0, lhkit=100.0, torch=50.0)
    late = pooled_rows(measured, row((8, 8), NumPy=100.0, lhkit=100.0, left_out=[CRASHED]))
    assert late.left_out == (CRASHED,) and {r.rival for r in rival_ratios(late)} == {"NumPy", "torch"}
    crashed, wrong = (row((8, 8), left_out=[LeftOut("lhkit", k, "no")]) for k in ("crash", "wrong-result"))
    assert pooled_rows(measured, crashed).comparison == measured.comparison
    assert pooled_rows(crashed, measured).left_out == crashed.left_out
    assert pooled_rows(measured, wrong).comparison is None and pooled_rows(wrong, measured).comparison is None


def test_threads_share_the_limit_of_as_many_cores():
    assert share_of_limit(row((8, 8), threads=2, NumPy=100.0, lhkit=100.0)) == pytest.approx(0.4, rel=0.01)


def test_goals_are_of_their_target_and_against_the_fastest_of_a_name():
    found = row((8, 8), **{"NumPy": 300.0, "lhkit": 100.0, "NumPy, out=": 90.0, "NumPyro": 1.0})
    goals = (Goal("each", 1.0, 1.5, "NumPy"), Goal("each", 0, 1.0, "NumPy"), Goal("each", 5, 9, target="neon"))
    family = dataclasses.replace(FAMILIES[0], shapes=((8, 8),), goals=goals)
    judged = judge_goals(dataclasses.replace(RESULT, rows=(found,)), [family])
    assert [(round(j.value, 6), j.verdict) for j in judged] == [(0.9, "MISSES"), (0.9, "below the aim")]
    assert goal_text(goals[1]) == "each shape: aim 1 of the speed of NumPy"


@pytest.mark.parametrize(("value", "judged"), [(0, 0), (1, 1)])
def test_goals_about_instructions_are_for_cpus_that_have_them(value, judged):
    found = row((8, 8), NumPy=300.0, lhkit=100.0)
    numpy, ours = found.comparison.measurements
    ours = dataclasses.replace(ours, knobs=(("bf16_dots", value),))
    comparison = dataclasses.replace(found.comparison, measurements=(numpy, ours))
    found = dataclasses.replace(found, comparison=comparison)
    family = dataclasses.replace(
        FAMILIES[0], shapes=((8, 8),), goals=(Goal("each", 1.0, 1.5, "NumPy", knob="bf16_dots"),)
    )
    assert len(judge_goals(dataclasses.replace(RESULT, rows=(found,)), [family])) == judged


def test_means_are_geometric_and_say_how_many_shapes():
    numpy, torch = family_means(RESULT.rows[:2])
    assert (round(numpy.mean, 6), numpy.low, numpy.high, numpy.shapes) == (1.414214, 1.0, 2.0, 2)
    assert (torch.rival, round(torch.mean, 6), torch.shapes) == ("torch", 2.0, 1)


def test_goals_are_judged_by_what_was_measured():
    judged = judge_goals(RESULT, FAMILIES)
    assert [j.verdict for j in judged] == [
        "reaches what it must",
        "MISSES",
        "reaches the aim",
        "reaches what it must",
        "not measured",
    ]
    assert judged[0].value == pytest.approx(2**0.5) and judged[1].value == pytest.approx(1.0)
    assert [goal_text(j.goal) for j in judged][:3] == [
        "geometric mean: 1.2 of the speed of NumPy, aim 1.5",
        "each shape: 1.2 of the speed of NumPy, aim 1.5",
        "16x16: 1.2 of the speed of NumPy, aim 1.9",
    ]
    assert goal_text(judged[3].goal) == "each shape: 0.5 of the limit, aim 0.9"
    assert judged[-1].value is None, "torch is not in the second shape"


def test_two_runs_are_compared_row_by_row_relative_to_numpy():
    # The clock is twice as slow, and the first kernel is 20 % faster than before.
    slower = {"NumPy": 200.0, "lhkit": 200 / 1.2}
    after = dataclasses.replace(
        RESULT,
        rows=(
            row((8, 8), **slower),
            row((16, 16), NumPy=400.0, lhkit=200.0, payload="c"),
            row((9, 9), NumPy=1.0, lhkit=1.0),
        ),
    )
    found = compare_suites(RESULT, after)
    assert [(r.name, round(r.speed.middle, 6), r.verdict) for r in found.ratios] == [
        ("product 8x8", 1.2, "faster")
    ]
    assert (found.only_first, found.only_second) == (("rows 4x2x3",), ("product 9x9",))
    assert found.not_compared[0][0] == "product 16x16" and "different payloads" in found.not_compared[0][1]


def test_runs_that_cannot_be_compared_are_refused():
    other = dataclasses.replace(RESULT, rows=(row((8, 8), cpu="Another", NumPy=1.0, lhkit=1.0),))
    with pytest.raises(UsageError, match="different CPUs"):
        compare_suites(RESULT, other)
    assert compare_suites(RESULT, other, across_environments=True).differences == (
        ("cpu", "Some CPU", "Another"),
    )
    with pytest.raises(UsageError, match="no row in common"):
        compare_suites(RESULT, dataclasses.replace(RESULT, rows=()))


def test_a_shape_is_shown_flat():
    assert shape_text((256, (512, 64))) == "256x512x64"
    assert shape_text(("mk,k->m", 40, 72)) == "mk,k->m 40x72"
    assert shape_text((8, 9, "bfloat16")) == "bfloat16 8x9"
