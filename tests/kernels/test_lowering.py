"""Payloads beyond the matrix: what lowers, what keeps its value, and what is refused in which words."""

import dataclasses
import math

import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import as_tuple
from lhkit.model.errors import PayloadError

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


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def with_corner(value):
    changed = A.copy()
    changed[1, 1] = value
    return changed


PAYLOADS = {
    # name: (signature, body, arguments, results)
    "softmax": (
        f"(%a: {S}) -> {S}",
        f"""%e = tensor.empty() : {S}
        %r = linalg.softmax dimension(1) ins(%a : {S}) outs(%e : {S}) -> {S}
        return %r : {S}""",
        (A,),
        (softmax(A),),
    ),
    "concat": (
        f"(%a: {S}, %b: {D}) -> tensor<4x?xf32>",
        f"""%r = tensor.concat dim(1) %a, %b : ({S}, {D}) -> tensor<4x?xf32>
        return %r : tensor<4x?xf32>""",
        (A, A),
        (np.concatenate([A, A], 1),),
    ),
    "pack": (
        f"(%a: {S}) -> tensor<2x3x2x2xf32>",
        f"""%e = tensor.empty() : tensor<2x3x2x2xf32>
        %r = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : {S} -> tensor<2x3x2x2xf32>
        return %r : tensor<2x3x2x2xf32>""",
        (A,),
        (A.reshape(2, 2, 3, 2).transpose(0, 2, 1, 3),),
    ),
    "unpack": (
        f"(%a: tensor<2x3x2x2xf32>) -> {S}",
        f"""%e = tensor.empty() : {S}
        %r = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<2x3x2x2xf32> -> {S}
        return %r : {S}""",
        (A.reshape(2, 2, 3, 2).transpose(0, 2, 1, 3),),
        (A,),
    ),
    "pad": (
        f"(%a: {D}, %n: index, %z: f32) -> {D}",
        f"""%r = tensor.pad %a low[1, %n] high[0, %n] {{
        ^bb0(%i: index, %j: index):
          tensor.yield %z : f32 }} : {D} to {D}
        return %r : {D}""",
        (A, 2, 9.0),
        (np.pad(A, ((1, 0), (2, 2)), constant_values=9),),
    ),
    "reshapes of a strided slice": (
        f"(%a: {S}) -> tensor<8xf32>",
        f"""%s = tensor.extract_slice %a[0, 1] [4, 2] [1, 2] : {S} to tensor<4x2xf32>
        %r = tensor.collapse_shape %s [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
        return %r : tensor<8xf32>""",
        (A,),
        (A[:, 1:5:2].ravel(),),
    ),
    "slice of dynamic size and stride": (
        f"(%a: {D}, %n: index) -> {D}",
        f"""%r = tensor.extract_slice %a[1, 0] [%n, %n] [2, 1] : {D} to {D}
        return %r : {D}""",
        (A, 2),
        (A[1::2, :2],),
    ),
    "insert an element": (
        f"(%a: {S}, %i: index, %x: f32) -> ({S}, {S})",
        f"""%r = tensor.insert %x into %a[%i, %i] : {S}
        return %r, %a : {S}, {S}""",
        (A, 1, 3.0),
        (with_corner(3.0), A),
    ),
    "generate": (
        "(%n: index) -> tensor<?xindex>",
        """%r = tensor.generate %n {
        ^bb0(%i: index):
          tensor.yield %i : index } : tensor<?xindex>
        return %r : tensor<?xindex>""",
        (5,),
        (np.arange(5),),
    ),
    "constant of dynamic type": (
        "() -> tensor<?xf32>",
        """%s = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %r = tensor.cast %s : tensor<2xf32> to tensor<?xf32>
        return %r : tensor<?xf32>""",
        (),
        (np.array([1, 2]),),
    ),
    "loop whose values change places": (
        f"(%a: {S}, %b: {S}, %n: index) -> ({S}, {S})",
        f"""{CONSTANTS}%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %u = %b) -> ({S}, {S}) {{
          scf.yield %u, %t : {S}, {S} }}
        return %r#0, %r#1 : {S}, {S}""",
        (A, 2 * A, 3),
        (2 * A, A),
    ),
    "branch on a condition": (
        f"(%a: {D}, %c: i1) -> {D}",
        f"""%r = scf.if %c -> {D} {{
          scf.yield %a : {D} }} else {{
          %e = arith.addf %a, %a : {D}
          scf.yield %e : {D} }}
        return %r : {D}""",
        (A, True),
        (A,),
    ),
    "while": (
        "(%a: tensor<f32>) -> tensor<f32>",
        """%ten = arith.constant 10.0 : f32
        %r = scf.while (%t = %a) : (tensor<f32>) -> tensor<f32> {
          %x = tensor.extract %t[] : tensor<f32>
          %c = arith.cmpf olt, %x, %ten : f32
          scf.condition(%c) %t : tensor<f32> } do {
        ^bb0(%t: tensor<f32>):
          %u = arith.addf %t, %t : tensor<f32>
          scf.yield %u : tensor<f32> }
        return %r : tensor<f32>""",
        (np.array(1, np.float32),),
        (np.array(16),),
    ),
    "forall": (
        f"(%a: {S}) -> {S}",
        f"""%e = tensor.empty() : {S}
        %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> ({S}) {{
          %s = tensor.extract_slice %a[%i, 0] [1, 6] [1, 1] : {S} to tensor<1x6xf32>
          %u = arith.addf %s, %s : tensor<1x6xf32>
          scf.forall.in_parallel {{
            tensor.parallel_insert_slice %u into %o[%i, 0] [1, 6] [1, 1] : tensor<1x6xf32> into {S} }} }}
        return %r : {S}""",
        (A,),
        (2 * A,),
    ),
    "blocks that loop": (
        f"(%a: {S}, %n: index) -> {S}",
        f"""{CONSTANTS}cf.br ^head(%c0, %a : index, {S})
        ^head(%i: index, %t: {S}):
          %c = arith.cmpi slt, %i, %n : index
          cf.cond_br %c, ^body, ^exit
        ^body:
          %u = arith.addf %t, %a : {S}
          %j = arith.addi %i, %c1 : index
          cf.br ^head(%j, %u : index, {S})
        ^exit:
          return %t : {S}""",
        (A, 3),
        (4 * A,),
    ),
    "blocks that return": (
        f"(%a: {D}, %c: i1) -> {D}",
        f"""cf.cond_br %c, ^same, ^twice
        ^same:
          return %a : {D}
        ^twice:
          %e = arith.addf %a, %a : {D}
          return %e : {D}""",
        (A, False),
        (2 * A,),
    ),
    "explicit allocation and freeing": (
        "(%a: memref<4x6xf32>) -> memref<6x4xf32>",
        """%t = memref.transpose %a (i, j) -> (j, i) : memref<4x6xf32> to memref<6x4xf32, strided<[1, 6]>>
        %m = memref.alloc() : memref<6x4xf32>
        %r = memref.alloc() : memref<6x4xf32>
        memref.copy %t, %m : memref<6x4xf32, strided<[1, 6]>> to memref<6x4xf32>
        memref.copy %m, %r : memref<6x4xf32> to memref<6x4xf32>
        memref.dealloc %m : memref<6x4xf32>
        return %r : memref<6x4xf32>""",
        (A.copy(),),
        (A.T,),
    ),
    "memref result with a layout": (
        "(%a: memref<?x4xf32>) -> memref<?x2xf32, strided<[4, 2], offset: 1>>",
        f"""{CONSTANTS}%n = memref.dim %a, %c0 : memref<?x4xf32>
        %s = memref.subview %a[0, 1] [%n, 2] [1, 2]
          : memref<?x4xf32> to memref<?x2xf32, strided<[4, 2], offset: 1>>
        return %s : memref<?x2xf32, strided<[4, 2], offset: 1>>""",
        (np.ascontiguousarray(A[:, :4]),),
        (A[:, 1:4:2],),
    ),
    "reduction, gather, mask and scan of vectors": (
        "(%m: memref<4x8xf32>) -> memref<4x8xf32>",
        f"""{CONSTANTS}%z = arith.constant 0.0 : f32
        %out = memref.alloc() : memref<4x8xf32>
        %none = arith.constant dense<0.0> : vector<8xf32>
        %mask = vector.create_mask %c1, %c1 : vector<4x8xi1>
        %x = vector.transfer_read %m[%c0, %c0], %z {{in_bounds = [true, true]}}
          : memref<4x8xf32>, vector<4x8xf32>
        %k = vector.mask %mask {{ vector.transfer_read %m[%c0, %c0], %z {{in_bounds = [true, true]}}
          : memref<4x8xf32>, vector<4x8xf32> }} : vector<4x8xi1> -> vector<4x8xf32>
        %sums = vector.multi_reduction <add>, %x, %none [0] : vector<4x8xf32> to vector<8xf32>
        %wide = vector.broadcast %sums : vector<8xf32> to vector<4x8xf32>
        %all, %last = vector.scan <add>, %x, %none {{inclusive = true, reduction_dim = 0}}
          : vector<4x8xf32>, vector<8xf32>
        %s = arith.addf %wide, %k : vector<4x8xf32>
        %r = arith.addf %s, %all : vector<4x8xf32>
        vector.transfer_write %r, %out[%c0, %c0] {{in_bounds = [true, true]}} : vector<4x8xf32>, memref<4x8xf32>
        return %out : memref<4x8xf32>""",
        (COUNTING,),
        (COUNTING.sum(0) + COUNTING.cumsum(0) + np.pad(COUNTING[:1, :1], ((0, 3), (0, 7))),),
    ),
    "recursion": (
        "(%n: i64) -> i64",
        """%one = arith.constant 1 : i64
        %c = arith.cmpi sle, %n, %one : i64
        %r = scf.if %c -> i64 {
          scf.yield %one : i64 } else {
          %m = arith.subi %n, %one : i64
          %q = func.call @f(%m) : (i64) -> i64
          %p = arith.muli %q, %n : i64
          scf.yield %p : i64 }
        return %r : i64""",
        (5,),
        (np.int64(120),),
    ),
    "math": (
        f"(%a: {S}) -> {S}",
        f"""%b = math.erf %a : {S}
        %c = math.tanh %b : {S}
        %d = math.absf %c : {S}
        %e = math.sqrt %d : {S}
        %f = math.exp %e : {S}
        %g = math.log %f : {S}
        %h = math.clampf %g to [%c, %e] : {S}
        return %h : {S}""",
        (A,),
        (np.sqrt(np.abs(np.tanh(np.vectorize(math.erf)(A)))),),
    ),
    "complex numbers": (
        "(%a: tensor<?xcomplex<f32>>, %x: complex<f64>) -> (tensor<?xcomplex<f32>>, complex<f64>)",
        """%r = linalg.mul ins(%a, %a : tensor<?xcomplex<f32>>, tensor<?xcomplex<f32>>)
          outs(%a : tensor<?xcomplex<f32>>) -> tensor<?xcomplex<f32>>
        return %r, %x : tensor<?xcomplex<f32>>, complex<f64>""",
        (np.array([1 + 2j, 3j], np.complex64), 1 + 2j),
        (np.array([-3 + 4j, -9]), np.complex128(1 + 2j)),
    ),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_lowers_and_is_right(name):
    signature, body, arguments, expected = PAYLOADS[name]
    before = [np.array(a) for a in arguments]
    results = as_tuple(compiled(f"func.func @f{signature} {{\n{body}\n}}", opt_level=1)(*arguments))
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert np.shape(result) == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    for argument, was in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, was)


