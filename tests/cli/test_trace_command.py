"""``lhkit trace``: what it prints, writes and exits with."""

import json
from importlib.resources import files

import jsonschema
import pytest

from lhkit.model.trace_json import trace_from_json

SCHEMA = json.loads(files("lhkit").joinpath("schemas/trace-1.json").read_text(encoding="utf-8"))
HEAD = "module attributes {transform.with_named_sequence} {\n  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}ARGS) {\n"
MATCH = '    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op\n'
TILE = "    %t, %l = transform.structured.tile_using_for %m tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)\n"
CRASH = "    %n = transform.param.constant -2 : i64 -> !transform.param<i64>\n    %x, %y = transform.structured.tile_using_forall %m num_threads [%n] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)\n"
END = "    transform.yield\n  }\n}\n"
FILES = {
    "dead.mlir": HEAD.replace("ARGS", "")
    + MATCH
    + TILE
    + "    transform.structured.vectorize %m : !transform.any_op\n"
    + END,
    "crash.mlir": HEAD.replace("ARGS", "") + MATCH + CRASH + END,
    "bound.mlir": HEAD.replace("ARGS", ", %m: !transform.any_op") + TILE + END,
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_trace_is_a_row_a_step_and_a_line_a_death(lhkit_here):
    done = lhkit_here("trace", "fc_relu", "fc_relu_handles.mlir", "--set", "tile=16")
    assert done.returncode == 0, done.stderr
    assert "knobs: tile=16" in done.stdout and "\x1b[" not in done.stdout
    for words in (
        "%relu was invalidated: step 5 consumed it",
        "%elementwise was invalidated: step 5 consumed %relu, and both point to the same linalg.max",
        "%piece was invalidated: step 9 consumed %reduction, and the linalg.matmul that %piece points to lies inside that scf.for",
    ):
        assert words in done.stdout
    assert done.stderr == ""


def test_a_use_after_death_is_exit_1_with_the_place_and_the_cause(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "dead.mlir", cwd=folder)
    assert done.returncode == 1
    assert "✗ FAILED" in done.stdout and "invalidated-handle" in done.stdout
    lines = done.stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("     5 | "))
    assert lines[at + 1].index("^") == lines[at].index("transform.structured.vectorize")
    assert "%m is invalidated: step 1 consumed it\n" in done.stderr


def test_a_crash_is_exit_3_and_its_json_is_whole(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "crash.mlir", "--json", "t.json", cwd=folder)
    assert done.returncode == 3 and "transform.structured.tile_using_forall" in done.stderr
    data = json.loads((folder / "t.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["outcome"]["status"] == "crashed" and data["outcome"]["failed_step"] == 2


def test_json_can_go_to_standard_output(lhkit_here):
    done = lhkit_here("trace", "fc_relu", "fc_relu_handles.mlir", "--json", "-")
    data = json.loads(done.stdout)
    jsonschema.validate(data, SCHEMA)
    assert trace_from_json(data).schedule.entry == "__transform_main"
    assert data["schedule"]["source"].endswith("fc_relu_handles.mlir")


def test_arguments_are_bound(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "bound.mlir", "--bind", "linalg.matmul", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "consumes %m" in done.stdout and "structured.match" not in done.stdout


def test_warnings_are_shown_and_switched_off(folder, lhkit_here):
    (folder / "miss.mlir").write_text(
        HEAD.replace("ARGS", "") + MATCH.replace("matmul", "matmull") + TILE + END
    )
    done = lhkit_here("trace", "matmul", "miss.mlir", cwd=folder)
    assert done.returncode == 0 and "did you mean linalg.matmul (there is 1)?" in done.stdout
    done = lhkit_here("trace", "matmul", "miss.mlir", "--no-warning", "zero-match", cwd=folder)
    assert "zero-match" not in done.stdout and "! no-effect" in done.stdout
    done = lhkit_here("trace", "matmul", "miss.mlir", "--no-warning", "zero", cwd=folder)
    assert done.returncode == 2 and "zero-match" in done.stderr


def test_knobs_are_checked_on_request(lhkit_here):
    done = lhkit_here("trace", "matmul", "matmul_tile.mlir", "--check-knobs")
    assert done.returncode == 0 and "!" not in done.stdout


def test_a_trace_for_others(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "dead.mlir", "--markdown", "-", "--reproducer", "again", cwd=folder)
    assert done.returncode == 1 and done.stdout.startswith(
        "### `dead.mlir` on `matmul.mlir`: invalidated-handle"
    )
    assert (folder / "again" / "README.md").is_file() and "saved again" in done.stderr
    done = lhkit_here("trace", "matmul", "dead.mlir", "--explorer", cwd=folder)
    assert done.returncode == 1 and done.stdout.startswith("https://godbolt.org/clientstate/")
    done = lhkit_here("trace", "op_chain", "op_chain_tile_fuse.mlir", "--explorer", cwd=folder)
    assert done.returncode == 2 and "more than the 8,000 that Compiler Explorer takes" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "message"),
    [
        (["missing.mlir", "fc_relu_handles.mlir"], 2, "usage", "no such file"),
        (["fc_relu", "fc_relu_handles.mlir", "--set", "tile=5"], 2, "usage", "one of 8, 16"),
        (["fc_relu", "bound.mlir"], 2, "usage", "takes 1 arguments after the root"),
        (["junk.mlir", "bound.mlir"], 2, "payload-parse", "junk.mlir:1:1"),
    ],
)
def test_bad_input_has_its_code_and_its_json(arguments, code, kind, message, folder, lhkit_here):
    (folder / "junk.mlir").write_text("this is not MLIR")
    done = lhkit_here("trace", *arguments, "--json", "-", cwd=folder)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    data = json.loads(done.stdout)
    jsonschema.validate(data, SCHEMA)
    assert data["outcome"]["kind"] == kind and data["steps"] == []


def test_a_thousand_ops_are_folded_to_a_screen(lhkit_here):
    done = lhkit_here("trace", "op_chain", "op_chain_tile_fuse.mlir")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) < 60 and "● %named 1000" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 200


