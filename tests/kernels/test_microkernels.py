"""Microkernels: the call of an outlined function becomes theirs, in C and in Python, with checks of both."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import CrashError, ScheduleError, UsageError

FOLDER = shipped_folder("schedules") / "microkernels"
ANY = "!transform.any_op"


@pytest.fixture(scope="module")
def parts(worker):
    """A small layer, the shipped schedule for it, arguments, and what is to come out."""
    payload = lhkit.payloads.fc_relu(16, 32, 24)
    schedule = lhkit.load_schedule(FOLDER / "fc_relu_microkernel.mlir", worker=worker)
    generator = np.random.default_rng(0)
    arguments = [
        generator.standard_normal(a.shape).astype(np.float32) for a in payload.function(None).arguments
    ]
    lhs, rhs, bias = arguments
    return payload, schedule, arguments, np.maximum(lhs @ rhs + bias, 0)


@pytest.mark.parametrize("place", ["matmul_tile.c", "matmul_tile.py:matmul_tile"])
def test_a_microkernel_computes_the_tiles_of_the_layer(parts, worker, place):
    payload, schedule, arguments, expected = parts
    given = {"matmul_tile": FOLDER / place}
    kernel = lhkit.compile(payload, schedule, microkernels=given, worker=worker)
    np.testing.assert_allclose(kernel(*arguments), expected, rtol=1e-5, atol=1e-5)
    assert "call @matmul_tile(" in kernel.ir() and "@outlined" not in kernel.ir()
    buffered = kernel.ir("bufferized")
    assert "func.func private @matmul_tile(memref<4x" in buffered and "linalg.matmul" not in buffered


def test_it_is_the_microkernel_that_runs(parts, worker, tmp_path):
    payload, schedule, arguments, _ = parts
    (tmp_path / "tile.c").write_text(
        "void matmul_tile(memref_2d_float32 *a, memref_2d_float32 *b, memref_2d_float32 *c) {\n"
        "  for (int i = 0; i < 16; i++) c->aligned[c->offset + i] = 100.0f;\n}\n"
    )
    kernel = lhkit.compile(payload, schedule, microkernels={"matmul_tile": tmp_path / "tile.c"}, worker=worker)
    np.testing.assert_allclose(kernel(*arguments), np.maximum(100 + arguments[2], 0), rtol=1e-5)


def test_a_c_function_of_another_signature_is_refused_with_both(parts, worker, tmp_path):
    payload, schedule, _, _ = parts
    source = tmp_path / "tile.c"
    source.write_text("#include <math.h>\nvoid matmul_tile(float *a) { a[0] = 0; }\n")
    with pytest.raises(UsageError) as caught:
        lhkit.compile(payload, schedule, microkernels={"matmul_tile": source}, worker=worker)
    failure = caught.value.failure
    assert (failure.span.file, failure.span.line, failure.span.column) == (str(source), 2, 6)
    assert "void(float *)" in failure.diagnostics[0].message
    assert "memref<4x24xf32>, memref<24x4xf32>, memref<4x4xf32>" in failure.message
    assert "void matmul_tile(memref_2d_float32 *arg0, memref_2d_float32 *arg1" in failure.advice


def test_what_a_python_microkernel_raises_has_its_place(parts, worker, tmp_path):
    payload, schedule, arguments, _ = parts
    source = tmp_path / "tile.py"
    source.write_text("def good(a, b, c):\n    c += a @ b\n\ndef bad(a, b, c):\n    raise ValueError('no')\n")
    kernel = lhkit.compile(payload, schedule, microkernels={"matmul_tile": f"{source}:bad"}, worker=worker)
    with pytest.raises(UsageError, match="raised ValueError: no") as caught:
        kernel(*arguments)
    assert (caught.value.failure.span.line, caught.value.failure.span.column) == (5, 5)
    source.write_text("def other(a, b, c):\n    return a @ b\n")
    kernel = lhkit.compile(payload, schedule, microkernels={"matmul_tile": f"{source}:other"}, worker=worker)
    with pytest.raises(UsageError, match="writes to its arguments"):
        kernel(*arguments)


@pytest.mark.parametrize(
    "given, message",
    [
        ({}, "nothing implements the microkernel matmul_tile"),
        (
            {"matmul_tile": FOLDER / "matmul_tile.c", "other": FOLDER / "matmul_tile.c"},
            "nothing calls .* other",
        ),
        ({"matmul_tile": "nowhere.c"}, "nowhere.c cannot be read: No such file"),
        ({"matmul_tile": FOLDER / "matmul_tile.py"}, "is not a microkernel"),
        ({"matmul_tile": f"{FOLDER / 'matmul_tile.py'}:other"}, "has no function 'other'"),
    ],
)
def test_a_microkernel_that_cannot_be_is_refused(parts, worker, given, message):
    payload, schedule, _, _ = parts
    with pytest.raises(UsageError, match=message):
        lhkit.compile(payload, schedule, microkernels=given, worker=worker)


def test_without_a_c_compiler_the_error_says_what_to_do(parts, own_worker, monkeypatch):
    payload, schedule, _, _ = parts
    monkeypatch.setenv("CC", "no-such-compiler")
    given = {"matmul_tile": FOLDER / "matmul_tile.c"}
    with pytest.raises(UsageError, match="CC=no-such-compiler is not a compiler") as caught:
        lhkit.compile(payload, schedule, microkernels=given, worker=own_worker)
    assert "write the microkernel in Python" in caught.value.failure.advice


TWO = """
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @add(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @sub(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.sub ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @wide(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
func.func @main(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @add(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @sub(%0, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @wide(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = call @declared(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2, %3 : tensor<4xf32>, tensor<8xf32>, tensor<4xf32>
}
"""


def _calls(steps):
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %calls = transform.structured.match ops{{["func.call"]}} in %root : ({ANY}) -> {ANY}
    %add, %sub, %wide, %declared = transform.split_handle %calls : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})
    {steps}
    transform.yield
  }}
}}
"""


def _call(handle, attributes='microkernel = "micro"'):
    return f'"lhkit.replace_with_call"(%{handle}) {{{attributes}}} : ({ANY}) -> {ANY}'


@pytest.mark.parametrize(
    "steps, kind, message",
    [
        ([_call("declared")], "silenceable", "it calls @declared, which has no body"),
        ([_call("add"), _call("sub")], "definite", "@sub does something else"),
        (
            [_call("add"), _call("wide")],
            "silenceable",
            r"micro is called with \(tensor<4xf32>, tensor<4xf32>\) -> tensor<4xf32> already, and @wide has "
            r"\(tensor<8xf32>\) -> tensor<8xf32>",
        ),
        ([_call("add", 'microkernel = "main"')], "silenceable", "the payload has a function @main already"),
        (
            [_call("add", 'microkernel = "micro", signature = () -> ()')],
            "silenceable",
            r"the signature of micro is \(\) -> \(\), and @add has \(tensor<4xf32>",
        ),
        ([_call("root")], "silenceable", "only a func.call"),
    ],
)
def test_a_call_that_cannot_be_replaced_fails_at_its_place(worker, steps, kind, message):
    payload = lhkit.load_payload(TWO, worker=worker)
    text = _calls("\n    ".join(steps))
    trace = lhkit.trace(payload, lhkit.load_schedule(text, worker=worker), worker=worker)
    assert (trace.outcome.status, trace.outcome.kind) == ("failed", kind)
    step = trace.step_records[trace.outcome.failed_step]
    assert step.op == "lhkit.replace_with_call" and step.source.line == 4 + len(steps)
    with pytest.raises(ScheduleError, match=message):
        lhkit.compile(payload, lhkit.load_schedule(text, worker=worker), function="main", worker=worker)


def test_a_function_that_returns_a_new_buffer_is_no_microkernel(worker):
    payload = lhkit.load_payload(
        """func.func @new(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @new(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
        worker=worker,
    )
    text = _calls(_call("calls")).replace(
        f"    %add, %sub, %wide, %declared = transform.split_handle %calls : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})\n",
        "",
    )
    schedule = lhkit.load_schedule(text, worker=worker)
    given = {"micro": FOLDER / "matmul_tile.c"}
    with pytest.raises(lhkit.LhkitError, match="micro would return memref<4xf32>") as caught:
        lhkit.compile(payload, schedule, function="main", microkernels=given, worker=worker)
    assert caught.value.failure.span.line == 1 and "destination" in caught.value.failure.advice


def test_a_crash_in_c_is_repeated_without_the_sandbox(parts, own_worker, tmp_path):
    """A replay has no client to compile for it; it compiles itself where it may start a compiler."""
    payload, schedule, arguments, _ = parts
    source = tmp_path / "tile.c"
    source.write_text(
        "void matmul_tile(memref_2d_float32 *a, memref_2d_float32 *b, memref_2d_float32 *c) {\n"
        "  *(volatile float *)8 = 1.0f;\n}\n"
    )
    kernel = lhkit.compile(payload, schedule, microkernels={"matmul_tile": source}, worker=own_worker)
    with pytest.raises(CrashError) as caught:
        kernel(*arguments)
    command = [sys.executable, "-m", "lhkit.worker", caught.value.failure.reproducer]
    confined = subprocess.run(command, capture_output=True, text=True, check=False)
    assert confined.returncode == 2 and "LHKIT_SANDBOX=off" in confined.stderr
    free = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "LHKIT_SANDBOX": "off"}
    )
    assert free.returncode == -signal.SIGSEGV, free.stderr