@dataclasses.dataclass(frozen=True)
class Refused:
    text: str
    stage: str
    words: str
    place: tuple[int, int]


REFUSED = {
    "op that does not bufferize": Refused(
        f"func.func @f(%a: {S}, %s: tensor<2x1xindex>) -> tensor<2x6xf32> {{\n"
        f"  %r = tensor.gather %a[%s] gather_dims([0]) : ({S}, tensor<2x1xindex>) -> tensor<2x6xf32>\n"
        "  return %r : tensor<2x6xf32> }",
        "bufferize",
        "tensor.gather: op was not bufferized",
        (2, 8),
    ),
    "op without lowering": Refused(
        "func.func @f(%x: index) -> index {\n  %r = math.ipowi %x, %x : index\n  return %r : index }",
        "lower",
        "failed to legalize operation 'math.ipowi'",
        (2, 8),
    ),
    "call of a declaration": Refused(
        "func.func private @g(f32) -> f32\n"
        "func.func @f(%x: f32) -> f32 {\n  %r = call @g(%x) : (f32) -> f32\n  return %r : f32 }",
        "bufferize",
        "@g, which is declared and has no body",
        (3, 8),
    ),
    "function of no library": Refused(
        "llvm.func @missing_here()\nfunc.func @f() {\n  llvm.call @missing_here() : () -> ()\n  return }",
        "jit",
        "missing_here",
        (3, 3),
    ),
    "vector argument": Refused(
        "func.func @f(%x: vector<4xf32>) {\n  return }", "parse", "a vector lives in registers", (1, 1)
    ),
    "argument of four bits": Refused(
        "func.func @f(%x: i4) {\n  return }", "parse", "one i4 is passed as an element of an array only", (1, 1)
    ),
    "unranked argument": Refused(
        "func.func @f(%x: memref<*xf32>) {\n  return }", "parse", "its rank is not known", (1, 1)
    ),
    "layout without strides": Refused(
        "func.func @f(%x: memref<4x4xf32, affine_map<(i, j) -> (j, i)>>) {\n  return }",
        "parse",
        "its layout is not one of strides",
        (1, 1),
    ),
}


