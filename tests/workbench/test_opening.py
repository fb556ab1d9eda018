"""Workbenches of texts that are no schedules yet, and of states that another user saved."""

import json
from pathlib import Path

import pytest
from benches import Bench
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import open_session
from lhkit.model.errors import LhkitError, PayloadError, UsageError
from lhkit.workbench.controller import Workbench
from lhkit.workbench.workbench_exports import WorkbenchState, read_state

TYPO = FUSED.replace("%sum into", "%su into")
HEADLESS = FUSED.replace("@__transform_main", "@one").replace(
    "  transform.named_sequence", "  transform.named_sequence @two(%r: !transform.any_op {transform.readonly}) {\n"
    "    transform.yield\n  }\n  transform.named_sequence", 1)  # fmt: skip


def opened(payload, schedule, worker):
    bench = Bench(Workbench(open_session(payload, schedule, trust=True, autosaves=False, worker=worker)))
    bench.do("open", area="left", pane="text")
    return bench


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        (TYPO, "undeclared SSA value", (8, "%su")),
        (HEADLESS, "no @__transform_main", None),
        ("module {\n}\n", "no named sequence", None),
        ("", "is empty", None),
        ("nonsense\n", "nonsense", (1, "nonsense")),
    ],
)
def test_a_file_that_is_no_schedule_yet_opens_and_becomes_alive(payload, worker, tmp_path, text, said, place):
    file = tmp_path / "mine.mlir"
    file.write_text(text)
    bench = opened(payload, file, worker)
    assert bench.workbench.trace is None and bench.session.is_stale
    assert said in bench.session.failure.describe()
    part = bench.part("text")
    assert part["text"] == text and part["file"] == "mine.mlir" and part["marks"]
    if place:
        mark = part["marks"][0]
        line = text.splitlines()[mark["line"] - 1]
        assert (mark["line"], line[mark["start"] : mark["end"]]) == place
    assert (
        bench.part("problems")["status"] == "failed" and "nothing is traced yet" in bench.part("head")["stale"]
    )
    assert json.loads(json.dumps(bench.workbench.panes)) == bench.workbench.panes
    again = WorkbenchState.of(bench.workbench)
    (tmp_path / "x.json").write_text(again.text())
    assert read_state(tmp_path / "x.json", trust=True) == again
    reopened = Workbench(again.open(worker=worker, autosaves=False), screen=again.screen)
    assert reopened.trace is None and reopened.session.text == text
    file.write_text(FUSED)
    bench.workbench.poll()
    assert not bench.session.is_stale and bench.part("head")["stale"] == ""
    assert bench.session.schedule.entry == "__transform_main" and bench.part("text")["marks"] == []
    shown = bench.workbench.trace.step_records[bench.workbench.screen.step]
    assert shown.op == "transform.structured.tile_using_forall"
    bench.do("undo")
    assert bench.session.text == text and bench.session.is_stale


def test_a_mended_text_takes_its_only_public_sequence(payload, worker):
    text = FUSED.replace("@__transform_main", "@only")
    bench = opened(payload, text.replace("%sum into", "%su into"), worker)
    bench.do("set_text", text=text)
    assert bench.session.schedule.entry == "only" and bench.part("head")["status"] == "ok"


def test_a_mended_text_takes_its_libraries(payload, worker, tmp_path):
    (tmp_path / "parts.mlir").write_text(
        "module attributes {transform.with_named_sequence} {\n"
        "  transform.named_sequence @part(%root: !transform.any_op {transform.readonly}) {\n"
        "    transform.yield\n  }\n}\n"
    )
    text = """// lhkit: library parts.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence private @part(!transform.any_op {transform.readonly})
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.include @part failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
}
"""
    file = tmp_path / "mine.mlir"
    file.write_text(text.replace("(%root) :", "(%roo) :"))
    bench = opened(payload, file, worker)
    assert bench.workbench.trace is None
    bench.do("set_text", text=text)
    assert bench.notice is None and bench.session.failure is None
    assert bench.part("head")["status"] == "ok"
    assert [Path(library.source).name for library in bench.session.schedule.libraries] == ["parts.mlir"]


