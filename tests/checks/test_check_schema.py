"""Reports of the static check fit the JSON schema that ships, and what does not fit is refused."""

import copy
import json
from importlib.resources import files

import jsonschema
import pytest

from lhkit.checks.schedule_check import check_bundle
from lhkit.model.check_report import CheckReport, Finding, OpPlace, check_to_json
from lhkit.model.span import Span

SCHEMA = json.loads(files("lhkit").joinpath("schemas/check-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
USE = OpPlace("transform.annotate", Span("a.mlir", 7, 5))
DEATH = OpPlace("transform.loop.unroll", Span("library.mlir", 3, 5))
FINDING = Finding("warning", "%t", USE, "nested", "%l", DEATH, "%t may be invalidated")
REPORT = CheckReport("a.mlir", "0" * 64, (FINDING,), 1, 2)


def test_a_report_fits():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = json.loads(json.dumps(check_to_json(REPORT)))
    VALIDATOR.validate(data)
    assert "file" not in data["findings"][0]
    assert data["findings"][0]["invalidated_at"] == {
        "file": "library.mlir",
        "line": 3,
        "column": 5,
        "op": "transform.loop.unroll",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "lhkit.check/2"),
        (("schedule", "sha256"), "short"),
        (("findings", 0, "severity"), "note"),
        (("findings", 0, "cause"), "cast"),
        (("findings", 0, "line"), 0),
        (("findings", 0, "handle"), "t"),
        (("findings", 0, "invalidated_at"), {"line": 1}),
        (("findings", 0, "more"), 1),
    ],
)
def test_what_does_not_fit_is_refused(path, value):
    data = copy.deepcopy(check_to_json(REPORT))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)


def test_a_report_tells_errors_from_warnings_and_shows_itself():
    assert REPORT.errors == () and REPORT.warnings == (FINDING,)
    shown = check_bundle(REPORT)["text/plain"]
    assert "a.mlir:7:5: warning: %t may be invalidated" in shown and "a.mlir: 1 warning" in shown
