"""Sessions: undo, drafts, events, checkpoints, branches, files, and what is left of them after a crash."""

import json
import random
import subprocess
import sys

import pytest

from lhkit.model.errors import ScheduleError, UsageError
from lhkit.schedule.edits_arguments import set_argument
from lhkit.schedule.edits_steps import insert_step, remove_step
from lhkit.session.autosaving import saved_sessions
from lhkit.session.composing import Session
from lhkit.session.history import MOST_VERSIONS, History, Version
from lhkit.session.loading import load_payload, load_schedule

PAYLOAD = """
func.func @mm(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    // The one op.
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %mm tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
CONSTANT = "transform.param.constant 1 : i64 -> !transform.param<i64>"
UNROLL = "transform.loop.unroll %loop {factor = 2} : !transform.any_op"


@pytest.fixture(scope="module")
def payload(worker):
    return load_payload(PAYLOAD, worker=worker)


@pytest.fixture(scope="module")
def schedule(worker):
    return load_schedule(SCHEDULE, name="tile.mlir", worker=worker)


@pytest.fixture
def session(payload, schedule, worker):
    made = Session(payload, schedule, worker=worker)
    yield made
    made.close()


def unroll(script):
    return insert_step(script, UNROLL, after="%tiled")


def listen(session):
    heard = []
    session.subscribe(heard.append)
    return heard


def tile(size):
    return lambda script: set_argument(script, "%tiled", "tile_sizes", f"[{size}]")


def test_an_edit_gives_the_new_trace_at_once(session):
    assert not session.history.can_undo and session.trace.outcome.status == "ok"
    first = session.trace
    assert session.edit(unroll).title == "insert transform.loop.unroll"
    assert [s.op for s in session.trace.step_records][-1] == "transform.loop.unroll"
    assert (
        session.trace is not first
        and not session.is_stale
        and session.trace.schedule.sha256 == session.schedule.sha256
    )


def test_undo_and_redo_give_values_and_traces_back(session):
    before = (session.schedule, session.trace)
    session.edit(unroll)
    after = (session.schedule, session.trace)
    assert session.undo() and (session.schedule, session.trace) == before and session.trace is before[1]
    assert not session.undo()
    assert session.redo() and session.schedule == after[0] and session.trace is after[1]
    assert not session.redo()


def test_undo_of_any_edits_is_the_identity(session):
    session.retraces = False
    chosen = random.Random(7)
    edits = [
        tile(2),
        tile(3),
        unroll,
        lambda s: insert_step(s, f"%c{len(s.text)} = {CONSTANT}", before=1),
    ]
    texts = [session.text]
    for _ in range(12):
        session.edit(chosen.choice(edits))
        texts.append(session.text)
    for text in texts[-2::-1]:
        assert session.undo() and session.text == text
    for text in texts[1:]:
        assert session.redo() and session.text == text
    assert "// The one op." in session.text


def test_a_refused_edit_changes_nothing(session):
    heard, before = listen(session), session.history
    with pytest.raises(UsageError, match=r"%nothing"):
        session.edit(lambda script: remove_step(script, "%nothing"))
    with pytest.raises(ScheduleError, match=r"undeclared|undefined"):
        session.edit(
            lambda script: insert_step(script, "transform.apply_cse to %x : !transform.any_op", after="%tiled")
        )
    assert session.history is before and heard == []


def test_a_text_that_does_not_parse_keeps_the_last_good_trace(session):
    good, heard = session.trace, listen(session)
    broken = SCHEDULE.replace("tile_sizes [4]", "tile_sizes [4")
    session.set_text(broken)
    assert session.text == broken and session.schedule.text == SCHEDULE
    assert session.is_stale and session.trace is good
    assert session.failure.kind == "schedule-parse" and session.failure.span.line == 5
    assert "tile.mlir:5" in session.failure.describe() and "^" in session.failure.describe()
    assert [e.kind for e in heard] == ["edited", "stale"] and heard[-1].failure == session.failure
    with pytest.raises(UsageError, match="does not parse as it stands"):
        session.edit(unroll)
    session.set_text(broken.replace("[4", "[4, "))
    session.set_text(SCHEDULE.replace("[4]", "[2]"))
    assert not session.is_stale and session.failure is None and session.trace is not good
    assert session.undo() and session.text == SCHEDULE  # drafts on the way are nobody's goal


def test_undo_leaves_a_draft_and_redo_comes_back_to_it(session):
    session.set_text("module {")
    assert session.undo() and session.text == SCHEDULE and not session.version.is_draft
    assert session.redo() and session.text == "module {" and session.is_stale


def test_a_schedule_that_does_not_apply_has_a_trace_that_is_not_stale(session):
    session.edit(unroll)
    session.edit(lambda s: insert_step(s, UNROLL, inside="@__transform_main"))
    assert (
        session.trace.outcome.kind == "invalidated-handle" and not session.is_stale and session.failure is None
    )


def test_what_cannot_be_traced_is_stale_and_says_why(session):
    good = session.trace
    session.set_text(
        SCHEDULE.replace(
            "{transform.consumed})", "{transform.consumed}, %x: !transform.any_op {transform.readonly})"
        )
    )
    assert session.is_stale and session.trace is good and not session.version.is_draft
    assert session.failure.kind == "usage"
    session.undo()
    assert session.failure is None and not session.is_stale


def test_the_trace_follows_only_when_asked_to(payload, schedule, worker):
    session = Session(payload, schedule, retraces=False, autosaves=False, worker=worker)
    first, heard = session.trace, listen(session)
    session.edit(unroll)
    assert session.is_stale and session.trace is first and [e.kind for e in heard] == ["edited", "stale"]
    session.retrace()
    assert not session.is_stale and heard[-1].kind == "traced" and heard[-1].trace is session.trace


def test_events_are_values_in_order(session):
    heard = listen(session)
    session.edit(unroll)
    session.checkpoint("unrolled")
    session.undo()
    session.redo()
    session.undo()
    session.restore("unrolled")
    session.start_branch("other")
    kinds = [e.kind for e in heard]
    changes = [
        "edited",
        "traced",
        "checkpoint",
        "undone",
        "traced",
        "redone",
        "traced",
        "undone",
        "traced",
        "restored",
        "traced",
    ]
    assert kinds == [*changes, "branch", "traced"]
    assert "unroll" in heard[0].text and heard[0].is_stale and not heard[1].is_stale
    assert heard[3].title == "undo: insert transform.loop.unroll" and heard[-1].branch == "other"
    assert heard[0].schedule.text == heard[0].text  # still what it was then


def test_a_listener_that_fails_harms_nobody_else(session):
    def fail(event):
        raise RuntimeError(event.kind)

    end = session.subscribe(fail)
    heard = listen(session)
    with pytest.raises(ExceptionGroup, match="listeners to 'checkpoint' failed"):
        session.checkpoint("here")
    assert [e.kind for e in heard] == ["checkpoint"] and "here" in session.checkpoints
    end()
    session.checkpoint("there")
    assert len(heard) == 2


def test_restoring_a_checkpoint_can_be_undone(session):
    session.checkpoint("start")
    session.edit(unroll)
    unrolled = session.text
    session.restore("start")
    assert session.text == SCHEDULE
    assert session.undo() and session.text == unrolled
    with pytest.raises(UsageError, match=r"no checkpoint 'end'\n.*start"):
        session.restore("end")


def test_branches_go_their_own_way_and_compare(session):
    session.start_branch("unrolled")
    session.edit(unroll)
    session.switch_branch("main")
    assert (
        session.text == SCHEDULE and session.branches == ("main", "unrolled") and not session.history.can_undo
    )
    compared = session.compare("unrolled")
    assert compared.same_payload is False and "+    transform.loop.unroll %loop" in compared.diff
    assert len(compared.right_trace.step_records) == 3
    session.edit(lambda s: insert_step(s, f"%c = {CONSTANT}", before="%tiled"))
    session.start_branch("same")
    session.undo()
    assert session.compare("main").same_payload is True
    with pytest.raises(UsageError, match="no branch 'x'"):
        session.switch_branch("x")
    with pytest.raises(UsageError, match="branch 'same' already"):
        session.start_branch("same")


def test_knobs_are_set_as_changes(payload, worker):
    text = SCHEDULE.replace(
        "    %tiled",
        '    %t = transform.tune.knob<"t"> = 4 : i64 from options = [2, 4] -> !transform.param<i64>\n    %tiled',
    )
    text = text.replace(
        "tile_sizes [4]\n      : (!transform.any_op)",
        "tile_sizes [%t]\n      : (!transform.any_op, !transform.param<i64>)",
    )
    session = Session(payload, load_schedule(text, worker=worker), autosaves=False, worker=worker)
    session.set_knobs({"t": 2})
    assert session.trace.schedule.knobs == (("t", 2),)
    session.edit(lambda s: insert_step(s, f"%c = {CONSTANT}", before="%mm"))
    assert session.schedule.values == {"t": 2}
    session.undo()
    session.undo()
    assert session.schedule.values == {"t": 4}
    with pytest.raises(UsageError, match="3"):
        session.set_knobs({"t": 3})


def test_a_file_that_another_editor_saves_is_followed(session, tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_text(SCHEDULE)
    session.follow(path)
    assert not session.poll() and not session.history.can_undo
    path.write_text(SCHEDULE.replace("[4]", "[2]"))
    assert session.poll() and not session.poll()
    assert (
        "tile_sizes [2]" in session.trace.provenance.schedule.text
        and session.version.title == "mine.mlir was saved"
    )
    good = session.trace
    for half in (b"", b"  \n", "// é".encode()[:-1]):
        path.write_bytes(half)
        assert not session.poll() and not session.is_stale
    path.unlink()
    assert not session.poll()
    path.write_text(SCHEDULE[:200])  # text, and only half of it
    assert session.poll() and session.is_stale and session.trace is good
    path.write_text(SCHEDULE.replace("[4]", "[1]"))
    assert session.poll() and not session.is_stale
    assert session.undo() and "[2]" in session.text
    assert not session.poll()  # what was undone stays undone
    session.unfollow()
    path.write_text(SCHEDULE)
    assert not session.poll()
    with pytest.raises(UsageError, match="cannot be followed"):
        session.follow(tmp_path / "none.mlir")


def test_a_session_is_recovered_after_a_crash(payload, schedule, worker):
    session = Session(payload, schedule, name="the one", worker=worker)
    session.edit(unroll)
    session.checkpoint("unrolled")
    session.start_branch("other")
    session.edit(tile(2))
    session.set_text("module {")
    (kept,) = [s for s in saved_sessions() if s.name == "the one"]
    assert kept.title == "edit the text" and kept.payload_source == "<payload>"
    again = Session.recover(kept.folder, worker=worker)
    assert again.text == "module {" and again.is_stale and again.failure.kind == "schedule-parse"
    assert again.payload == payload and again.branch == "other" and again.branches == ("main", "other")
    assert again.history.versions == session.history.versions
    assert again.trace.outcome.status == "ok" and "unroll" in again.trace.step_records[-1].op
    while again.undo():
        pass
    assert again.schedule == schedule
    again.restore("unrolled")
    again.close()
    assert not kept.folder.exists() and kept.folder not in [s.folder for s in saved_sessions()]


def test_a_process_that_dies_leaves_its_session(tmp_path, state_folder):
    code = f"""
