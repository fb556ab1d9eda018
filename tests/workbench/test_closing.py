"""Workbenches that are closed, left behind, or still at work when the kernel ends."""

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest
from benches import waiting_for_worker
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import Session
from lhkit.workbench import widget as widget_module
from lhkit.workbench.controller import Workbench
from lhkit.workbench.jobs import ThreadJobs
from lhkit.workbench.widget import WorkbenchWidget

AT_EXIT = """
import atexit, threading

ends, over = threading.Event(), threading.Event()

@atexit.register  # before those of lhkit, so that it comes after them
def end():
    ends.set()
    over.wait()

from lhkit.workbench.controller import Workbench
from lhkit.workbench.jobs import ThreadJobs

jobs = ThreadJobs(lambda error: print("reported", error))

def work(stopped):
    ends.wait()
    jobs.post(lambda: print("acted"))
    jobs.start("more", lambda stopped: print("goes on"))
    over.set()

jobs.post(lambda: None)
jobs.start("run", work)
print("begun")
"""


@pytest.fixture
def reported():
    return []


@pytest.fixture
def jobs(reported):
    made = ThreadJobs(reported.append)
    yield made
    made.close()


def settled(names=("lhkit-workbench", "lhkit-neighbors")):
    """Return how many threads of a workbench there are once those that have nothing to do are gone."""
    while busy := [thread for thread in threading.enumerate() if thread.name in names]:
        for thread in busy:
            thread.join(60)
    return sum(thread.name.startswith("lhkit-") for thread in threading.enumerate())


def test_a_run_that_ends_after_the_kernel_says_nothing():
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["begun"]


def test_what_was_asked_before_the_end_is_done_and_what_comes_after_is_not(jobs, reported, caplog):
    done, begun, goes_on = [], threading.Event(), threading.Event()

    def first():
        begun.set()
        goes_on.wait(60)
        done.append(1)

    jobs.post(first)
    jobs.post(lambda: done.append(2))
    assert begun.wait(60)
    jobs.close()
    with caplog.at_level(logging.ERROR):
        jobs.post(lambda: done.append(3))
        late = threading.Thread(target=jobs.post, args=(lambda: done.append(4),))
        late.start()
        late.join(60)
    goes_on.set()
    settled()
    assert done == [1, 2] and not reported and not caplog.records
    jobs.run(lambda: done.append(5))
    assert done == [1, 2, 5]


