"""What a schedule that fails, finds nothing or does not load is told, whole: golden files, read as a user would."""

import pytest

import lhkit
from lhkit.checks.schedule_check import check_schedule
from lhkit.draw.theme import static_text
from lhkit.draw.viewer import failure_html
from lhkit.model.errors import ScheduleError
from lhkit.show.trace_view import failure_panes
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.explain.match_conditions import split_outside_brackets

ANY = "!transform.any_op"
TO_ANY = f"({ANY}) -> {ANY}"
T = "tensor<64x64xf32>"
CHAIN = f"""func.func @f(%a: {T}, %b: {T}, %c: {T}, %d: {T}) -> {T} {{
  %m = linalg.matmul ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}
  %s = linalg.add ins(%m, %d : {T}, {T}) outs(%c : {T}) -> {T}
  %r = linalg.max ins(%s, %d : {T}, {T}) outs(%c : {T}) -> {T}
  return %r : {T}
}}
"""
GENERIC = f"""func.func @f(%a: {T}, %b: {T}, %c: {T}) -> {T} {{
  %m = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {T}, {T}) outs(%c : {T}) attrs = {{tag = "gemm"}} {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %q = arith.addf %p, %z : f32
    linalg.yield %q : f32
  }} -> {T}
  return %m : {T}
}}
"""


def schedule_of(*lines):
    body = "\n".join(f"    {line}" for line in lines)
    head = f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}})"
    return f"module attributes {{transform.with_named_sequence}} {{\n  {head} {{\n{body}\n    transform.yield\n  }}\n}}\n"


def match(name, op, more=""):
    return f'%{name} = transform.structured.match ops{{["{op}"]}} {more}in %root : {TO_ANY}'


def forall(name):
    return f"%tile, %loop = transform.structured.tile_using_forall %{name} tile_sizes [8] : ({ANY}) -> ({ANY}, {ANY})"


FUSE = f"%in, %new = transform.structured.fuse_into_containing_op %mm into %loop : ({ANY}, {ANY}) -> ({ANY}, {ANY})"
SPLIT = f"%one, %two = transform.split_handle %muls : ({ANY}) -> ({ANY}, {ANY})"
IN_LOOP = (
    f"transform.foreach %both : {ANY} {{",
    f"^bb0(%each: {ANY}):",
    f"  %t, %l = transform.structured.tile_using_for %mm tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})",
    "}",
)
BOTH = (
    match("add", "linalg.add"),
    match("max", "linalg.max"),
    f"%both = transform.merge_handles %add, %max : {ANY}",
)
LOOPS = "[#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>]"
FAILURES = {
    "an empty match far above a fusion": (
        CHAIN, [match("mm", "linalg.matmul"), match("max", "linalg.maximum"), forall("max"), FUSE]
    ),
    "an empty producer of the producer": (
        CHAIN,
        [match("mm", "linalg.matmul"), match("sum", "linalg.addd"), match("max", "linalg.max"), forall("max"),
         FUSE.replace("%mm", "%sum").replace("%in, %new", "%i, %n"), FUSE],
    ),
    "a producer that another op uses": (
        CHAIN, [match("mm", "linalg.matmul"), match("sum", "linalg.add"), match("max", "linalg.max"), forall("max"), FUSE]
    ),
    "a consumer that is fused": (
        CHAIN, [match("mm", "linalg.max"), match("sum", "linalg.add"), forall("sum"), FUSE]
    ),
    "an operand that is not there": (
        CHAIN, [match("add", "linalg.add"), f"%p = transform.get_producer_of_operand %add[4] : {TO_ANY}"]
    ),
    "handles by the names of their author": (CHAIN, [match("muls", "linalg.add"), SPLIT]),
    "two sizes for three loops": (
        CHAIN, [match("mm", "linalg.matmul"), f"transform.structured.vectorize %mm vector_sizes [4] : {ANY}"]
    ),
    "fused before by another name": (
        CHAIN,
        [match("mm", "linalg.matmul"), match("again", "linalg.matmul"), match("sum", "linalg.add"), forall("sum"),
         FUSE, FUSE.replace("%in, %new", "%i, %n").replace("%mm into %loop", "%again into %new")],
    ),
    "two ops by a match far above": (
        CHAIN, [match("mm", "linalg.matmul"), match("two", 'linalg.add", "linalg.max'), forall("two"), FUSE]
    ),
    "consumed an iteration before": (CHAIN, [match("mm", "linalg.matmul"), *BOTH, *IN_LOOP]),
}  # fmt: skip
MISSES = {
    "another attribute": (GENERIC, 'attributes {tag = "gemn"} '),
    "no such attribute": (GENERIC, "attributes {label} "),
    "other loops": (GENERIC, f"attributes {{iterator_types = {LOOPS}}} "),
    "another result": (GENERIC, "filter_result_type = tensor<64x32xf32> "),
    "other operands": (GENERIC, "filter_operand_types = [tensor<64x32xf32>] "),
    "another interface": (GENERIC, "interface {LoopLikeInterface} "),
}
UNLOADABLE = {
    "a loop for each size of a forall": (
        f"%t, %l:2 = transform.structured.tile_using_forall %mm tile_sizes [8, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY})"
    ),
    "the loop of a forall alone": (
        f"%l = transform.structured.tile_using_forall %mm tile_sizes [8, 8] : {TO_ANY}"
    ),
    "more names than types": (
        f"%t, %l, %k = transform.structured.tile_using_forall %mm tile_sizes [8, 8] : ({ANY}) -> ({ANY}, {ANY})"
    ),
}


