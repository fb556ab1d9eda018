"""Runs of several targets: the files in ``data/suite``, how they are named and joined, and shown side by side."""

import dataclasses
import json
import re

import jsonschema
import pytest
from suite_samples import FAMILIES, RESULT, row

from benchmarks.suite import OURS
from benchmarks.suite_collection import (
    FOLDER,
    collection_groups,
    collection_page,
    cpu_of,
    file_name,
    names_of,
    with_other_families,
)
from benchmarks.suite_file import load_suite
from benchmarks.suite_program import suite_text
from benchmarks.suite_table import FOLDER as BENCHMARKS
from benchmarks.suite_table import load_table

FILES = sorted(FOLDER.glob("*.json"))
SCHEMA = json.loads((BENCHMARKS / "suite-1.json").read_text(encoding="utf-8"))
TABLE = {family.name: family for family in load_table().families}
# A path from a root: two folders or more, or a drive.
ABSOLUTE = re.compile(r'[\s"=:(](?:/[\w.-]+){2,}|\b[A-Z]:\\\\')
OTHER = dataclasses.replace(RESULT, target="avx2")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_result_is_complete_and_of_the_shapes_of_its_families(file):
    text = file.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    result = load_suite(file)
    assert result.is_complete and not result.is_quick and file.name == file_name(result)
    families = dict.fromkeys(row.family for row in result.rows)
    expected = [(name, shape) for name in families for shape in TABLE[name].shapes]
    assert [(row.family, row.shape) for row in result.rows] == expected
    for each in result.rows:
        assert each.comparison.measurement(OURS).verification.ok
        family = TABLE[each.family]
        assert not each.left_out or (family.only_by_name and OURS not in {x.name for x in each.left_out})
        has_numpy = each.threads == 1 and family.payload not in ("model", "kernelbench")
        assert each.comparison.anchor == ("NumPy" if has_numpy else OURS)
    assert not ABSOLUTE.search(text)


def test_cpus_of_one_name_have_files_of_their_own():
    comparison = RESULT.rows[0].comparison
    model = (("cpu", "AMD EPYC"), ("cpu model", "family 25, model 1"))
    first = dataclasses.replace(RESULT.rows[0], comparison=dataclasses.replace(comparison, environment=model))
    result = dataclasses.replace(OTHER, rows=(first, *RESULT.rows[1:]))
    assert cpu_of(result) == "AMD EPYC 25/1"
    assert file_name(result) == "amd-epyc-25-1-avx2.json"


def test_there_are_results():
    assert FILES


def test_a_file_is_named_by_cpu_and_target_and_keeps_the_families_that_were_not_measured_again(tmp_path):
    assert file_name(RESULT) == "some-cpu-avx512.json" and file_name(OTHER) == "some-cpu-avx2.json"
    file = tmp_path / "some-cpu-avx512.json"
    alone = dataclasses.replace(RESULT, rows=(row((8, 8), NumPy=100.0, lhkit=10.0),))
    assert with_other_families(alone, file, FAMILIES) == alone
    file.write_text(suite_text(RESULT), encoding="utf-8")
    joined = with_other_families(alone, file, FAMILIES)
    assert joined.rows == (alone.rows[0], RESULT.rows[2])


def test_results_of_two_targets_are_shown_side_by_side():
    assert names_of([RESULT, OTHER]) == ("avx512", "avx2")
    faster = row((8, 8), cpu="Other (R) CPU", NumPy=300.0, lhkit=100.0, torch=150.0)
    elsewhere = dataclasses.replace(OTHER, rows=(faster,))
    names = names_of([RESULT, elsewhere])
    assert names == ("Some CPU, avx512", "Other (R) CPU, avx2")
    products, _ = collection_groups([RESULT, elsewhere], FAMILIES)
    assert [(bar.label, bar.rival) for bar in products.bars] == [
        (names[0], "NumPy"),
        ("", "torch"),
        (names[1], "NumPy"),
        ("", "torch"),
    ]
    page = collection_page([RESULT, elsewhere], FAMILIES)
    assert "Measured on: Some CPU, Other (R) CPU." in page
    assert "| 8x8 | Other (R) CPU, avx2 |" in page and "3.00 (" in page
    goal = "| product | geometric mean: 1.2 of the speed of NumPy, aim 1.5 | 1.41, reaches what it must | not measured |"
    assert goal in page