def test_who_waits_for_a_command_gets_what_it_raises(jobs, reported):
    with pytest.raises(ZeroDivisionError):
        jobs.run(lambda: 1 // 0)
    nested = []
    jobs.run(lambda: jobs.run(lambda: nested.append(threading.current_thread().name)))
    assert nested == ["lhkit-workbench"] and not reported


def test_a_command_that_fails_is_reported_and_the_next_is_done(jobs, reported, caplog):
    done = []
    with caplog.at_level(logging.CRITICAL, "lhkit"):
        jobs.post(lambda: 1 // 0)
        jobs.run(lambda: done.append(1))
    assert done == [1] and [type(error) for error in reported] == [ZeroDivisionError]


def hear(widget, **content):
    widget._hear(widget, content, ())


async def look(widget):
    """Do what the timer of a widget does, if it has one, and let it set the next."""
    timer = widget._timer
    if timer is not None:
        timer.cancel()
        widget._look_at_file()
    settled()
    await asyncio.sleep(0)


def test_workbenches_that_were_left_behind_cost_no_threads_and_watch_nothing(tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_text(FUSED)

    async def many():
        before = settled()
        widgets = [lhkit.explore("fc_relu.mlir", path, trust=True) for _ in range(20)]
        for number, widget in enumerate(widgets):
            assert widget._timer is None, "it has no view yet"
            hear(widget, do="join", by=f"v{number}")
            hear(widget, do="set_knobs", knobs={"tile": 4}, id="1")
            assert widget._timer is not None
        for number, widget in enumerate(widgets[:-1]):  # the cell was run again
            hear(widget, do="leave", by=f"v{number}")
        assert settled() == before
        for widget in widgets:
            await look(widget)
            assert widget.schedule.values == {"tile": 4}
        assert [widget._timer is not None for widget in widgets] == [False] * 19 + [True]
        kept = [weakref.ref(widget.workbench) for widget in widgets]
        timer = widgets[-1]._timer
        for widget in widgets:
            widget.close()
        assert timer.cancelled() and settled() == before
        return kept

    kept = asyncio.run(many())
    gc.collect()
    assert not any(reference() for reference in kept)


def test_a_file_is_followed_while_there_is_a_view(tmp_path):
    path = tmp_path / "mine.mlir"
    path.write_text(FUSED)

    async def follow():
        widget = lhkit.explore("fc_relu.mlir", path, trust=True)
        hear(widget, do="join", by="v1")
        hear(widget, do="join", by="v2")
        hear(widget, do="leave", by="v1")
        path.write_text(FUSED + "// seen\n")
        await look(widget)
        assert "// seen" in widget.session.text and widget._timer is not None
        hear(widget, do="leave", by="v2")
        path.write_text(FUSED + "// once more\n")
        await look(widget)
        assert widget._timer is None
        hear(widget, do="join", by="v3")
        await look(widget)
        assert "// once more" in widget.session.text
        widget.close()
        await look(widget)
        assert widget._timer is None

    asyncio.run(follow())


def test_a_page_that_is_heard_of_no_more_has_left(tmp_path, monkeypatch):
    path, now = tmp_path / "mine.mlir", [0.0]
    path.write_text(FUSED)
    monkeypatch.setattr(widget_module.time, "monotonic", lambda: now[0])

    async def lose():
        widget = lhkit.explore("fc_relu.mlir", path, trust=True)
        sent = []
        monkeypatch.setattr(widget, "send", sent.append)
        hear(widget, do="join", by="v1")
        hear(widget, do="join", by="v2")
        now[0] = widget_module.LOST_SECONDS - 1
        hear(widget, do="beat", by="v2", id="7")
        assert sent == [{"done": "7"}], "a beat is answered at once"
        now[0] += 1
        expire(widget)
        path.write_text(FUSED + "// seen\n")
        await look(widget)
        assert "// seen" in widget.session.text, "one page is left"
        now[0] += widget_module.LOST_SECONDS
        expire(widget)
        assert widget._expiry is None
        await look(widget)
        assert widget._timer is None, "nobody looks"
        path.write_text(FUSED + "// once more\n")
        hear(widget, do="beat", by="v1", id="8")  # it was asleep
        await look(widget)
        assert "// once more" in widget.session.text
        timer = widget._expiry
        widget.close()
        assert timer.cancelled() and widget._expiry is None

    asyncio.run(lose())


def expire(widget):
    widget._expiry.cancel()
    widget._expire()


def test_the_page_may_close_a_workbench_and_what_was_typed_is_there(tmp_path):
    async def close():
        widget = lhkit.explore("fc_relu.mlir", FUSED)
        hear(widget, do="set_knobs", knobs={"tile": 16}, id="1")
        widget.comm.handle_close({})
        assert widget.schedule.values == {"tile": 16}
        hear(widget, do="set_knobs", knobs={"tile": 4}, id="2")
        settled()
        assert widget.schedule.values == {"tile": 16}
        widget.close()
        return widget.save(tmp_path / "saved.json")

    path = asyncio.run(close())
    again = lhkit.explore(path)
    assert isinstance(again, WorkbenchWidget) and again.schedule.values == {"tile": 16}
    again.close()


def test_the_process_of_a_run_ends_with_the_last_view():
    async def run():
        widget = lhkit.explore(lhkit.payloads.fc_relu(32, 32, 32), FUSED)
        hear(widget, do="join", by="v1")
        hear(widget, do="run", id="1")
        settled()  # it has begun
        settled(("lhkit-run",))
        settled()
        assert [result.status for result in widget.results] == ["ok"]
        pid = widget.workbench.runs._worker.pid
        os.kill(pid, 0)
        hear(widget, do="leave", by="v1")
        settled()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        widget.close()

    asyncio.run(run())


def test_checks_that_end_while_a_workbench_opens_leave_no_pane_empty(tmp_path, monkeypatch):
    """They post to the queue, whose thread rendered panes beside the one that opened the workbench."""
    path = tmp_path / "theirs.mlir"
    path.write_text(FUSED + "// of a stranger\n")
    threads = set()
    refresh = Workbench.refresh

    def watched(workbench):
        threads.add(threading.current_thread().name)
        refresh(workbench)

    monkeypatch.setattr(Workbench, "refresh", watched)

    async def open_and_close():
        widget = lhkit.explore("fc_relu.mlir", path)  # not trusted: checked at once
        assert widget.part_steps["html"] and widget.part_trust
        settled()
        widget.close()

    asyncio.run(open_and_close())
    assert threads == {"lhkit-workbench"}


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_the_button_ends_a_trace_whatever_the_thread_of_commands_waits_for(payload, own_worker, monkeypatch):
    async def press():
        schedule = lhkit.load_schedule(FUSED, worker=own_worker)
        widget = WorkbenchWidget(Session(payload, schedule, worker=own_worker, autosaves=False))
        begun = waiting_for_worker(monkeypatch)
        os.kill(own_worker.pid, signal.SIGSTOP)
        hear(widget, do="set_knobs", knobs={"tile": 16}, id="1")
        assert begun.wait(60)
        hear(widget, do="stop", id="2")
        settled()
        assert widget.session.is_stale and "was stopped" in widget.workbench.notice.message
        widget.do({"do": "set_knobs", "knobs": {"tile": 4}})
        assert not widget.session.is_stale
        widget.close()

    asyncio.run(press())
