"""Steps by forms: what is offered, what is previewed, what is added and changed."""

import re

import pytest
from fused_schedule import FUSE, FUSED, KNOB, RELU, SUM, TILE

from lhkit.model.errors import UsageError

TILING = "transform.structured.tile_using_for"
TILED = {"target": "%sum", "tile_sizes": "8, 4"}


def test_a_search_finds_ops_and_recipes(bench):
    assert "structured.match" in bench.ask("search", words="")
    assert "structured.tile_using_for" in bench.ask("search", words="tile loops")
    assert "@clean_up" in bench.ask("search", words="clean")
    everything = bench.ask("search", words="*")  # the browser filters it
    assert everything.count("<li>") > 200 and "@clean_up" in everything
    assert "Nothing like that" in bench.ask("search", words="zzzz")


def test_a_form_offers_the_handles_in_sight_the_nearest_first(bench):
    html = bench.ask("form", op=TILING, after=SUM)["html"]
    offered = [html.index(f'value="{name}"') for name in ("%sum", "%relu", "%root")]
    assert offered == sorted(offered) and "%relu_tile" not in html
    assert "%relu (invalidated by then)" in bench.ask("form", op=TILING, after=FUSE)["html"]


def first_offered(bench, step, kind, ids):
    html = bench.ask("form", op=TILING, after=step, kind=kind, ids=ids)["html"]
    return re.search(r'<select name="target">.*?value="(%\w+)"', html).group(1)


def test_a_form_proposes_the_handle_that_is_selected_or_holds_the_selected_op(bench):
    trace = bench.workbench.trace
    ids = {record.name: record.id for record in trace.handle_records}
    held = {name: " ".join(trace.states_after(FUSE)[ids[name]].payload) for name in ("%relu_tile", "%forall_1")}
    assert first_offered(bench, FUSE, "", "") == "%forall_1"
    assert first_offered(bench, FUSE, "handle", ids["%root"]) == "%root"
    assert first_offered(bench, FUSE, "handle", ids["%sum"]) == "%forall_1"  # %sum was consumed
    assert first_offered(bench, FUSE, "op", held["%relu_tile"]) == "%relu_tile"
    # %forall holds the same loop; the handle that was made last is proposed.
    assert first_offered(bench, FUSE, "op", held["%forall_1"]) == "%forall_1"
    # Nothing is proposed that is not there yet, or that the trace knows to be invalidated.
    assert first_offered(bench, SUM, "handle", ids["%relu_tile"]) == "%sum"


def test_a_form_says_that_no_handle_holds_the_selected_op_and_a_match_takes_its_name(open_bench):
    bench = open_bench(FUSED.replace('ops{["linalg.max"]}', 'ops{["linalg.add"]}'))
    product = next(op.id for op in bench.workbench.trace.op_records if op.name == "linalg.matmul")
    asked = {"after": 0, "kind": "op", "ids": product}
    assert (
        "No handle holds the selected linalg.matmul here" in bench.ask("form", op=TILING, **asked)["sentence"]
    )
    form = bench.ask("form", op="structured.match", **asked)
    assert 'value="linalg.matmul"' in form["html"] and "No handle" not in form["sentence"]
    held = next(op.id for op in bench.workbench.trace.op_records if op.name == "linalg.add")
    assert "No handle" not in bench.ask("form", op=TILING, **{**asked, "ids": held})["sentence"]


def test_a_form_says_which_handles_are_invalidated_without_being_consumed(open_bench):
    aliased = '    %same = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op\n'
    bench = open_bench(FUSED.replace("    %sum = ", f"{aliased}    %sum = "))
    html = bench.ask("form", op=TILING, after=TILE + 1)["html"]
    assert "%same (invalidated by then)" in html and "%sum (invalidated" not in html


