"""``lhkit.fold_globals`` and ``lhkit.hoist_into_globals``: what is a constant, what is not, and the numbers."""

import numpy as np
import pytest
from one_step import ANY, after, compiled, match, refusal

import lhkit

FOLD = f'"lhkit.fold_globals"(%root) : ({ANY}) -> ()'
HOIST = match("func.func", f'"lhkit.hoist_into_globals"(%op) : ({ANY}) -> ()')
CLEAN = f'{HOIST}\n    %c = transform.apply_registered_pass "canonicalize" to %root : ({ANY}) -> {ANY}'
T = "tensor<2xf32>"


def with_global(head, body, result="%g"):
    return f"""{head}
func.func @f(%x: {T}) -> {T} {{
  {body}
  return {result} : {T}
}}"""


LOAD = f"%g = ml_program.global_load @g : {T}"
VALUE = f"dense<2.0> : {T}"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"ml_program.global private @g({VALUE}) : {T}", LOAD),
        (f"ml_program.global private @g({VALUE}) : {T}", f"%g = ml_program.global_load_const @g : {T}"),
        (f"ml_program.global private mutable @g({VALUE}) : {T}", LOAD),
        (
            f"ml_program.global private mutable @g({VALUE}) : {T}",
            f"%s = arith.constant {VALUE}\n  ml_program.global_store @g = %s : {T}\n  {LOAD}",
        ),
    ],
    ids=["load", "load of a constant", "never stored", "its value stored"],
)
def test_a_global_that_never_changes_is_a_constant(head, body, worker):
    left = after(with_global(head, body), FOLD, worker)
    assert "ml_program" not in left and f"arith.constant {VALUE.replace('2.0', '2.000000e+00')}" in left


@pytest.mark.parametrize(
    ("head", "body", "kept"),
    [
        (f"ml_program.global public mutable @g({VALUE}) : {T}", LOAD, 2),
        (
            f"ml_program.global private mutable @g({VALUE}) : {T}",
            f"{LOAD}\n  ml_program.global_store @g = %x : {T}",
            3,
        ),
        (f"ml_program.global private @g(#ml_program.extern<{T}>) : {T}", LOAD, 2),
        (
            f"ml_program.global private mutable @g({VALUE}) : {T}\nmodule attributes {{test.uses = [@g]}} {{}}",
            LOAD,
            2,
        ),
        # Not read here, and not ours to erase.
        (f"ml_program.global public mutable @g({VALUE}) : {T}", f"ml_program.global_store @g = %x : {T}", 2),
    ],
    ids=["public", "stored", "extern", "referred to", "public store"],
)
def test_a_global_that_may_change_stays(head, body, kept, worker):
    result = "%g" if "global_load" in body else "%x"
    left = after(with_global(head, body, result), FOLD, worker)
    assert left.count("ml_program.global") == kept


def test_a_public_constant_is_folded_and_stays(worker):
    left = after(with_global(f"ml_program.global public @g({VALUE}) : {T}", LOAD), FOLD, worker)
    assert left.count("ml_program.global") == 1 and "arith.constant dense<2" in left


def test_a_global_of_a_module_inside_is_another_one(worker):
    inner = f"""module {{
  ml_program.global private mutable @g(dense<3.0> : {T}) : {T}
  func.func @h(%x: {T}) -> {T} {{
    {LOAD}
    ml_program.global_store @g = %x : {T}
    return %g : {T}
  }}
}}"""
    left = after(with_global(f"ml_program.global private @g({VALUE}) : {T}\n{inner}", LOAD), FOLD, worker)
    assert "ml_program.global_load @g" in left and "ml_program.global_store @g" in left


def test_state_that_is_read_is_kept_from_call_to_call(worker):
    text = f"""ml_program.global private mutable @g(dense<0.0> : {T}) : {T}
func.func @f(%x: {T}) -> {T} {{
  {LOAD}
  %s = arith.addf %g, %x : {T}
  ml_program.global_store @g = %s : {T}
  return %s : {T}
}}"""
    kernel = compiled(text, FOLD, worker)
    x = np.ones(2, np.float32)
    assert [kernel(x)[0] for _ in range(3)] == [1, 2, 3]


def test_only_modules_are_folded(worker):
    steps = match("func.func", f'"lhkit.fold_globals"(%op) : ({ANY}) -> ()')
    assert "this is no module" in refusal(with_global("", "", "%x"), steps, worker)


