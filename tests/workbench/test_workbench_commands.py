"""Commands and what they change of the screen, without a screen."""

import json
import re

import pytest
from fused_schedule import FUSE, FUSED, KNOB, RELU, SUM, TILE

from lhkit.model.errors import UsageError
from lhkit.show.trace_view import trace_key
from lhkit.workbench.controller import COMMANDS, PANES, Workbench
from lhkit.workbench.pane_pictures import payload_frame

CRASH = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %n = transform.param.constant -2 : i64 -> !transform.param<i64>
    %x, %y = transform.structured.tile_using_forall %op num_threads [%n] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
EMPTY = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.yield
  }
}
"""
GENERALIZE = "%general = transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op"


def test_a_knob_that_comes_back_shows_what_it_showed_and_nothing_is_made_again(bench, open_bench):
    names = ("steps", "timeline", "tiles", "trace")
    bench.do("set_knobs", knobs={"tile": 4})
    first = {name: bench.part(name) for name in names}
    bench.do("set_knobs", knobs={"tile": 16})
    assert all(bench.part(name) != first[name] for name in names)
    assert set(names) < bench.do("set_knobs", knobs={"tile": 4})
    assert all(bench.part(name) is first[name] for name in names)
    other = open_bench()
    other.do("set_knobs", knobs={"tile": 4})
    assert {name: other.part(name) for name in names} == first


def test_in_a_hurry_the_tile_picture_comes_after_the_first_screen(bench):
    names = []
    hurried = Workbench(bench.session, changed=names.extend, is_hurried=True)
    assert hurried.panes["tiles"]["html"] == "" and "tiles" not in names
    assert {n: p for n, p in hurried.panes.items() if n != "tiles"} == {
        n: p for n, p in bench.workbench.panes.items() if n != "tiles"
    }
    names.clear()
    hurried.refresh()
    assert names == ["tiles"] and hurried.panes == bench.workbench.panes


def test_parts_are_json_and_all_there(bench):
    assert set(bench.workbench.panes) == {part.name for part in PANES}
    assert json.loads(json.dumps(bench.workbench.panes)) == bench.workbench.panes


def test_it_opens_at_the_first_step_that_does_something(bench):
    step = bench.part("screen")["step"]
    assert bench.workbench.trace.step_records[step].op == "transform.structured.tile_using_forall"
    assert bench.part("payload")["step"] == step


def test_rows_have_numbers_handles_and_knobs(bench):
    html = bench.part("steps")["html"]
    html = html if isinstance(html, str) else _unpacked(html)
    trace = bench.workbench.trace
    relu = next(h.id for h in trace.handle_records if h.name == "%relu")
    assert f'data-handle="{relu}"' in html
    assert 'data-knob="tile"' in html and 'data-values="[4, 8, 16]"' in html
    assert "tile_using_forall" in html and "transform.yield" not in html


def _unpacked(part):
    import base64
    import zlib

    return zlib.decompress(base64.b64decode(part["z"])).decode()


def test_looking_elsewhere_changes_the_screen_and_nothing_else(bench):
    assert bench.do("select", step=1, kind="handle", ids="h1", by="me") == {"screen"}
    assert bench.part("screen")["selection"] == {"kind": "handle", "id": "h1"}
    assert bench.part("screen")["by"] == "me"
    assert bench.do("select", step=1, kind="handle", ids="h1", by="me") == set()


@pytest.mark.parametrize(
    "fields", [{"step": 99, "kind": "", "ids": ""}, {"step": 0, "kind": "x", "ids": ""}, {}]
)
def test_what_is_not_there_cannot_be_selected(bench, fields):
    assert bench.do("select", **fields) == {"notice"}
    assert bench.notice.kind == "refused"


def test_a_knob_changes_trace_text_stays(bench):
    changed = bench.do("set_knobs", knobs={"tile": 16}, gesture=1)
    assert {"head", "steps", "payload", "timeline"} <= changed
    assert bench.session.schedule.values == {"tile": 16}
    assert bench.session.text == FUSED


def test_a_drag_is_one_change(bench):
    for value in (4, 16, 4, 16):
        bench.do("set_knobs", knobs={"tile": value}, gesture="drag")
        bench.do("select", step=1, kind="", ids="")
    bench.do("set_knobs", knobs={"tile": 4}, gesture="another")
    bench.do("undo")
    assert bench.session.schedule.values == {"tile": 16}
    bench.do("undo")
    assert bench.session.schedule.values == {"tile": 8}
    assert not bench.session.history.can_undo


def test_a_drag_after_an_undo_does_not_amend_what_stood_before(bench):
    bench.do("set_knobs", knobs={"tile": 4}, gesture="drag")
    bench.do("undo")
    bench.do("set_knobs", knobs={"tile": 16}, gesture="drag")
    assert bench.session.history.can_undo
    bench.do("undo")
    assert bench.session.schedule.values == {"tile": 8}


def test_a_value_that_is_not_allowed_is_refused(bench):
    assert bench.do("set_knobs", knobs={"tile": 5}) == {"notice"}
    assert "cannot be '5'" in bench.part("notice")["message"]
    bench.do("select", step=0, kind="", ids="")
    assert bench.part("notice") is None


def test_undo_and_redo_say_what_they_do(bench):
    bench.do("set_knobs", knobs={"tile": 4})
    assert bench.part("head")["undo"] == "set tile = 4"
    bench.do("undo")
    assert bench.part("head")["redo"] == "set tile = 4"
    bench.do("redo")
    assert bench.session.schedule.values == {"tile": 4}
    assert bench.do("redo") == {"notice"}


def test_checkpoints(bench):
    bench.do("checkpoint")
    bench.do("checkpoint", name="mine")
    assert bench.part("head")["checkpoints"] == ["checkpoint 1", "mine"]
    bench.do("set_knobs", knobs={"tile": 4})
    bench.do("restore", name="mine")
    assert bench.session.schedule.values == {"tile": 8}
    bench.do("restore", name="nowhere")
    assert bench.notice.kind == "refused"


def test_a_step_that_others_need_goes_with_them_or_not_at_all(bench):
    bench.do("remove_step", step=SUM, version=bench.workbench.version_id)
    assert bench.session.text == FUSED
    ((label, command),) = bench.notice.actions
    assert label == "remove it and the one that depends on it"
    bench.workbench.do(command)
    assert "fuse_into" not in bench.session.text and "%sum" not in bench.session.text
    assert "removed transform.structured.fuse_into_containing_op (line 8) too" in bench.notice.message


@pytest.mark.parametrize("command", ["switch_off", "remove_step"])
def test_an_edit_counts_steps_as_the_trace_does(bench, command):
    step = next(s for s in bench.workbench.trace.step_records if s.op.endswith("tile_using_forall"))
    bench.do("select", step=step.index, kind="step", ids=str(step.index))
    bench.do(command, step=step.index)
    assert bench.notice.message.startswith(f"{step.op} (line {step.source.line}) cannot be")
    assert not re.search(r"\bstep \d", bench.notice.message)


def test_the_step_of_an_edit_may_be_its_place_or_a_handle(bench):
    for reference in ("4:12", "%sum"):
        bench.do("duplicate_step", step=reference)
        assert bench.session.text.count("get_producer_of_operand") == 2, bench.notice
        bench.do("undo")
    for reference in (40, "40:1", "%other", True):
        bench.do("duplicate_step", step=reference)
        assert bench.notice.kind == "refused" and bench.session.text == FUSED


def test_switching_off_and_on_again(bench):
    bench.do("switch_off", step=FUSE)
    assert len(bench.workbench.trace.step_records) == 4
    bench.do("switch_on", off=0)
    assert bench.session.text == FUSED


def test_moving_a_step_keeps_it_selected(bench):
    trace = bench.workbench.trace
    sum_step = next(s.index for s in trace.step_records if s.op.endswith("get_producer_of_operand"))
    bench.do("select", step=sum_step, kind="step", ids=str(sum_step))
    bench.do("move_step", step=SUM, by=1, version=bench.workbench.version_id)
    shown = bench.workbench.screen.step
    assert shown == sum_step + 1
    assert bench.workbench.trace.step_records[shown].op == "transform.get_producer_of_operand"
    assert bench.workbench.screen.ids == str(shown)


def test_a_move_by_drop(bench):
    bench.do("move_step", step=KNOB, before=RELU)
    lines = bench.session.text.splitlines()
    assert "tune.knob" in lines[2]


@pytest.mark.parametrize(("step", "by"), [(RELU, -1), (FUSE, 1), (RELU, 1)])
def test_a_move_that_cannot_be_is_refused(bench, step, by):
    assert bench.do("move_step", step=step, by=by) == {"notice"}
    assert bench.session.text == FUSED


@pytest.mark.parametrize("command", ["undo", None, 5, ["do"]])
def test_a_command_that_is_no_mapping_is_refused(command, bench):
    with pytest.raises(UsageError, match="a command is a mapping, not"):
        bench.workbench.do(command, raises=True)
    bench.workbench.do(command)
    assert "a command is a mapping" in bench.workbench.notice.message


def test_a_command_for_another_text_does_nothing(bench):
    stale = bench.workbench.version_id
    bench.do("move_step", step=KNOB, before=RELU)
    text = bench.session.text
    bench.do("remove_step", step=FUSE, version=stale)
    assert bench.session.text == text and "changed meanwhile" in bench.notice.message


def test_duplicating_and_adding_text(bench):
    bench.do("duplicate_step", step=RELU)
    assert "%relu_1" in bench.session.text
    bench.do("undo")
    bench.do("add_text", text=GENERALIZE, after=RELU)
    assert "generalize %relu" in bench.session.text


def test_an_expectation_that_is_not_met_is_a_problem_and_so_is_one_that_cannot_be_read(bench):
    bench.do("set_text", text=f"// lhkit: expect none linalg.matmul\n{bench.session.text}")
    problems = bench.part("problems")
    assert problems["status"] == "failed" and "expected none linalg.matmul; found" in _text(problems["html"])
    bench.do("set_text", text=bench.session.text.replace("none linalg.matmul", "none matmul"))
    assert "this expectation cannot be read" in _text(bench.part("problems")["html"])
    bench.do("undo")
    bench.do("undo")
    assert bench.part("problems")["status"] == "ok"


def test_a_death_is_shown_with_repairs_and_one_mends_it(bench):
    bench.do("add_text", text=GENERALIZE, after=TILE)
    failed = bench.workbench.trace.outcome.failed_step
    assert bench.part("head")["status"] == "failed"
    assert bench.workbench.screen.step == failed
    problems = bench.part("problems")
    assert problems["status"] == "failed" and "%relu is invalidated" in problems["html"]
    found = bench.workbench.repairs.found
    assert found and found[0].title in _text(problems["html"])
    bench.do("take_repair", number=0, title="of another problem")
    assert bench.notice.kind == "refused"
    bench.do("take_repair", number=0, title=found[0].title)
    assert bench.part("head")["status"] == "ok" and bench.part("problems")["status"] == "ok"
    bench.do("undo")
    assert bench.part("head")["status"] == "failed"


def test_the_first_repair_is_shown_while_others_are_looked_for(bench, monkeypatch):
    shown = []
    refresh = bench.workbench.repairs._refresh

    def note():
        refresh()
        shown.append((len(bench.workbench.repairs.found), "better ones" in bench.part("problems")["html"]))

    monkeypatch.setattr(bench.workbench.repairs, "_refresh", note)
    bench.do("add_text", text=GENERALIZE, after=TILE)
    first, *_, last = shown
    assert first == (1, True) and last == (len(bench.workbench.repairs.found), False) and last[0] > 1


def _text(html):
    import html as html_module

    return html_module.unescape(html)


def test_a_text_that_does_not_parse_keeps_the_last_trace(bench):
    trace = bench.workbench.trace
    bench.session.set_text(FUSED.replace("%relu tile_sizes", "%rel tile_sizes"))
    bench.workbench.do({"do": "set_large", "large": False})
    assert bench.workbench.trace is trace
    assert "does not parse" in bench.part("head")["stale"]
    assert bench.part("problems")["status"] == "failed"
    (repair, *_) = bench.workbench.repairs.found
    bench.do("take_repair", number=0, title=repair.title)
    assert bench.session.text == FUSED and bench.part("head")["stale"] == ""


def test_a_crash_is_a_red_step_and_the_workbench_goes_on(open_bench):
    bench = open_bench(CRASH)
    assert bench.part("head")["status"] == "crashed"
    assert 'data-status="crashed"' in _html(bench, "steps")
    assert "died of signal" in bench.part("problems")["html"]
    bench.do("remove_step", step=2)
    assert bench.part("head")["status"] == "ok"


def _html(bench, name):
    html = bench.part(name)["html"]
    return html if isinstance(html, str) else _unpacked(html)


def test_frames_are_asked_for_by_the_trace_that_is_shown(bench):
    part = bench.part("payload")
    frame = bench.ask("frame", key=part["key"], step=part["step"], whole=False)
    assert frame == part["html"]
    whole = bench.ask("frame", key=part["key"], step=-1, whole=True)
    assert whole != frame
    with pytest.raises(UsageError, match="another trace"):
        bench.ask("frame", key="of nothing", step=0, whole=False)


def test_what_is_not_visible_is_not_drawn(bench):
    assert bench.part("schedule_graph") == ""
    changed = bench.do("open", area="pictures", pane="schedule_graph", by="me")
    assert "schedule_graph" in changed and bench.part("schedule_graph")
    assert bench.part("tiles")["html"] == ""


def test_iterations_of_tiles_are_asked_for(bench):
    bench.do("remove_step", step=FUSE)
    part = bench.part("tiles")
    assert part["count"] >= 1 and part["html"]
    assert bench.ask("tiles", key=part["key"], step=part["step"], iteration=-1) == part
    last = bench.ask("tiles", key=part["key"], step=part["step"], iteration=10**6)
    assert last["iteration"] == last["count"] - 1 and last["html"] != part["html"]


def test_the_tiles_are_those_of_the_step_that_is_shown(bench):
    trace = bench.workbench.trace
    shown = {}
    for step in range(-1, len(trace.step_records)):
        html = bench.ask("tiles", key=trace_key(trace), step=step, iteration=0)["html"]
        shown[step] = re.search(r"(linalg\.\w+)[^<]* (the payload as given|after step \d+)", html)
        assert shown[step], html[:400]
    found = {step: match.groups() for step, match in shown.items()}
    assert found[-1] == ("linalg.matmul", "the payload as given")
    for step in trace.step_records:
        held = [
            o for h in step.results for o in trace.states_after(step.index)[h].payload if isinstance(o, str)
        ]
        if held and (op := trace.op(held[0]).name).startswith("linalg."):
            assert found[step.index] == (op, f"after step {step.index}")


def test_the_graph_of_a_payload_is_of_the_step_that_is_shown(bench):
    key = bench.part("trace")["key"]
    before, after = (bench.ask("payload_graph", key=key, step=step) for step in (-1, 3))
    assert before != after


def test_unknown_commands_and_questions_are_refused(bench):
    bench.do("dance")
    assert "there is no command" in bench.notice.message
    assert all(name in bench.notice.advice for name in COMMANDS)
    with pytest.raises(UsageError, match="no question"):
        bench.ask("why")


def test_panes_that_take_longer_come_after_the_others(bench):
    bench.workbench.do({"do": "open", "area": "pictures", "pane": "tiles"})
    rounds = []
    bench.workbench.changed = lambda names: rounds.append(set(names))
    bench.workbench.do({"do": "set_knobs", "knobs": {"tile": 4}})
    first, *others = rounds
    assert {"payload", "steps"} <= first and others == [{"timeline"}, {"tiles"}]
    # What was seen before comes at once.
    bench.workbench.do({"do": "undo"})
    rounds.clear()
    bench.workbench.do({"do": "redo"})
    (names,) = rounds
    assert {"payload", "steps", "timeline", "tiles"} <= names


def test_a_selected_step_that_is_undone_is_not_selected_any_more(bench):
    bench.do("add_text", text=GENERALIZE, after=RELU)
    added = next(s.index for s in bench.workbench.trace.step_records if s.op.endswith("generalize"))
    bench.do("select", step=added, kind="step", ids=str(added))
    bench.do("undo")
    selected = bench.part("screen")["selection"]
    assert selected is None, "another step has its number now"


def test_the_payload_as_given_is_shown_whatever_the_schedule_does_later(bench):
    shown = payload_frame(bench.workbench.trace, -1, whole=False)
    assert "linalg.matmul" in shown and "unchanged lines" not in shown


def test_a_schedule_that_was_empty_shows_what_its_first_change_did(open_bench):
    bench = open_bench(EMPTY)
    assert bench.part("screen")["step"] == -1
    bench.do("set_text", text=FUSED)
    shown = bench.part("screen")["step"]
    assert bench.workbench.trace.step_records[shown].op.endswith("tile_using_forall")


def test_a_repair_after_which_another_step_fails_shows_that_step(bench):
    end = "    transform.yield"
    late = "    transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op\n"
    other = "    transform.structured.interchange %relu : (!transform.any_op) -> !transform.any_op\n"
    text = bench.session.text
    before, _, after = text.rpartition(end)
    bench.do("set_text", text=f"{before}{late}{other}{end}{after}")
    failed = bench.workbench.trace.outcome.failed_step
    assert failed is not None and bench.part("screen")["step"] == failed
    bench.do("select", step=0, kind="", ids="")
    bench.do("set_text", text=f"{before}{late}{other}{end}{after}\n")  # it is the same step still
    assert bench.part("screen")["step"] == 0
    bench.do("set_text", text=f"{before}{other}{end}{after}")
    trace = bench.workbench.trace
    assert trace.step_records[trace.outcome.failed_step].op.endswith("interchange")
    assert bench.part("screen")["step"] == trace.outcome.failed_step


def test_a_step_that_gets_other_handles_and_moves_by_one_stays_on_screen(bench):
    text, steps = bench.session.text, bench.workbench.trace.step_records
    tile = next(s.index for s in steps if s.op.endswith("tile_using_forall"))
    bench.do("select", step=tile, kind="", ids="")
    (line,) = (each for each in text.splitlines() if "tile_using_forall" in each)
    match = '    %again = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op'
    bench.do("set_text", text=text.replace(line, f"{match}\n{line.replace('%relu ', '%again ', 1)}"))
    step = bench.part("screen")["step"]
    assert step == tile + 1 and bench.workbench.trace.step_records[step].op.endswith("tile_using_forall")
