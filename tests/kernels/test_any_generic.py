"""parts/reductions.mlir and parts/elementwise.mlir: any generic is right, and what can be vectors is."""

import re

import ml_dtypes
import numpy as np
import pytest
from generic_generator import generate_generic

import lhkit

# What a schedule for any payload does around the two parts.
SCHEDULE = """
// lhkit: library parts/cpu.mlir
// lhkit: library parts/rows.mlir
// lhkit: library parts/loop_order.mlir
// lhkit: library parts/partial_sums.mlir
// lhkit: library parts/vector_tiles.mlir
// lhkit: library parts/outer_loops.mlir
// lhkit: library parts/inner.mlir
// lhkit: library parts/four_rows.mlir
// lhkit: library parts/elementwise.mlir
// lhkit: library parts/argmax.mlir
// lhkit: library parts/reductions.mlir
// lhkit: default lanes = vector_bits / 32
// lhkit: allow zero-match, no-effect, tile-size-too-large
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %generic = transform.apply_registered_pass "linalg-generalize-named-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %generic
      : (!transform.any_op) -> !transform.any_op
    transform.include @schedule_reductions failures(propagate) (%root, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @schedule_elementwise failures(propagate) (%root, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @relax_arithmetic failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @expand_math_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @schedule_reductions(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @schedule_elementwise(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @relax_arithmetic(!transform.any_op {transform.readonly})
  transform.named_sequence private @expand_math_in_rows(!transform.any_op {transform.readonly})
}
"""
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}


@pytest.fixture(scope="module")
def schedule(worker):
    return lhkit.load_schedule(SCHEDULE, name="schedules/any_generic.mlir", worker=worker)


def payload_of(maps, iterators, inputs, result, body, *, init="0.0", element="f32"):
    """Return a function of one generic: maps and shapes as text, ``%x0``, ``%x1`` … read, ``%o`` the result so far."""
    result_type = f"tensor<{result}{element}>"
    types = [t if "<" in t else f"tensor<{t}{element}>" for t in inputs]
    elements = [re.search(r"(\w+)>$", t)[1].split("x")[-1] for t in types]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    block = ", ".join([*(f"%x{i}: {e}" for i, e in enumerate(elements)), f"%o: {element}"])
    reading = f"ins({', '.join(f'%a{i}' for i in range(len(types)))} : {', '.join(types)})"
    return f"""func.func @f({arguments}) -> {result_type} {{
  %c = arith.constant {init} : {element}
  %e = tensor.empty() : {result_type}
  %f = linalg.fill ins(%c : {element}) outs(%e : {result_type}) -> {result_type}
  %r = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<{m}>" for m in maps)}],
      iterator_types = [{", ".join(f'"{i}"' for i in iterators)}]}} {reading} outs(%f : {result_type}) {{
  ^bb0({block}):
    {body}
    linalg.yield %y : {element}
  }} -> {result_type}
  return %r : {result_type}
}}
"""


P, R = "parallel", "reduction"
SUM, MAXIMUM = "%y = arith.addf %o, %x0 : f32", "%y = arith.maximumf %x0, %o : f32"
PRODUCTS = "%m = arith.mulf %x0, %x1 : f32\n    %y = arith.addf %m, %o : f32"
NEGATED = "%y = arith.negf %x0 : f32"
WIDENED = "%w = arith.WIDEN %x0 : FROM to TO\n    %y = arith.ADD %w, %o : TO"
ROWS = ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"]
COLUMNS = ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1)"]


def sum_in(source, element, widen, add):
    body = WIDENED.replace("WIDEN", widen).replace("FROM", source).replace("TO", element).replace("ADD", add)
    init = "0" if element.startswith("i") else "0.0"
    return payload_of(ROWS, [P, R], [f"tensor<5x70x{source}>"], "5x", body, init=init, element=element)


