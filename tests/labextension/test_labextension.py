"""The extension of JupyterLab: where it lies, and what it makes of cells (run by Node.js with stand-ins)."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lhkit.cli import lab_command as lab
from lhkit.cli.main import run_program
from lhkit.load.shipped_files import shipped_folder

ROOT = Path(__file__).parents[2]
EXTENSION = lab.LABEXTENSIONS / "@lhkit" / "mlir"
SCRIPT = EXTENSION / "static" / "remoteEntry.js"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CELL = """%%payload mm --reference f.py:f
#map = affine_map<(d0) -> (d0)>
func.func @f(%x: memref<?x[4]x8xbf16>) {
^bb1(%y#0 : !transform.any_op):
  "test.op"() {a = -1.5e-3, b = true, c = 0xFF} : () -> () // for "x" in #y
"""


@pytest.fixture
def tokens():
    """Return a function that gives what the extension does with a text."""
    if shutil.which("node") is None:
        message = "Node.js is not on this machine"
        if os.environ.get("LHKIT_TESTS_NEED_NODE"):
            pytest.fail(message)
        pytest.skip(message)

    def run(text, ranges=None):
        ranges = [[0, len(text)]] if ranges is None else ranges
        command = ["node", Path(__file__).with_name("tokens.js"), SCRIPT, json.dumps(ranges)]
        done = subprocess.run(
            command, check=False, input=text, capture_output=True, text=True, encoding="utf-8", timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_every_kind_of_token_has_its_class(tokens):
    done = tokens(CELL)
    assert (done["id"], done["autoStart"], done["requiresToken"]) == ("@lhkit/mlir:plugin", True, True)
    found = [tuple(token) for token in done["tokens"] if token[0] not in ("plain", "operator")]
    assert found == [
        ("magic", "%%payload"),
        ("property", "--reference"),
        ("alias", "#map"),
        ("keyword", "affine_map"),
        ("op", "func.func"),
        ("symbol", "@f"),
        ("value", "%x"),
        ("builtin", "memref"),
        ("number", "?x[4]x8x"),
        ("builtin", "bf16"),
        ("block", "^bb1"),
        ("value", "%y#0"),
        ("type", "!transform.any_op"),
        ("string", '"test.op"'),
        ("property", "a"),
        ("number", "-1.5e-3"),
        ("property", "b"),
        ("atom", "true"),
        ("property", "c"),
        ("number", "0xFF"),
        ("comment", '// for "x" in #y'),
    ]


def test_nothing_of_a_cell_keeps_its_colour_as_python(tokens):
    text = "%%schedule s\n" + (shipped_folder("schedules") / "matmul_tile.mlir").read_text(encoding="utf-8")
    found = "".join(token[1] for token in tokens(text)["tokens"])
    assert re.sub(r"\s", "", found) == re.sub(r"\s", "", text)


def test_every_class_has_a_colour_of_the_theme(tokens):
    done = tokens(CELL)
    assert {f".lhkit-mlir-{kind}" for kind, _ in done["tokens"]} <= set(done["theme"])
    for rule in done["theme"].values():
        assert re.fullmatch(r"var\(--jp-mirror-editor-[a-z0-9-]+-color\)", rule["color"])


@pytest.mark.parametrize("text", ["x = 1\n%%payload p", " %%payload p", "%%payloads p", "%%time\n%x", ""])
def test_other_cells_are_left_alone(tokens, text):
    assert tokens(text)["tokens"] == []


def test_only_what_is_visible_is_read(tokens):
    line = "  %a = arith.addi %b, %c : i32\n"
    text = "%%payload p\n" + line * 2000 + f'  dense<"{"0" * 100_000}">\n' + line
    middle = text.index(line) + 1000 * len(line)
    long = text.index("dense") + 50_000
    done = tokens(text, [[middle + 7, middle + len(line)], [long, long + 100]])
    assert done["read"] == [[middle, middle + len(line)], [long, long + 100]]
    assert ["value", "%a"] in done["tokens"] and ["op", "arith.addi"] in done["tokens"]


def test_the_package_is_what_jupyterlab_looks_for():
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert package["name"] == f"{EXTENSION.parent.name}/{EXTENSION.name}"
    assert package["version"] == PROJECT["project"]["version"]
    build = package["jupyterlab"]["_build"]
    assert (EXTENSION / build["load"]) == SCRIPT and SCRIPT.is_file()
    installed = json.loads((EXTENSION / "install.json").read_text(encoding="utf-8"))
    assert installed["packageName"] == PROJECT["project"]["name"]


def test_a_wheel_puts_it_where_jupyterlab_looks():
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert {ROOT / source: target for source, target in shared.items()} == {
        lab.LABEXTENSIONS: "share/jupyter/labextensions"
    }


def test_the_script_asks_no_address():
    script = SCRIPT.read_text(encoding="utf-8")
    assert not re.search(
        r"//\w|https?:|fetch|XMLHttpRequest|WebSocket|import\(|importScripts|<script|\.src\b", script
    )


def test_lab_gives_it_to_jupyterlab(monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(lab, "_run", lambda arguments, environment, folder: started.append(arguments) or 0)
    assert run_program(["lab", "--folder", str(tmp_path), "--no-browser", "--", "--allow-root"]) == 0
    assert started[0][:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--LabApp.extra_labextensions_path={lab.LABEXTENSIONS}" in started[0]
    assert "--allow-root" in started[0]
