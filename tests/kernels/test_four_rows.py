"""parts/four_rows.mlir: long rows are read four at a time, where no other op works on them."""

import re

import pytest

import lhkit
from benchmarks.suite_payloads import einsum, reduction

# Rows and columns that leave a rest, and the vector that four of them make.
ALONG = {
    "matrix times vector": einsum("mk,k->m", 11, 2054),
    "sums": reduction("row_sums", 8, 2048),
    "maxima": reduction("row_maxima", 9, 2065),
    "sums of all": reduction("sum_of_all", 11, 2054),
}
ACROSS = {
    "vector times matrix": einsum("k,kn->n", 11, 299),
    "sums": reduction("column_sums", 10, 256),
}
# A row is computed before it is added up.
CENTERED = """func.func @f(%a: tensor<9x2054xf32>, %b: tensor<9x2054xf32>) -> (tensor<9x2054xf32>, tensor<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9x2054xf32>
  %x = linalg.exp ins(%a : tensor<9x2054xf32>) outs(%e : tensor<9x2054xf32>) -> tensor<9x2054xf32>
  %r = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<9xf32>) -> tensor<9xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<9x2054xf32>) outs(%f : tensor<9xf32>) dimensions = [1]
  return %x, %s : tensor<9x2054xf32>, tensor<9xf32>
}
"""
SINGLE = {
    "places of maxima": reduction("row_argmax", 9, 2065),
    "short rows": reduction("row_sums", 9, 1030),
    "few rows": reduction("row_sums", 7, 2065),
    "what is computed": lhkit.load_payload(CENTERED),
}


def compiled(payload, worker):
    return lhkit.compile(payload, lhkit.load_schedule("cpu.mlir", worker=worker), worker=worker)


@pytest.mark.parametrize("payload", ALONG.values(), ids=ALONG)
def test_long_rows_are_reduced_four_at_a_time(payload, worker):
    kernel = compiled(payload, worker)
    assert "vector<4x16xf32>" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("payload", ACROSS.values(), ids=ACROSS)
def test_rows_are_added_four_at_a_time(payload, worker):
    kernel = compiled(payload, worker)
    assert "arith.constant 4 : index" in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


@pytest.mark.parametrize("payload", SINGLE.values(), ids=SINGLE)
def test_other_rows_go_one_by_one(payload, worker):
    kernel = compiled(payload, worker)
    assert "vector<4x16xf32>" not in kernel.ir("scheduled")
    assert lhkit.verify(kernel).ok


def scheduled(payload, target, worker):
    schedule = lhkit.load_schedule("cpu.mlir", target=target, worker=worker)
    return lhkit.trace(payload, schedule, worker=worker).last_snapshot_text()


@pytest.mark.parametrize("columns", [63, 127, 300])
@pytest.mark.parametrize(("target", "is_masked"), [("avx512", True), ("avx2", False)])
def test_uneven_ends_of_rows_that_are_added_up_have_masks_on_avx512(target, is_masked, columns, worker):
    payload = reduction("column_sums", 16, columns)
    assert ("xi1>" in scheduled(payload, target, worker)) is is_masked
    assert lhkit.verify(compiled(payload, worker)).ok


BATCH = """func.func @f(%a: tensor<3x20x{n}xf32>) -> tensor<3x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x{n}xf32>) -> tensor<3x{n}xf32>
  %r = linalg.reduce {{ arith.addf }} ins(%a : tensor<3x20x{n}xf32>) outs(%f : tensor<3x{n}xf32>) dimensions = [1]
  return %r : tensor<3x{n}xf32>
}}"""


@pytest.mark.parametrize(
    ("columns", "target", "step"), [(255, "avx2", 4), (64, "avx2", 1), (90, "avx2", 4), (255, "avx512", 1)]
)
def test_short_rows_that_exceed_the_registers_are_added_four_at_a_time(columns, target, step, worker):
    for payload in (lhkit.load_payload(BATCH.format(n=columns)), reduction("column_sums", 20, columns)):
        text = scheduled(payload, target, worker)
        assert len(set(re.findall(r"scf.for \S+ = %c0 to %c20 step (%c\d)", text)) & {f"%c{step}"}) == 1
        assert lhkit.verify(compiled(payload, worker)).ok


ROW = """#id = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<8x{n}xf32>) -> tensor<8x{n}xf32> {{
  %e = tensor.empty() : tensor<8x{n}xf32>
  %last = arith.constant {n} : index
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
    ins(%a : tensor<8x{n}xf32>) outs(%e : tensor<8x{n}xf32>) {{
  ^bb0(%x: f32, %o: f32):
{body}
    linalg.yield %y : f32
  }} -> tensor<8x{n}xf32>
  return %r : tensor<8x{n}xf32>
}}"""
DOUBLED = "    %y = arith.addf %x, %x : f32"
BACKWARDS = """    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %before = arith.constant -1 : index
    %end = arith.addi %last, %before : index
    %k = arith.subi %end, %j : index
    %y = tensor.extract %a[%i, %k] : tensor<8x{n}xf32>"""

PLACES = """func.func @f() -> tensor<8x{n}xf32> {{
  %e = tensor.empty() : tensor<8x{n}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
    outs(%e : tensor<8x{n}xf32>) {{
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.muli %j, %j : i32
    %x = arith.sitofp %k : i32 to f32
    %y = {function} %x : f32
    linalg.yield %y : f32
  }} -> tensor<8x{n}xf32>
  return %r : tensor<8x{n}xf32>
}}"""


@pytest.mark.parametrize(("columns", "vector"), [(960, 64), (1024, 32), (4100, 32)])
def test_maps_of_long_rows_go_by_two_vectors_of_avx512_and_by_one_of_avx2(columns, vector, worker):
    payload = lhkit.load_payload(ROW.format(n=columns, body=DOUBLED))
    assert f": vector<{vector}xf32>" in scheduled(payload, "avx512", worker)
    assert ": vector<8xf32>" in scheduled(payload, "avx2", worker)
    assert lhkit.verify(compiled(payload, worker)).ok


@pytest.mark.parametrize("columns", [300, 2048])
def test_what_is_read_backwards_stays_as_it_is(columns, worker):
    payload = lhkit.load_payload(ROW.format(n=columns, body=BACKWARDS.format(n=columns)))
    text = scheduled(payload, "avx512", worker)
    assert "scf.for" not in text and "vector" not in text
    assert lhkit.verify(compiled(payload, worker)).ok


@pytest.mark.parametrize(("function", "is_left"), [("arith.negf", True), ("math.exp", False)])
def test_what_is_computed_of_indices_stays_as_it_is(function, is_left, worker):
    payload = lhkit.load_payload(PLACES.format(n=300, function=function))
    kernel = compiled(payload, worker)
    assert ("scf.for" not in kernel.ir("scheduled")) is is_left
    is_same = str(kernel.assembly()) == str(lhkit.compile(payload, worker=worker).assembly())
    assert is_same is is_left and lhkit.verify(kernel).ok


WEIGHTED = """    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %y = arith.mulf %x, %k : f32"""


@pytest.mark.parametrize("columns", [256, 300])
def test_vectors_of_indices_are_as_narrow_as_what_they_are_cast_to(columns, worker):
    kernel = compiled(lhkit.load_payload(ROW.format(n=columns, body=WEIGHTED)), worker)
    lowered = kernel.ir("llvm")
    assert re.search(r"vector<\d+xi32>", lowered) and not re.search(r"llvm.add .*vector<\d+xi64>", lowered)
    assert lhkit.verify(kernel).ok