IN_VECTORS = {
    "sums of rows": payload_of(ROWS, [P, R], ["7x203x"], "7x", SUM),
    "sums of whole tiles": payload_of(ROWS, [P, R], ["7x128x"], "7x", SUM),
    "sums of short rows": payload_of(ROWS, [P, R], ["70x9x"], "70x", SUM),
    "maxima of rows": payload_of(ROWS, [P, R], ["7x203x"], "7x", MAXIMUM, init="0xFF800000"),
    "sums of columns": payload_of(COLUMNS, [R, P], ["31x203x"], "203x", SUM),
    "sum of all": payload_of(["(d0, d1) -> (d0, d1)", "(d0, d1) -> ()"], [R, R], ["31x203x"], "", SUM),
    "sums over planes": payload_of(
        ["(d0, d1, d2, d3) -> (d0, d1, d2, d3)", "(d0, d1, d2, d3) -> (d0, d3)"],
        [P, R, R, P],
        ["2x5x6x70x"],
        "2x70x",
        SUM,
    ),
    "sums of a transposed matrix": payload_of(
        ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0)"], [P, R], ["31x70x"], "70x", SUM
    ),
    "matrix times vector": payload_of(
        [ROWS[0], COLUMNS[1], ROWS[1]], [P, R], ["17x203x", "203x"], "17x", PRODUCTS
    ),
    "vector times matrix": payload_of(
        ["(d0, d1) -> (d1)", "(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0)"],
        [P, R],
        ["31x", "31x203x"],
        "203x",
        PRODUCTS,
    ),
    "dot": payload_of(["(d0) -> (d0)", "(d0) -> (d0)", "(d0) -> ()"], [R], ["203x", "203x"], "", PRODUCTS),
    "sums where positive": payload_of(
        ROWS,
        [P, R],
        ["7x203x"],
        "7x",
        "%p = arith.cmpf ogt, %x0, %c : f32\n    %s = arith.select %p, %x0, %c : f32\n    %y = arith.addf %s, %o : f32",
    ),
    "f64": sum_in("f32", "f64", "extf", "addf"),
    "f16 in f32": sum_in("f16", "f32", "extf", "addf"),
    "bf16 in f32": sum_in("bf16", "f32", "extf", "addf"),
    "i8 in i32": sum_in("i8", "i32", "extsi", "addi"),
    "i32 in i64": sum_in("i32", "i64", "extsi", "addi"),
    "maxima over windows": payload_of(
        [
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)",
            "(d0, d1, d2, d3, d4, d5) -> (d4, d5)",
            "(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)",
        ],
        [P, P, P, P, R, R],
        ["2x11x13x70x", "3x3x"],
        "2x5x6x70x",
        MAXIMUM,
        init="0xFF800000",
    ),
    "transpose": payload_of(
        ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"], [P, P], ["70x33x"], "33x70x", NEGATED
    ),
    "permuted": payload_of(
        ["(d0, d1, d2) -> (d1, d2, d0)", "(d0, d1, d2) -> (d0, d1, d2)"],
        [P] * 3,
        ["5x32x16x"],
        "16x5x32x",
        NEGATED,
    ),
    "written transposed": payload_of(
        ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1, d0)"], [P, P], ["70x33x"], "33x70x", NEGATED
    ),
    "broadcast": payload_of(
        ["(d0, d1) -> (d0)", "(d0, d1) -> (0, d1)", "(d0, d1) -> (d0, d1)"],
        [P, P],
        ["9x", "1x70x"],
        "9x70x",
        "%y = arith.addf %x0, %x1 : f32",
    ),
    "rows of another": payload_of(
        ["(d0, d1) -> (d0 * 2, d1)", "(d0, d1) -> (d0, d1)"], [P, P], ["9x70x"], "5x70x", NEGATED
    ),
    "positions": payload_of(
        ["(d0, d1) -> (d0, d1)"] * 2,
        [P, P],
        ["9x70x"],
        "9x70x",
        "%i = linalg.index 1 : index\n    %j = arith.index_cast %i : index to i32\n"
        "    %k = arith.sitofp %j : i32 to f32\n    %y = arith.addf %x0, %k : f32",
    ),
}
AS_LOOPS = {
    "every second element": payload_of(["(d0) -> (d0 * 2)", "(d0) -> (d0)"], [P], ["139x"], "70x", NEGATED),
    "no loop": payload_of(["() -> ()", "() -> ()"], [], [""], "", NEGATED),
    "a large cube": payload_of(
        ["(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)"] * 2, [P] * 5, ["2x3x4x5x6x"], "2x3x4x5x6x", NEGATED
    ),
}


