"""Calls: layouts, aliases, memory, scalars, and extents that do not fit one another."""

import ml_dtypes
import numpy as np
import psutil
import pytest

import lhkit
from lhkit.model.errors import PayloadError, UsageError
from lhkit.worker.client import shared_worker

A = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
COUNTING = np.arange(1, 33, dtype=np.float32).reshape(4, 8)
S, D = "tensor<4x6xf32>", "tensor<?x?xf32>"
CONSTANTS = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"


def compiled(text, **options):
    return lhkit.compile(lhkit.load_payload(text), function="f", **options)


def refusal(text, error=PayloadError):
    with pytest.raises(error) as caught:
        compiled(text)
    return caught.value


def test_argument_with_strides_and_offset_is_written_and_copied_back():
    layout, source = (
        "memref<4x4xf32, strided<[8, 1], offset: 3>>",
        "memref<4x?xf32, strided<[?, 2], offset: ?>>",
    )
    kernel = compiled(
        f"func.func @f(%a: {layout}, %b: {source}) {{\nmemref.copy %b, %a : {source} to {layout}\nreturn }}"
    )
    target = np.zeros((8, 8), np.float32)
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    kernel(target[::2, ::2], values)
    np.testing.assert_array_equal(target[::2, ::2], values)
    assert not target[1::2].any()
    assert not target[:, 1::2].any()


def test_one_array_for_two_memrefs_is_one_buffer_and_a_tensor_of_it_keeps_its_value():
    kernel = compiled(
        """func.func @f(%a: memref<2xf32>, %b: memref<2xf32>, %t: tensor<2xf32>) -> (f32, tensor<2xf32>) {
        %c0 = arith.constant 0 : index
        %x = arith.constant 7.0 : f32
        memref.store %x, %a[%c0] : memref<2xf32>
        %y = memref.load %b[%c0] : memref<2xf32>
        return %y, %t : f32, tensor<2xf32> }"""
    )
    for array in (np.ones(2, np.float32), lhkit.empty(2)):
        array[...] = 1
        seen, value = kernel(array, array, array)
        assert seen == 7
        np.testing.assert_array_equal(value, [1, 1])
        np.testing.assert_array_equal(array, [7, 1])


def test_large_results_of_dynamic_shape_arrive_whole():
    kernel = compiled(
        f"""func.func @f(%a: {D}) -> ({D}, i1, {D}) {{
        %t = arith.constant true
        return %a, %t, %a : {D}, i1, {D} }}"""
    )
    large = np.random.default_rng(1).standard_normal((700, 300)).astype(np.float32)
    first, flag, second = kernel(large)
    np.testing.assert_array_equal(first, large)
    np.testing.assert_array_equal(second, large)
    assert flag


def test_nothing_leaks_and_nothing_is_freed_twice_over_thousands_of_calls():
    dynamic = compiled(
        f"""func.func @f(%a: {D}, %c: i1) -> ({D}, {D}, tensor<?xf32>, {D}) {{
        %s = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %k = tensor.cast %s : tensor<2xf32> to tensor<?xf32>
        %t = arith.addf %a, %a : {D}
        %r = scf.if %c -> {D} {{ scf.yield %a : {D} }} else {{ scf.yield %t : {D} }}
        return %a, %r, %k, %r : {D}, {D}, tensor<?xf32>, {D} }}"""
    )
    square = np.ones((60, 60), np.float32)
    process = psutil.Process(shared_worker().pid)

    def call(times):
        for i in range(times):
            same, chosen, constant, _ = dynamic(square, bool(i % 2))
        assert same[0, 0] == 1
        assert chosen[0, 0] == 1
        np.testing.assert_array_equal(constant, [1, 2])
        return process.memory_info().rss

    before = call(200)
    # Had every call left one of its results behind, it would be 2000 * 14 kB = 29 MB.
    assert call(2000) - before < 10e6


def test_bool_vectors_move_bytes():
    kernel = compiled(
        """func.func @f(%m: memref<4x16xi1>, %o: memref<4x16xi1>) {
        %c0 = arith.constant 0 : index
        %z = arith.constant false
        %x = vector.transfer_read %m[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x16xi1>, vector<4x16xi1>
        %ones = arith.constant dense<true> : vector<4x16xi1>
        %r = arith.xori %x, %ones : vector<4x16xi1>
        vector.transfer_write %r, %o[%c0, %c0] {in_bounds = [true, true]} : vector<4x16xi1>, memref<4x16xi1>
        return }"""
    )
    bits = np.random.default_rng(0).integers(0, 2, (4, 16)).astype(bool)
    out = np.zeros_like(bits)
    kernel(bits, out)
    np.testing.assert_array_equal(out, ~bits)


