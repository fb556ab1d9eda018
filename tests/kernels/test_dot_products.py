"""Dot products of narrow numbers, in vectors and in matrix tiles: of marked ops, by cpu.mlir, and elsewhere."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.lowering import dot_products
from lhkit.model import target as targets
from lhkit.model.target import cpu_flags, has_matrix_tiles

# Element, sum, cast, product, sum of the body, and the elements of a group.
OF_FLOATS = ("bf16", "f32", "arith.extf", "arith.mulf", "arith.addf", 2)
OF_SIGNED = ("i8", "i32", "arith.extsi", "arith.muli", "arith.addi", 4)
OF_UNSIGNED = ("i8", "i32", "arith.extui", "arith.muli", "arith.addi", 4)
OF_WORDS = ("i16", "i32", "arith.extsi", "arith.muli", "arith.addi", 2)
FOR_TILES = [OF_FLOATS, OF_SIGNED, OF_UNSIGNED]
KINDS = pytest.mark.parametrize("kind", [*FOR_TILES, OF_WORDS], ids=["bf16", "i8", "u8", "i16"])


IN_VECTORS, IN_TILES, IN_PAIRS = 1, 2, 3
WAYS = pytest.mark.parametrize("way", [IN_VECTORS, IN_TILES], ids=["vectors", "tiles"])
NAMES = {1: ("dpbf16ps", "vpdpbusd", "pmadd"), 2: ("tdpbf16ps", "tdpbssd", "tdpbuud")}


def expected(kind, way):
    """Return the instructions that this CPU has for a kind; none if it has none."""
    if way == IN_TILES and has_matrix_tiles() and kind is not OF_WORDS:
        return NAMES[IN_TILES]
    flags = {"avx512_bf16"} if kind is OF_FLOATS else {"avx512_vnni", "avx_vnni", "avx2", "avx512bw"}
    return NAMES[IN_VECTORS] if flags & cpu_flags() else ()


def used(text):
    """Return the instructions that LLVM IR calls."""
    return {name for names in NAMES.values() for name in names if f".{name}" in text}


def groups(kind, rows, columns, steps, *, way=IN_TILES, wrong=False, space="tensor"):
    """Return the text of a function with one marked op; a wrong one squares the left-hand side."""
    element, total, cast, product, add, group = kind
    a, b = f"{rows}x{steps}x{group}x{element}", f"{steps}x{columns}x{group}x{element}"
    c, factor = f"{rows}x{columns}x{total}", "%0" if wrong else "%1"
    result = f" -> tensor<{c}>" if space == "tensor" else ""
    return f"""func.func @product(%a: {space}<{a}>, %b: {space}<{b}>, %c: {space}<{c}>){result} {{
  {"%r = " if result else ""}linalg.generic {{indexing_maps = [affine_map<(m, n, k, g) -> (m, k, g)>,
    affine_map<(m, n, k, g) -> (k, n, g)>, affine_map<(m, n, k, g) -> (m, n)>], iterator_types = ["parallel", "parallel",
    "reduction", "reduction"]}} ins(%a, %b : {space}<{a}>, {space}<{b}>) outs(%c : {space}<{c}>) attrs = {{dot_products = {way}}} {{
  ^bb0(%x: {element}, %y: {element}, %sum: {total}):
    %0 = {cast} %x : {element} to {total}
    %1 = {cast} %y : {element} to {total}
    %2 = {product} %0, {factor} : {total}
    %3 = {add} %sum, %2 : {total}
    linalg.yield %3 : {total}
  }}{result}
  return{f" %r : tensor<{c}>" if result else ""}
}}"""


def drawn(kind, *shape):
    numbers = np.random.default_rng(len(shape))
    if kind is OF_FLOATS:
        return numbers.standard_normal(shape).astype(ml_dtypes.bfloat16)
    if kind is OF_WORDS:  # Four of the least wrap: their sum is 2**31.
        return np.where(numbers.random(shape) < 0.8, -(2**15), numbers.integers(-(2**15), 2**15, shape)).astype(
            np.int16
        )
    return numbers.integers(-128, 128, shape).astype(np.int8)


def exact(kind, values):
    return values.view(np.uint8).astype(np.int64) if kind is OF_UNSIGNED else values.astype(np.float64)


def check_numbers(kernel, kind, rows, columns, steps):
    group = kind[-1]
    a, b = drawn(kind, rows, steps * group), drawn(kind, steps * group, columns)
    c = drawn(OF_SIGNED, rows, columns).astype(np.float32 if kind is OF_FLOATS else np.int32)
    got = kernel(a.reshape(rows, steps, group), b.reshape(steps, group, columns).transpose(0, 2, 1).copy(), c)
    wanted = exact(kind, a) @ exact(kind, b) + c
    if kind is not OF_FLOATS:
        wanted = wanted.astype(np.int64).astype(np.int32)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4 if kind is OF_FLOATS else 0)


@KINDS
@WAYS
@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (17, 32), (32, 5), (3, 16), (16, 31), (1, 1)])
def test_a_marked_op_is_computed_right(kind, way, rows, columns):
    # In vectors any number of steps fits.
    steps = 48 if way == IN_TILES else 37
    kernel = lhkit.compile(lhkit.load_payload(groups(kind, rows, columns, steps, way=way)))
    check_numbers(kernel, kind, rows, columns, steps)
    called = used(kernel.ir("llvm"))
    assert bool(called) == bool(expected(kind, way)) and called <= {*expected(kind, way)}


@KINDS
@pytest.mark.parametrize("target", [x for x in ("avx2", "avx512") if not targets.INSTRUCTION_SETS[x].missing])
@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (17, 5), (1, 16)])
def test_what_another_cpu_has_instructions_for_is_vectors_too(kind, target, rows, columns):
    steps = 37
    kernel = lhkit.compile(
        lhkit.load_payload(groups(kind, rows, columns, steps, way=IN_VECTORS)), target=target
    )
    check_numbers(kernel, kind, rows, columns, steps)
    assert ("llvm.intr.fma" if kind is OF_FLOATS else ".pmadd") in kernel.ir("llvm")


@KINDS
def test_what_does_not_fit_stays_a_loop(kind):
    for text in (groups(kind, 33, 8, 16), groups(kind, 8, 8, 16, wrong=True)):
        kernel = lhkit.compile(lhkit.load_payload(text))
        assert not used(kernel.ir("llvm"))
        assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("kind", FOR_TILES, ids=["bf16", "i8", "u8"])
def test_marked_ops_on_buffers_become_calls_of_instructions(kind, monkeypatch):
    monkeypatch.setattr(dot_products, "may_use_matrix_tiles", lambda: True)
    with new_context():
        module = ir.Module.parse(groups(kind, 20, 32, 16, space="memref"))
        dot_products.multiply_by_dot_products(module, "sse")
        assert "llvm.x86" not in str(module)
        module = ir.Module.parse(groups(kind, 20, 32, 16, space="memref"))
        dot_products.multiply_by_dot_products(module, "")
        assert module.operation.verify()
        text = str(module)
    instruction = {"bf16": "tdpbf16ps", "u8": "tdpbuud", "i8": "tdpbssd"}
    wanted = instruction["u8" if kind is OF_UNSIGNED else kind[0]]
    # Two halves of rows, two of columns: four sums, each loaded and stored, and four factors.
    assert text.count(f'"llvm.x86.{wanted}"') == 4
    assert text.count('"llvm.x86.tileloadd64"') == 8 and text.count('"llvm.x86.tilestored64"') == 4
    assert "linalg.generic" not in text


@pytest.mark.parametrize(
    ("kind", "flags", "instruction"),
    [
        (OF_FLOATS, {"avx512_bf16"}, "avx512bf16.dpbf16ps.512"),
        (OF_SIGNED, {"avx512_vnni"}, "avx512.vpdpbusd.512"),
        (OF_SIGNED, {"avx_vnni"}, "avx512.vpdpbusd.256"),
        (OF_UNSIGNED, {"avx512_vnni"}, None),
        (OF_WORDS, {"avx2"}, "avx2.pmadd.wd"),
        (OF_WORDS, {"avx2", "avx512bw"}, "avx512.pmaddw.d.512"),
        (OF_WORDS, {"sse4_1"}, None),
        (OF_SIGNED, {"avx2", "fma"}, "avx2.pmadd.wd"),
        (OF_SIGNED, {"avx2", "avx512bw", "avx512_vnni"}, "avx512.vpdpbusd.512"),
        (OF_UNSIGNED, {"avx2", "avx512bw"}, "avx512.pmaddw.d.512"),
        (OF_FLOATS, {"avx512_vnni"}, None),
    ],
)
def test_instructions_of_vectors_follow_from_the_flags(kind, flags, instruction, monkeypatch):
    monkeypatch.setattr(dot_products, "code_flags", lambda target: frozenset(flags))
    with new_context():
        module = ir.Module.parse(groups(kind, 20, 17, 5, way=IN_VECTORS, space="memref"))
        dot_products.multiply_by_dot_products(module, "")
        assert module.operation.verify()
        text = str(module)
    assert ("llvm.x86" in text) == (instruction is not None)
    assert instruction is None or f'"llvm.x86.{instruction}"' in text


def product(element, total, result, rows, columns, steps):
    zero = "0.0" if "f" in result else "0"
    return f"""func.func @product(%a: tensor<{rows}x{steps}x{element}>, %b: tensor<{steps}x{columns}x{element}>)
    -> tensor<{rows}x{columns}x{result}> {{
  %zero = arith.constant {zero} : {result}
  %e = tensor.empty() : tensor<{rows}x{columns}x{result}>
  %z = linalg.fill ins(%zero : {result}) outs(%e : tensor<{rows}x{columns}x{result}>) -> tensor<{rows}x{columns}x{result}>
  %r = linalg.matmul ins(%a, %b : tensor<{rows}x{steps}x{element}>, tensor<{steps}x{columns}x{element}>)
    outs(%z : tensor<{rows}x{columns}x{result}>) -> tensor<{rows}x{columns}x{result}>
  return %r : tensor<{rows}x{columns}x{result}>
}}"""


SHAPES = [(64, 64, 64), (130, 200, 96), (33, 17, 65), (600, 40, 33), (16, 16, 32)]


# What is rounded to bf16 at the end is added up like the rest: two shapes of it are enough.
TYPES_AND_SHAPES = [
    *itertools.product([("bf16", "f32", "f32"), ("i8", "i32", "i32")], SHAPES),
    *itertools.product([("bf16", "f32", "bf16")], SHAPES[1:3]),
]


@pytest.mark.parametrize(("types", "shape"), TYPES_AND_SHAPES, ids=str)
@WAYS
def test_cpu_schedule_multiplies_by_dot_products(types, way, shape):
    schedule = lhkit.load_schedule("cpu.mlir")
    knobs = {f"{types[0]}_dots": way}
    kernel = lhkit.compile(lhkit.load_payload(product(*types, *shape)), schedule, knobs=knobs)
    assert lhkit.verify(kernel).ok
    kind = OF_FLOATS if types[0] == "bf16" else OF_SIGNED
    assert bool(used(kernel.ir("llvm"))) == bool(expected(kind, way))
    scheduled = kernel.ir("scheduled")
    assert "dot_products" in scheduled and "linalg.matmul" not in scheduled


@pytest.mark.parametrize("element", ["i8", "i16"])
@pytest.mark.parametrize("shape", [*SHAPES, (61, 75, 1041)], ids=str)
def test_cpu_schedule_multiplies_integers_in_pairs(element, shape):
    text = product(element, "i32", "i32", *shape)
    kernel = lhkit.compile(lhkit.load_payload(text), "cpu.mlir", knobs={"i8_dots": IN_PAIRS})
    assert used(kernel.ir("llvm")) == ({"pmadd"} if expected(OF_WORDS, IN_PAIRS) else set())
    rows, columns, steps = shape
    kind = OF_SIGNED if element == "i8" else OF_WORDS
    a, b = drawn(kind, rows, steps), drawn(kind, steps, columns)
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(kernel(a, b), wanted)


def test_products_of_unknown_extents_are_no_dot_products():
    text = product("i8", "i32", "i32", 64, 64, 64).replace("tensor<64x64xi8>", "tensor<?x64xi8>", 1)
    text = text.replace("ins(%a, %b : tensor<64x64xi8>", "ins(%a, %b : tensor<?x64xi8>")
    kernel = lhkit.compile(lhkit.load_payload(text), "cpu.mlir", knobs={"i8_dots": IN_PAIRS})
    a, b = drawn(OF_SIGNED, 64, 64), drawn(OF_SIGNED, 64, 64)
    np.testing.assert_array_equal(kernel(a, b), a.astype(np.int32) @ b.astype(np.int32))
    assert not used(kernel.ir("llvm"))


@pytest.mark.parametrize(("target", "way"), [("avx512", IN_PAIRS), ("avx2", IN_PAIRS), ("sse", 0), ("neon", 0)])
def test_dot_products_of_other_targets(target, way, monkeypatch):
    monkeypatch.setattr(targets, "cpu_flags", lambda: frozenset({"avx512_vnni", "avx512_bf16"}))
    assert (targets.dot_products("i8", target), targets.dot_products("bf16", target)) == (way, 0)
    assert targets.dot_products("i8") == IN_VECTORS


@pytest.mark.parametrize("target", ["avx2", "sse"])
def test_code_for_other_targets_has_no_other_dot_products(target):
    schedule = lhkit.load_schedule("cpu.mlir", target=target)
    if cpu_flags().isdisjoint({"avx512_vnni", "avx_vnni"}):
        assert dict(schedule.target_defaults)["i8_dots"] == (IN_PAIRS if target == "avx2" else 0)
    kernel = lhkit.compile(lhkit.load_payload(product("i8", "i32", "i32", 64, 64, 64)), schedule)
    assert used(kernel.ir("llvm")) == ({"pmadd"} if target == "avx2" else set())
    assert lhkit.verify(kernel).ok


def test_bf16_is_shuffled_as_integers():
    text = """func.func @evens(%x: tensor<64xbf16>) -> tensor<8xbf16> {
  %c = arith.constant 0 : index
  %p = arith.constant 0.0 : bf16
  %v = vector.transfer_read %x[%c], %p {in_bounds = [true]} : tensor<64xbf16>, vector<64xbf16>
  %s = vector.shuffle %v, %v [0, 2, 4, 6, 8, 10, 12, 14] : vector<64xbf16>, vector<64xbf16>
  %e = tensor.empty() : tensor<8xbf16>
  %w = vector.transfer_write %s, %e[%c] {in_bounds = [true]} : vector<8xbf16>, tensor<8xbf16>
  return %w : tensor<8xbf16>
}"""
    kernel = lhkit.compile(lhkit.load_payload(text))
    shuffles = [line for line in kernel.ir("llvm").splitlines() if "shufflevector" in line]
    assert shuffles and all("i16" in line for line in shuffles)
    values = np.arange(64).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(kernel(values), values[:16:2])
