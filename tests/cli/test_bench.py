"""``lhkit bench`` and ``lhkit compare``: files that fit their schema, and exit codes."""

import json
from pathlib import Path

import jsonschema
import pytest

import lhkit
from lhkit.cli.main import run_program

SCHEMA = json.loads((Path(lhkit.__file__).parent / "schemas" / "bench-1.json").read_text(encoding="utf-8"))

QUICK = ("--rounds", "6", "--seconds", "2")
SMALL = "func.func @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {\n  return %a : tensor<8x8xf32>\n}\n"
TILE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %size = transform.tune.knob<"size"> = 4 : i64 from options = [4, 8] -> !transform.param<i64>
    transform.yield
  }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    (folder / "small.mlir").write_text(SMALL)
    (folder / "tile.mlir").write_text(TILE)
    return folder


@pytest.fixture(scope="module")
def bench(folder):
    """The file of one benchmark, and the folder with its plots."""
    file = folder / "bench.json"
    arguments = ["bench", folder / "small.mlir", folder / "tile.mlir", folder / "tile.mlir", *QUICK]
    options = [
        "--set",
        "size=8",
        "--json",
        file,
        "--out",
        folder / "plots",
        "--cache",
        "cold",
        "--alignment",
        4,
    ]
    assert run_program([str(a) for a in (*arguments, *options)]) == 0
    return file


def test_a_bench_file_fits_its_schema_and_says_what_was_asked_for(bench):
    data = json.loads(bench.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert [e["name"] for e in data["entries"]] == ["unscheduled", "tile", "tile #2"]
    assert data["entries"][1]["knobs"] == {"size": 8}
    assert (data["entries"][1]["cache"], data["entries"][1]["alignment_bytes"]) == ("cold", 4)
    assert list(data["environments"]) == [data["entries"][0]["environment"]]


def test_plots_and_samples_are_written(bench):
    names = {p.name for p in (bench.parent / "plots").iterdir()}
    assert names == {"samples.csv", "speed.svg", "speed.png", "speed.pdf"}


def test_a_file_compared_with_itself_shows_no_difference(bench, capsys):
    assert run_program(["compare", str(bench), str(bench), "--fail-below", "0.98"]) == 0
    out = capsys.readouterr().out
    assert "no difference seen" in out
    assert "Speeds are relative to unscheduled of the same run." in out


def test_a_slower_entry_fails_the_comparison(bench, tmp_path, capsys):
    data = json.loads(bench.read_text())
    for entry in data["entries"][1:]:
        entry["samples_ns"] = [[r, 10000 * value] for r, value in entry["samples_ns"]]
    slower = tmp_path / "slower.json"
    slower.write_text(json.dumps(data))
    assert run_program(["compare", str(bench), str(slower)]) == 0
    assert run_program(["compare", str(bench), str(slower), "--fail-below", "0.9"]) == 1
    assert "lhkit: tile has" in capsys.readouterr().err
    assert run_program(["compare", str(slower), str(bench), "--fail-below", "0.9"]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ('{"schema": NaN}', "NaN is not a JSON number"),
        ("[]", 'it has no "schema"'),
        ('{"schema": "lhkit.sweep/1"}', "is not a lhkit.bench/1 file"),
        ('{"schema": "lhkit.bench/7"}', "is of version 'lhkit.bench/7'"),
        ("\x00\x01", "is not JSON"),
        ("[" * 100_000, "is not"),
    ],
)
def test_other_files_are_refused(content, message, bench, tmp_path, capsys):
    other = tmp_path / "other.json"
    other.write_text(content)
    assert run_program(["compare", str(bench), str(other)]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_refused(bench, tmp_path, capsys):
    assert run_program(["compare", str(bench), str(tmp_path / "none.json")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_knob_that_no_schedule_has_is_refused_and_the_file_says_why(folder, tmp_path, capsys):
    file = tmp_path / "failed.json"
    paths = [str(folder / "small.mlir"), str(folder / "tile.mlir")]
    assert run_program(["bench", *paths, "--set", "depth=2", "--json", str(file)]) == 2
    assert "no schedule has a knob 'depth'" in capsys.readouterr().err
    data = json.loads(file.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["failure"]["kind"] == "usage"
    assert run_program(["compare", str(file), str(file)]) == 2
    assert "holds a failure, not a measurement" in capsys.readouterr().err


def test_scheduling_options_need_a_schedule(folder, capsys):
    assert run_program(["bench", str(folder / "small.mlir"), "--entry", "x"]) == 2
    assert "need a schedule" in capsys.readouterr().err


def test_json_can_go_to_standard_output_alone(folder, capsys):
    assert run_program(["bench", str(folder / "small.mlir"), *QUICK, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [e["name"] for e in data["entries"]] == ["unscheduled"]


def test_a_reference_is_timed_beside_and_the_unscheduled_payload_may_be_left_out(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    Path("ref.py").write_text("def same(a):\n    return a.copy()\ndef other(a):\n    return a + 1\n")
    arguments = ["small.mlir", "tile.mlir", "--reference", "ref.py:same"]
    assert run_program(["bench", *arguments, "--no-unscheduled", *QUICK, "--json", "timed.json"]) == 0
    names = [e["name"] for e in json.loads(Path("timed.json").read_text())["entries"]]
    assert names == ["NumPy", "tile"]
    assert run_program(["run", *arguments]) == 0
    assert "right, against NumPy" in capsys.readouterr().out
    assert run_program(["run", "small.mlir", "--reference", "ref.py:other"]) == 1
    assert "differs" in capsys.readouterr().err
