"""A workbench whose kernel restarted, or does not answer: it says so, and nothing of it pretends to be alive."""

import os
import signal

import nbformat
import pytest
from conftest import notebook_of, opened, output, run_cell

EXPLORE = "import lhkit, os\nbench = lhkit.explore()\nbench"
SHOWN = """() => {
  const input = document.querySelector(".lhw [data-knob=tile]");
  return [JSON.parse(input.dataset.values)[input.value], Number(input.parentNode.querySelector("output").textContent)];
}"""


@pytest.fixture
def watched_page(watched, server, request):
    name = f"{request.node.name}.ipynb"
    nbformat.write(notebook_of([EXPLORE, "print(os.getpid())"]), server.folder / name)
    found = opened(watched, server, "lab", name)
    run_cell(found, 0)
    found.page.locator(".lhw .lhw-row.lh-now").wait_for()
    yield found
    found.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def test_a_restarted_kernel_is_said_and_nothing_can_be_edited(watched_page):
    page = watched_page.page
    slider = page.get_by_role("slider", name="knob tile")
    slider.press("ArrowRight")
    page.locator(".lhw-frame", has_text="[64, 64]").first.wait_for()
    shown = page.evaluate(SHOWN)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    lost = page.locator(".lhw-lost-line")
    lost.wait_for(state="visible")
    assert lost.inner_text() == "disconnected: run the cell again."
    assert page.evaluate("document.querySelector('.lhw [data-knob=tile]').closest('[inert]') !== null")
    page.evaluate("document.querySelector('.lhw [data-knob=tile]').focus()")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(SHOWN) == shown
    for tool in page.locator(".lhw-tools-bar button, .lhw-tools button, .lhw-foot button").all():
        assert tool.evaluate("node => node.closest('[inert]') !== null")
    run_cell(watched_page, 0)
    page.wait_for_function("document.querySelectorAll('.lhw-lost-line[hidden]').length === 1")
    page.get_by_role("slider", name="knob tile").press("ArrowRight")
    page.locator(".lhw-frame", has_text="[64, 64]").first.wait_for()


def test_a_knob_that_nobody_hears_goes_back_until_the_kernel_answers(watched_page):
    page = watched_page.page
    run_cell(watched_page, 1)
    pid = int(output(watched_page, 1).inner_text())
    slider = page.get_by_role("slider", name="knob tile")
    before = page.evaluate(SHOWN)
    os.kill(pid, signal.SIGSTOP)
    try:
        slider.press("ArrowRight")
        moved = page.evaluate(SHOWN)
        assert moved != before
        lost = page.locator(".lhw-lost-line")
        lost.wait_for(state="visible")
        assert "the kernel does not answer" in lost.inner_text()
        assert page.evaluate(SHOWN) == before
    finally:
        os.kill(pid, signal.SIGCONT)
    lost.wait_for(state="hidden")
    assert not page.locator(".lhw [inert]").count()
    # What was heard late is done, and shown.
    page.wait_for_function(f"({SHOWN})().every((value) => value === {moved[0]})")
