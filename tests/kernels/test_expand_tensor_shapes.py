"""``lhkit.expand_tensor_shapes``: sizes arrive beside their tensors, in order, and the numbers stay."""

import re

import numpy as np
import pytest
from one_step import ANY, after, compiled, match, refusal

PRIVATE = f"""%op = transform.structured.match ops{{["func.func"]}} attributes {{sym_visibility = "private"}} in %root
      : ({ANY}) -> {ANY}"""
EXPAND = f'"lhkit.expand_tensor_shapes"(%op) : ({ANY}) -> ()'
STEPS = f"{PRIVATE}\n    {EXPAND}"
# Rows and columns come from different arguments: sizes that were exchanged would be seen.
TWO = """func.func @f(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0, %k = call @g(%b, %a) : (tensor<?xf32>, tensor<?x?xf32>) -> (tensor<?x?xf32>, f32)
  %1, %l = call @g(%b, %a) : (tensor<?xf32>, tensor<?x?xf32>) -> (tensor<?x?xf32>, f32)
  %m = tensor.dim %1, %c0 : tensor<?x?xf32>
  %n = tensor.dim %1, %c1 : tensor<?x?xf32>
  return %0, %1, %m, %n : tensor<?x?xf32>, tensor<?x?xf32>, index, index
}
func.func private @g(%b: tensor<?xf32>, %a: tensor<?x?xf32>) -> (tensor<?x?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %k = tensor.dim %b, %c0 : tensor<?xf32>
  %rows = arith.addi %m, %k : index
  %e = tensor.empty(%rows, %n) : tensor<?x?xf32>
  %r = linalg.fill ins(%one : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r, %one : tensor<?x?xf32>, f32
}"""


def test_sizes_are_passed_and_returned_in_order(worker):
    left = after(TWO, STEPS, worker)
    callee = left[left.index("@g(%arg0") :]
    assert (
        "@g(%arg0: tensor<?xf32>, %arg1: tensor<?x?xf32>, %arg2: index, %arg3: index, %arg4: index)" in callee
    )
    assert "-> (tensor<?x?xf32>, f32, index, index)" in callee and "tensor.dim" not in callee
    a, b = np.zeros((2, 5), np.float32), np.zeros(3, np.float32)
    first, second, rows, columns = compiled(TWO, STEPS, worker, function="f")(a, b)
    assert first.shape == second.shape == (rows, columns) == (5, 5)
    a = np.zeros((2, 7), np.float32)
    assert compiled(TWO, STEPS, worker, function="f")(a, b)[2:] == (5, 7)


def test_an_argument_that_is_returned_has_its_size_returned(worker):
    text = """func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @g(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @g(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}"""
    left = after(text, STEPS, worker)
    assert re.search(r"@g\(%arg0: tensor<\?xf32>, %arg1: index\).*return %arg0, %arg1 :", left, re.DOTALL)


def test_the_size_of_what_is_packed_is_asked_for(worker):
    text = """func.func @f(%a: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = call @g(%a) : (tensor<?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func private @g(%a: tensor<?xf32>) -> tensor<?x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %m = arith.ceildivsi %n, %c2 : index
  %d = tensor.empty(%m, %c2) : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %p = linalg.pack %a padding_value(%zero : f32) inner_dims_pos = [0] inner_tiles = [%c2] into %d
      : tensor<?xf32> -> tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}"""
    left = after(text, STEPS, worker)
    assert left.count("tensor.dim %pack") == 2


def test_a_function_that_calls_itself(worker):
    text = """func.func @f(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %0 = call @g(%a, %n) : (tensor<?xf32>, index) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @g(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %0 = call @g(%a, %n) : (tensor<?xf32>, index) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
    left = after(text, STEPS, worker)
    inner = left[left.index("private @g(%arg0") :]
    assert "call @g(%arg0, %arg1, %arg2) : (tensor<?xf32>, index, index) -> (tensor<?xf32>, index)" in inner


def test_sizes_go_from_one_function_to_the_next(worker):
    text = """func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @g(%a) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = call @h(%0) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @g(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @h(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @h(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %a : tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
    left = after(text, STEPS, worker)
    outer, inner = left[: left.index("private @g")], left[left.index("private @g") :]
    # Of the first argument, and of a sum, which is not seen through.
    assert outer.count("tensor.dim") == 1 and inner.count("tensor.dim") == 1
    result = compiled(text, STEPS, worker, function="f")(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(result, [0, 4, 8])


def test_a_size_whose_number_is_not_known_stays(worker):
    text = """func.func @f(%a: tensor<?x?xf32>, %i: index) -> index {
  %0 = call @g(%a, %i) : (tensor<?x?xf32>, index) -> index
  return %0 : index
}
func.func private @g(%a: tensor<?x?xf32>, %i: index) -> index {
  %n = tensor.dim %a, %i : tensor<?x?xf32>
  return %n : index
}"""
    assert "tensor.dim %arg0, %arg1" in after(text, STEPS, worker)
    assert compiled(text, STEPS, worker, function="f")(np.zeros((2, 7), np.float32), 1) == 7


@pytest.mark.parametrize(
    ("text", "steps", "why"),
    [
        (TWO, match("func.func", EXPAND), "@f is public, and what calls it from outside passes no sizes"),
        ("func.func private @g(tensor<?xf32>)\n", STEPS, "@g is declared and has no body"),
        (
            "func.func @f() -> ((tensor<?xf32>) -> ()) {\n  %0 = func.constant @g : (tensor<?xf32>) -> ()\n"
            "  return %0 : (tensor<?xf32>) -> ()\n}\nfunc.func private @g(%a: tensor<?xf32>) { return }",
            STEPS,
            "func.constant refers to @g, and is no call",
        ),
        (TWO, match("linalg.fill", EXPAND), "this is no func.func"),
    ],
    ids=["public", "declared", "referred to", "no function"],
)
def test_what_cannot_be_given_sizes_is_refused(text, steps, why, worker):
    assert why in refusal(text, steps, worker)


def test_a_function_without_dynamic_tensors_stays(worker):
    text = "func.func @f(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}"
    assert after(text, match("func.func", EXPAND), worker) == after(text, match("func.func"), worker)