def test_a_preview_is_the_text_that_is_added(bench):
    text = bench.ask("preview", op=TILING, after=SUM, fields=TILED)["text"]
    assert text.startswith("%tiled, %loops:2 = transform.structured.tile_using_for %sum tile_sizes [8, 4]")
    bench.do("add_step", op=TILING, after=SUM, fields=TILED, version=bench.workbench.version_id)
    assert text in bench.session.text
    shown = bench.workbench.trace.step_records[bench.workbench.screen.step]
    assert shown.op == TILING
    bench.do("undo")
    assert bench.session.text == FUSED


def test_a_preview_says_which_loops_its_sizes_leave_whole(bench):
    def hint(op=TILING, **fields):
        return bench.ask("preview", op=op, after=SUM, fields={"target": "%sum", **fields})["hint"]

    loops = "linalg.add has the loops i 64, j 64"
    assert hint(tile_sizes="32") == f"{loops}; j will not be tiled (a size per loop, 0 leaves it whole)"
    assert hint(tile_sizes="").startswith(f"{loops}; i, j will not")
    assert hint(tile_sizes="0, 32").startswith(f"{loops}; i will not")
    assert hint(tile_sizes="32, 16") == ""
    assert hint(op="annotate", name="seen") == ""
    assert hint(target="%root", tile_sizes="8") == "", "no structured op"


def test_without_a_place_a_step_goes_to_the_end(bench):
    bench.do("add_step", op="transform.apply_licm", fields={"target": "%forall_1"})
    lines = bench.session.text.splitlines()
    assert "apply_licm" in lines[-4]
    step = bench.workbench.trace.step_records[bench.workbench.screen.step]
    assert step.op == "transform.apply_licm"


@pytest.mark.parametrize(
    ("op", "fields", "written"),
    [
        ("structured.match", {"target": "%root", "ops": "linalg.matmul, linalg.add"}, 'ops{["linalg.matmul", "linalg.add"]}'),
        ("apply_patterns", {"target": "%root", "patterns": "canonicalization"}, "apply_patterns.canonicalization"),
        (TILING, {"target": "%sum", "tile_sizes": "[%tile, 4]"}, "tile_sizes [%tile, 4]"),
        ("annotate", {"target": "%sum", "name": "seen"}, '"seen"'),
        ("loop.unroll", {"target": "%forall_1", "factor": "2"}, "factor = 2"),
        ("merge_handles", {"handles": "%forall_1, %sum_tile", "deduplicate": True}, "deduplicate"),
        ("foreach", {"targets": "%sum_tile"}, "transform.foreach %sum_tile"),
        ("split_handle", {"handle": "%sum_tile", "results": "1"}, "split_handle %sum_tile"),
    ],
)  # fmt: skip
def test_fields_of_every_kind(bench, op, fields, written):
    assert written in bench.ask("preview", op=op, after=FUSE, fields=fields)["text"]


@pytest.mark.parametrize(
    ("op", "fields", "said"),
    [
        (TILING, {"tile_sizes": "8"}, "needs 'target'"),
        (TILING, {"target": "%nowhere"}, "there is no handle %nowhere"),
        (TILING, {"target": "%sum", "tile_sizes": "eight"}, "not an integer"),
        ("split_handle", {"handle": "%sum"}, "cannot be told"),
        ("structured.tile_using_fur", {}, "there is no transform op"),
        ("@nothing", {}, "there is no recipe"),
    ],
)
def test_what_is_missing_or_wrong_is_said_and_nothing_changes(bench, op, fields, said):
    with pytest.raises(UsageError, match=said):
        bench.ask("preview", op=op, after=SUM, fields=fields)
    bench.do("add_step", op=op, after=SUM, fields=fields)
    assert said in bench.notice.message and bench.session.text == FUSED