def test_what_cannot_be_mended_is_refused(payload, worker, tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        open_session(payload, tmp_path / "nowhere.mlir", worker=worker)
    (tmp_path / "binary.mlir").write_bytes(b"\xff\x00\x01")
    with pytest.raises(UsageError, match="neither MLIR text"):
        open_session(payload, tmp_path / "binary.mlir", worker=worker)
    (tmp_path / "payload.mlir").write_text("func.func @f() { nonsense }\n")
    with pytest.raises(PayloadError):
        lhkit.explore(tmp_path / "payload.mlir", FUSED)


def test_commands_of_a_text_that_is_no_schedule_are_refused_and_harm_nothing(payload, worker):
    bench = opened(payload, TYPO, worker)
    for command, fields in (
        ("run", {}), ("measure", {}), ("sweep", {}), ("remove_step", {"step": 0}), ("undo", {}),
        ("set_knobs", {"knobs": {"tile": 4}}), ("select", {"step": 0, "kind": "step", "ids": "0"}),
        ("switch_on", {"off": 0}), ("try_handle", {"handle": "h1"}),
        ("add_step", {"op": "transform.structured.match", "fields": {}}),
    ):  # fmt: skip
        bench.do(command, **fields)
        assert bench.notice is not None and bench.notice.kind == "refused", command
        assert bench.session.text == TYPO
    bench.do("settle_text")
    assert any("%sum" in repair.title for repair in bench.workbench.repairs.found)
    bench.do("take_repair", number=0, title=bench.workbench.repairs.found[0].title)
    assert bench.part("head")["status"] == "ok" and not bench.session.is_stale


@pytest.fixture
def foreign(payload, worker, tmp_path):
    """A saved workbench whose payload names Python code outside of lhkit, and what shows that it ran."""
    code, ran = tmp_path / "reference.py", tmp_path / "ran"
    body = "    return np.maximum(x @ w + b, 0)\n"
    code.write_text(f"import numpy as np\nopen({str(ran)!r}, 'w').close()\ndef f(x, w, b):\n{body}")
    given = lhkit.load_payload(payload.text, name="fc_relu.mlir", reference=f"{code}:f", worker=worker)
    session = open_session(given, FUSED, autosaves=False, worker=worker)
    path = tmp_path / "saved.json"
    path.write_text(WorkbenchState.of(Workbench(session)).text())
    return path, code, ran


def test_code_that_a_foreign_state_names_is_not_run(foreign, worker):
    path, code, ran = foreign
    state = read_state(path)
    assert state.payload.reference is None and state.reference == f"{code}:f" and state.doubts
    session = state.open(worker=worker, autosaves=False)
    bench = Bench(Workbench(session, screen=state.screen, reference=state.reference))
    said = bench.part("trust")
    assert str(code) in said["message"] and "Python code" in said["message"]
    bench.do("run")
    assert not bench.workbench.runs.results and not ran.exists()
    bench.workbench.close()


def test_code_that_the_reader_trusts_is_taken(foreign):
    path, code, _ = foreign
    widget = lhkit.explore(path, trust=True)
    assert widget.session.payload.reference == f"{code}:f" and widget.workbench.notice is None
    widget.close()


def test_references_of_lhkit_are_taken_and_nothing_is_said(tmp_path):
    widget = lhkit.explore()
    path = widget.save(tmp_path / "saved.json")
    widget.close()
    state = read_state(path)
    assert state.payload.reference.endswith(":fc_relu") and state.reference is None


def test_a_refused_command_is_an_error_for_those_who_do_not_look(tmp_path):
    widget = lhkit.explore("fc_relu.mlir", "fc_relu_handles.mlir")
    with pytest.raises(UsageError, match=r"'tile' cannot be '5'[^$]*It may be one of"):
        widget.do({"do": "set_knobs", "knobs": {"tile": 5}})
    assert widget.workbench.notice.kind == "refused"
    with pytest.raises(UsageError, match=r"has no knob 'tiel'[^$]*Its knobs: tile"):
        widget.do({"do": "set_knobs", "knobs": {"tiel": 8}})
    with pytest.raises(UsageError, match="there is no command 'dance'"):
        widget.do({"do": "dance"})
    there = tmp_path / "there.mlir"
    there.write_text("// precious\n")
    with pytest.raises(LhkitError, match=r"there is a file there\.mlir already"):
        widget.do({"do": "save_text", "path": str(there)})
    widget.do({"do": "set_knobs", "knobs": {"tile": 8}})
    assert widget.schedule.values == {"tile": 8}
    widget.close()


def test_a_text_without_a_trace_is_on_screen_too(monkeypatch):
    monkeypatch.setattr("lhkit.workbench.widget.is_live", lambda: True)
    widget = lhkit.explore("fc_relu.mlir", TYPO)
    data, _ = widget._repr_mimebundle_()
    assert f'data-lh-view="{widget.view_id}"' in data["text/html"] and "%su into" in data["text/html"]
    assert "<schedule>" in data["text/plain"]
    widget.close()
