"""Bad input: the exit codes of the contract, one clear message with a place, no traceback, nothing written."""

import errno
import json
import os
from pathlib import Path

import pytest

from lhkit.model.errors import UsageError
from lhkit.model.file_io import write_file

SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    STEP
    transform.yield
  }
}
"""
TILE = "transform.structured.tile_using_for %m tile_sizes [{}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"
SPIN = """func.func @spin(%n: memref<1xf32>) {
  scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do {
    %c = arith.constant 0 : index
    %v = memref.load %n[%c] : memref<1xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %n[%c] : memref<1xf32>
    scf.yield }
  return
}
"""
EAT = """func.func @eat() -> f32 {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<800000000xf32>
  linalg.fill ins(%one : f32) outs(%m : memref<800000000xf32>)
  %v = memref.load %m[%c0] : memref<800000000xf32>
  return %v : f32
}
"""
FILES = {
    "junk.mlir": b"this is not MLIR",
    "latin.mlir": b"// caf\xe9\nfunc.func @f() { return }",
    "empty.mlir": b"",
    "no_function.mlir": b"module { }",
    "does_not_verify.mlir": b"func.func @f() -> i32 {\n  return\n}",
    "two.mlir": b"func.func @f(%a: f32) -> f32 { return %a : f32 }\nfunc.func @g() { return }",
    "no_sequence.mlir": b"module attributes {transform.with_named_sequence} { }",
    "bad_schedule.mlir": SCHEDULE.replace("STEP", "transform.structured.nonsense %m").encode(),
    "dead.mlir": SCHEDULE.replace("STEP", f"%a, %b = {TILE.format(4)}\n    %c, %d = {TILE.format(4)}").encode(),
    "negative.mlir": SCHEDULE.replace("STEP", f"%a, %b = {TILE.format(-4)}").encode(),
    "spin.mlir": SPIN.encode(),
    "eat.mlir": EAT.encode(),
    "text.npy": b"1 2 3",
    "open_head.npy": b"\x93NUMPY\x01\x00v\x00" + b"(" * 100 + b" " * 17 + b"\n",
    "numbers.ipynb": b'{"cells": [1, "x", null], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
}
M, T = "matmul.mlir", "matmul_tile.mlir"

ODD = "a\n{b"
COMMANDS_OF_ONE_FILE = (
    *(["run", ODD], ["run", M, ODD], ["run", M, T, "--library", ODD], ["bench", ODD], ["bench", M, ODD]),
    *(["trace", ODD, T], ["trace", M, ODD], ["trace", M, T, "--library", ODD], ["check", ODD]),
    *(["sweep", ODD, T], ["sweep", M, ODD], ["sweep", M, T, "--also", ODD], ["upgrade", ODD]),
)

# (arguments of lhkit, exit code, what standard error has to say)
CASES = [
    (["run", "missing.mlir"], 2, "no such file: missing.mlir"),
    # An argument is a path, also where it would be text in Python.
    *((command, 2, "no such file: a\\n{b") for command in COMMANDS_OF_ONE_FILE),
    (["run", "."], 2, ". is a directory"),
    (["run", "junk.mlir"], 2, "junk.mlir:1:1: error"),
    (["run", "latin.mlir"], 2, "latin.mlir:1:7: error: byte 0xe9"),
    (["run", "empty.mlir"], 2, "empty.mlir is empty"),
    (["run", "no_function.mlir"], 2, "no function with a body"),
    (["run", "does_not_verify.mlir"], 1, "does_not_verify.mlir:2:3: error"),
    (["run", "two.mlir"], 2, "has 2 functions"),
    (["run", "two.mlir", "--function", "h"], 2, "has no function @h"),
    (["run", T], 2, "is a schedule"),
    (["run", M, "row_sum.mlir"], 2, "is a payload"),
    (["run", M, "missing.mlir"], 2, "no such file: missing.mlir"),
    (["run", M, "no_sequence.mlir"], 2, "no named sequence"),
    (["run", M, "bad_schedule.mlir"], 2, "bad_schedule.mlir:4:5: error"),
    (
        ["run", M, "dead.mlir"],
        1,
        "dead.mlir:5:14: error: step 2 (transform.structured.tile_using_for) uses %m here",
    ),
    (["run", M, "negative.mlir"], 1, "does not verify"),
    (["run", M, T, "--set", "tile_q=4"], 2, "has no knob 'tile_q'"),
    (["run", M, T, "--set", "tile_m=5"], 2, "one of 8, 16"),
    (["run", M, T, "--set", "tile_m"], 2, "expected KNOB=VALUE"),
    (["run", M, T, "--set", "tile_m=8", "--set", "tile_m=16"], 2, "--set tile_m=16: tile_m is set twice"),
    (["sweep", M, T, "--set", "tile_m=8", "--set", "tile_m=8"], 2, "--set tile_m=8: tile_m is set twice"),
    (["bench", M, T, "--microkernel", "f=a.c", "--microkernel", "f=b.c"], 2, "f=b.c: f is given twice"),
    (["run", M, T, "--entry", "other"], 2, "no named sequence @other"),
    (["run", M, T, "--bind", "linalg.matmul"], 2, "takes 0 arguments after the root, and 1 are bound"),
    (["run", M, "--set", "tile_m=8"], 2, "need a schedule"),
    (["run", M, "--arg", "missing.npy"], 2, "no such file: missing.npy"),
    (["run", M, "--arg", "text.npy"], 2, "text.npy is not a .npy file"),
    (["run", M, "--arg", "open_head.npy"], 2, "open_head.npy is not a .npy file"),
    (["publish", "numbers.ipynb", "--out", "."], 2, "numbers.ipynb is not a notebook"),
    (["run", "two.mlir", "--function", "g", "--arg", "text.npy"], 2, "1 --arg given, 0 taken"),
    (["run", M, "--out", "-", "--json", "-"], 2, "only one file can go to standard output"),
    (["run", M, "--out", "no/such/folder/x.npz"], 2, "cannot be written"),
    (["run", M, "--timeout", "0"], 2, "--timeout"),
    (["run", "spin.mlir", "--timeout", "0.5"], 3, "limit of 0.5 s"),
    (["run", "eat.mlir", "--memory", "500000000"], 3, "over its limit of 477 MiB"),
    (["run"], 2, "Missing argument 'PAYLOAD'"),
    (["nonsense"], 2, "No such command"),
    (["lab", "99", "--folder", "copy", "--no-browser"], 2, "no notebook matches '99'"),
    (["demo", "--rounds", "1"], 2, "--rounds"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("inputs")
    for name, content in FILES.items():
        (path / name).write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "message"), CASES, ids=lambda v: " ".join(v) if isinstance(v, list) else ""
)
def test_bad_input(arguments, code, message, folder, lhkit_here):
    before = {p.name for p in folder.iterdir()} | {"copy"}
    done = lhkit_here(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout == ""
    assert {p.name for p in folder.iterdir()} <= before


@pytest.mark.parametrize(
    ("arguments", "code", "status", "kind"),
    [
        (["run", M, "dead.mlir"], 1, "failed", "invalidated-handle"),
        (["run", "junk.mlir"], 2, "failed", "payload-parse"),
        (["run", "spin.mlir", "--timeout", "0.5"], 3, "timeout", "timeout"),
    ],
)
def test_a_requested_json_file_is_written_on_failure_too(arguments, code, status, kind, folder, lhkit_command):
    done = lhkit_command(*arguments, "--json", "-", cwd=folder)
    assert done.returncode == code
    outcome = json.loads(done.stdout)["outcome"]
    assert (outcome["status"], outcome["kind"]) == (status, kind)


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    real = os.fdopen

    def full(handle, mode):
        file = real(handle, mode)
        file.write(b"half")
        file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "old.json").write_text("old")
    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_file(tmp_path / "old.json", b"new")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


def test_devices_and_links_are_written_through(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_file(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "real.json").read_text() == "new"
    device = os.devnull
    write_file(device, b"gone")
    assert not Path(device).is_file()