@pytest.fixture
def traced(worker):
    def trace(payload, lines):
        loaded = lhkit.load_payload(payload, name="p.mlir", worker=worker)
        schedule = lhkit.load_schedule(schedule_of(*lines), name="s.mlir", worker=worker)
        return lhkit.trace(loaded, schedule, worker=worker)

    return trace


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure(name, traced, golden):
    trace = traced(*FAILURES[name])
    assert trace.outcome.status == "failed"
    golden(failure_of(trace).describe() + "\n")


@pytest.mark.parametrize("name", FAILURES)
def test_why_says_the_same(name, traced):
    trace = traced(*FAILURES[name])
    failure, why = failure_of(trace), trace.why()
    assert why.sentence.removesuffix(".") in failure.message
    assert why.advice == failure.advice and (why.advice or "") in str(why)


@pytest.mark.parametrize("name", MISSES)
def test_a_match_that_excludes_what_is_there(name, traced, golden):
    payload, more = MISSES[name]
    lines = [match("gemm", "linalg.generic", more), f'transform.debug.emit_remark_at %gemm, "here" : {ANY}']
    said = [
        w.message for s in traced(payload, lines).step_records for w in s.warnings if w.kind == "zero-match"
    ]
    golden("\n".join(said) + "\n")


@pytest.mark.parametrize("name", UNLOADABLE)
def test_a_step_with_other_results(name, worker, golden):
    with pytest.raises(ScheduleError) as caught:
        lhkit.load_schedule(
            schedule_of(match("mm", "linalg.matmul"), UNLOADABLE[name]), name="s.mlir", worker=worker
        )
    golden(str(caught.value) + "\n")


def test_what_is_to_be_written_helps(traced):
    """The condition that a miss names is met by what it says to write."""
    for payload, more in (
        MISSES[n] for n in ("another attribute", "other loops", "another result", "other operands")
    ):
        use = f'transform.debug.emit_remark_at %gemm, "here" : {ANY}'
        message = (
            traced(payload, [match("gemm", "linalg.generic", more), use]).step_records[0].warnings[0].message
        )
        written = message.rpartition(": write ")[2]
        mended = written if written.startswith("filter") else f"attributes {{{written}}}"
        trace = traced(payload, [match("gemm", "linalg.generic", f"{mended} "), use])
        assert trace.step_records[0].warnings == (), mended


def test_parts_of_a_list_are_divided_outside_of_brackets():
    listed = 'a = [1, 2], map = affine_map<(d0, d1) -> (d0)>, s = "x, y"} rest'
    assert split_outside_brackets(listed) == ["a = [1, 2]", "map = affine_map<(d0, d1) -> (d0)>", 's = "x, y"']
    assert split_outside_brackets("") == [""]


def test_the_check_and_the_trace_say_the_same(traced, worker):
    payload, lines = FAILURES["consumed an iteration before"]
    trace = traced(payload, lines)
    (finding,) = check_schedule(trace.provenance.schedule, worker=worker).findings
    step = trace.why().step
    said = trace.why().sentence.replace(f" (step {step})", "").replace("is invalidated", "may be invalidated")
    assert said == f"{finding.message}."


def test_a_handle_that_a_step_is_given_twice_is_consumed_by_the_step_itself(traced, worker):
    tile = f"%t, %l = transform.structured.tile_using_for %mm tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})"
    twice = f"%f = transform.loop.fuse_sibling %l into %l : ({ANY}, {ANY}) -> {ANY}"
    trace = traced(CHAIN, [match("mm", "linalg.matmul"), tile, twice])
    (finding,) = check_schedule(trace.provenance.schedule, worker=worker).findings
    said = "%l is invalidated: the same transform.loop.fuse_sibling consumes it first"
    assert finding.message == said and trace.why().sentence == f"{said}."


def test_lines_with_carets_are_not_broken():
    """A line that is broken takes its caret to another place: such lines scroll."""
    for room, file, rule in (
        ("draw", "lhkit.css", ".lh-failure pre"),
        ("workbench", "workbench.css", ".lhw-problem pre"),
    ):
        style = static_text(file, room).partition(f"{rule} {{")[2].partition("}")[0]
        assert "white-space: pre;" in style and "overflow-x: auto" in style


def test_the_box_of_a_failure_has_why_first_and_what_mlir_said_folded(traced):
    trace = traced(*FAILURES["an operand that is not there"])
    (pane,) = failure_panes(trace)
    why, folded = pane.html.index("asks for operand 4"), pane.html.index("<details>")
    assert why < folded < pane.html.index("could not find a producer")
    assert pane.html.count("<pre>") == 2 and "what MLIR said" in pane.html
    assert "<details>" not in failure_html("nothing more\nto say")
