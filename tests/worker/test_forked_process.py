"""Workers that are forks of their client: what they inherit, their limits, their deaths, and what is left."""

import os
import signal
import sys
import threading
from contextlib import closing

import psutil
import pytest

from lhkit.model.errors import CrashError, Failure, PayloadError, TimeLimitError, error_for
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Answer, Ping

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks serve requests on Linux only")

LIMITS = Limits(seconds=60)


class Handlers:
    """Answers what a function returns, which is not pickled: the fork has it in memory."""

    request_types = (Ping,)

    def __init__(self, function):
        self._function = function

    def release(self, kernels):
        """Forget nothing."""

    def answer(self, request):
        """Call the function."""
        return Answer(output=str(self._function()))


def asked(function, limits=LIMITS, handlers=Handlers):
    """Return what a function returns in a fork, as text, and check that nothing of the fork is left."""
    before = {child.pid for child in psutil.Process().children()}
    make = Worker(limits, forked=lambda *_: handlers(function), program="fork", title="the fork")
    with closing(make) as worker:
        try:
            return worker.ask(Ping()).output
        finally:
            assert {c.pid for c in psutil.Process().children()} <= {*before, worker.pid}  # no zombie either


def test_a_fork_has_what_its_client_has_and_is_a_session_of_its_own():
    here = object()
    said = asked(lambda: (id(here), os.getppid(), os.getsid(0) == os.getpid()))
    assert said == str((id(here), os.getpid(), True))


def test_a_fork_prints_into_its_log(capfd):
    def say():
        print("by Python", flush=True)
        os.write(1, b"by descriptor")
        sys.stderr.write("as an error")
        return "done"

    # What was printed comes with the answer, here in its place.
    assert asked(say).split("\n") == ["by Python", "by descriptoras an error"]
    assert capfd.readouterr() == ("", "")


def test_a_failure_is_that_of_the_handler():
    def fail():
        raise error_for(Failure("payload-parse", "not like this"))

    with pytest.raises(PayloadError, match="not like this"):
        asked(fail)


def test_a_fork_that_crashes_is_a_failure():
    with pytest.raises(CrashError, match=r"the fork died of signal 11 \(SIGSEGV\) during 'ping'"):
        asked(lambda: os.kill(os.getpid(), signal.SIGSEGV))


def test_a_fork_has_no_handlers_of_signals():
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(CrashError, match="SIGTERM"):
            asked(lambda: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_fork_that_takes_too_long_is_ended():
    with pytest.raises(TimeLimitError, match=r"took longer than its limit of 0\.2 s"):
        asked(threading.Event().wait, Limits(seconds=0.2))


def test_a_fork_may_be_as_large_as_its_client(monkeypatch):
    reads, writes = os.pipe()

    def start(function):
        for _ in range(2):
            os.read(reads, 1)
        return Handlers(function)

    # Called before the fork, and then each time before the client looks at the memory.
    limits = Limits(seconds=60, bytes=1 << 40, stopped=lambda: bool(os.write(writes, b"0")) and False)
    monkeypatch.setattr("lhkit.worker.limits.default_memory_bytes", lambda: 1 << 20)
    assert asked(os.getppid, limits, start) == str(os.getpid())
    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize("handlers", [Handlers, lambda wait: wait()], ids=["answers", "starts"])
def test_an_interrupt_ends_the_fork(handlers):
    with pytest.raises(KeyboardInterrupt):
        asked(threading.Event().wait, Limits(seconds=60, stopped=Interrupts()), handlers)


class Interrupts:
    """Ctrl-C while the answer is awaited: asked for the first times, when a request is sent, it is not there."""

    def __init__(self):
        self._asked = 0

    def __call__(self):
        """Raise from the fifth time on."""
        self._asked += 1
        if self._asked >= 5:
            raise KeyboardInterrupt
        return False
