"""What `lhkit.passes` writes fits the JSON schema that ships, and what does not fit is refused."""

import copy
import json
from importlib.resources import files

import jsonschema
import pytest

import lhkit
from lhkit.pipelines.print_ir_log import read_log

SCHEMA = json.loads(files("lhkit").joinpath("schemas/passes-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PAYLOAD = """func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0 : i32
}
"""


def written(passes):
    return json.loads(json.dumps(passes.to_json()))


@pytest.mark.parametrize(
    ("pipeline", "status"),
    [("func.func(cse),canonicalize", "ok"), ("func.func(cse,symbol-dce),canonicalize", "failed")],
)
def test_a_pipeline_fits(pipeline, status):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = written(lhkit.passes(PAYLOAD, pipeline))
    VALIDATOR.validate(data)
    assert status in [step["status"] for step in data["steps"]] and (data["failure"] is None) == (
        status == "ok"
    )


def test_a_log_fits():
    dump = "// -----// IR Dump After CSE (cse) //----- //\nmodule {\n}\n"
    data = written(read_log(dump.encode(), "opt.log"))
    VALIDATOR.validate(data)
    assert data["steps"][0]["before"] is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "lhkit.passes/2"), (("texts", 0), 1), (("more",), 1), (("steps", 0, "status"), "good"),
        (("steps", 0, "after"), -1), (("steps", 0, "made"), [["arith.addi"]]), (("steps", 0, "gone"), [["a", 0]]),
        (("failure",), {"kind": "usage"}), (("steps", 0, "more"), 1),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(path, value):
    data = copy.deepcopy(written(lhkit.passes(PAYLOAD, "func.func(cse)")))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)
