"""lhkit.split_argmax in cpu.mlir: places of extrema are found in vectors, and are those of the payload."""

import ml_dtypes
import numpy as np
import pytest

import lhkit

COMPARED = (
    "%c = arith.cmpf {}, %x, %m : T\n    %y = arith.select %c, %x, %m : T\n    %z = arith.select %c, %j, %k : I"
)
EXTREMUM = "%y = arith.{}f %x, %m : T\n    %c = arith.cmpf {}, %x, %m : T\n    %z = arith.select %c, %j, %k : I"
INTEGERS = (
    "%y = arith.maxsi %x, %m : T\n    %c = arith.cmpi sgt, %x, %m : T\n    %z = arith.select %c, %j, %k : I"
)
# As JAX writes it: NaN are the largest, and of equal elements the one of the smaller place is taken.
BY_PLACE = """%g = arith.cmpf ogt, %x, %m : T
    %u = arith.cmpf une, %x, %x : T
    %t = arith.ori %g, %u : i1
    %s = arith.cmpf oeq, %x, %m : T
    %b = arith.cmpi slt, %j, %k : I
    %e = arith.andi %s, %b : i1
    %w = arith.ori %t, %e : i1
    %y = arith.select %t, %x, %m : T
    %z = arith.select %w, %j, %k : I"""
# As TOSA's conversion writes it: NaN are the largest.
FIRST_NAN = """%g = arith.cmpf ugt, %x, %m : T
    %o = arith.cmpf ord, %m, %m : T
    %c = arith.andi %g, %o : i1
    %y = arith.select %c, %x, %m : T
    %z = arith.select %c, %j, %k : I"""
# A NaN is taken, and then what follows it.
FORGETS = FIRST_NAN.replace("%c = arith.andi %g, %o : i1", "%c = arith.cmpf ugt, %x, %m : T")

# Body, type of elements and of places, whether places come first.
SEARCHES = {
    "ogt": (COMPARED.format("ogt"), "f32", "i64", False),
    "oge": (COMPARED.format("oge"), "f32", "i32", False),
    "olt": (COMPARED.format("olt"), "f32", "i64", True),
    "ole": (COMPARED.format("ole"), "f64", "i64", False),
    "maximum": (EXTREMUM.format("maximum", "ogt"), "f32", "i64", False),
    "minimum": (EXTREMUM.format("minimum", "olt"), "f32", "i32", True),
    "by place": (BY_PLACE, "f32", "i32", False),
    "first NaN": (FIRST_NAN, "f32", "i32", True),
    "bf16": (COMPARED.format("ogt"), "bf16", "i64", False),
    "i8": (INTEGERS, "i8", "i32", False),
    "i32": (INTEGERS, "i32", "i64", False),
}
AS_LOOPS = {
    "forgets a NaN": (FORGETS, "f32", "i64", False),
    "other place": (COMPARED.format("ogt").replace("%j, %k", "%k, %j"), "f32", "i64", False),
    "other value": (EXTREMUM.format("minimum", "ogt"), "f32", "i64", False),
    "unsigned": (INTEGERS.replace("sgt", "ugt"), "i32", "i64", False),
}
SHAPES = [(9, 67), (3, 16), (1, 67)]
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}


def search(body, element, place, places_first, m, n, starts=True):
    """Return a search for places; what rows start from are arguments, or constants."""
    source, of_values, of_places = (
        f"tensor<{m}x{n}x{element}>",
        f"tensor<{m}x{element}>",
        f"tensor<{m}x{place}>",
    )
    in_order = (lambda *pair: pair[::-1]) if places_first else (lambda *pair: pair)
    types, results = ", ".join(in_order(of_values, of_places)), ", ".join(in_order("%y", "%z"))
    scalars = ", ".join(in_order(element, place))
    arguments = ", ".join(in_order("%m: T", "%k: I"))
    block = body.replace(": T", f": {element}").replace(": I", f": {place}")
    arguments = arguments.replace("T", element).replace("I", place)
    given = "" if not starts else f", %v: {of_values}, %p: {of_places}"
    low = "-5" if element.startswith("i") else "0xFF800000" if element == "f32" else "-5.0"
    constants = f"""
  %zero = arith.constant 0 : {place}
  %low = arith.constant {low} : {element}
  %d0 = arith.constant 0 : index
  %rows = tensor.dim %a, %d0 : {source}
  %ev = tensor.empty({"%rows" if m == "?" else ""}) : {of_values}
  %ep = tensor.empty({"%rows" if m == "?" else ""}) : {of_places}
  %v = linalg.fill ins(%low : {element}) outs(%ev : {of_values}) -> {of_values}
  %p = linalg.fill ins(%zero : {place}) outs(%ep : {of_places}) -> {of_places}"""
    return lhkit.load_payload(f"""func.func @f(%a: {source}{given}) -> ({types}) {{{"" if starts else constants}
  %r:2 = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%a : {source}) outs({", ".join(in_order("%v", "%p"))} : {types}) {{
  ^bb0(%x: {element}, {arguments}):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to {place}
    {block}
    linalg.yield {results} : {scalars}
  }} -> ({types})
  return %r#0, %r#1 : {types}
}}
""")