SPARSE = "#sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>"


@pytest.mark.parametrize(
    ("op", "line"),
    [
        (f"sparse_tensor.convert %a : {S} to tensor<4x6xf32, {SPARSE}>", "sparse_tensor.convert"),
        (f"tensor.cast %a : {S} to tensor<4x6xf32, {SPARSE}>", "tensor.cast"),
        (f"tensor.empty() : tensor<4x6xf32, {SPARSE}>", "tensor.empty"),
    ],
)
def test_sparse_tensors_are_not_read_as_dense(op, line):
    error = refusal(f"""func.func @f(%a: {S}) -> {S} {{
  %s = {op}
  %x = linalg.exp ins(%a : {S}) outs(%s : tensor<4x6xf32, {SPARSE}>) -> tensor<4x6xf32, {SPARSE}>
  %r = linalg.exp ins(%x : tensor<4x6xf32, {SPARSE}>) outs(%a : {S}) -> {S}
  return %r : {S}
}}""")
    assert error.failure.kind == "lowering"
    assert f"{line} gives a sparse tensor" in error.failure.message
    assert error.failure.span.line == 2
    assert "would read it as dense" in error.failure.advice


@pytest.mark.parametrize(
    ("body", "stage", "named"),
    [
        (
            "%0 = tosa.exp %a : (tensor<4xf32>) -> tensor<4xf32>\n"
            "%1 = tosa.abs %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
            "%2 = tosa.exp %1 : (tensor<4xf32>) -> tensor<4xf32>\n"
            "%r = tensor.extract %2[%i] : tensor<4xf32>",
            "bufferize",
            [("tosa.exp", 2), ("tosa.abs", 3), ("tosa.exp", 4)],
        ),
        (
            "%0 = gpu.thread_id x\n%1 = gpu.block_id x\n%2 = arith.addi %0, %1 : index\n"
            "%r = tensor.extract %a[%2] : tensor<4xf32>",
            "lower",
            [("gpu.thread_id", 2), ("gpu.block_id", 3)],
        ),
    ],
)
def test_every_op_without_a_lowering_is_named_with_its_place(body, stage, named):
    error = refusal(f"func.func @f(%a: tensor<4xf32>, %i: index) -> f32 {{\n{body}\nreturn %r : f32 }}")
    assert error.failure.stage == stage
    found = [(d.message.partition(":")[0], d.span.line) for d in error.failure.diagnostics]
    assert found == named
    assert all(name in error.failure.message for name, _ in named)


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_names_op_place_and_stage(name):
    case = REFUSED[name]
    error = refusal(case.text)
    assert error.failure.kind == "lowering"
    assert error.failure.stage == case.stage
    assert case.words in str(error)
    assert f"(stage: {case.stage})" in error.failure.message
    assert (error.failure.span.line, error.failure.span.column) == case.place
    source = case.text.splitlines()[case.place[0] - 1]
    assert f"{case.place[0]:>6} | {source[:60]}" in str(error)
    assert "^" in str(error)


def test_declaration_that_is_not_called_does_not_matter():
    text = "func.func private @g(tensor<4xf32>) -> f32\nfunc.func @f(%x: f32) -> f32 {\n  return %x : f32 }"
    assert compiled(text, opt_level=0)(1.5) == 1.5


SHARED_FILL = """func.func @f(%a: tensor<4x12xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x12xf32>) outs(%fill : tensor<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %more = arith.addf %x, %sum : f32
    linalg.yield %more : f32
  } -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4x12xf32>) outs(%fill : tensor<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %square = arith.mulf %x, %x : f32
    %more = arith.addf %square, %sum : f32
    linalg.yield %more : f32
  } -> tensor<4xf32>
  return %sums, %squares : tensor<4xf32>, tensor<4xf32>
}
"""


def test_results_that_start_from_one_tensor(worker):
    """The first result is computed in its destination, which the second one must not take for its own."""
    source = np.arange(48, dtype=np.float32).reshape(4, 12)
    sums, squares = lhkit.compile(lhkit.load_payload(SHARED_FILL), worker=worker)(source)
    assert (sums == source.sum(1)).all()
    assert (squares == (source**2).sum(1)).all()
