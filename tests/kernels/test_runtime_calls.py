"""Calls of MLIR's runner libraries: what they return and print, and that nothing else is served."""

import numpy as np
import pytest

import lhkit
from lhkit.compiler.lowering.runtime_calls import MOST_PRINTED_BYTES
from lhkit.model.errors import PayloadError

A = np.array([[0, 1.5], [-2, 3]], np.float32)


def compiled(text):
    return lhkit.compile(lhkit.load_payload(text), function="f")


def printing(declared, argument, cast=""):
    """A payload that prints its argument by a function of this declared type."""
    value = "%u" if cast else "%a"
    return f"""func.func private @printMemrefF32({declared}) attributes {{llvm.emit_c_interface}}
func.func @f(%a: {argument}) {{
  {cast}
  call @printMemrefF32({value}) : ({declared}) -> ()
  return
}}"""


def data_of(printed):
    head, data = printed.split("data = \n")
    return head.partition(" rank")[2], data


def test_a_clock_is_monotonic_and_in_seconds():
    kernel = compiled("""func.func private @rtclock() -> f64
func.func private @nanoTime() -> i64 attributes {llvm.emit_c_interface}
func.func @f() -> (f64, i64, f64) {
  %a = call @rtclock() : () -> f64
  %n = call @nanoTime() : () -> i64
  %b = call @rtclock() : () -> f64
  return %a, %n, %b : f64, i64, f64
}""")
    start, nanoseconds, end = kernel()
    assert start < end < start + 60
    assert start <= nanoseconds * 1e-9 <= end


@pytest.mark.parametrize(
    ("declared", "argument", "cast"),
    [
        ("memref<*xf32>", "memref<2x2xf32>", "%u = memref.cast %a : memref<2x2xf32> to memref<*xf32>"),
        ("tensor<*xf32>", "tensor<2x2xf32>", "%u = tensor.cast %a : tensor<2x2xf32> to tensor<*xf32>"),
        ("memref<2x2xf32>", "memref<2x2xf32>", ""),
        ("tensor<2x2xf32>", "tensor<2x2xf32>", ""),
        ("memref<?x?xf32>", "memref<?x?xf32>", ""),
    ],
)
def test_memrefs_and_tensors_are_printed_as_upstream_does(declared, argument, cast):
    kernel = compiled(printing(declared, argument, cast))
    assert kernel(A.copy()) is None
    head, data = data_of(kernel.printed)
    assert head == " = 2 offset = 0 sizes = [2, 2] strides = [2, 1] "
    assert data == "[[0,   1.5], \n [-2,   3]]\n"
    assert lhkit.verify(kernel).ok