def drawn(shape, dtype, rng):
    """Return elements many of which are equal, with zeros of both signs, infinities and NaN in some rows."""
    values = rng.integers(-3, 4, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return values
    values[(values == 0) & (rng.random(shape) < 0.5)] = -0.0
    for special in (np.inf, -np.inf, np.nan):
        rows = rng.random((shape[0], *([1] * (len(shape) - 1)))) < 0.3
        values[rows & (rng.random(shape) < 0.1)] = special
    values[rng.random(shape[0]) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return values


def same_bits(one, other):
    """Return True where arrays are the same, zeros of the same sign, and NaN of any bits."""
    is_float = not np.issubdtype(one.dtype, np.integer)
    signs = np.signbit(one.astype(float)) == np.signbit(other.astype(float))
    wide = [each.astype(float) if is_float else each for each in (one, other)]
    alike = np.array_equal(*wide, equal_nan=True)
    return alike and (not is_float or bool((signs | np.isnan(wide[0])).all()))


def check(payload, element, place, shapes, schedule, worker, starts=True):
    kernel, plain = lhkit.compile(payload, schedule, worker=worker), lhkit.compile(payload, worker=worker)
    rng = np.random.default_rng(0)
    for shape in shapes:
        for _ in range(8):
            given = [drawn(shape, DTYPES[element], rng)]
            if starts:
                given.append(drawn(shape[:1], DTYPES[element], rng))
                given.append(rng.integers(-3, 99, shape[0]).astype(DTYPES[place]))
            for found, wanted in zip(kernel(*given), plain(*given), strict=True):
                assert same_bits(found, wanted), shape
    return kernel


@pytest.fixture(scope="module")
def schedule(worker):
    return lhkit.load_schedule("cpu.mlir", worker=worker)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("what", [*SEARCHES, *AS_LOOPS])
def test_results_are_those_of_the_payload(what, shape, schedule, worker):
    of = (SEARCHES | AS_LOOPS)[what]
    starts = what != "by place"
    check(search(*of, *shape, starts=starts), *of[1:3], [shape], schedule, worker, starts)


@pytest.mark.parametrize("what", SEARCHES)
def test_rows_are_searched_in_vectors(what, schedule, worker):
    of = SEARCHES[what]
    scheduled = lhkit.compile(search(*of, 9, 67, starts=False), schedule, worker=worker).ir("scheduled")
    types = [f"vector<4x8x{of[1]}>", "vector<4x8xi32>"]
    assert f"-> ({', '.join(types[::-1] if of[3] else types)})" in scheduled


@pytest.mark.parametrize("what", SEARCHES)
def test_one_row_is_searched_in_vectors(what, schedule, worker):
    of = SEARCHES[what]
    scheduled = lhkit.compile(search(*of, 1, 67, starts=False), schedule, worker=worker).ir("scheduled")
    types = [f"vector<8x{of[1]}>", "vector<8xi32>"]
    assert f"-> ({', '.join(types[::-1] if of[3] else types)})" in scheduled


@pytest.mark.parametrize("what", AS_LOOPS)
def test_other_bodies_stay_as_they_are(what, schedule, worker):
    scheduled = lhkit.compile(search(*AS_LOOPS[what], 9, 67), schedule, worker=worker).ir("scheduled")
    assert "vector<4x8x" not in scheduled


@pytest.mark.parametrize("what", ["ogt", "oge", "maximum", "by place"])
def test_dynamic_extents(what, schedule, worker):
    of = SEARCHES[what]
    shapes = [(5, 0), (3, 7), (9, 67), (4, 64), (1, 8)]
    check(search(*of, "?", "?", starts=False), *of[1:3], shapes, schedule, worker, starts=False)
