"""The command ``lhkit passes``: output, files, exit codes, and an interrupted run."""

import json
import signal
import subprocess
import sys

import psutil
import pytest
from test_pass_run import ENDLESS, TWO, UNROLL
from test_print_ir_log import CSE, LESS, ONE, before_and_after

import lhkit


@pytest.fixture
def files(tmp_path):
    (tmp_path / "two.mlir").write_text(TWO)
    (tmp_path / "endless.mlir").write_text(ENDLESS)
    (tmp_path / "opt.log").write_text(before_and_after(CSE, ONE, LESS))
    (tmp_path / "no.log").write_bytes(b"\0\1\2")
    (tmp_path / "pipeline.txt").write_text("func.func(cse),snapshot-op-locations{filename=x}")
    return tmp_path


def test_a_row_for_each_pass_that_had_an_effect(lhkit_here, files):
    done = lhkit_here("passes", "two.mlir", "func.func(cse,canonicalize),symbol-dce")
    assert done.returncode == 0 and not done.stderr
    head, _, first, second, quiet, last = done.stdout.splitlines()
    assert head.startswith(
        "func.func(cse,canonicalize),symbol-dce on two.mlir: 5 runs of a pass, 3 with effect"
    )
    assert first.split()[:4] == ["0", "cse", "func.func", "@f"] and first.endswith("−1 arith.constant")
    assert "+1 arith.addi  +1 arith.constant  −2 arith.addi" in second
    assert quiet.split() == ["2–3", "⋯", "2", "without", "effect"] and last.split()[:3] == [
        "4",
        "symbol-dce",
        "module",
    ]


def test_a_log_is_read_without_the_compiler(lhkit_here, files):
    done = lhkit_here("passes", "--log", "opt.log")
    assert done.returncode == 0 and "1 run of a pass, 1 with effect" in done.stdout
    assert (
        lhkit_here("passes", "--log", "opt.log", "--find", "arith.constant").stdout
        == "0  cse  func.func @f  1 → 0\n"
    )
    assert "−" in lhkit_here("passes", "--log", "opt.log", "--diff", "0").stdout


def test_files_that_are_asked_for(lhkit_here, files):
    done = lhkit_here("passes", "--log", "opt.log", "--json", "p.json", "--html", "p.html")
    assert done.returncode == 0 and not done.stdout
    assert [s.name for s in lhkit.load_passes(files / "p.json").steps] == ["cse"]
    assert "lh-passes" in (files / "p.html").read_text()
    assert (
        json.loads(lhkit_here("passes", "--log", "opt.log", "--json", "-").stdout)["schema"] == "lhkit.passes/1"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["two.mlir"], 2, "give a payload and a pipeline, or --log FILE"),
        ([], 2, "give a payload and a pipeline, or --log FILE"),
        (["two.mlir", "cse", "--log", "opt.log"], 2, "give a payload and a pipeline, or --log FILE"),
        (["--log", "no.log"], 2, "no.log has no IR dumps"),
        (["--log", "not-there.log"], 2, "cannot be read"),
        (["two.mlir", "cse("], 2, "pipeline:1:4: error: unbalanced"),
        (["two.mlir", "canonicalise"], 2, "did you mean canonicalize?"),
        (
            ["two.mlir", "@pipeline.txt"],
            2,
            "pipeline.txt:1:16: error: the pass snapshot-op-locations is refused",
        ),
        (["not-there.mlir", "cse"], 2, "no such file"),
        (["opt.log", "cse"], 2, "opt.log does not parse"),
        (["two.mlir", "cse", "--set", "a=1"], 2, "need --schedule FILE"),
        (["two.mlir", "cse", "--diff", "7"], 2, "there is no pass 7"),
        (["two.mlir", "func.func(symbol-dce)"], 1, "symbol-dce failed on func.func @f"),
        (
            ["endless.mlir", UNROLL, "--timeout", "1"],
            3,
            "affine-loop-unroll on func.func @f: the compiler's worker took",
        ),
    ],
)
def test_exit_codes(arguments, code, message, lhkit_here, files):
    done = lhkit_here("passes", *arguments, "--json", "p.json")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert message in done.stderr
    if code != 2:
        assert json.loads((files / "p.json").read_text())["failure"]["message"]


def test_the_ir_before_the_pass_that_failed(lhkit_here, files):
    done = lhkit_here("passes", "two.mlir", "func.func(cse,symbol-dce)", "--reproducer", "-")
    assert done.returncode == 1
    assert done.stdout.startswith(
        "// mlir-opt --pass-pipeline='builtin.module(func.func(symbol-dce))'\nmodule {"
    )


def test_an_interrupted_run_ends_at_once(files):
    command = [sys.executable, "-m", "lhkit", "passes", "endless.mlir", f"cse,{UNROLL}", "--html", "p.html"]
    running = subprocess.Popen(command, cwd=files, stderr=subprocess.PIPE, text=True)
    while not psutil.Process(running.pid).children():  # until the worker is there
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=10)
    assert running.returncode == 130 and said.strip() == "lhkit: interrupted"
