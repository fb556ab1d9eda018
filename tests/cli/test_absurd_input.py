"""Input that no machine can serve: sizes, numbers, types. A sentence each, and the exit code of the contract."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lhkit.cli.main import READER_GONE


def function(takes, gives="", body="return"):
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(takes.split("; ") if takes else []))
    return f"func.func @f({arguments}){' -> ' + gives if gives else ''} {{ {body} }}\n"


SIZED = """func.func @f(%n: {0}) -> memref<?xf32> {{
  {1}
  %m = memref.alloc(%i) : memref<?xf32>
  return %m : memref<?xf32>
}}
"""
HUGE = """func.func @f(%a: tensor<4xf32>) -> f32 {{
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %is_wanted = arith.constant {0}
  %r = scf.if %is_wanted -> f32 {{
    %e = tensor.empty() : tensor<1000000000000xf32>
    %t = linalg.fill ins(%one : f32) outs(%e : tensor<1000000000000xf32>) -> tensor<1000000000000xf32>
    %x = tensor.extract %t[%c0] : tensor<1000000000000xf32>
    scf.yield %x : f32
  }} else {{
    scf.yield %one : f32
  }}
  return %r : f32
}}
"""
PAYLOADS = {
    "temporary": HUGE.format("true"),
    "temporary_not_reached": HUGE.replace("arith.constant {0}", "arith.cmpf une, %first, %first : f32")
    .format()
    .replace("  %is_wanted", "  %first = tensor.extract %a[%c0] : tensor<4xf32>\n  %is_wanted"),
    "huge": function("tensor<1000000x1000000xf32>"),
    "dynamic": function("tensor<?x?xf32>"),
    "extent": function(f"tensor<{2**63 - 1}xf32>"),
    "no_elements": function(f"tensor<{2**63 - 1}x0xf32>"),
    "rank": function(f"tensor<{'1x' * 2000}f32>"),
    "stride": function("memref<4x4xf32, strided<[9223372036854775807, 1]>>"),
    "far_stride": function("memref<4x4xf32, strided<[1000000000000, 1]>>"),
    "result": function(
        "",
        "tensor<100000000000000xf32>",
        "%0 = tensor.empty() : tensor<100000000000000xf32> return %0 : tensor<100000000000000xf32>",
    ),
    "result_extent": function(
        "",
        f"tensor<{2**63 - 1}xf32>",
        f"%0 = tensor.empty() : tensor<{2**63 - 1}xf32> return %0 : tensor<{2**63 - 1}xf32>",
    ),
    "size_index": SIZED.format("index", "%i = arith.addi %n, %n : index"),
    "size_i64": SIZED.format("i64", "%i = arith.index_cast %n : i64 to index"),
    "negative": SIZED.format(
        "i8", "%c = arith.constant -5 : i8 %j = arith.minsi %n, %c : i8 %i = arith.index_cast %j : i8 to index"
    ),
    "complex_constant": function(
        "",
        "tensor<2xcomplex<f64>>",
        "%0 = arith.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f64>> return %0 : tensor<2xcomplex<f64>>",
    ),
    "not_finite": function(
        "",
        "tensor<3xf32>",
        "%0 = arith.constant dense<[0x7FA00000, 0x7F800000, 0xFF800000]> : tensor<3xf32> return %0 : tensor<3xf32>",
    ),
    "largest": function(
        "",
        "tensor<9xf32>",
        "%0 = arith.constant dense<3.0e38> : tensor<9xf32> return %0 : tensor<9xf32>",
    ),
    "name": 'func.func @"a\\FFb"(%a: f32) -> f32 { return %a : f32 }\n',
    "declared": "func.func private @f(tensor<4xf32>)\n",
}
ENTRY = """module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main({}) {{ transform.yield }}
}}
"""
SCHEDULES = {
    "number_root": ENTRY.format("%root: i64"),
    "no_root": ENTRY.format(""),
    "param_root": ENTRY.format("%root: !transform.param<i64> {transform.readonly}"),
    "value_root": ENTRY.format("%root: !transform.any_value {transform.readonly}"),
}
TYPES = {
    "complex<i32>": "NumPy has no complex<i32>",
    "tensor<4xcomplex<f16>>": "NumPy has no complex<f16>",
    "tensor<4xf4E2M1FN>": "NumPy has no f4E2M1FN",
    "f80": "NumPy has no f80",
    "tensor<2xf128>": "NumPy has no f128",
    "tensor<4xi2>": "NumPy has no i2",
    "i0": "NumPy has no i0",
    "tensor<4xsi1>": "NumPy has no si1",
    "memref<*xf32>": "its rank is not known",
    "tensor<*xf32>": "its rank is not known",
    "vector<4xf32>": "a vector lives in registers",
    "tensor<4xvector<4xf32>>": "its elements, vector<4xf32>, are not numbers",
    "memref<4xmemref<4xf32>>": "its elements, memref<4xf32>, are not numbers",
    "tensor<4x!quant.uniform<i8:f32, 0.5>>": "its elements, !quant.uniform<i8:f32, 5.000000e-01>, are not numbers",
    "!foo.bar": "it is neither an array nor a number",
    "tuple<f32, i32>": "it is neither an array nor a number",
    "(f32) -> f32": "it is neither an array nor a number",
    "none": "it is neither an array nor a number",
    "!llvm.ptr": "it is neither an array nor a number",
    "!transform.any_op": "it is neither an array nor a number",
    'memref<4xf32, "gpu">': 'its memory space, "gpu", is not the CPU\'s',
    "memref<4x4xf32, affine_map<(i, j) -> (i mod 2, j)>>": "its layout is not one of strides",
    "tensor<4x4xf32, #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>>": "it is sparse",
}
M, T = "matmul.mlir", "matmul_tile.mlir"
NUMBER = "Invalid value for"

# (arguments of lhkit, exit code, what standard error has to say)
CASES = [
    (["run", "huge.mlir"], 3, "3,725.3 GiB needed"),
    (["run", "dynamic.mlir", "--size", "2000000"], 3, "at size 2000000: 14,901.2 GiB needed"),
    (["run", "dynamic.mlir", "--size", "99999999999999999999"], 3, "GiB needed"),
    (["run", "dynamic.mlir", "--size", "-1"], 2, NUMBER),
    (["run", "dynamic.mlir", "--seed", "-1"], 2, NUMBER),
    (["run", "extent.mlir"], 1, "it has more bytes than a process can address"),
    (["run", "no_elements.mlir"], 1, "it has more bytes than a process can address"),
    (["run", "rank.mlir"], 1, "it has 2000 dimensions, NumPy's arrays have at most 64"),
    (["run", "stride.mlir"], 1, "it has more bytes than a process can address"),
    (["run", "far_stride.mlir"], 3, "ran out of memory"),
    (["run", "result.mlir"], 3, "an array needs 372,5"),
    (["run", "result_extent.mlir"], 1, "it has more bytes than a process can address"),
    (
        ["run", "temporary.mlir"],
        3,
        "temporary.mlir:6:10: error: a buffer of type memref<1000000000000xf32> needs",
    ),
    (["bench", "temporary.mlir"], 3, "3,725.3 GiB, and a worker may have"),
    (["run", "negative.mlir"], 2, "an array with the extents -5"),
    (["run", "declared.mlir"], 2, "no function with a body"),
    (["run", "size_index.mlir", "--timeout", "nan"], 2, "'nan' is not a number"),
    (["run", M, "--memory", "1e308"], 2, NUMBER),
    (["bench", M, "--seed", "-1"], 2, NUMBER),
    (["bench", M, "--seconds", "nan"], 2, "'nan' is not a number"),
    (["bench", M, "--threads", "0"], 2, NUMBER),
    (["bench", M, "--rounds", "²"], 2, NUMBER),
    (["bench", "huge.mlir"], 3, "3,725.3 GiB needed"),
    (["sweep", M, T, "--seed", "-1"], 2, NUMBER),
    (["sweep", M, T, "--seconds", "nan"], 2, "'nan' is not a number"),
    (["sweep", M, T, "--confirm-seconds", "nan"], 2, "'nan' is not a number"),
    (["sweep", M, T, "--budget", "0"], 2, NUMBER),
    (["sweep", M, T, "--timeout", ""], 2, "'' is not a valid number"),
    (["compare", "a.json", "a.json", "--fail-below", "nan"], 2, "'nan' is not a number"),
    (["run", M, "number_root.mlir"], 2, "takes i64 where the payload's root goes"),
    (["trace", M, "number_root.mlir"], 2, "number_root.mlir:2:3: error: @__transform_main"),
    (["run", M, "no_root.mlir"], 2, "takes no argument where the payload's root goes"),
    (["trace", M, "no_root.mlir"], 2, "takes no argument where the payload's root goes"),
    (["run", M, "param_root.mlir"], 2, "takes !transform.param<i64> where the payload's root goes"),
    (["trace", M, "param_root.mlir"], 2, "The first argument of an entry is a handle to ops"),
    (["run", M, "value_root.mlir"], 2, "takes !transform.any_value where the payload's root goes"),
    (["trace", M, T, "--diff", "1" * 5000], 2, "is not a step"),
    (["trace", M, T, "--diff", "²"], 2, "is not a step"),
    (["check", T, "--timeout", "-inf"], 2, NUMBER),
]
SERVED = [
    ["run", "size_index.mlir", "--size", "7"],
    ["run", "size_i64.mlir", "--size", "7"],
    ["run", "complex_constant.mlir"],
    ["run", "not_finite.mlir"],
    ["run", "largest.mlir"],
    ["run", "name.mlir"],
    ["run", "temporary_not_reached.mlir"],
    ["run", "dynamic.mlir", "--timeout", "inf", "--memory", "99999999999999999999"],
    ["run", "dynamic.mlir", "--timeout", "1e308", "--memory", str(2**63 - 1)],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("absurd")
    for name, text in {**PAYLOADS, **SCHEDULES}.items():
        (path / f"{name}.mlir").write_text(text)
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "message"), CASES, ids=lambda v: " ".join(v)[:60] if isinstance(v, list) else ""
)
def test_absurd_input(arguments, code, message, folder, lhkit_here):
    done = lhkit_here(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", SERVED, ids=" ".join)
def test_odd_input_that_can_be_served(arguments, folder, lhkit_here):
    done = lhkit_here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    if "--size" in arguments:
        expected = 14 if "index" in arguments[1] else 7
        assert f"{expected}xfloat32" in done.stdout


@pytest.mark.parametrize("type_", TYPES)
def test_a_type_that_no_numpy_array_stands_for(type_, tmp_path, lhkit_here):
    (tmp_path / "f.mlir").write_text(function(type_))
    done = lhkit_here("run", "f.mlir")
    assert done.returncode == 1, done.stderr
    assert f"@f takes {type_.partition('<')[0]}" in done.stderr
    assert TYPES[type_] in done.stderr
    assert "f.mlir:1:1: error" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_reader_that_goes_is_no_failed_schedule():
    """The exit code is SIGPIPE's, not 1; nothing is said, and a full device is an error of the output."""
    command = [sys.executable, "-m", "lhkit", "--help"]
    ours, theirs = os.pipe()
    os.close(ours)
    gone = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (gone.returncode, gone.stderr) == (READER_GONE, b"")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("No space left on device\n") and done.stderr.count("\n") == 1
