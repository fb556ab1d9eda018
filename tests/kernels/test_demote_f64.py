"""``lhkit.demote_f64``: everything inside is f32, public functions keep their types, and what cannot be is refused."""

import numpy as np
import pytest
from one_step import ANY, after, compiled, match, refusal

DEMOTE = f'"lhkit.demote_f64"(%root) : ({ANY}) -> ()'
POWERS = """func.func @f(%x: tensor<3xf64>, %n: index, %s: f64) -> (tensor<3xf64>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : tensor<3xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %one) -> (tensor<3xf64>) {
    %q = arith.mulf %p, %x : tensor<3xf64>
    scf.yield %q : tensor<3xf64>
  }
  return %r, %s : tensor<3xf64>, f64
}"""


def test_a_public_function_rounds_its_arguments_and_widens_its_results(worker):
    left = after(POWERS, DEMOTE, worker)
    assert "@f(%arg0: tensor<3xf64>, %arg1: index, %arg2: f64) -> (tensor<3xf64>, f64)" in left
    casts = [line for line in left.splitlines() if "truncf" in line or "extf" in line]
    rest = [line for line in left.splitlines() if "f64" in line and line not in casts]
    assert len(casts) == 4 and len(rest) == 2, left  # the function and its return
    assert "iter_args(%arg4 = %cst) -> (tensor<3xf32>)" in left


def test_it_is_computed_in_f32(worker):
    x = np.array([1.1, -0.3, 7.7])
    result, scalar = compiled(POWERS, DEMOTE, worker)(x, 3, 0.1)
    narrow = x.astype(np.float32)
    expected = np.float32(1) * narrow * narrow * narrow
    np.testing.assert_array_equal(result, expected.astype(np.float64))
    assert result.dtype == np.float64 and scalar == np.float64(np.float32(0.1))


def test_private_functions_globals_and_constants_change(worker):
    text = """ml_program.global private @w(dense<[0.1, 1.0e300]> : tensor<2xf64>) : tensor<2xf64>
memref.global "private" constant @m : memref<2xf64> = dense<[0.1, 0.2]>
func.func @f(%x: f32) -> (f32, f32) {
  %y = arith.extf %x : f32 to f64
  %z = call @g(%y) : (f64) -> f64
  %n = arith.truncf %z : f64 to f32
  %c1 = arith.constant 1 : index
  %w = ml_program.global_load @w : tensor<2xf64>
  %large = tensor.extract %w[%c1] : tensor<2xf64>
  %l = arith.truncf %large : f64 to f32
  return %n, %l : f32, f32
}
func.func private @g(%x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %b = memref.get_global @m : memref<2xf64>
  %m = memref.load %b[%c0] : memref<2xf64>
  %k = arith.constant 0.1 : f64
  %t = arith.addf %m, %k : f64
  %y = arith.mulf %x, %t : f64
  return %y : f64
}"""
    assert "f64" not in after(text, DEMOTE, worker)
    product, large = compiled(text, DEMOTE, worker, function="f")(np.float32(3))
    tenth = np.float32(0.1)
    assert product == np.float32(3) * (tenth + tenth) and np.isinf(large)


def test_casts_from_and_to_shorter_floats_stay(worker):
    text = """func.func @f(%x: f16, %y: f32) -> (f16, f32) {
  %wide = arith.extf %x : f16 to f64
  %other = arith.extf %y : f32 to f64
  %sum = arith.addf %wide, %other : f64
  %narrow = arith.truncf %sum : f64 to f16
  %less = arith.truncf %sum : f64 to f32
  return %narrow, %less : f16, f32
}"""
    left = after(text, DEMOTE, worker)
    assert "arith.extf %arg0 : f16 to f32" in left and "to f16" in left
    assert left.count("arith.extf") == left.count("arith.truncf") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "func.func @f(%x: f64) -> i64 {\n  %0 = arith.bitcast %x : f64 to i64\n  return %0 : i64\n}",
            "arith.bitcast depends on the bits of an f64",
        ),
        (
            "func.func @f(%x: memref<2xf64>) {\n  return\n}",
            "func.func @f is public and has a memref of f64, which cannot be cast",
        ),
        ("func.func private @g(f64)\nfunc.func @f() {\n  return\n}", "func.func @g is declared with f64"),
        (
            "func.func @f(%x: f64) -> f64 {\n  return %x : f64\n}\n"
            "func.func @g(%x: f64) -> f64 {\n  %0 = call @f(%x) : (f64) -> f64\n  return %0 : f64\n}",
            "func.call calls @f, which is public and keeps f64: make it private first",
        ),
        (
            "ml_program.global public @w(dense<0.1> : tensor<2xf64>) : tensor<2xf64>\n",
            "ml_program.global is public and holds f64",
        ),
        (
            "func.func @f() -> tensor<2xf64> {\n  %0 = arith.constant dense_resource<w> : tensor<2xf64>\n"
            '  return %0 : tensor<2xf64>\n}\n{-# dialect_resources: { builtin: { w: "0x08000000000000000000F03F0000000'
            '000000040" } } #-}',
            "has f64 in a resource",
        ),
        (
            "func.func @f(%x: complex<f64>) -> complex<f64> {\n  %0 = complex.add %x, %x : complex<f64>\n"
            "  return %0 : complex<f64>\n}",
            "complex.add has complex numbers of f64",
        ),
    ],
    ids=["bits", "memref", "declared", "public callee", "public global", "resource", "complex"],
)
def test_what_cannot_be_demoted_is_refused(text, why, worker):
    assert why in refusal(text, DEMOTE, worker)


def test_only_modules_are_demoted(worker):
    steps = match("func.func", f'"lhkit.demote_f64"(%op) : ({ANY}) -> ()')
    assert "this is no module" in refusal(POWERS, steps, worker)