import os
from lhkit.session.composing import Session
from lhkit.session.loading import load_payload, load_schedule
session = Session(load_payload({PAYLOAD!r}), load_schedule({SCHEDULE!r}), name="dies", retraces=False)
session.set_text({SCHEDULE.replace("[4]", "[2]")!r})
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == 9
    (kept,) = [s for s in saved_sessions() if s.name == "dies"]
    assert "[2]" in Session.recover(kept.folder).text


@pytest.mark.parametrize("damage", ["{", "[]", '{"schema": "lhkit.session/9"}', "at", "schedule", "branch"])
def test_a_damaged_session_is_refused(session, damage):
    session.checkpoint("here")
    folder = session._autosave._folder
    file = folder / "session.json"
    data = json.loads(file.read_text())
    if damage == "at":
        data["branches"][0]["at"] = 5
    elif damage == "schedule":
        data["checkpoints"][0]["version"]["schedule"] = 3
    elif damage == "branch":
        data["branch"] = "none"
    file.write_text(json.dumps(data) if damage.isalpha() else damage)
    with pytest.raises(UsageError, match="is damaged"):
        Session.recover(folder)
    assert folder not in [s.folder for s in saved_sessions()]


def test_a_folder_that_cannot_be_written_is_an_event(session, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "file"))
    heard = listen(session)
    session.edit(unroll)
    assert [e.kind for e in heard] == ["unsaved", "edited", "traced"]
    assert "cannot be saved" in heard[0].failure.message and session.history.can_undo


def test_a_text_is_saved_whole(session, tmp_path):
    session.save_as(tmp_path / "out.mlir")
    assert (tmp_path / "out.mlir").read_text() == SCHEDULE and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(UsageError, match="cannot be written"):
        session.save_as(tmp_path / "none" / "out.mlir")


def test_a_history_is_cut_at_its_far_end(schedule):
    history = History((Version(schedule, SCHEDULE, "0"),))
    for i in range(1, MOST_VERSIONS + 10):
        history = history.with_version(Version(schedule, SCHEDULE, str(i)))
    assert len(history.versions) == MOST_VERSIONS and history.current.title == str(MOST_VERSIONS + 9)
