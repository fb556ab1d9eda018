"""The schedule as text, without a screen: typing, marks, completion, help, the file."""

import json

import pytest
from fused_schedule import FUSED

from lhkit.draw.theme import static_text
from lhkit.text.script import Script
from lhkit.workbench.pane_text import lines_of_steps
from lhkit.workbench.text_questions import completions, handles_before

TYPO = FUSED.replace("%sum into", "%su into")
DEATH = FUSED.replace(
    "    transform.yield",
    "    %g = transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op\n    transform.yield",
)
BODY = FUSED.partition("    transform.yield")[0]


@pytest.fixture
def text_bench(bench):
    bench.do("open", area="left", pane="text")
    return bench


def type_(bench, text, gesture="one", by="me"):
    return bench.do("set_text", text=text, gesture=gesture, by=by)


def test_the_text_is_sent_to_those_who_look_at_it(bench):
    assert bench.part("text") is None
    assert "text" in bench.do("open", area="left", pane="text")
    part = bench.part("text")
    assert part["text"] == FUSED and part["marks"] == [] and part["by"] == ""
    assert json.loads(json.dumps(part)) == part


def test_lines_are_those_of_steps(text_bench):
    trace = text_bench.workbench.trace
    lines = text_bench.part("text")["lines"]
    assert lines == lines_of_steps(Script(FUSED, "fused.mlir"), trace)
    text = FUSED.splitlines()
    for first, last, step in lines:
        assert trace.step_records[step].op in "\n".join(text[first - 1 : last])


def test_a_step_that_is_typed_is_traced_and_a_row(text_bench):
    changed = type_(text_bench, DEATH.replace("generalize %relu", "generalize %relu_tile"))
    assert {"steps", "head", "text", "timeline"} <= changed
    assert text_bench.workbench.trace.step_records[5].op == "transform.structured.generalize"
    assert text_bench.part("text")["by"] == "me"


def test_what_is_typed_in_one_go_is_one_change(text_bench):
    type_(text_bench, TYPO)
    type_(text_bench, FUSED + "// a\n")
    type_(text_bench, FUSED + "// a comment\n")
    text_bench.do("settle_text")
    type_(text_bench, FUSED + "// another\n", gesture="two")
    text_bench.do("undo")
    assert text_bench.session.text == FUSED + "// a comment\n"
    text_bench.do("undo")
    assert text_bench.session.text == FUSED and not text_bench.session.history.can_undo
    assert text_bench.part("text")["by"] == ""


def test_a_command_between_ends_the_change(text_bench):
    type_(text_bench, FUSED + "// a\n")
    text_bench.do("checkpoint")
    type_(text_bench, FUSED + "// ab\n")
    text_bench.do("undo")
    assert text_bench.session.text == FUSED + "// a\n"


def test_a_typo_is_marked_the_trace_stays_and_repairs_wait_for_the_end_of_typing(text_bench):
    trace = text_bench.workbench.trace
    type_(text_bench, TYPO)
    part = text_bench.part("text")
    (mark,) = part["marks"]
    line = TYPO.splitlines()[mark["line"] - 1]
    assert line[mark["start"] : mark["end"]] == "%su" and mark["severity"] == "error"
    assert mark["source"] == "parser" and part["lines"] == []
    assert text_bench.workbench.trace is trace and "does not parse" in text_bench.part("head")["stale"]
    assert text_bench.workbench.repairs.found == ()
    text_bench.do("settle_text")
    assert any("%sum" in repair.title for repair in text_bench.workbench.repairs.found)
    type_(text_bench, FUSED)
    assert text_bench.part("text")["marks"] == [] and text_bench.part("head")["stale"] == ""


def test_a_death_is_marked_by_its_cause_and_its_places(text_bench):
    type_(text_bench, DEATH)
    marks = text_bench.part("text")["marks"]
    lines = DEATH.splitlines()
    said = {m["severity"]: lines[m["line"] - 1][m["start"] : m["end"]] for m in marks}
    assert said == {
        "info": "transform.structured.tile_using_forall",
        "error": "transform.structured.generalize",
    }
    (error,) = [m for m in marks if m["severity"] == "error"]
    assert "%relu is invalidated" in error["message"] and error["source"] == "trace"


def test_what_only_the_check_finds_is_marked(text_bench):
    unused = """  transform.named_sequence @unused(%root: !transform.any_op {transform.consumed}) {
    transform.apply_cse to %root : !transform.any_op
    %a = transform.structured.generalize %root : (!transform.any_op) -> !transform.any_op
    %b = transform.structured.generalize %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
"""
    type_(text_bench, FUSED.replace("  transform.named_sequence", unused + "  transform.named_sequence", 1))
    marks = text_bench.part("text")["marks"]
    assert [(m["line"], m["source"]) for m in marks if m["severity"] == "error"] == [(5, "check")]


MARKED = '    transform.annotate %relu "größe 𝔸"'  # in bytes and in a browser's units longer than in characters


def marked(text, mark):
    """Return what a mark covers, as a browser counts."""
    units = text.split("\n")[mark["line"] - 1].encode("utf-16-le")
    return units[2 * mark["start"] : 2 * mark["end"]].decode("utf-16-le")


def test_a_mark_of_the_parser_is_right_behind_letters_of_several_bytes(text_bench):
    step = f"{MARKED} = %su : !transform.any_op, !transform.any_param\n"
    text = FUSED.replace("    transform.yield", f"{step}    transform.yield")
    type_(text_bench, text)
    (mark,) = text_bench.part("text")["marks"]
    assert mark["source"] == "parser" and marked(text, mark) == "%su"


