"""What tests share: workers, a folder for crash files, the command line, golden files."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, settings
from nbclient import NotebookClient

from lhkit.cli.main import run_program
from lhkit.load.catalogue_cache import load_catalogue
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Ping

# No absolute times: a machine may be doing other things.
settings.register_profile("lhkit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lhkit")

ROOT = Path(__file__).parents[1]
HOSTS = Path(__file__).parent / "hosts"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


def pytest_collection_modifyitems(items):
    """Put what takes long first, so that at the end there are short tests for processes that have nothing left.

    Tests in a browser are together: one process has the server and the page. What reads an executed notebook comes
    behind the test that runs it, so that no two processes run the same.
    """
    reads = "test_published.py::"
    behind = {item.callspec.id: item for item in items if reads in item.nodeid}
    ordered = []
    for item in items:
        if reads not in item.nodeid:
            ordered.append(item)
        if "test_notebooks.py::test_a_notebook_runs[" in item.nodeid and item.callspec.id in behind:
            ordered.append(behind.pop(item.callspec.id))
    items[:] = sorted([*behind.values(), *ordered], key=_rank)


def _rank(item):
    """Return the place of a test among others: in a browser, of notebooks and the commands of documents, others."""
    if item.nodeid.startswith("tests/browser/") and "test_published.py::" not in item.nodeid:
        return 0
    return 1 if item.nodeid.startswith(("tests/notebooks/", "tests/docs/", "tests/browser/")) else 2


@pytest.fixture(autouse=True, scope="session")
def crash_folder(tmp_path_factory):
    """Keep crash files out of the user's cache."""
    folder = tmp_path_factory.mktemp("crashes")
    os.environ["LHKIT_CRASH_DIR"] = str(folder)
    return folder


@pytest.fixture(autouse=True, scope="session")
def catalogue_folder(tmp_path_factory):
    """Keep catalogues out of the user's cache."""
    folder = tmp_path_factory.mktemp("catalogues")
    os.environ["LHKIT_CATALOGUE_DIR"] = str(folder)
    return folder


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory):
    """Keep saved sessions out of the user's state."""
    folder = tmp_path_factory.mktemp("state")
    os.environ["LHKIT_STATE_DIR"] = str(folder)
    return folder


@pytest.fixture(autouse=True)
def nothing_left_behind(state_folder):
    """Keep sessions that a test leaves open, winners of its sweeps, and its layout from the next one."""
    shutil.rmtree(state_folder / "recovery", ignore_errors=True)
    shutil.rmtree(state_folder / "tuned", ignore_errors=True)
    shutil.rmtree(state_folder / "workbench", ignore_errors=True)


@pytest.fixture(autouse=True)
def no_loop_of_a_browser(request):
    """Hide Playwright's event loop, which seems to run in this thread from its start on, from tests without a page."""
    loop = asyncio._get_running_loop()
    has_page = "browser" in request.fixturenames or request.node.get_closest_marker("heavy")
    if loop is None or has_page:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def catalogue(worker):
    """The catalogue of the bindings that are installed."""
    return load_catalogue(worker)


@pytest.fixture(scope="session")
def worker():
    """A worker for tests that leave it alive."""
    shared = Worker(Limits(seconds=60))
    yield shared
    shared.close()


@pytest.fixture
def own_worker():
    """A worker that a test may kill."""
    own = Worker(Limits(seconds=60))
    yield own
    own.close()


@pytest.fixture(scope="session", params=["torch_mlir", "mlir"])
def host_worker(request):
    """A worker under each name that the bindings can have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LHKIT_MLIR", request.param)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HOSTS), os.environ.get("PYTHONPATH", "")]))
        each = Worker(Limits(seconds=60))
        each.ask(Ping())
    yield each
    each.close()


@pytest.fixture
def lhkit_command(tmp_path):
    """Run the command line in an empty folder; returns the finished process."""

    def run(*arguments, **options):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
        return subprocess.run(
            [sys.executable, "-m", "lhkit", *map(str, arguments)],
            cwd=options.pop("cwd", tmp_path),
            env=environment,
            capture_output=True,
            text=options.pop("text", True),
            timeout=120,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def lhkit_here(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder like ``lhkit_command``, in this process and with its worker."""

    def run(*arguments, cwd=tmp_path):
        monkeypatch.chdir(cwd)
        capsys.readouterr()
        code = run_program([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def run_notebook(tmp_path_factory):
    """Return a function that runs a notebook, once whoever asks for it, and returns where it lies with outputs."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the processes of a run share it
    folder /= "executed"
    folder.mkdir(exist_ok=True)
    ipython = tmp_path_factory.mktemp("ipython")
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "short_measurements.py", startup)
    environment = {**os.environ, "IPYTHONDIR": str(ipython)}

    def run(path):
        kept = folder / path.name
        if not kept.exists():
            notebook = nbformat.read(path, as_version=4)
            resources = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
            NotebookClient(notebook, timeout=120, resources=resources).execute(env=environment)
            written = folder / f"{path.stem}.{os.getpid()}"
            nbformat.write(notebook, written)
            written.replace(kept)  # whole, should another process read it now
        return kept

    return run


@pytest.fixture
def golden(request):
    """Compare a text with ``golden/TEST.txt`` beside the test's file; ``--update-golden`` writes it anew."""

    def check(text):
        name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_")).strip("_")
        path = request.path.parent / "golden" / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no golden file: pytest {request.node.fspath} --update-golden writes it"
        assert text == path.read_text(encoding="utf-8")

    return check
