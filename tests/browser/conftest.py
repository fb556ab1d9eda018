"""A browser and a Jupyter server for tests; every request and every message of the console is kept."""

from pathlib import Path

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

__all__ = ["SCREENSHOTS", "WIDTHS", "Watched", "notebook_of", "opened", "output", "run_all", "run_cell"]


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def browser():
    with running_browser() as running:
        yield running


@pytest.fixture
def watched(browser):
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
        context.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    executable()
    with served(tmp_path_factory.mktemp("server")) as running:
        yield running
