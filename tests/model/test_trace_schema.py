"""Real traces fit the JSON schema that ships, and what does not fit is refused."""

import copy
import json
from importlib.resources import files

import jsonschema
import pytest

import lhkit
from lhkit.model.errors import FAILURE_KINDS, UsageError
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.record.trace_run import trace_schedule

SCHEMA = json.loads(files("lhkit").joinpath("schemas/trace-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
BROKEN = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %r = transform.get_result %m[0] : (!transform.any_op) -> !transform.any_value
    %n = transform.num_associations %m : (!transform.any_op) -> !transform.param<i64>
    %t, %l = transform.structured.tile_using_for %m tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %m : !transform.any_op
    transform.yield
  }
}"""


@pytest.fixture(scope="module", params=["fc_relu_handles", "matmul_tile_fuse_vectorize", BROKEN])
def trace(request, worker):
    payload = "fc_relu" if request.param == "fc_relu_handles" else "matmul"
    schedule = lhkit.load_schedule(request.param, worker=worker)
    return trace_schedule(lhkit.load_payload(payload, worker=worker), schedule, worker=worker)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    kinds = SCHEMA["properties"]["outcome"]["properties"]["kind"]["anyOf"][0]["enum"]
    assert set(kinds) == set(FAILURE_KINDS) - {"lowering", "wrong-result", "unmet-expectation"}


def test_a_trace_fits_and_comes_back_the_same(trace):
    data = json.loads(json.dumps(trace_to_json(trace)))
    VALIDATOR.validate(data)
    assert trace_from_json(data) == trace
    assert len(data["steps"]) >= 5 and data["handles"] and data["ops"] and data["snapshots"]


def test_expectations_that_are_not_met_fit_too(worker):
    schedule = lhkit.load_schedule("fc_relu_handles", worker=worker)
    said = lhkit.load_schedule(f"// lhkit: expect none func.func\n{schedule.text}", worker=worker)
    trace = trace_schedule(lhkit.load_payload("fc_relu", worker=worker), said, worker=worker)
    data = json.loads(json.dumps(trace_to_json(trace)))
    VALIDATOR.validate(data)
    assert len(data["unmet"]) == 1 and trace_from_json(data) == trace


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "lhkit.trace/2"),
        (("outcome", "status"), "fine"),
        (("outcome", "kind"), "lowering"),
        (("steps", 0, "status"), "done"),
        (("steps", 0, "index"), -1),
        (("steps", 0, "operands"), [{"handle": "h0", "effect": "write"}]),
        (("steps", 0, "changes"), [{"handle": "h0", "state": "live", "payload": [{"op": "o1"}]}]),
        (("steps", 0, "extra"), 1),
        (("snapshots", 0), {"step": 0, "base": -1, "edits": [[1, 2]]}),
        (("elided",), [{"parent": 0, "iterations": [1]}]),
    ],
)
def test_what_does_not_fit_is_refused(path, value, trace):
    data = copy.deepcopy(trace_to_json(trace))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)


def test_a_saved_trace_is_loaded_the_same(trace, tmp_path):
    path = trace.save(tmp_path / "trace.json")
    loaded = lhkit.load_trace(path)
    assert loaded == trace and loaded.provenance is None
    VALIDATOR.validate(json.loads(path.read_text()))


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema": "lhkit.sweep/1"}', b"\xff", b"[" * 5000])
def test_what_is_no_trace_is_refused(tmp_path, content):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"t\.json is not a saved trace"):
        lhkit.load_trace(tmp_path / "t.json")
    with pytest.raises(UsageError, match="cannot be read"):
        lhkit.load_trace(tmp_path / "none.json")
