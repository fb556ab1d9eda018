"""``--ops`` and ``--microkernel``: own ops and microkernels on the command line."""

import json

import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder

SCHEDULES = shipped_folder("schedules")
MICRO = SCHEDULES / "microkernels"
MARKED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    "my.mark"(%m) {number = NUMBER} : (!transform.any_op) -> ()
    transform.yield
  }
}
"""


def test_ops_of_a_file_are_known_to_every_command_with_a_schedule(lhkit_command, tmp_path):
    schedule = tmp_path / "marked.mlir"
    schedule.write_text(MARKED.replace("NUMBER", "7 : i64"))
    unknown = lhkit_command("check", schedule)
    assert unknown.returncode == 1 and "marked.mlir:4:5" in unknown.stderr and "--ops FILE" in unknown.stderr
    with_ops = ("--ops", SCHEDULES / "ops" / "my_ops.py")
    assert lhkit_command("check", schedule, *with_ops).returncode == 0
    traced = lhkit_command("trace", "matmul", schedule, *with_ops)
    assert traced.returncode == 0 and "my.mark" in traced.stdout
    schedule.write_text(MARKED.replace("NUMBER", '"seven"'))
    wrong = lhkit_command("run", "matmul", schedule, *with_ops)
    assert wrong.returncode == 1 and "is to be of type int" in wrong.stderr and "Traceback" not in wrong.stderr


def test_a_file_of_ops_that_does_not_load_is_bad_usage(lhkit_command, tmp_path):
    (tmp_path / "ops.py").write_text("def broken(:\n")
    done = lhkit_command("check", MICRO / "fc_relu_microkernel.mlir", "--ops", "ops.py")
    assert done.returncode == 2 and "ops.py:1:12" in done.stderr and "Traceback" not in done.stderr


def test_run_checks_a_microkernel_against_the_reference(lhkit_command):
    schedule = MICRO / "fc_relu_microkernel.mlir"
    given = f"matmul_tile={MICRO / 'matmul_tile.c'}"
    done = lhkit_command("run", "fc_relu", schedule, "--microkernel", given, "--json", "-")
    assert done.returncode == 0 and json.loads(done.stdout)["verify"]["ok"]
    missing = lhkit_command("run", "fc_relu", schedule)
    assert missing.returncode == 2 and "--microkernel matmul_tile=FILE" in missing.stderr
    refused = lhkit_command("run", "fc_relu", schedule, "--microkernel", "matmul_tile")
    assert refused.returncode == 2 and "expected NAME=FILE" in refused.stderr


@pytest.fixture
def small(tmp_path):
    payload = tmp_path / "small.mlir"
    payload.write_text(lhkit.payloads.fc_relu(64, 64, 64).text)
    return payload


def test_bench_refuses_a_microkernel_that_no_schedule_calls(lhkit_command, small):
    done = lhkit_command("bench", small, SCHEDULES / "fc_relu_tile.mlir", "--microkernel", "matmul_tile=tile.c")
    assert done.returncode == 2 and "no schedule calls it" in done.stderr


@pytest.mark.heavy
def test_bench_gives_a_microkernel_to_the_schedules_that_call_it(lhkit_command, small):
    schedules = (MICRO / "fc_relu_microkernel.mlir", SCHEDULES / "fc_relu_tile.mlir")
    given = ("--microkernel", f"matmul_tile={MICRO / 'matmul_tile.c'}", "--seconds", "0.1", "--json", "-")
    done = lhkit_command("bench", small, *schedules, *given)
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)["entries"]
    assert {e["name"]: e["verify"]["ok"] for e in entries if e["schedule_sha256"]} == {
        "fc_relu_microkernel": True,
        "fc_relu_tile": True,
    }
