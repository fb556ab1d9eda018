"""Stop ends what is traced or parsed; the last good trace stays, and the next change goes on."""

import os
import signal
import threading

import pytest
from benches import Bench, waiting_for_worker
from fused_schedule import FUSE, FUSED

import lhkit
from lhkit.compose.session import Session
from lhkit.model.errors import LhkitError
from lhkit.workbench.controller import Workbench
from lhkit.worker.cancellation import CancelToken
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Ping

# Hundreds of thousands of steps: tests do not wait for its end.
LONG = FUSED.replace(
    "    transform.yield",
    """    %ops = transform.structured.match in %forall : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%a: !transform.any_op):
      transform.foreach %ops : !transform.any_op {
      ^bb0(%b: !transform.any_op):
        transform.foreach %ops : !transform.any_op {
        ^bb0(%c: !transform.any_op):
          transform.foreach %ops : !transform.any_op {
          ^bb0(%d: !transform.any_op):
            transform.foreach %ops : !transform.any_op {
            ^bb0(%e: !transform.any_op):
              %m = transform.structured.match in %forall : (!transform.any_op) -> !transform.any_op
            }
          }
        }
      }
    }
    transform.yield""",
)


@pytest.fixture
def killable(payload, own_worker):
    """A workbench whose worker may be killed."""
    schedule = lhkit.load_schedule(FUSED, name="fused.mlir", worker=own_worker)
    return Bench(Workbench(Session(payload, schedule, worker=own_worker, autosaves=False)))


def do_and_stop(bench, is_waiting, command, **fields):
    """Carry out a command in a thread, and stop it once it waits for the worker."""
    thread = threading.Thread(target=bench.do, args=(command,), kwargs=fields)
    thread.start()
    assert is_waiting.wait(60)
    assert bench.workbench.stop()
    thread.join(60)
    assert not thread.is_alive()


def check_stopped(bench, trace):
    assert bench.workbench.trace is trace and bench.session.is_stale
    assert "was stopped" in bench.notice.message and "last good trace" in bench.part("head")["stale"]
    assert "tracing was stopped" in bench.part("problems")["html"]
    assert bench.workbench.repairs.found == () and not bench.workbench.repairs.is_looking


def test_a_trace_of_very_many_steps_is_stopped_and_the_next_edit_is_traced(killable, monkeypatch):
    killable.do("open", area="left", pane="text")
    trace = killable.workbench.trace
    do_and_stop(killable, waiting_for_worker(monkeypatch), "set_text", text=LONG)
    check_stopped(killable, trace)
    assert killable.session.text == LONG and killable.part("text")["marks"] == []
    killable.do("set_text", text=FUSED + "// mended\n")
    assert not killable.session.is_stale and killable.part("head")["status"] == "ok"
    assert killable.notice is None


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_worker_that_hangs_is_stopped_and_asked_again(killable, monkeypatch):
    trace = killable.workbench.trace
    os.kill(killable.workbench.session.worker.pid, signal.SIGSTOP)
    do_and_stop(killable, waiting_for_worker(monkeypatch), "set_knobs", knobs={"tile": 16})
    check_stopped(killable, trace)
    ((_, again),) = killable.notice.actions
    killable.workbench.do(again)
    assert not killable.session.is_stale, killable.session.failure
    assert killable.session.schedule.values == {"tile": 16}
    assert killable.workbench.trace is not trace and killable.part("head")["stale"] == ""


def test_a_text_whose_parsing_was_stopped_is_kept_and_parsed_again(killable):
    session = killable.session
    trace = killable.workbench.trace
    with session.cancel_token:
        assert killable.workbench.stop()
        session.set_text(FUSED + "// more\n")
    killable.do("set_large", large=True)
    assert session.text == FUSED + "// more\n" and session.version.is_draft
    assert "reading the text was stopped" in killable.notice.message
    assert killable.workbench.trace is trace
    killable.do("trace")
    assert not session.is_stale and session.text == FUSED + "// more\n"
    killable.do("undo")
    assert session.text == FUSED and not session.history.can_undo


def test_an_edit_that_was_stopped_changes_nothing(killable):
    session = killable.session
    with session.cancel_token:
        session.cancel_token.cancel()
        killable.do("remove_step", step=FUSE)
    assert session.text == FUSED and killable.notice.message == "remove step was stopped"


def test_a_request_that_waits_for_another_is_stopped_too(own_worker):
    own_worker.ask(Ping())
    is_held, may_go, heard = threading.Event(), threading.Event(), []

    def hold():
        with own_worker._lock:
            is_held.set()
            may_go.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    assert is_held.wait(60)
    pid = own_worker.pid
    with pytest.raises(LhkitError) as caught:
        own_worker.ask(Ping(), limits=Limits(stopped=lambda: heard.append(1) or len(heard) > 1))
    may_go.set()
    holding.join(60)
    assert caught.value.failure.kind == "cancelled" and own_worker.pid == pid, "it was another's process"


def test_what_is_asked_while_nothing_is_done_is_not_heard(bench):
    assert not bench.workbench.stop()
    bench.do("set_knobs", knobs={"tile": 4})
    assert not bench.session.is_stale
    cancel_token = CancelToken()
    limits = cancel_token.limited(None)
    with cancel_token:
        with cancel_token:
            assert cancel_token.cancel()
        assert limits.is_stopped
    with cancel_token:
        assert not limits.is_stopped
    assert not cancel_token.cancel()
