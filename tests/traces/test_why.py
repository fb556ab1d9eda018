"""Why a handle is invalidated, empty, refused or fine: the sentence and the places, on real traces."""

import pytest

import lhkit
from lhkit.model.errors import UsageError
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.explain.handle_explanation import failure_of

ANY = "!transform.any_op"
TO_ANY = f"({ANY}) -> {ANY}"
TWO = f"({ANY}) -> ({ANY}, {ANY})"
PAYLOAD = """func.func @f(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %product = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %first = linalg.exp ins(%product : tensor<8x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %second = linalg.exp ins(%product : tensor<8x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %unused = linalg.abs ins(%product : tensor<8x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = linalg.add ins(%first, %second : tensor<8x16xf32>, tensor<8x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %sum : tensor<8x16xf32>
}
"""
MATCH = f'%m = transform.structured.match ops{{["linalg.matmul"]}} in %root : {TO_ANY}'
EXPS = f'%exps = transform.structured.match ops{{["linalg.exp"]}} in %root : {TO_ANY}'
ABS = f'%abs = transform.structured.match ops{{["linalg.abs"]}} in %root : {TO_ANY}'
FUNCTION = f'%f = transform.structured.match ops{{["func.func"]}} in %root : {TO_ANY}'
TILE = f"%t, %l = transform.structured.tile_using_for %m tile_sizes [4] : {TWO}"


@pytest.fixture
def traced(worker):
    payload = lhkit.load_payload(PAYLOAD, name="p.mlir", worker=worker)

    def trace(*lines):
        body = "\n".join(lines)
        text = (
            "module attributes {transform.with_named_sequence} {\n"
            f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n{body}\ntransform.yield\n}}\n}}\n"
        )
        return lhkit.trace(payload, lhkit.load_schedule(text, name="s.mlir", worker=worker), worker=worker)

    return trace


def test_a_death_is_explained_with_definition_consumption_payload_and_uses(traced, golden):
    trace = traced(MATCH, TILE, f"transform.loop.unroll %l {{factor = 2}} : {ANY}")
    why = trace.why("%t")
    assert why.sentence == (
        "%t was invalidated: step 2 consumed %l, and the linalg.matmul that %t points to lies inside that scf.for."
    )
    assert [str(s) for s in why.spans] == ["s.mlir:4:10", "s.mlir:5:1", "p.mlir:2:14"]
    assert (why.step, trace.handle(why.handle).name) == (2, "%t")
    golden(f"{why}\n")


def test_the_same_without_the_texts_names_the_places(traced):
    trace = trace_from_json(trace_to_json(traced(MATCH, TILE)))
    lines = trace.why("m").describe().splitlines()
    assert lines == [
        "%m was invalidated: step 1 consumed it.",
        "s.mlir:3:6: note: %m is defined here, by step 0",
        "s.mlir:4:10: note: step 1 (transform.structured.tile_using_for) consumes %m here",
    ]


def test_an_empty_handle_is_told_from_a_dead_one(traced):
    use = f'transform.debug.emit_remark_at %abs, "x" : {ANY}'
    erased = traced(ABS, FUNCTION, f"transform.apply_dce to %f : {ANY}", use).why("%abs")
    assert erased.sentence == (
        "%abs is empty, not invalidated: step 2 erased the linalg.abs that it pointed to; it may be used, but steps"
        " that use it do nothing."
    )
    assert [s.line for s in erased.spans] == [3, 5, 6]
    never = traced(ABS.replace("linalg.abs", "linalg.sub"), use).why("%abs")
    assert "%abs is empty, not invalidated: transform.structured.match found nothing for it" in never.sentence
    assert [s.line for s in never.spans] == [3, 3, 4]
    assert never.places[1].message.startswith("no linalg.sub here; ")


def test_a_handle_that_was_given_nothing_says_from_where(traced):
    trace = traced(MATCH.replace("linalg.matmul", "linalg.mat_mul"), TILE)
    assert trace.why("%l").sentence == (
        "%l is empty, not invalidated: step 1 (transform.structured.tile_using_for) was given %m, which had nothing in it;"
        " it may be used, but steps that use it do nothing."
    )
    assert trace.why("%m").sentence == "%m was invalidated: step 1 consumed it; it was empty by then."
    misspelt = traced(MATCH.replace("linalg.matmul", "linalg.mat_mul")).why("%m").places[1]
    assert misspelt.message == "no linalg.mat_mul here; did you mean linalg.matmul (there is 1)?"


def test_an_op_listed_twice_is_explained_with_the_step_that_made_two_one(traced, golden):
    consume = f"%g = transform.structured.generalize %exps : {TO_ANY}"
    trace = traced(EXPS, FUNCTION, f"transform.apply_cse to %f : {ANY}", consume)
    assert trace.outcome.kind == "repeated-payload"
    golden(failure_of(trace).describe() + "\n")
    # The interpreter keeps track of a handle as long as something uses it.
    use = f'transform.debug.emit_remark_at %exps, "x" : {ANY}'
    same = traced(EXPS, FUNCTION, f"transform.apply_cse to %f : {ANY}", use).why("%exps")
    assert same.sentence == "%exps lists one op twice (a linalg.exp of p.mlir:3:12)."


def test_a_step_that_consumes_a_handle_and_uses_it_again(traced):
    trace = traced(MATCH, TILE, f"%f = transform.loop.fuse_sibling %l into %l : ({ANY}, {ANY}) -> {ANY}")
    assert trace.outcome.kind == "invalidated-handle"
    assert trace.why().sentence == "%l is invalidated: the same transform.loop.fuse_sibling consumes it first."
    assert "Give step 2 handles to different ops" in failure_of(trace).advice


def test_a_step_that_consumes_a_handle_and_uses_another_to_the_same_op(traced):
    same = f"%same = transform.merge_handles %l : {ANY}"
    trace = traced(
        MATCH, TILE, same, f"%f = transform.loop.fuse_sibling %l into %same : ({ANY}, {ANY}) -> {ANY}"
    )
    assert trace.why().sentence == (
        "%same is invalidated: the same transform.loop.fuse_sibling consumes %l first, and both point to the same scf.for."
    )


def test_live_handles_parameters_and_steps_that_never_ran(traced):
    trace = traced(EXPS, f"%n = transform.num_associations %exps : ({ANY}) -> !transform.param<i64>")
    assert trace.why("%exps").sentence == "%exps is live: it points to 2 linalg.exp."
    assert trace.why("%n").sentence == "%n is live: it holds 2 : i64."
    assert trace.why().sentence == "nothing failed: 2 steps ran."
    failed = traced(MATCH, f"%a, %b = transform.split_handle %m : ({ANY}) -> ({ANY}, {ANY})")
    assert failed.why().handle is None and failed.why().spans[0].line == 4
    with pytest.raises(UsageError, match="Nearest names: %exps"):
        trace.why("%exp")