def test_marks_and_lines_of_steps_are_right_behind_letters_of_several_bytes(text_bench):
    text = DEATH.replace("    %g =", f"{MARKED.replace('%relu', '%sum_tile')} : !transform.any_op %g =")
    type_(text_bench, text)
    part = text_bench.part("text")
    (error,) = [m for m in part["marks"] if m["severity"] == "error"]
    assert marked(text, error) == "transform.structured.generalize"
    died = text_bench.workbench.trace.outcome.failed_step
    line = text[: text.index("%g =")].count("\n") + 1
    assert [line, line, died] in part["lines"]


def test_the_file_is_followed_and_saved(text_bench, tmp_path):
    file = tmp_path / "mine.mlir"
    text_bench.do("save_text")
    assert text_bench.notice.kind == "refused"
    text_bench.do("save_text", path=str(file))
    assert file.read_text() == FUSED and text_bench.part("text")["file"] == "mine.mlir"
    assert not text_bench.part("text")["unsaved"]
    file.write_text(FUSED + "// outside\n")
    text_bench.workbench.poll()
    assert text_bench.part("text")["text"] == FUSED + "// outside\n"
    assert "another editor" in text_bench.part("notice")["message"]
    type_(text_bench, FUSED + "// inside\n")
    assert text_bench.part("text")["unsaved"]
    text_bench.do("save_text")
    assert file.read_text() == FUSED + "// inside\n" and not text_bench.part("text")["unsaved"]
    text_bench.workbench.poll()
    assert text_bench.notice.message == "saved to mine.mlir"


def test_a_file_that_changed_meanwhile_is_not_overwritten_unasked(text_bench, tmp_path):
    file = tmp_path / "mine.mlir"
    text_bench.do("save_text", path=str(file))
    type_(text_bench, FUSED + "// inside\n")
    file.write_text(FUSED + "// outside\n")
    text_bench.do("save_text")
    assert file.read_text() == FUSED + "// outside\n" and "meanwhile" in text_bench.notice.message
    (_, overwrite), (_, take) = text_bench.notice.actions
    text_bench.workbench.do(take)
    assert text_bench.session.text == FUSED + "// outside\n"
    text_bench.do("undo")
    text_bench.workbench.do(overwrite)
    assert file.read_text() == FUSED + "// inside\n"


def test_a_file_that_is_there_is_overwritten_when_told_so(text_bench, tmp_path):
    file = tmp_path / "there.mlir"
    file.write_text("// precious\n")
    text_bench.do("save_text", path=str(file))
    assert file.read_text() == "// precious\n"
    ((_, overwrite),) = text_bench.notice.actions
    text_bench.workbench.do(overwrite)
    assert file.read_text() == FUSED


def offered(bench, written, place=BODY):
    answer = bench.ask("complete", before=f"{place}    {written}")
    return answer["length"], {o["label"]: o for o in answer["options"]}


def test_ops_are_offered_where_ops_begin(bench):
    length, ops = offered(bench, "tile_us")
    assert length == len("tile_us")
    op = ops["transform.structured.tile_using_for"]
    assert op["info"] and op["apply"].startswith(
        "%tiled_linalg_op = transform.structured.tile_using_for %forall_1"
    )
    _, ops = offered(bench, "%x = transform.str")
    assert ops["transform.structured.tile_using_for"]["apply"].startswith(
        "transform.structured.tile_using_for %forall_1"
    )
    assert "transform.apply_patterns.canonicalization" not in ops
    _, patterns = offered(bench, "transform.apply_patterns to %root {\n      ")
    assert "transform.apply_patterns.canonicalization" in patterns
    assert "transform.structured.tile_using_for" not in patterns


def test_handles_symbols_types_payload_ops_and_arguments_are_offered_in_their_places(bench):
    handles = list(offered(bench, "%x = transform.structured.generalize %")[1])
    assert handles[:2] == ["%forall_1", "%sum_tile"] and handles[-1] == "%root" and "%x" not in handles
    assert list(offered(bench, "transform.include @")[1]) == ["@__transform_main"]
    assert "!transform.any_op" in offered(bench, "%x = transform.cast %sum : !tr")[1]
    length, names = offered(bench, '%x = transform.structured.match ops{["linalg.ma')
    assert length == len("linalg.ma") and "linalg.matmul" in names
    assert "interchange" in offered(bench, "%a, %b = transform.structured.tile_using_for %sum inter")[1]
    assert offered(bench, "// a comm") == (0, {})


def test_handles_of_another_sequence_are_not_in_sight():
    other = FUSED.replace("@__transform_main", "@other").replace("%relu", "%far")
    assert "%far" not in handles_before(f"{other}\n{BODY}")


def test_broken_texts_have_completions(bench):
    catalogue = bench.workbench.catalogue()
    for cut in range(0, len(TYPO), 17):
        length, found = completions(TYPO[:cut], catalogue)
        assert 0 <= length <= cut and all(each.label for each in found)


def test_words_are_explained(bench):
    said = bench.ask("explain", word="transform.structured.tile_using_for")
    assert "scf.for loop" in said and "● consumed" in said and "◆ made" in said
    assert "step 3 consumed it" in bench.ask("explain", word="%relu")
    assert "np.maximum" in bench.ask("explain", word='"linalg.max"')
    assert bench.ask("explain", word="nonsense") == bench.ask("explain", word="%nonsense") == ""


def test_the_editor_is_of_this_machine_and_has_its_licence(bench):
    script = static_text("editor.js", "workbench")
    assert bench.ask("editor")["z"]
    assert "Permission is hereby granted" in script and len(script) < 500_000
    assert not any(call in script for call in ("fetch(", "XMLHttpRequest", "importScripts", "import("))