def test_buffers_in_loops_do_not_grow_the_stack():
    t = "tensor<16xf32>"
    kernel = compiled(
        f"""func.func @f(%a: {t}, %n: index) -> f32 {{
        {CONSTANTS}%z = arith.constant 0.0 : f32
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %s = %z) -> ({t}, f32) {{
          %b = arith.cmpf olt, %s, %z : f32
          %u, %w = scf.if %b -> ({t}, f32) {{ scf.yield %a, %z : {t}, f32 }} else {{
            %m = arith.addf %t, %a : {t}
            %v = arith.subf %m, %t : {t}
            %x = tensor.extract %m[%c0] : {t}
            scf.yield %v, %x : {t}, f32 }}
          scf.yield %u, %w : {t}, f32 }}
        return %r#1 : f32 }}""",
        opt_level=0,
    )
    assert kernel(np.ones(16, np.float32), 300_000) == 2


def test_short_floats_round_once():
    kernel = compiled(
        """func.func @f(%x: f64) -> (bf16, f16) {
        %b = arith.truncf %x : f64 to bf16
        %h = arith.truncf %x : f64 to f16
        return %b, %h : bf16, f16 }"""
    )
    # Just above the middle of two bf16: through f32 it would be the middle, and round to even.
    above = 1 + 2.0**-8 + 2.0**-40
    short, half = kernel(above)
    assert short == ml_dtypes.bfloat16(1 + 2.0**-7)
    assert half == np.float16(above)
    for value in (np.inf, -np.inf, 0.0, -0.0, 1e300, 1e-320, -3.14159, 65504.0, 65520.0):
        short, half = kernel(value)
        with np.errstate(over="ignore"):
            assert half == np.float16(value)
            assert short == np.float32(value).astype(ml_dtypes.bfloat16)
    assert all(np.isnan(np.float32(v)) for v in kernel(np.nan))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("i8", 200),
        ("i32", 1.5),
        ("i1", 2),
        ("index", 2**70),
        ("f32", "x"),
        ("f32", 1j),
        ("i64", np.ones(1, np.int64)),
    ],
)
def test_scalar_that_does_not_fit_is_refused(name, given):
    kernel = compiled(f"func.func @f(%x: {name}) -> {name} {{\nreturn %x : {name} }}", opt_level=0)
    with pytest.raises(UsageError, match="argument 0 is"):
        kernel(given)


def test_read_only_array_for_a_memref_is_refused():
    kernel = compiled("func.func @f(%x: memref<2xf32>) {\nreturn }", opt_level=0)
    with pytest.raises(UsageError, match="read-only"):
        kernel(np.broadcast_to(np.float32(1), (2,)))


MATMUL = f"""func.func @f(%a: {D}, %b: {D}, %c: {D}) -> {D} {{
  %r = linalg.matmul ins(%a, %b : {D}, {D}) outs(%c : {D}) -> {D}
  return %r : {D} }}"""


def test_extents_that_disagree_are_refused_before_anything_runs():
    kernel = compiled(MATMUL)
    arrays = [np.ones(s, np.float32) for s in ((4, 3), (3, 5), (4, 5))]
    np.testing.assert_array_equal(kernel(*arrays), np.full((4, 5), 4))
    generation = shared_worker().generation
    for shapes in (((4, 3), (2, 5), (4, 5)), ((4, 3), (3, 5), (4, 9)), ((9, 3), (3, 5), (4, 5))):
        with pytest.raises(UsageError, match="do not fit one another") as caught:
            kernel(*(np.ones(s, np.float32) for s in shapes))
        failure = caught.value.failure
        assert "linalg.matmul: dimension" in failure.diagnostics[0].message
        assert (failure.span.line, failure.span.column) == (2, 8)
        assert "^" in str(caught.value)
    assert shared_worker().generation == generation
    empty = [np.ones(s, np.float32) for s in ((4, 0), (0, 5), (4, 5))]
    np.testing.assert_array_equal(kernel(*empty), empty[2])


def test_extents_are_checked_through_calls_and_casts():
    text = f"""func.func private @add(%a: {D}, %b: {D}) -> {D} {{
      %r = arith.addf %a, %b : {D}
      return %r : {D} }}
    func.func @f(%a: {D}, %b: {D}) -> tensor<4x?xf32> {{
      %r = call @add(%a, %b) : ({D}, {D}) -> {D}
      %s = tensor.cast %r : {D} to tensor<4x?xf32>
      return %s : tensor<4x?xf32> }}"""
    kernel = compiled(text)
    np.testing.assert_array_equal(kernel(A, A), A + A)
    for left, right in ((A, A[:3]), (A, np.ascontiguousarray(A[:, :2])), (A[:3], A[:3])):
        with pytest.raises(UsageError, match="do not fit one another"):
            kernel(left, right)