def test_the_form_of_a_step_holds_what_is_written_and_changes_it(bench):
    html = bench.ask("form", step=TILE)["html"]
    assert 'name="tile_sizes" value="%tile, %tile"' in html
    bench.do("set_step", step=TILE, fields={"target": "%relu", "tile_sizes": "%tile, 16"})
    assert (
        "%relu_tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [%tile, 16]"
        in bench.session.text
    )
    bench.do("undo")
    assert bench.session.text == FUSED


TILED_ONCE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %mm = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %mm tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %t "tile" : !transform.any_op
    transform.loop.unroll %l {factor = 2} : !transform.any_op
    transform.yield
  }
}"""


def test_results_keep_their_names_where_there_are_more_of_them(open_bench):
    bench = open_bench(TILED_ONCE)
    bench.do("set_step", step=1, fields={"target": "%mm", "tile_sizes": "16, 16"})
    assert bench.notice is None
    assert "%t, %l:2 = transform.structured.tile_using_for %mm tile_sizes [16, 16]" in bench.session.text
    assert bench.workbench.trace.outcome.status == "ok"
    bench.do("set_step", step=1, fields={"target": "%mm", "tile_sizes": "8"})
    assert "%t, %l = transform.structured.tile_using_for %mm tile_sizes [8]" in bench.session.text


def test_a_step_that_does_not_verify_says_why(open_bench):
    bench = open_bench(TILED_ONCE)
    bench.do("set_step", step=1, fields={"target": "%mm", "tile_sizes": "0"})
    assert bench.notice.message.endswith("does not verify: fused.mlir:6:27: use of undeclared SSA value name")


@pytest.mark.parametrize("step", [RELU, SUM, KNOB, TILE, FUSE])
def test_a_form_that_is_not_touched_changes_nothing_but_layout(bench, step):
    from lhkit.workbench.commands import _written
    from lhkit.workbench.form_fields import written_fields

    workbench = bench.workbench
    number = step + 1  # in the text the sequence is counted too
    written = _written(workbench, workbench.parsed_script(), number).form
    fields = written_fields(written, workbench.catalogue().op(written.op))
    before = workbench.trace.last_snapshot_text()
    bench.do("set_step", step=step, fields=fields)
    assert bench.notice is None
    after = _written(workbench, workbench.parsed_script(), number).form
    assert after == written and workbench.trace.last_snapshot_text() == before


def test_patterns_keep_their_own_settings(open_bench):
    patterns = (
        "    transform.apply_patterns to %root {\n"
        '      transform.apply_patterns.vector.lower_contraction lowering_strategy = "dot"\n'
        "    } : !transform.any_op\n    transform.yield\n"
    )
    bench = open_bench(FUSED.replace("    transform.yield\n", patterns))
    number = FUSE + 1
    bench.do(
        "set_step", step=number, fields={"target": "%root", "patterns": "lower_contraction", "apply_cse": True}
    )
    assert bench.notice is None
    assert "lowering_strategy = dot" in bench.session.text and "apply_cse" in bench.session.text


def test_a_step_with_steps_inside_is_not_rewritten_by_a_form(open_bench):
    loop = "    transform.foreach %forall_1 : !transform.any_op {\n    ^bb0(%one: !transform.any_op):\n    }\n    transform.yield\n"
    bench = open_bench(FUSED.replace("    transform.yield\n", loop))
    with pytest.raises(UsageError, match="steps inside"):
        bench.ask("form", step=FUSE + 1)


def test_a_recipe_is_added_with_the_sequences_it_needs(bench):
    form = bench.ask("form", op="@clean_up", after=FUSE)
    assert 'name="handle0"' in form["html"]
    bench.do("add_step", op="@clean_up", after=FUSE, fields={"handle0": "%root"})
    assert bench.notice is None
    assert "transform.include @clean_up" in bench.session.text
    assert "transform.named_sequence" in bench.session.text.partition("__transform_main")[2]
    assert bench.workbench.trace.outcome.status == "ok"
    bench.do("add_step", op="@clean_up", after=FUSE, fields={})
    assert "takes 1 handles" in bench.notice.message
