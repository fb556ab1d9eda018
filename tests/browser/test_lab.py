"""``lhkit lab`` opens the list of lessons, leads to them, follows the reader, and asks nothing of any address."""

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from lhkit.lessons.lesson_list import lessons_in
from lhkit.worker.process_groups import still_running

ROOT = Path(__file__).parents[2]
TABLE = ".jp-RenderedMarkdown table"


@pytest.fixture
def lab(tmp_path):
    """``lhkit lab`` on folders of its own; gives its address and the private copy."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    names = {"LHKIT_STATE_DIR": "state", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **{k: str(tmp_path / v) for k, v in names.items()}}
    command = [sys.executable, "-m", "lhkit", "lab", "--no-browser", "--folder", str(tmp_path / "copy"), "--"]
    options = [f"--port={port}", "--ServerApp.port_retries=0", "--allow-root", "--IdentityProvider.token="]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*command, *options], env=environment, stdout=log, stderr=log)
    origin = f"http://127.0.0.1:{port}"
    try:
        while not _answers(origin):
            assert process.poll() is None, (tmp_path / "log").read_text()
        yield origin, tmp_path
    finally:
        started = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert process.wait(timeout=60) == 130
        assert not still_running(started, 60)


def _answers(origin):
    try:
        urllib.request.urlopen(f"{origin}/api", timeout=2).close()
    except OSError:
        return False
    return True


@pytest.mark.heavy
def test_the_lab_opens_the_lessons_and_follows_the_reader(lab, watched):
    origin, folder = lab
    opened = watched(width=1300, height=900)
    page = opened.page
    page.goto(f"{origin}/")
    page.wait_for_selector(TABLE, timeout=120_000)
    lessons = lessons_in()
    rows = page.locator(f"{TABLE} tbody tr")
    assert rows.count() == len(lessons)
    first = next(x for x in lessons if "/" not in x.path)
    path = folder / "copy" / first.path
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    path.write_text(json.dumps(notebook))
    index = folder / "copy" / "index.md"
    while "● run" not in index.read_text() and "✓ done" not in index.read_text():
        page.wait_for_timeout(500)  # the command looks every ten seconds; the test's own limit ends this
    page.reload()
    page.wait_for_selector(f"{TABLE} >> text=/● run|✓ done/", timeout=120_000)
    page.click(f"{TABLE} a >> text={first.title}")
    page.wait_for_selector(".jp-Notebook", timeout=120_000)
    opened.check(origin, origin.replace("http", "ws"))