def test_strides_and_offsets_are_followed():
    kernel = compiled(
        printing(
            "memref<*xf32>",
            "memref<3x4xf32>",
            "%s = memref.subview %a[1, 1] [2, 2] [1, 2] : memref<3x4xf32> to"
            " memref<2x2xf32, strided<[4, 2], offset: 5>>\n"
            "%u = memref.cast %s : memref<2x2xf32, strided<[4, 2], offset: 5>> to memref<*xf32>",
        )
    )
    kernel(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert data_of(kernel.printed)[1] == "[[5,   7], \n [9,   11]]\n"


@pytest.mark.parametrize(
    ("name", "element", "dtype", "values", "said"),
    [
        ("I8", "i8", "int8", [-5, 7], "[-5,   7]"),
        ("I32", "i32", "int32", [-5, 7], "[-5,   7]"),
        ("I64", "i64", "int64", [2**40, 7], "[1099511627776,   7]"),
        ("Ind", "index", "int64", [0, 7], "[0,   7]"),
        ("F64", "f64", "float64", [0.25, np.inf], "[0.25,   inf]"),
        ("F16", "f16", "float16", [0.25, -2], "[0.25,   -2]"),
        ("BF16", "bf16", "bfloat16", [0.25, -2], "[0.25,   -2]"),
        ("C32", "complex<f32>", "complex64", [1 + 2j, 0], "[(1,2),   (0,0)]"),
    ],
)
def test_every_element_type_is_printed(name, element, dtype, values, said):
    kernel = compiled(f"""func.func private @printMemref{name}(memref<*x{element}>)
func.func @f(%a: memref<2x{element}>) {{
  %u = memref.cast %a : memref<2x{element}> to memref<*x{element}>
  call @printMemref{name}(%u) : (memref<*x{element}>) -> ()
  return
}}""")
    array = lhkit.empty(2, dtype)
    array[...] = np.array(values).astype(array.dtype)
    kernel(array)
    assert data_of(kernel.printed)[1] == said + "\n"


def test_scalars_vectors_and_texts_are_printed_in_order():
    kernel = compiled("""func.func private @printF64(f64)
func.func private @printNewline()
func.func @f(%x: f64, %n: i32) {
  call @printF64(%x) : (f64) -> ()
  call @printNewline() : () -> ()
  %v = arith.constant dense<[[1.0, 2.5], [3.0, 4.0]]> : vector<2x2xf32>
  vector.print %v : vector<2x2xf32>
  %b = arith.constant dense<[1.0, 2.5]> : vector<2xbf16>
  vector.print %b : vector<2xbf16>
  vector.print %n : i32
  vector.print str "done"
  return
}""")
    assert kernel(0.125, -3) is None
    assert kernel.printed == "0.125\n( ( 1, 2.5 ), ( 3, 4 ) )\n( 1, 2.5 )\n-3\ndone"


def test_what_is_printed_belongs_to_one_call():
    kernel = compiled("func.func @f(%x: f32) {\n  vector.print %x : f32\n  return }")
    kernel(1.0)
    kernel(2.0)
    assert kernel.printed == "2\n"


def test_long_prints_are_cut_and_the_next_call_works():
    kernel = compiled(printing("memref<?x?xf32>", "memref<?x?xf32>"))
    kernel(np.ones((300, 3000), np.float32))
    text, cut, rest = kernel.printed.partition("\n… the rest was cut")
    assert len(text.encode()) == MOST_PRINTED_BYTES and cut
    assert "64 KiB" in rest
    kernel(A.copy())
    assert data_of(kernel.printed)[1].startswith("[[0,   1.5]")


def test_prints_stay_in_order_in_loops_and_under_a_schedule():
    payload = lhkit.load_payload("""func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = tensor.extract %r[%i] : tensor<4xf32>
    vector.print %x : f32
  }
  return %r : tensor<4xf32>
}""")
    schedule = lhkit.load_schedule("""module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}""")
    kernel = lhkit.compile(payload, schedule)
    result = kernel(np.zeros(4, np.float32))
    np.testing.assert_array_equal(result, np.ones(4, np.float32))
    assert kernel.printed == "1\n1\n1\n1\n"
    assert "call" in kernel.assembly()
    assert "memref.load" in kernel.listing().ir


@pytest.mark.parametrize(
    ("declared", "call", "words"),
    [
        ("@system(i64)", "call @system(%n) : (i64) -> ()", "@system, which is declared and has no body"),
        ("@printMemref(i64)", "call @printMemref(%n) : (i64) -> ()", "@printMemref, which is declared and has"),
        ("@printString(i64)", "call @printString(%n) : (i64) -> ()", "@printString, which is declared and has"),
        (
            "@printF32(i64)",
            "call @printF32(%n) : (i64) -> ()",
            "@printF32, which is served as (f32) -> () and declared as (i64) -> ()",
        ),
        (
            "@printMemrefF32(i64, i64)",
            "call @printMemrefF32(%n, %n) : (i64, i64) -> ()",
            "@printMemrefF32, which is served as (memref<*xf32>) -> () and declared as (i64, i64) -> ()",
        ),
        (
            "@printMemrefF32(memref<4xf64>)",
            "%m = memref.alloc() : memref<4xf64>\ncall @printMemrefF32(%m) : (memref<4xf64>) -> ()",
            "declared as (memref<4xf64>) -> ()",
        ),
    ],
)
def test_nothing_else_is_served(declared, call, words):
    with pytest.raises(PayloadError) as caught:
        compiled(f"func.func private {declared}\nfunc.func @f(%n: i64) {{\n  {call}\n  return }}")
    assert words in str(caught.value)
    assert caught.value.failure.stage == "bufferize"


def test_a_function_of_the_payload_goes_before_one_of_the_library():
    kernel = compiled("""func.func @rtclock() -> f64 {
  %c = arith.constant 4.0 : f64
  return %c : f64
}
func.func @f() -> f64 {
  %t = call @rtclock() : () -> f64
  return %t : f64
}""")
    assert kernel() == 4.0


def test_a_function_without_results_writes_its_memrefs():
    kernel = compiled("""func.func @f(%a: memref<2x2xf32>, %b: memref<2x2xf32, strided<[4, 1]>>) {
  linalg.exp ins(%a : memref<2x2xf32>) outs(%b : memref<2x2xf32, strided<[4, 1]>>)
  return
}""")
    b = np.zeros((2, 2), np.float32)
    assert kernel(A.copy(), b) is None
    np.testing.assert_allclose(b, np.exp(A), rtol=1e-6)
    assert lhkit.verify(kernel).ok
