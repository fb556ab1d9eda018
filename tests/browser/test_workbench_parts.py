"""The parts of a model in the workbench: profiled, opened by a click or a key, and back to the whole."""

import pytest
from conftest import SCREENSHOTS, run_code

EXPLORE = """import lhkit
from lhkit.workbench import model_parts
model_parts._SECONDS = model_parts._PROFILE_SECONDS = 0.1
bench = lhkit.explore(lhkit.payloads.mlp(8, (16, 16, 16, 16)), None)
bench"""


@pytest.fixture
def bench(bench_page):
    """Return the workbench of a model on a screen of 1280 by 800 pixels, without the list of files beside it."""
    page = bench_page.page
    size = page.viewport_size
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    run_code(bench_page, EXPLORE)
    root = page.locator(".lhw")
    root.locator("[data-pane='parts'] .lhw-part").first.wait_for()
    yield root
    page.evaluate("window.jupyterapp.shell.expandLeft()")
    page.set_viewport_size(size)


def picture(bench, name):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    bench.page.screenshot(path=SCREENSHOTS / f"workbench_parts_{name}.png")


def has_focus(bench, text):
    bench.page.wait_for_function(
        "(text) => document.activeElement.matches('.lhw button') && document.activeElement.textContent.includes(text)",
        arg=text,
    )


def test_a_model_is_profiled_and_a_bar_opens_its_part_and_goes_back(bench):
    pane = bench.locator("[data-pane='parts']")
    assert pane.locator(".lhw-part").count() == 2 and not pane.locator(".lhw-fill").count()
    pane.get_by_role("button", name="◔ profile").click()
    pane.locator(".lhw-limit").first.wait_for(timeout=120_000)
    bars = pane.locator(".lhw-part")
    assert bars.count() == 3
    widths = [bar.bounding_box()["width"] for bar in pane.locator(".lhw-track .lhw-fill").all()]
    assert len(widths) == 3 and min(widths) > 20
    assert "results equal those of NumPy" in pane.locator(".lhw-problem").inner_text()
    picture(bench, "profiled")
    bars.filter(has_text="part_1").click()
    back = bench.get_by_role("button", name="← whole model")
    back.wait_for()
    assert "part_1.mlir on <mlp" in bench.locator(".lhw-names").inner_text()
    bench.locator("[data-pane='payload']").get_by_text("func.func").first.wait_for()
    has_focus(bench, "← whole model")
    bench.get_by_role("button", name="propose: a first schedule").click()
    bench.get_by_role("button", name="undo: proposal").wait_for(timeout=120_000)
    bench.locator("[data-pane='steps'] .lhw-row", has_text="fuse").first.wait_for()
    picture(bench, "opened")
    back.press("Enter")
    own = bars.filter(has_text="✎ own schedule")
    own.wait_for()
    has_focus(bench, "part_1")
    assert "Another schedule since: part_1" in pane.inner_text()
    bench.get_by_role("button", name="nothing to undo").wait_for()
    bench.page.keyboard.press("Enter")  # the part as it was left
    bench.get_by_role("button", name="undo: proposal").wait_for()


def test_a_payload_of_one_part_has_no_such_pane(bench_page):
    run_code(bench_page, "import lhkit\nbench = lhkit.explore()\nbench")
    root = bench_page.page.locator(".lhw")
    root.locator(".lhw-row.lh-now").wait_for()
    root.get_by_role("tab", name="Payload", exact=True).wait_for()
    assert root.get_by_role("tab", name="Parts").count() == 0