@pytest.mark.parametrize("text", IN_VECTORS.values(), ids=IN_VECTORS)
def test_what_becomes_vectors(text, schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(text), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert "linalg." not in scheduled
    shapes = re.findall(r"vector<((?:\d+x)+)", scheduled)
    assert max(np.prod([int(n) for n in shape[:-1].split("x")]) for shape in shapes) <= 256


@pytest.mark.parametrize("text", AS_LOOPS.values(), ids=AS_LOOPS)
def test_what_may_stay_loops_is_right(text, schedule, worker):
    assert lhkit.verify(lhkit.compile(lhkit.load_payload(text), schedule, worker=worker)).ok


ARGMAX = """func.func @f(%a: tensor<6x70xf32>) -> (tensor<6xf32>, tensor<6xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  %e = tensor.empty() : tensor<6xf32>
  %p = tensor.empty() : tensor<6xi32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %g = linalg.fill ins(%none : i32) outs(%p : tensor<6xi32>) -> tensor<6xi32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<6x70xf32>) outs(%f, %g : tensor<6xf32>, tensor<6xi32>) {
  ^bb0(%x: f32, %m: f32, %k: i32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %above = arith.cmpf ogt, %x, %m : f32
    %y = arith.select %above, %x, %m : f32
    %z = arith.select %above, %j, %k : i32
    linalg.yield %y, %z : f32, i32
  } -> (tensor<6xf32>, tensor<6xi32>)
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi32>
}
"""


def test_positions_of_maxima(schedule, worker):
    source = np.random.default_rng(0).standard_normal((6, 70), dtype=np.float32)
    values, places = lhkit.compile(lhkit.load_payload(ARGMAX), schedule, worker=worker)(source)
    assert (values == source.max(1)).all()
    assert (places == source.argmax(1)).all()


STATISTICS = """func.func @f(%a: tensor<7x203xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<7xf32>) -> tensor<7xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<7x203xf32>) outs(%f, %f : tensor<7xf32>, tensor<7xf32>) {
  ^bb0(%x: f32, %s: f32, %q: f32):
    %y = arith.addf %x, %s : f32
    %m = arith.mulf %x, %x : f32
    %z = arith.addf %m, %q : f32
    linalg.yield %y, %z : f32, f32
  } -> (tensor<7xf32>, tensor<7xf32>)
  return %r#0, %r#1 : tensor<7xf32>, tensor<7xf32>
}
"""


def test_several_sums_of_one_pass(schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(STATISTICS), schedule, worker=worker)
    source = np.random.default_rng(0).standard_normal((7, 203), dtype=np.float32)
    sums, squares = kernel(source)
    assert np.allclose(sums, source.sum(1), atol=1e-4)
    assert np.allclose(squares, (source**2).sum(1), rtol=1e-5)
    assert kernel.ir("scheduled").count("scf.for") == 2


def softmax_of(*shape, along=-1):
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    return f"""func.func @f(%a: {type_}) -> {type_} {{
  %e = tensor.empty() : {type_}
  %r = linalg.softmax dimension({along % len(shape)}) ins(%a : {type_}) outs(%e : {type_}) -> {type_}
  return %r : {type_}
}}
"""


@pytest.mark.parametrize(
    "shape", [(90,), (5, 203), (5, 64), (2, 3, 70), (2, 3, 4, 70), (1, 1), (6, 3)], ids=str
)
def test_softmax_of_any_rank(shape, schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(softmax_of(*shape)), schedule, worker=worker)
    source = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    powers = np.exp(source - source.max(-1, keepdims=True))
    assert np.allclose(kernel(source), powers / powers.sum(-1, keepdims=True), atol=1e-6)
    assert "linalg." not in kernel.ir("scheduled")


def test_softmax_goes_row_by_row(schedule, worker):
    """The only tensors besides the result are of one row."""
    scheduled = lhkit.compile(lhkit.load_payload(softmax_of(2, 3, 200)), schedule, worker=worker).ir(
        "scheduled"
    )
    sizes = set(re.findall(r"tensor\.empty\(\) : tensor<(\S+)xf32>", scheduled))
    assert sizes <= {"2x3x200", "1x1x200", "1x1", str(4 * dict(schedule.target_defaults)["lanes"])}


def test_softmax_along_columns(schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(softmax_of(5, 30, 70, along=1)), schedule, worker=worker)
    assert lhkit.verify(kernel).ok


def test_layernorm_goes_row_by_row(schedule, worker):
    kernel = lhkit.compile(lhkit.payloads.layernorm(16, 203), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert "linalg." not in scheduled
    tile = str(4 * dict(schedule.target_defaults)["lanes"])
    assert set(re.findall(r"tensor\.empty\(\) : tensor<(\d+)x", scheduled)) <= {"16", "1", tile}


QUOTIENTS = """func.func @f(%a: tensor<50x50xf32>) -> tensor<50x50xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<50xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<50xf32>) -> tensor<50xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]} ins(%a : tensor<50x50xf32>) outs(%f : tensor<50xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<50xf32>
  %t = tensor.empty() : tensor<50x50xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s, %s : tensor<50x50xf32>, tensor<50xf32>, tensor<50xf32>) outs(%t : tensor<50x50xf32>) {
  ^bb0(%x: f32, %p: f32, %q: f32, %o: f32):
    %z = arith.addf %x, %p : f32
    %y = arith.addf %z, %q : f32
    linalg.yield %y : f32
  } -> tensor<50x50xf32>
  return %r : tensor<50x50xf32>
}
"""


def test_sums_that_other_rows_read_are_computed_once(schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(QUOTIENTS), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    # No loop over rows stands in a loop over rows.
    deepest = max(
        len(line) - len(line.lstrip()) for line in kernel.ir("scheduled").split("\n") if "scf.for" in line
    )
    assert deepest <= 6


ON_MEMREFS = """func.func @f(%a: memref<70xf32>, %b: memref<70xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : memref<70xf32>) outs(%b : memref<70xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}
"""


def test_what_may_alias_is_left_alone(schedule, worker):
    kernel = lhkit.compile(lhkit.load_payload(ON_MEMREFS), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    assert "linalg.generic" in kernel.ir("scheduled")


@pytest.mark.parametrize("extent", [0, 1, 15, 64, 70, 131])
@pytest.mark.parametrize(("maps", "kinds"), [(ROWS, [P, R]), (COLUMNS, [R, P])], ids=["rows", "columns"])
def test_dynamic_extents(maps, kinds, extent, schedule, worker):
    kept = kinds.index(P)
    text = payload_of(maps, kinds, ["?x?x"], "?x", SUM).replace("tensor.empty()", "tensor.empty(%n)")
    text = text.replace(
        "  %c =",
        f"  %k = arith.constant {kept} : index\n  %n = tensor.dim %a0, %k : tensor<?x?xf32>\n  %c =",
        1,
    )
    kernel = lhkit.compile(lhkit.load_payload(text), schedule, worker=worker)
    assert "linalg." not in kernel.ir("scheduled")
    for shape in ((3, extent), (extent, 3)):
        source = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        assert np.allclose(kernel(source), source.sum(kinds.index(R)), atol=1e-4)


def verified(seed, schedule, worker):
    """Return what is wrong with a generated payload, or None."""
    generated = generate_generic(seed)
    kernel = lhkit.compile(lhkit.load_payload(generated.text, name=f"<{seed}>"), schedule, worker=worker)
    dtype = DTYPES[re.search(r"%arg0: tensor<(?:[\d?]+x)*(\w+)>", generated.text)[1]]
    rng = np.random.default_rng(seed)
    draw = (lambda s: rng.integers(-9, 9, s)) if np.dtype(dtype).kind == "i" else rng.standard_normal
    arguments = [np.asarray(draw(shape)).astype(dtype) for shape in generated.shapes]
    result = lhkit.verify(kernel, arguments)
    return None if result.ok else f"{seed}: {result.difference}"


@pytest.mark.parametrize("seed", range(12))
def test_generated_generics(seed, schedule, worker):
    assert verified(seed, schedule, worker) is None


@pytest.mark.heavy
def test_many_generated_generics(schedule, worker):
    found = [verified(seed, schedule, worker) for seed in range(1000, 1200)]
    assert [wrong for wrong in found if wrong] == []


@pytest.mark.parametrize(
    ("rows", "columns", "vector"),
    [(4, 3, "vector<12xf32>"), (16, 7, "vector<32xf32>"), (17, 7, "vector<7xf32>"), (4, 8, "vector<8xf32>")],
)
def test_a_few_short_rows_are_one_row(rows, columns, vector, schedule, worker):
    shape = f"tensor<{rows}x{columns}xf32>"
    payload = lhkit.load_payload(
        f"""func.func @add(%x: {shape}, %y: {shape}) -> {shape} {{
  %e = tensor.empty() : {shape}
  %r = linalg.add ins(%x, %y : {shape}, {shape}) outs(%e : {shape}) -> {shape}
  return %r : {shape}
}}""",
        worker=worker,
    )
    kernel = lhkit.compile(payload, schedule.with_knobs({"lanes": 8}), worker=worker)
    assert set(re.findall(r"vector<\w+>", kernel.ir())) >= {vector}
    x, y = np.random.default_rng(0).random((2, rows, columns), dtype=np.float32)
    np.testing.assert_array_equal(kernel(x, y), x + y)


@pytest.mark.parametrize(
    ("op", "columns", "vector"),
    [
        ("arith.addf %x, %x", 256, "vector<8xf32>"),
        ("arith.addf %x, %x", 255, "vector<32xf32>"),
        ("math.exp %x", 256, "vector<32xf32>"),
    ],
    ids=["cheap", "short", "function"],
)
def test_long_cheap_maps_store_single_vectors_of_eight(op, columns, vector, schedule, worker):
    shape = f"tensor<{columns}xf32>"
    payload = lhkit.load_payload(
        f"""func.func @map(%v: {shape}) -> {shape} {{
  %e = tensor.empty() : {shape}
  %r = linalg.map ins(%v : {shape}) outs(%e : {shape}) (%x: f32, %out: f32) {{
    %y = {op} : f32
    linalg.yield %y : f32
  }}
  return %r : {shape}
}}""",
        worker=worker,
    )
    kernel = lhkit.compile(payload, schedule.with_knobs({"lanes": 8}), worker=worker)
    stored = [line for line in kernel.ir().splitlines() if "vector.transfer_write" in line]
    assert vector in stored[0]
