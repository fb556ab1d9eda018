"""``lhkit check``: what it prints, writes and exits with."""

import json
from importlib.resources import files

import jsonschema
import pytest

SCHEMA = json.loads(files("lhkit").joinpath("schemas/check-1.json").read_text(encoding="utf-8"))
HEAD = "module attributes {transform.with_named_sequence} {\n  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {\n"
MATCH = '    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op\n'
TILE = "    %t, %l = transform.structured.tile_using_for %m tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)\n"
UNROLL = "    transform.loop.unroll %l {factor = 2} : !transform.any_op\n"
PRODUCER = "    %s = transform.get_producer_of_operand %t[0] : (!transform.any_op) -> !transform.any_op\n"
END = "    transform.yield\n  }\n}\n"
FILES = {
    "dead.mlir": HEAD + MATCH + TILE + "    transform.structured.vectorize %m : !transform.any_op\n" + END,
    "perhaps.mlir": HEAD
    + MATCH
    + TILE
    + PRODUCER
    + UNROLL
    + '    transform.annotate %s "x" : !transform.any_op\n'
    + END,
    "junk.mlir": "this is not MLIR",
    "wrong.mlir": HEAD
    + "    transform.include @nowhere failures(propagate) (%root) : (!transform.any_op) -> ()\n"
    + END,
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_clean_schedule_prints_only_a_summary(lhkit_here):
    done = lhkit_here("check", "fc_relu_tile_fuse_vectorize.mlir", "--strict")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.endswith(": no use of an invalidated handle (36 uses of handles in 3 sequences)")
    assert done.stderr == ""


def test_an_error_has_its_place_and_cause_and_is_exit_1(folder, lhkit_here):
    done = lhkit_here("check", "dead.mlir", cwd=folder)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr == ""
    assert lines[0] == (
        "dead.mlir:5:5: error: %m is invalidated: transform.structured.tile_using_for at line 4 consumed it"
    )
    assert lines[1] == "     5 |     transform.structured.vectorize %m : !transform.any_op"
    assert lines[2].index("^") == lines[1].index("transform")
    assert lines[3] == "dead.mlir:4:14: note: %m is consumed here"
    assert lines[5].index("^") == lines[4].index("transform")
    assert lines[-1] == "dead.mlir: 1 error (3 uses of handles in 1 sequence)"


def test_a_warning_is_exit_0_and_with_strict_1(folder, lhkit_here):
    lenient = lhkit_here("check", "perhaps.mlir", cwd=folder)
    strict = lhkit_here("check", "perhaps.mlir", "--strict", cwd=folder)
    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert lenient.stdout == strict.stdout
    assert (
        "perhaps.mlir:7:5: warning: %s may be invalidated: transform.loop.unroll at line 6 consumed %l"
        in lenient.stdout
    )


def test_json_says_the_same(folder, lhkit_here):
    done = lhkit_here("check", "dead.mlir", "--json", "-", cwd=folder)
    data = json.loads(done.stdout)
    jsonschema.validate(data, SCHEMA)
    assert done.returncode == 1 and "dead.mlir:5:5: error: %m is invalidated" in done.stderr
    (finding,) = data["findings"]
    assert finding == {
        "severity": "error",
        "handle": "%m",
        "line": 5,
        "column": 5,
        "op": "transform.structured.vectorize",
        "cause": "direct",
        "invalidated_at": {"line": 4, "column": 14, "op": "transform.structured.tile_using_for"},
        "message": "%m is invalidated: transform.structured.tile_using_for at line 4 consumed it",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "message"),
    [
        (["missing.mlir"], 2, "usage", "no such file"),
        (["junk.mlir"], 2, "schedule-parse", "junk.mlir:1:1"),
        (["dead.mlir", "--entry", "other"], 2, "usage", "no named sequence @other"),
        (["dead.mlir", "--set", "tile=4"], 2, "usage", "no knob 'tile'"),
        (["dead.mlir", "--bind", "linalg.add"], 2, "usage", "takes 0 arguments after the root"),
        (["wrong.mlir"], 1, "schedule-verify", "wrong.mlir:3:5"),
    ],
)
def test_what_cannot_be_checked_has_its_code_and_its_json(arguments, code, kind, message, folder, lhkit_here):
    done = lhkit_here("check", *arguments, "--json", "check.json", cwd=folder)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    data = json.loads((folder / "check.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["findings"] == [] and data["failure"]["kind"] == kind
