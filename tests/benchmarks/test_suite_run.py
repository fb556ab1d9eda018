"""Running the suite with rivals that are missing, wrong, raise, crash, and die while they are sampled."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from suite_samples import RESULT
from suite_samples import row as result_row

import lhkit
from benchmarks import suite_program as suite
from benchmarks.suite import LeftOut
from benchmarks.suite_file import suite_from_json, suite_to_json
from benchmarks.suite_results import rival_ratios
from benchmarks.suite_run import SuiteOptions, SuiteRun
from benchmarks.suite_table import choose_families, choose_rivals, find_generator, load_table
from benchmarks.suite_tables import setting_lines
from lhkit.cli.main import run_program
from lhkit.model.errors import UsageError
from lhkit.model.target import available_cores
from lhkit.worker.limits import Limits

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "data" / "suite" / "amd-epyc-avx512.json"
RIVALS = """
import os, signal, time, this

def right(task):
    return lambda arrays: lambda: arrays[0] @ arrays[1]

def wrong(task):
    return lambda arrays: lambda: 0 * (arrays[0] @ arrays[1])

def raising(task):
    raise RuntimeError(f"nothing for {task.family}\\nand more")

def crashing(task):
    return lambda arrays: os.abort

def fading(task):
    left = [40]
    def bind(arrays):
        def call():
            left[0] -= 1
            return arrays[0] @ arrays[1] if left[0] else os._exit(7)
        return call
    return bind

def tuned(task):
    delays = {"slow": 0.004, "fast": 0.0, "middle": 0.001}
    if task.setting == "no code":
        raise RuntimeError("this setting has no code")
    if task.setting == "fatal":
        os.abort()
    factor = 0 if task.setting == "wrong" else 1
    def bind(arrays):
        def call():
            time.sleep(delays.get(task.setting, 0.0))
            return factor * (arrays[0] @ arrays[1])
        return call
    return bind

