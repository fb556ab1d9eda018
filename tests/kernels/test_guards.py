"""Guards of parts/cpu.mlir: each lets through what it should, and says what went wrong and what to do elsewhere."""

import pytest

import lhkit
from lhkit.model.errors import ScheduleError

ANY, NUMBER = "!transform.any_op", "!transform.param<i64>"
MODULE = f"""
// lhkit: library parts/cpu.mlir
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %function = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    STEPS
    transform.yield
  }}
  transform.named_sequence private @require_contractions({ANY} {{transform.readonly}}, {NUMBER} {{transform.readonly}})
  transform.named_sequence private @refuse_scalar_code({ANY} {{transform.readonly}})
  transform.named_sequence private @refuse_large_vectors({ANY} {{transform.readonly}},
    {NUMBER} {{transform.readonly}}, {NUMBER} {{transform.readonly}})
}}
"""
VECTORIZE = f"""
    %matmul = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    %tile, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [4, 16, 1]
      : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})
    transform.structured.vectorize %tile : {ANY}
    BETWEEN
    transform.apply_patterns to %function {{
      transform.apply_patterns.vector.reduction_to_contract
    }} : {ANY}
    %expected = transform.param.constant 1 : i64 -> {NUMBER}
    transform.include @require_contractions failures(propagate) (%root, %expected) : ({ANY}, {NUMBER}) -> ()
"""
CANONICALIZE = f"""
    transform.apply_patterns to %function {{
      transform.apply_patterns.canonicalization
    }} : {ANY}
"""
CAP = f"""
    TILE
    %rows = transform.param.constant 4 : i64 -> {NUMBER}
    %columns = transform.param.constant 16 : i64 -> {NUMBER}
    transform.include @refuse_large_vectors failures(propagate) (%root, %rows, %columns)
      : ({ANY}, {NUMBER}, {NUMBER}) -> ()
"""
TILED = f"""
    %ops = transform.structured.match interface{{LinalgOp}} in %root : ({ANY}) -> {ANY}
    %tile, %loops:2 = transform.structured.tile_using_for %ops tile_sizes [4, 16] : ({ANY}) -> ({ANY}, {ANY}, {ANY})
"""
SCALAR = f"""
    VECTORIZE
    transform.include @refuse_scalar_code failures(propagate) (%root) : ({ANY}) -> ()
"""
VECTORS = f"""
    %ops = transform.structured.match interface{{LinalgOp}} in %root : ({ANY}) -> {ANY}
    transform.structured.vectorize %ops : {ANY}
"""


def apply(steps, payload, worker):
    schedule = lhkit.load_schedule(MODULE.replace("STEPS", steps), worker=worker)
    return lhkit.compile(payload, schedule, worker=worker)


def refused(steps, payload, worker):
    with pytest.raises(ScheduleError) as caught:
        apply(steps, payload, worker)
    return str(caught.value)


def test_a_contraction_that_is_there(worker):
    kernel = apply(VECTORIZE.replace("BETWEEN", ""), lhkit.payloads.matmul(8, 32, 8), worker)
    assert "vector.contract" in kernel.ir("scheduled")
    assert "remark" not in kernel.output and "contract" not in kernel.output


def test_a_lost_contraction(worker):
    said = refused(VECTORIZE.replace("BETWEEN", CANONICALIZE), lhkit.payloads.matmul(8, 32, 8), worker)
    assert "a reduction is no vector.contract, and would run slowly" in said
    assert "do not canonicalize before reduction_to_contract" in said
    assert "parts/cpu.mlir" in said and "expected parameter to be equal to 1, got 0" in said


def test_tiles_below_the_cap(worker):
    assert lhkit.verify(apply(CAP.replace("TILE", TILED), lhkit.payloads.matmul(8, 32, 8), worker)).ok


@pytest.mark.parametrize(
    "payload",
    [("matmul", 5, 16, 8), ("matmul", 4, 17, 8), ("matmul_dynamic",)],
    ids=["rows", "columns", "unknown"],
)
def test_what_would_be_above_the_cap(payload, worker):
    name, *sizes = payload
    said = refused(CAP.replace("TILE", ""), getattr(lhkit.payloads, name)(*sizes), worker)
    assert "this would be a vector above the cap, or one of unknown size: tile it" in said
    assert "linalg.matmul" in said and "linalg.fill" in said


def test_vectors_throughout(worker):
    apply(SCALAR.replace("VECTORIZE", VECTORS), lhkit.payloads.elementwise_chain(4, 16), worker)


def test_what_would_be_a_scalar_loop(worker):
    said = refused(SCALAR.replace("VECTORIZE", ""), lhkit.payloads.elementwise_chain(4, 16), worker)
    assert "this is no vector code and would become a scalar loop: tile it and vectorize it" in said
    assert "linalg.mul" in said and "elementwise_chain" in said


def test_what_would_be_called_for_each_element(worker):
    said = refused(SCALAR.replace("VECTORIZE", VECTORS), lhkit.payloads.softmax(4, 16), worker)
    assert "this would be a call for each element: no vector code is known for it" in said
