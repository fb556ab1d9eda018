"""A browser and a Jupyter server for tests; every request and every message of the console is kept.

And the schedule that tests of the workbench add steps to: `SCHEDULE_HEAD`, steps, `SCHEDULE_TAIL`.
"""

import sys
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
from jupyter_pages import (
    SCREENSHOTS,
    WIDTHS,
    Watched,
    executable,
    notebook_of,
    opened,
    output,
    run_all,
    run_cell,
    running_browser,
    served,
)
from playwright.sync_api import Error, TimeoutError

__all__ = [
    "SCHEDULE_HEAD",
    "SCHEDULE_TAIL",
    "SCREENSHOTS",
    "WIDTHS",
    "Watched",
    "notebook_of",
    "opened",
    "output",
    "run_all",
    "run_cell",
    "run_code",
]

SCHEDULE_HEAD = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
"""
SCHEDULE_TAIL = "    transform.yield\n  }\n}\n"

# Puts code into the only cell of the notebook, and waits until it was run.
_RUN = """async (code) => {
  const panel = window.jupyterapp.shell.currentWidget;
  panel.content.activeCellIndex = 0;
  panel.content.activeCell.model.sharedModel.setSource(code);
  await window.jupyterapp.commands.execute("notebook:run-cell");
}"""


def run_code(lab, code):
    """Run code in the only cell of the notebook that stays open."""
    lab.page.evaluate(_RUN, code)


_FAILED = pytest.StashKey[bool]()
_MOST_SAID = 8000


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)
            # A browser on a loaded machine now and then loses half a minute: such a test is tried once more. The
            # report of the run says so, and its page is printed.
            item.add_marker(pytest.mark.flaky(retries=1, only_on=[TimeoutError]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


def print_page(page, config):
    """Print what a page says when a test failed, also where the second attempt passes."""
    with suppress(Error), config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        words = page.locator("body").inner_text(timeout=5000)[:_MOST_SAID]
        print(f"\nthe page of a test that failed:\n{words}", file=sys.stderr)


@pytest.fixture(scope="session")
def browser():
    with running_browser() as running:
        yield running


@pytest.fixture
def watched(browser, request):
    """Return a function that opens a page; at the end the page closes."""
    contexts = []

    def open_page(*, width=1600, height=1000, dark=False, scripts=True):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.set_default_timeout(30_000)
        return Watched(context.new_page())

    yield open_page
    for context in contexts:
        if request.node.stash.get(_FAILED, False):
            for page in context.pages:
                print_page(page, request.config)
        context.close()


@pytest.fixture(scope="session")
def session_server(tmp_path_factory):
    """The Jupyter server of all modules: it takes seconds to start."""
    executable()
    with served(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def server(session_server):
    """A Jupyter server; the kernels that the tests of a module start end with the module."""
    yield session_server
    session_server.end_kernels(keep="lab.ipynb")


@pytest.fixture(scope="session")
def lab(browser, session_server):
    """A notebook in JupyterLab that stays open: one page and one kernel for most tests."""
    server = session_server
    nbformat.write(notebook_of([""]), server.folder / "lab.ipynb")
    contexts = []

    def open_page():
        contexts.append(browser.new_context(viewport={"width": 1600, "height": 1000}))
        contexts[0].set_default_timeout(60_000)
        return Watched(contexts[0].new_page())

    lab = opened(open_page, server, "lab", "lab.ipynb")
    yield lab
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    contexts[0].close()


@pytest.fixture
def bench_page(lab, server):
    """Return the page that stays open; the workbench that a test shows there as ``bench`` is closed behind it.

    Nothing leaves the machine, and no error is said.
    """
    lab.requests.clear()
    lab.errors.clear()
    yield lab
    run_code(lab, "bench.close()")
    lab.page.locator(".lhw").wait_for(state="detached")
    lab.check(*server.addresses)