def stopping(task):
    if task.text.count("8x8x"):
        return lambda arrays: lambda: arrays[0] @ arrays[1]
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
"""
# The padding is no zero, so that the product is another one.
WRONG = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %padded, %pad, %back = transform.structured.pad %matmul pad_to_multiple_of [16]
      {padding_values = [1.0 : f32, 1.0 : f32, 1.0 : f32], padding_dimensions = [2], nofold_flags = [0, 0, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
IDLE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""
NAMES = ("right", "wrong", "raising", "crashing", "fading", "stopping")


def rival(name, module="this"):
    return (
        f'[[rivals]]\nname = "{name}"\nplace = "fakes.py:{name}"\nmodule = "{module}"\n'
        f'distribution = "numpy"\nadd = "pip install {name}"\n'
    )


def family(name, schedule, rivals, shapes="[[8, 8, 8]]"):
    return (
        f'[[families]]\nname = "{name}"\ntitle = "{name}"\npayload = "matmul"\nschedule = "{schedule}"\n'
        f'limit = "fma"\nseconds = 0.2\nrivals = {json.dumps(rivals)}\nshapes = {shapes}\nquick = {shapes}\n'
    )


@pytest.fixture(scope="module")
def table_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "fakes.py").write_text(RIVALS)
    (folder / "idle.mlir").write_text(IDLE)
    (folder / "wrong.mlir").write_text(WRONG)
    parts = [*map(rival, NAMES), rival("absent", "no_such_module.inner")]
    parts.append(family("fine", "idle.mlir", ["right", "wrong", "raising", "crashing", "fading", "absent"]))
    parts.append(family("bad", "wrong.mlir", ["right"]))
    parts.append(family("unwritten", "unwritten.mlir", ["right"]))
    parts.append(family("stopped", "idle.mlir", ["stopping"], "[[8, 8, 8], [16, 16, 16], [4, 4, 4]]"))
    names = ["slow", "no code", "wrong", "fatal", "fast", "middle"]
    settings = ", ".join(f'{{ name = "{name}" }}' for name in names)
    parts.insert(0, rival("tuned") + f'settings = [{settings}, {{ name = "other", families = ["softmax"] }}]\n')
    parts.insert(0, rival("hopeless").replace(":hopeless", ":tuned") + 'settings = [{ name = "no code" }]\n')
    parts.append(family("tuned", "idle.mlir", ["tuned", "hopeless"]))
    parts.append('[[missing]]\nwhat = "more"\nwhy = "nobody wrote it"\n')
    (folder / "table.toml").write_text("\n".join(parts))
    return folder / "table.toml"


@pytest.fixture(scope="module")
def rows(table_file):
    """Rows by family, and what is known of the rivals."""
    table = load_table(table_file)
    run = SuiteRun(table, SuiteOptions(is_quick=True, limits=Limits(seconds=60)))
    families = choose_families(table, ["fine", "bad", "unwritten"])
    return {row.family: row for row in run.rows(families)}, run.versions


def test_who_is_right_is_measured_and_who_is_not_is_left_out_with_the_reason(rows):
    fine = rows[0]["fine"]
    assert [r.rival for r in rival_ratios(fine)] == ["NumPy", "right"]
    left = {each.name: each for each in fine.left_out}
    assert set(left) == {"wrong", "raising", "crashing", "fading"}
    assert left["wrong"].kind == "wrong-result" and "expected" in left["wrong"].message
    assert "raised RuntimeError: nothing for matmul (" in left["raising"].message
    assert left["crashing"].kind == "crash" and "the process of crashing" in left["crashing"].message
    assert left["fading"].kind == "crash" and "the process of fading" in left["fading"].message


def test_the_fastest_setting_is_measured_and_one_that_fails_is_recorded(table_file):
    table = load_table(table_file)
    run = SuiteRun(table, SuiteOptions(is_quick=True, limits=Limits(seconds=60), processes=2))
    once, row = run.rows(choose_families(table, ["tuned"]))
    assert once.starts == (0,) and row.starts == (0, once.comparison.rounds)
    assert (
        row.comparison.measurement("tuned").samples_ns[: len(once.comparison.measurement("tuned").samples_ns)]
        == once.comparison.measurement("tuned").samples_ns
    )
    assert len(row.comparison.measurement("lhkit").samples_ns) == row.comparison.rounds > row.starts[1]
    chosen, hopeless = row.settings
    assert (chosen.rival, chosen.setting) == ("tuned", "fast")
    tried = {t.name: t for t in chosen.tried}
    assert list(tried) == ["slow", "no code", "wrong", "fatal", "fast", "middle"]
    assert tried["slow"].median_ns >= 4e6 and tried["middle"].median_ns >= 1e6 > tried["fast"].median_ns
    failed = {name: t.failure for name, t in tried.items() if t.median_ns is None}
    assert set(failed) == {"no code", "wrong", "fatal"}
    assert "this setting has no code" in failed["no code"] and "expected" in failed["wrong"]
    assert "the process of tuned" in failed["fatal"]
    entry = row.comparison.measurement("tuned")
    assert entry.verification.ok and entry.compile_ns is not None
    assert min(ns for _, ns in entry.samples_ns) < 1e6  # no other setting is ever below its delay
    assert hopeless.setting == "" and [x.name for x in row.left_out] == ["hopeless"]
    lines = setting_lines([row])
    assert lines[0] == "tuned: fastest setting of tuned: fast (8x8x8)"
    assert "tuned 8x8x8: tuned with 'no code' failed: " in lines[1] and len(lines) == 5
    assert suite_from_json(suite_to_json(dataclasses.replace(RESULT, rows=(row,))), "f.json").rows == (row,)


def test_a_rival_is_an_entry_like_any_other(rows):
    entry = rows[0]["fine"].comparison.measurement("right")
    assert len(entry.samples_ns) >= 5 and entry.timed_by == "Python" and entry.compile_ns is not None
    assert entry.verification.ok and dict(rows[0]["fine"].comparison.environment)["right"]


@pytest.mark.skipif(available_cores() < 2, reason="two threads need two cores")
def test_every_program_of_a_family_is_called_from_python_or_has_its_threads(table_file):
    table = load_table(table_file)
    small, wide = choose_families(load_table(), ["matmul-small", "fc_relu-threads"])
    run = SuiteRun(
        dataclasses.replace(table, families=(small, wide)),
        SuiteOptions(is_quick=True, limits=Limits(seconds=60)),
    )
    called, *_, shared = run.rows([small, wide])
    assert {m.timed_by for m in called.comparison.measurements} == {"Python"} and called.threads == 1
    assert shared.threads == 2 and shared.comparison.core is None
    (ours,) = shared.comparison.measurements  # NumPy beside it would have one thread
    assert dict(ours.knobs)["threads"] == 2 and ours.timed_by == "machine code"


def test_a_wrong_kernel_has_no_times(rows):
    bad = rows[0]["bad"]
    assert bad.comparison is None and [(x.name, x.kind) for x in bad.left_out] == [("lhkit", "wrong-result")]
    unwritten = rows[0]["unwritten"]
    assert (
        unwritten.comparison is None and "there is no schedule unwritten.mlir" in unwritten.left_out[0].message
    )


def test_what_is_not_installed_is_known_and_nothing_of_a_rival_is_loaded_here(rows):
    names = dict.fromkeys((*NAMES, "tuned", "hopeless"), False)
    assert {v.name: v.version is None for v in rows[1]} == {**names, "absent": True}
    assert "this" not in sys.modules


def command(table_file, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [
        sys.executable,
        "-m",
        "lhkit",
        "bench",
        "--suite",
        *map(str, arguments),
        "--table",
        str(table_file),
    ]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_an_interrupted_run_keeps_what_was_measured(table_file, tmp_path):
    file, page = tmp_path / "suite.json", tmp_path / "suite.html"
    done = command(table_file, "stopped", "--quick", "--json", file, "--html", page)
    assert done.returncode == 130 and "lhkit: interrupted" in done.stderr and "Traceback" not in done.stderr
    assert "[1/3] stopped 8x8x8: " in done.stderr and "[2/3]" not in done.stderr
    result = suite_from_json(json.loads(file.read_text()), "suite.json")
    assert not result.is_complete and [row.name for row in result.rows] == ["stopped 8x8x8"]
    assert "INTERRUPTED" in done.stdout and "INTERRUPTED" in page.read_text()


class Canned:
    """A run whose rows are known before."""

    def __init__(self, rows):
        self.versions, self._rows = RESULT.rivals, rows

    def steps(self, families):
        return len(self._rows)

    def rows(self, _families, begin):
        for row in self._rows:
            begin(row.name)
            yield row


WRONG_ROW = result_row(
    (8, 8), "bad", left_out=[LeftOut("lhkit", "wrong-result", "result 0 at [0] is 1, expected 2")]
)


@pytest.mark.parametrize(("rows", "code"), [(RESULT.rows, 0), ((*RESULT.rows, WRONG_ROW), 1)])
def test_the_command_says_what_is_missing_and_fails_if_a_kernel_is_wrong(
    rows, code, table_file, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(suite, "SuiteRun", lambda _table, _options: Canned(rows))
    file = tmp_path / "suite.json"
    assert run_program(["bench", "--suite", "--table", str(table_file), "--json", str(file)]) == code
    out, err = capsys.readouterr()
    assert "IREE is NOT INSTALLED; to add it: pip install iree" in out and "IREE is NOT INSTALLED" in err
    assert (
        "product 16x16: torch left out (crash): " in out and "Not in the suite: more: nobody wrote it." in out
    )
    assert ("lhkit: bad 8x8: result 0 at [0] is 1, expected 2" in err) == bool(code)
    result = suite_from_json(json.loads(file.read_text()), "suite.json")
    assert result.is_complete and result.rows == tuple(rows)
    assert run_program(["compare", str(file), str(file), "--fail-below", "0.9"]) == 0
    assert "product 8x8" in capsys.readouterr().out


def test_a_family_of_lhkit_goes_through_small(tmp_path, capsys):
    page = tmp_path / "suite.html"
    words = ["bench", "--suite", "elementwise", "--quick", "--rival", "IREE", "--target", "avx2"]
    assert run_program([*words, "--json", "-", "--html", str(page)]) == 0
    out, err = capsys.readouterr()
    result = suite_from_json(json.loads(out), "-")
    (row,) = result.rows
    assert (result.target, dict(row.comparison.measurement("lhkit").knobs)["lanes"]) == ("avx2", 8)
    assert "[1/1] elementwise 64x64: " in err and "× NumPy" in err and "64x64" in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--suite", "none"], "the suite has no family 'none'"),
        (["--suite", "--rival", "none"], "the suite has no rival 'none'"),
        (["--suite", "--set", "a=1", "--no-pin"], "--suite does not go with --pin, --set"),
        (["--suite", "--json", "-", "--html", "-"], "only one file can go to standard output"),
        (["--suite", "--table", "none.toml"], "none.toml cannot be read"),
        (["--suite", "--quick", "--json", "data/suite"], "quick rows do not belong into data/suite"),
        (["--quick"], "go with --suite"),
        ([], "there is no payload to time"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, message, capsys):
    assert run_program(["bench", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('limit = "fma"', 'limit = "all"', "limit"),
        ("[[families]]", "[[family]]", "unknown field 'family'"),
        ('rivals = ["right"]', 'rivals = ["left"]', "no known rival 'left'"),
        ("[[rivals]]", "[[rivals]", "is not a table of a suite"),
    ],
)
def test_a_wrong_table_is_refused(old, new, message, table_file, tmp_path):
    text = table_file.read_text()
    assert old in text
    (tmp_path / "table.toml").write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=message):
        load_table(tmp_path / "table.toml")


def test_the_shipped_table_names_generators_and_rivals_that_there_are():
    table = load_table()
    for each in table.families:
        assert callable(find_generator(each)) and each.shapes and each.quick
    for each in table.rivals:
        path, _, function = each.place.rpartition(":")
        text = Path(path).read_text(encoding="utf-8")
        assert f"def {function}(task" in text
        known = {f.payload for f in table.families if each.name in f.rivals}
        of_modules = {"softmax", "model", "kernelbench"}  # or in a module that it takes them from
        assert known and ("FAMILIES" not in text or all(f'"{name}"' in text for name in known - of_modules))
    assert choose_rivals(table, ["torch"]).families[0].rivals == ("torch",)


def test_an_installed_package_says_that_the_suite_needs_a_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lhkit, "__file__", str(tmp_path / "lhkit" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    for words in (["bench", "--suite"], ["compare", *2 * [str(SUITE)]]):
        assert run_program(words) == 2
        assert "it needs a checkout of lhkit" in capsys.readouterr().err
