"""JupyterLab and Notebook 7 in a browser, for tests: the server, pages that are watched, notebooks in them."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[1]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (700, 1600)
# Where screenshots go; git ignores it.
SCREENSHOTS = ROOT / "build" / "screenshots"


def executable():
    """Return the browser of this machine; without one the test skips, or fails where it is asked for."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    message = "no Chromium on this machine: drawings are not tested in a browser"
    if os.environ.get("LHKIT_TESTS_NEED_BROWSER"):
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def running_browser():
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield running
        running.close()


class Watched:
    """A page of the browser with what it asked for and what it said."""

    def __init__(self, page):
        self.page = page
        self.requests, self.errors = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    def check(self, *addresses):
        """Nothing but these addresses was asked, and nothing went wrong."""
        allowed = ("data:", "blob:", "about:", *addresses)
        assert not [url for url in self.requests if not url.startswith(allowed)]
        assert not self.errors, self.errors


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A Jupyter server with JupyterLab and Notebook 7 on one folder."""

    def __init__(self, folder, environment, port):
        self.folder, self.environment = folder, environment
        self.origin = f"http://127.0.0.1:{port}"
        self.addresses = (self.origin, f"ws://127.0.0.1:{port}")

    def lab(self, notebook):
        return f"{self.origin}/lab/tree/{notebook}?reset"  # without the tabs of tests before

    def notebook(self, notebook):
        return f"{self.origin}/notebooks/{notebook}"

    def end_kernels(self, keep):
        """Shut down the kernels of all notebooks but one."""
        with urllib.request.urlopen(f"{self.origin}/api/sessions", timeout=30) as answer:
            sessions = json.load(answer)
        for session in sessions:
            if session["path"] != keep:
                address = f"{self.origin}/api/sessions/{session['id']}"
                with suppress(urllib.error.HTTPError):  # it ended by itself
                    urllib.request.urlopen(urllib.request.Request(address, method="DELETE"), timeout=60).close()

    def trust(self, notebook):
        command = [sys.executable, "-m", "jupyter", "trust", str(self.folder / notebook)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)


@contextmanager
def served(folder):
    for name in ("config/labconfig", "files", "data", "ipython"):
        (folder / name).mkdir(parents=True)
    settings = {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    (folder / "config/labconfig/default_setting_overrides.json").write_text(json.dumps(settings))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
    }
    port = _free_port()
    options = (
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--allow-root",
        f"--ServerApp.root_dir={folder / 'files'}",
    )
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=environment, stdout=log, stderr=log
        )
        try:
            _wait(process, f"http://127.0.0.1:{port}/api/status", folder / "log")
            yield Server(folder / "files", environment, port)
        finally:
            _end(process)


def _end(process):
    """End a server and what it started. How fast Jupyter shuts a held kernel down is its own matter, not a failure."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _, left = psutil.wait_procs(started, 10)
    for one in left:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def _wait(process, address, log):
    """Wait until the server answers: each try is a request with a time limit of its own."""
    for _ in range(1800):
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            # Nobody listens yet; the process is asked to say when it ended instead, for a moment.
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
    raise AssertionError(log.read_text())


# Waits until the notebook that the application opened has its kernel.
READY = """async () => {
  const app = window.jupyterapp;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const panel = () => app.shell.currentWidget;
  while (!panel()?.sessionContext || !panel()?.content?.widgets?.length) await frame();
  await panel().sessionContext.ready;
  await panel().sessionContext.session.kernel.info;
}"""


def notebook_of(cells):
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return new_notebook(metadata={"kernelspec": kernel}, cells=[new_code_cell(cell) for cell in cells])


def opened(watched, server, application, name, **options):
    """Open a notebook; what the application says while it starts is its own."""
    page = watched(**options)
    page.page.goto(getattr(server, application)(name))
    page.page.wait_for_function("window.jupyterapp")
    page.page.evaluate(READY)
    page.errors.clear()
    return page


def run_all(page):
    page.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")


def run_cell(page, number):
    page.page.evaluate(
        "async (n) => { const content = window.jupyterapp.shell.currentWidget.content;"
        " content.activeCellIndex = n; await window.jupyterapp.commands.execute('notebook:run-cell'); }",
        number,
    )


def output(page, number):
    return page.page.locator(".jp-Notebook .jp-Cell").nth(number).locator(".jp-OutputArea-output").first