@pytest.mark.parametrize(
    ("element", "values", "op"),
    [
        ("f16", "0.5, -2.0, 1.0", "arith.negf %w"),
        ("bf16", "0.5, -2.0, 1.0", "arith.negf %w"),
        ("f32", "0.1, -2.0, 0x7F800000", "arith.negf %w"),
        ("f64", "0.1, -2.0, 1.0e300", "arith.negf %w"),
        ("i8", "1, -2, 127", "arith.xori %w, %w"),
        ("i64", "1, -2, 9223372036854775807", "arith.addi %w, %w"),
        ("i1", "true, false, true", "arith.xori %w, %w"),
        ("index", "1, 2, 3", "arith.addi %w, %w"),
    ],
)
def test_every_element_type_arrives_as_it_was_computed(element, values, op, worker):
    type_ = f"tensor<3x{element}>"
    text = f"""func.func @f() -> {type_} {{
  %w = arith.constant dense<[{values}]> : {type_}
  %r = {op} : {type_}
  return %r : {type_}
}}"""
    left = after(text, CLEAN, worker)
    assert left.count("ml_program.global private @hoisted_0(dense<") == 1 and "arith." not in left
    assert lhkit.verify(compiled(text, CLEAN, worker), []).ok


def test_what_depends_on_arguments_is_cheap_or_large_stays(worker):
    text = """func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<64xf32>) {
  %w = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %s = arith.addf %x, %w : tensor<4xf32>
  %v = tensor.expand_shape %w [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %g = math.sqrt %f : tensor<4xf32>
  %large = tensor.empty() : tensor<64xf32>
  %i = tensor.insert_slice %w into %large[0] [4] [1] : tensor<4xf32> into tensor<64xf32>
  return %s, %v, %g, %i : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<64xf32>
}"""
    steps = match("func.func", f'"lhkit.hoist_into_globals"(%op) {{max_bytes = 255 : i64}} : ({ANY}) -> ()')
    assert "ml_program" not in after(text, steps, worker)


def test_what_a_loop_reads_is_hoisted_out_of_the_function(worker):
    text = """func.func @f(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %a = arith.mulf %w, %half : tensor<4xf32>
  %b = arith.mulf %a, %w : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (tensor<4xf32>) {
    %q = arith.mulf %p, %a : tensor<4xf32>
    %s = arith.addf %q, %b : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""
    left = after(text, CLEAN, worker)
    assert left.count("ml_program.global private") == 2 and left.count("arith.mulf") == 1
    kernel = compiled(text, CLEAN, worker)
    assert lhkit.verify(kernel, [np.arange(4, dtype=np.float32), 3]).ok


def test_names_that_are_taken_are_left_to_what_has_them(worker):
    text = f"""ml_program.global private @hoisted_0(dense<7.0> : {T}) : {T}
func.func @hoisted_1() -> {T} {{
  %w = arith.constant dense<[1.0, 4.0]> : {T}
  %r = math.sqrt %w : {T}
  %g = ml_program.global_load @hoisted_0 : {T}
  %s = arith.addf %r, %g : {T}
  return %s : {T}
}}"""
    left = after(text, HOIST, worker)
    assert "@hoisted_2(dense<[1.000000e+00, 2.000000e+00]>" in left
    np.testing.assert_array_equal(compiled(text, HOIST, worker)(), [8, 9])


def test_what_has_no_lowering_is_refused(worker):
    text = """func.func @f() -> tensor<2xf32> {
  %w = arith.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %i = arith.constant dense<[[1], [0]]> : tensor<2x1xindex>
  %r = tensor.gather %w[%i] gather_dims([0]) unique : (tensor<2xf32>, tensor<2x1xindex>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}"""
    assert "this cannot be computed here" in refusal(text, HOIST, worker)


def test_what_a_branch_guards_is_not_computed(worker):
    text = """func.func @f(%c: i1) -> tensor<2xi32> {
  %w = arith.constant dense<[1, 4]> : tensor<2xi32>
  %z = arith.constant dense<[0, 1]> : tensor<2xi32>
  cf.cond_br %c, ^divided, ^end(%w : tensor<2xi32>)
^divided:
  %q = arith.divsi %w, %z : tensor<2xi32>
  cf.br ^end(%q : tensor<2xi32>)
^end(%r: tensor<2xi32>):
  return %r : tensor<2xi32>
}"""
    assert "ml_program" not in after(text, HOIST, worker)
