"""Processes that are paused: they go on when told to, and when the one that paused them has died."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from lhkit.worker import worker_process
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.process_groups import PauseGuard
from lhkit.worker.requests import Ping

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signals")

PAUSES = """
import os, sys
from lhkit.worker.process_groups import PauseGuard
guard = PauseGuard()
guard.pause(int(sys.argv[1]))
print("paused", flush=True)
sys.stdin.read()
"""


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def sleeper():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield psutil.Process(process.pid)
        process.kill()


def test_a_paused_process_goes_on_when_it_is_resumed_or_the_guard_ends(sleeper):
    for end in (lambda guard: guard.resume(sleeper.pid), lambda guard: None):
        guard = PauseGuard()
        guard.pause(sleeper.pid)
        wait_for(lambda: sleeper.status() == psutil.STATUS_STOPPED)
        end(guard)
        guard.close()
        wait_for(lambda: sleeper.status() != psutil.STATUS_STOPPED)


def test_it_goes_on_when_what_paused_it_is_killed(sleeper):
    command = [sys.executable, "-c", PAUSES, str(sleeper.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pausing:
        assert pausing.stdout.readline() == b"paused\n"
        wait_for(lambda: sleeper.status() == psutil.STATUS_STOPPED)
        os.kill(pausing.pid, signal.SIGKILL)
    wait_for(lambda: sleeper.status() != psutil.STATUS_STOPPED)


def test_a_process_that_is_gone_is_no_error(sleeper):
    guard = PauseGuard()
    sleeper.kill()
    sleeper.wait()
    guard.pause(sleeper.pid)
    guard.resume(sleeper.pid)
    guard.close()


def test_the_time_of_a_request_does_not_pass_while_its_process_is_paused(monkeypatch):
    worker, guard = Worker(), PauseGuard()
    worker.pause(guard)  # there is no process
    worker.ask(Ping())
    process = worker._process
    now = time.monotonic()
    monkeypatch.setattr(worker_process.time, "monotonic", lambda: now)
    worker.pause(guard)
    now += 100
    process._enforce(Limits(seconds=1), now - 99)
    worker.resume(guard)
    now += 1
    assert process.paused_seconds == 100
    process._enforce(Limits(seconds=1), now - 99)
    with pytest.raises(worker_process.DeathError, match="took longer than its limit of 1 s"):
        process._enforce(Limits(seconds=1), now - 101)
    monkeypatch.undo()
    worker.close()
    guard.close()