def test_a_failure_is_followed_by_repairs_that_were_tried(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "dead.mlir", cwd=folder)
    assert done.returncode == 1
    _, said, repairs = done.stderr.partition("Repairs that were tried on a copy of the schedule:\n")
    assert said and repairs.startswith("1. Use %t, which step 1 returned, instead of %m.\n     --- dead.mlir\n")
    assert "\n     -    transform.structured.vectorize %m" in repairs and "\n2. " in repairs
    assert "Match again after" not in done.stderr  # advice that was not tried
    quiet = lhkit_here("trace", "matmul", "dead.mlir", "--no-repairs", cwd=folder)
    assert (
        quiet.returncode == 1 and "Repairs" not in quiet.stderr and "Match again after step 1" in quiet.stderr
    )
    assert quiet.stdout.count("✗ FAILED") == done.stdout.count("✗ FAILED") == 1


def test_the_page_of_a_failure_has_its_repairs(folder, lhkit_here):
    done = lhkit_here("trace", "matmul", "dead.mlir", "--html", "dead.html", cwd=folder)
    assert done.returncode == 1
    page = (folder / "dead.html").read_text()
    assert "Use %t, which step 1 returned, instead of %m." in page
    assert "Use %t, which step 1 returned" in done.stderr


def test_a_schedule_that_does_not_load_is_followed_by_repairs_too(folder, lhkit_here):
    text = FILES["dead.mlir"].replace("vectorize %m :", "vectorize %mm :").replace("consumed", "readonly")
    (folder / "text.mlir").write_text(text)
    done = lhkit_here("trace", "matmul", "text.mlir", "--json", "t.json", cwd=folder)
    assert done.returncode == 1 and "nothing defines %mm" in done.stderr
    assert json.loads((folder / "t.json").read_text())["outcome"]["kind"] == "schedule-verify"
    quiet = lhkit_here("trace", "matmul", "text.mlir", "--no-repairs", cwd=folder)
    assert quiet.returncode == 1 and "Repairs" not in quiet.stderr


@pytest.mark.parametrize(
    ("payload", "schedule", "code"), [("matmul", "dead.mlir", 1), ("matmul", "crash.mlir", 3)]
)
def test_the_page_of_what_failed_is_written(folder, lhkit_here, payload, schedule, code):
    done = lhkit_here("trace", payload, schedule, "--html", "t.html", "--no-repairs", cwd=folder)
    assert done.returncode == code and done.stdout == ""
    page = (folder / "t.html").read_text()
    assert "lh-failure" in page and "sha256 of the schedule" in page and page.endswith("</html>\n")


def test_the_page_of_what_does_not_parse_says_so(folder, lhkit_here):
    (folder / "bad.mlir").write_text("func.func @")
    done = lhkit_here("trace", "bad.mlir", "dead.mlir", "--html", "-", cwd=folder)
    assert done.returncode == 2 and "lh-failure" in done.stdout and "bad.mlir:1:" in done.stdout
    both = lhkit_here("trace", "matmul", "dead.mlir", "--html", "-", "--json", "-", cwd=folder)
    assert both.returncode == 2 and "only one file can go to standard output" in both.stderr


def test_a_diff_is_what_a_step_did_with_signs(lhkit_here):
    done = lhkit_here("trace", "fc_relu", "fc_relu_handles.mlir", "--diff", "5")
    assert done.returncode == 0, done.stderr
    title, *lines = done.stdout.splitlines()
    assert title == "after step 5, transform.structured.tile_using_forall"
    assert [line[0] for line in lines if "linalg.max" in line] == ["−", "+"]
    assert any("unchanged lines" in line for line in lines)
    whole = lhkit_here("trace", "fc_relu", "fc_relu_handles.mlir", "--diff", "all")
    assert "against the payload as given" in whole.stdout.splitlines()[0]


@pytest.mark.parametrize("step", ["99", "x"])
def test_a_diff_of_no_step_is_exit_2(step, lhkit_here):
    done = lhkit_here("trace", "fc_relu", "fc_relu_handles.mlir", "--diff", step)
    assert done.returncode == 2 and "step" in done.stderr and done.stdout == ""
