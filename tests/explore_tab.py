"""``lhkit explore`` in a process of its own, for tests in a browser."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import psutil
from jupyter_pages import ROOT

from lhkit.worker.process_groups import still_running


class Tab:
    """``lhkit explore`` in a process of its own."""

    def __init__(self, process):
        self.process = process
        self.address = process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), process.stderr.read()
        self.origin = self.address.partition("/?")[0]
        self.addresses = (self.origin, self.origin.replace("http", "ws"))

    def get(self, path="/", **headers):
        """Return the status and the text of an answer."""
        asked = urllib.request.Request(f"{self.origin}{path}", headers=headers)
        try:
            with urllib.request.urlopen(asked) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self, number=signal.SIGINT):
        """Send a signal; return what is still running of what was started, and standard error."""
        started = psutil.Process(self.process.pid).children(recursive=True)
        assert started  # the compiler's worker
        self.process.send_signal(number)
        said = self.process.communicate(timeout=120)[1]
        return still_running(started, 30), said


@contextmanager
def explored(*arguments):
    command = [sys.executable, "-m", "lhkit", "explore", "--no-browser", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment, **pipes)
    try:
        yield Tab(process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate()
