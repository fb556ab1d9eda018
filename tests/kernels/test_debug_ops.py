"""``lhkit.strip_debug_ops`` and ``lhkit.trace_dispatches``: what is printed, and that both leave the numbers alone."""

import numpy as np
import pytest
from one_step import ANY, after, compiled, match, refusal

STRIP = f'"lhkit.strip_debug_ops"(%root) : ({ANY}) -> ()'
TRACE = match("func.call", f'"lhkit.trace_dispatches"(%op) : ({ANY}) -> ()')
CALLS = """func.func @f(%x: tensor<2xf32>, %n: i32) -> (tensor<2xf32>, i32) {
  %0, %1 = call @g(%x, %n) : (tensor<2xf32>, i32) -> (tensor<2xf32>, i32)
  %2, %3 = call @g(%0, %1) : (tensor<2xf32>, i32) -> (tensor<2xf32>, i32)
  return %2, %3 : tensor<2xf32>, i32
}
func.func private @g(%x: tensor<2xf32>, %n: i32) -> (tensor<2xf32>, i32) {
  %y = arith.addf %x, %x : tensor<2xf32>
  %m = arith.addi %n, %n : i32
  return %y, %m : tensor<2xf32>, i32
}"""


def in_lines(printed):
    """Return what was printed without the heads of memrefs."""
    return [line for line in printed.splitlines() if line and "Memref" not in line]


def test_calls_print_what_they_are_given_and_return_in_order(worker):
    kernel = compiled(CALLS, TRACE, worker, function="f")
    result, number = kernel(np.array([1.0, 2.0], np.float32), 3)
    np.testing.assert_array_equal(result, [4.0, 8.0])
    assert number == 12
    first = ["g: argument 0", "[1,   2]", "g: argument 1", "3", "g: result 0", "[2,   4]", "g: result 1", "6"]
    then = ["g: argument 0", "[2,   4]", "g: argument 1", "6", "g: result 0", "[4,   8]", "g: result 1", "12"]
    assert in_lines(kernel.printed) == [*first, *then]


def test_memrefs_are_printed_before_and_after_they_are_written(worker):
    text = """func.func @f(%m: memref<2xi32>) {
  call @g(%m) : (memref<2xi32>) -> ()
  return
}
func.func private @g(%m: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 7 : i32
  memref.store %n, %m[%c0] : memref<2xi32>
  return
}"""
    kernel = compiled(text, TRACE, worker, function="f")
    kernel(np.array([1, 2], np.int32))
    assert in_lines(kernel.printed) == ["g: argument 0", "[1,   2]"]


def test_stripping_takes_out_what_tracing_put_in(worker):
    steps = f"{TRACE}\n    {STRIP}\n    %c = transform.apply_registered_pass"
    steps += f' "canonicalize" to %root : ({ANY}) -> {ANY}'
    steps += f'\n    %d = transform.apply_registered_pass "symbol-dce" to %c : ({ANY}) -> {ANY}'
    left = after(CALLS, steps, worker)
    assert "print" not in left and "tensor.cast" not in left and left.count("call @g") == 2


def test_everything_for_debugging_goes_also_inside_of_loops_and_from_two_targets(worker):
    text = """func.func private @printF32(f32)
func.func @f(%x: f32, %n: index, %ok: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %ok, "no"
    func.call @printF32(%x) : (f32) -> ()
    vector.print %x : f32
  }
  return %x : f32
}"""
    both = match("func.func", f"%all = transform.merge_handles %root, %op : {ANY}")
    left = after(text, f'{both}\n    "lhkit.strip_debug_ops"(%all) : ({ANY}) -> ()', worker)
    assert not any(word in left for word in ("cf.assert", "vector.print", "call @"))
    assert "scf.for" in left


def test_a_function_of_the_payload_with_the_name_of_a_print_stays(worker):
    text = """func.func private @printF32(%x: f32) { return }
func.func private @printed(f32)
func.func @f(%x: f32) {
  call @printF32(%x) : (f32) -> ()
  call @printed(%x) : (f32) -> ()
  return
}"""
    left = after(text, STRIP, worker)
    assert "call @printF32" in left and "call @printed" in left


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CALLS.replace("f32", "f8E5M2"), "no function of MLIR's runner libraries prints tensor<2xf8E5M2>"),
        (
            f"func.func private @printMemrefF32(memref<*xf32>)\n{CALLS}",
            "@printMemrefF32 is declared here, and not as (tensor",
        ),
    ],
    ids=["element type", "declared"],
)
def test_what_cannot_be_printed_is_refused(text, why, worker):
    assert why in refusal(text, TRACE, worker)


def test_only_calls_are_traced(worker):
    steps = match("arith.addf", f'"lhkit.trace_dispatches"(%op) : ({ANY}) -> ()')
    assert "this is no func.call" in refusal(CALLS, steps, worker)


def test_vectors_are_printed(worker):
    text = """func.func @f(%x: f32) -> f32 {
  %v = vector.broadcast %x : f32 to vector<2xf32>
  %0 = call @g(%v) : (vector<2xf32>) -> f32
  return %0 : f32
}
func.func private @g(%v: vector<2xf32>) -> f32 {
  %0 = vector.reduction <add>, %v : vector<2xf32> into f32
  return %0 : f32
}"""
    kernel = compiled(text, TRACE, worker, function="f")
    kernel(np.float32(1.5))
    assert in_lines(kernel.printed) == ["g: argument 0", "( 1.5, 1.5 )", "g: result 0", "3"]


TIMES = match("func.call", f'"lhkit.trace_dispatches"(%op) {{times}} : ({ANY}) -> ()')


def test_calls_print_their_seconds_and_no_values(worker):
    kernel = compiled(CALLS, TIMES, worker, function="f")
    result, number = kernel(np.array([1.0, 2.0], np.float32), 3)
    np.testing.assert_array_equal(result, [4.0, 8.0])
    assert number == 12
    names, seconds = in_lines(kernel.printed)[::2], in_lines(kernel.printed)[1::2]
    assert names == ["g: seconds", "g: seconds"]
    assert all(0 <= float(s) < kernel.last_call_ns * 1e-9 for s in seconds)


def test_stripping_takes_out_the_clocks(worker):
    left = after(CALLS, f"{TIMES}\n    {STRIP}", worker)
    assert "call @rtclock" not in left and "subf" not in left and left.count("call @g") == 2


def test_a_clock_of_ones_own_is_refused(worker):
    own = CALLS + "\nfunc.func private @rtclock() -> i64"
    assert "@rtclock is declared here, and not as () -> f64" in refusal(own, TIMES, worker)
