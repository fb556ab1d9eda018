"""Sessions: undo, drafts, events, checkpoints, branches, files, and what is left of them after a crash."""

import json
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from lhkit.compose.session import Session
from lhkit.compose.session_history import MOST_VERSIONS, History, RecoveryFile, Version, version_of_schedule
from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.text.step_arguments import set_argument
from lhkit.text.step_edits import insert_step, remove_step

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
    before = session.history
    with pytest.raises(UsageError, match=r"%nothing"):
        session.edit(lambda script: remove_step(script, "%nothing"))
    with pytest.raises(ScheduleError, match=r"undeclared|undefined"):
        session.edit(
            lambda script: insert_step(script, "transform.apply_cse to %x : !transform.any_op", after="%tiled")
        )
    assert session.history is before


def test_a_text_that_does_not_parse_keeps_the_last_good_trace(session):
    good = session.trace
    broken = SCHEDULE.replace("tile_sizes [4]", "tile_sizes [4")
    session.set_text(broken)
    assert session.text == broken and session.schedule.text == SCHEDULE
    assert session.is_stale and session.trace is good
    assert session.failure.kind == "schedule-parse" and session.failure.span.line == 5
    assert "tile.mlir:5" in session.failure.describe() and "^" in session.failure.describe()
    with pytest.raises(UsageError, match="cannot be edited step by step"):
        session.edit(unroll)
    session.set_text(broken.replace("[4", "[4, "))
    session.set_text(SCHEDULE.replace("[4]", "[2]"))
    assert not session.is_stale and session.failure is None and session.trace is not good
    assert session.undo() and session.text == SCHEDULE  # undo skips drafts


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
    first = session.trace
    session.edit(unroll)
    assert session.is_stale and session.trace is first
    session.retrace()
    assert not session.is_stale and session.trace is not first


def test_restoring_a_checkpoint_can_be_undone(session):
    session.checkpoint("start")
    session.edit(unroll)
    unrolled = session.text
    session.restore("start")
    assert session.text == SCHEDULE
    assert session.undo() and session.text == unrolled
    with pytest.raises(UsageError, match=r"no checkpoint 'end'\n.*start"):
        session.restore("end")


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
    with pytest.raises(UsageError, match="cannot be followed"):
        session.follow(tmp_path / "none.mlir")


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("lhkit.compose.session_history.REST_SECONDS", 0)


def left_by(session, schedule):
    """Return the session that finds what another one left, once that is written."""
    for _ in range(200):
        again = Session(session.payload, schedule, worker=session.worker)
        if again.left_behind is not None and again.left_behind.version.title == session.version.title:
            return again
        time.sleep(0.05)
    raise AssertionError("nothing was written")


def test_what_was_not_closed_is_offered_and_recovered(payload, schedule, worker, at_once):
    session = Session(payload, schedule, worker=worker)
    session.edit(unroll)
    session.checkpoint("unrolled")
    session.set_text("module {")
    again = left_by(session, schedule)
    assert again.text == SCHEDULE and "edit the text" in again.left_behind.sentence()
    again.recover()
    assert again.text == "module {" and again.is_stale and again.failure.kind == "schedule-parse"
    assert again.history.versions[1:] == session.history.versions and again.left_behind is None
    while again.undo():
        pass
    assert again.schedule == schedule
    again.restore("unrolled")
    assert "unroll" in again.text
    with pytest.raises(UsageError, match="no session to recover"):
        again.recover()
    again.close()
    session.close()
    assert Session(payload, schedule, worker=worker).left_behind is None


def test_a_session_of_another_schedule_or_one_without_changes_is_not_offered(
    payload, schedule, worker, at_once
):
    session = Session(payload, schedule, worker=worker)
    session.edit(unroll)
    left_by(session, schedule)
    assert Session(payload, session.schedule, worker=worker).left_behind is None
    session.undo()
    session.checkpoint("here")
    deadline = time.monotonic() + 10
    while (found := Session(payload, schedule, worker=worker)).left_behind is not None:
        assert time.monotonic() < deadline
    found.close()  # it has written nothing, so that it deletes nothing
    session.close()


def test_changes_in_a_row_are_written_once(payload, schedule, worker, monkeypatch):
    written = []
    monkeypatch.setattr("lhkit.compose.session_history.REST_SECONDS", 0.3)
    monkeypatch.setattr(
        "lhkit.compose.session_history.write_whole", lambda path, text: written.append(json.loads(text))
    )
    session = Session(payload, schedule, retraces=False, worker=worker)
    for size in range(1, 6):
        session.edit(tile(size))
    assert not written
    deadline = time.monotonic() + 10
    while not written:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    session.close()
    (only,) = written
    assert len(only["branches"][0]["versions"]) == 6


def test_a_late_write_does_not_bring_back_older_changes(payload, schedule, state_folder):
    """The timer of an earlier change may still be running when that of a later one has written."""
    recovery = RecoveryFile(payload, version_of_schedule(schedule))
    now = ["earlier"]

    def saved():
        return replace(Session(payload, schedule, autosaves=False).saved, name=now[0])

    def late():
        value = saved()
        if now[0] == "earlier":  # the later change is written while this one is read
            now[0] = "later"
            newer = threading.Thread(target=recovery._write, args=(saved,))
            newer.start()
            newer.join(timeout=0.2)
            threads.append(newer)
        return value

    threads: list[threading.Thread] = []
    recovery._write(late)
    threads[0].join()
    assert recovery.read().session.name == "later"


def test_a_process_that_dies_leaves_its_session(payload, schedule, worker, state_folder):
    code = f"""
import os, time
from lhkit.compose import session_history
from lhkit.compose.session import Session
from lhkit.load.loader import load_payload, load_schedule
session_history.REST_SECONDS = 0
session = Session(load_payload({PAYLOAD!r}), load_schedule({SCHEDULE!r}, name="tile.mlir"), retraces=False)
session.set_text({SCHEDULE.replace("[4]", "[2]")!r})
while session._recovery.read() is None:
    time.sleep(0.05)
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=100).returncode == 9
    session = Session(payload, schedule, worker=worker)
    session.recover()
    assert "[2]" in session.text
    session.close()


@pytest.mark.parametrize("damage", ["{", "[]", '{"schema": "lhkit.session/9"}', "at", "schedule", "branch"])
def test_a_damaged_session_is_not_offered(payload, schedule, worker, at_once, damage):
    session = Session(payload, schedule, worker=worker)
    session.edit(unroll)
    session.checkpoint("here")
    left_by(session, schedule)
    time.sleep(0.2)
    file = session._recovery._path()
    data = json.loads(file.read_text())
    if damage == "at":
        data["branches"][0]["at"] = 5
    elif damage == "schedule":
        data["checkpoints"][0]["version"]["schedule"] = 3
    elif damage == "branch":
        data["branch"] = "none"
    file.write_text(json.dumps(data) if damage.isalpha() else damage)
    assert Session(payload, schedule, worker=worker).left_behind is None
    session.close()


def test_a_state_folder_that_cannot_be_written_costs_the_recovery_alone(
    session, tmp_path, monkeypatch, at_once
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "file"))
    session.edit(unroll)
    assert session.history.can_undo and not session.is_stale


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
