"""The results of the suite that come with lhkit: complete, of the table's shapes, and of no machine's folders."""

import json
import re

import jsonschema
import pytest

from benchmarks.suite import OURS
from benchmarks.suite_file import load_suite
from benchmarks.suite_table import FOLDER, load_table

FILES = sorted((FOLDER / "accepted").glob("*.json"))
SCHEMA = json.loads((FOLDER / "suite-1.json").read_text(encoding="utf-8"))
FAMILIES = {family.name: family for family in load_table().families}
# A path from a root: two folders or more, or a drive.
ABSOLUTE = re.compile(r'[\s"=:(](?:/[\w.-]+){2,}|\b[A-Z]:\\\\')


def test_there_are_results():
    assert FILES and {file.stem for file in FILES} <= set(FAMILIES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_result_is_complete_and_of_the_shapes_of_its_family(file):
    text = file.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    result = load_suite(file)
    assert result.is_complete and not result.is_quick
    assert [(row.family, row.shape) for row in result.rows] == [
        (file.stem, s) for s in FAMILIES[file.stem].shapes
    ]
    for row in result.rows:
        assert row.comparison.measurement(OURS).verification.ok
        assert row.comparison.anchor == "NumPy" and not row.left_out
    assert not ABSOLUTE.search(text)
