"""Runs, sweeps, what can be done with a handle, exports: the workbench in JupyterLab."""

import json

import pytest
from conftest import SCREENSHOTS, run_code

# One variant takes long enough that a stop comes before the end of the sweep.
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %rows = transform.tune.knob<"rows"> = 8 : i64 from options = [2, 4, 8, 16, 32, 64] -> !transform.param<i64>
    %columns = transform.tune.knob<"columns"> = 8 : i64 from options = [2, 4, 8, 16, 32, 64] -> !transform.param<i64>
    %tiled, %loop = transform.structured.tile_using_forall %relu tile_sizes [%rows, %columns]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
EXPLORE = f"import lhkit\nbench = lhkit.explore(lhkit.payloads.fc_relu(64, 64, 64), '''{SCHEDULE}''')\nbench"
# The process of the compiler stands still.
HANG = "import os, signal\nfrom lhkit.worker.client import shared_worker\nos.kill(shared_worker().pid, signal.SIGSTOP)\nbench"
# What the notebook would save.
PICTURE = "window.jupyterapp.shell.currentWidget.content.widgets[0].outputArea.model.get(0).data['text/html']"
AGAIN = "bench.save('saved.json')\nbench.close()\nbench = lhkit.explore('saved.json')\nbench"


@pytest.fixture
def page(bench_page):
    """Return a page with a workbench of a small payload and two knobs."""
    run_code(bench_page, EXPLORE)
    bench_page.page.locator(".lhw .lhw-row").first.wait_for()
    return bench_page


def test_a_sweep_is_stopped_and_a_measurement_is_a_bar(page):
    root = page.page.locator(".lhw")
    root.get_by_role("button", name="sweep: try all values").click()
    line = root.locator(".lhw-run-line")
    line.get_by_text("of 36").wait_for(timeout=90_000)
    root.get_by_role("tab", name="Guide").click()  # the kernel is free meanwhile
    line.get_by_role("button", name="stop").click()
    line.wait_for(state="hidden")
    root.get_by_role("tab", name="Results").click()
    swept = root.locator(".lhw-run", has_text="swept")
    swept.get_by_text("stopped").wait_for()
    assert "36 variants" not in swept.inner_text()
    root.get_by_role("button", name="measure: time it").click()
    bar = root.locator(".lhw-speed", has_text="#2 ")
    bar.wait_for(timeout=120_000)
    assert "unscheduled" in root.locator(".lhw-chart").first.inner_text()
    slider = root.get_by_role("slider", name="knob rows")
    slider.fill("0")
    root.get_by_role("button", name="undo: set rows = 2").wait_for()
    bar.click()
    page.page.wait_for_function("document.querySelector('.lhw [data-knob=rows]').value === '2'")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / "workbench_results.png")


def test_what_can_be_done_with_a_handle_adds_a_step(page):
    root = page.page.locator(".lhw")
    root.locator(".lhw-row", has_text="tile_using_forall").locator("[data-handle]").first.click()
    root.get_by_role("button", name="what can I do with this?").click()
    pane = root.locator(".lhw-question[data-section='tried']")
    step = pane.locator("details[open] button", has_text="structured.generalize")
    step.wait_for(timeout=90_000)
    page.page.screenshot(path=SCREENSHOTS / "workbench_tried.png")
    rows = root.locator(".lhw-row").count()
    step.click()
    root.locator(".lhw-row", has_text="generalize").wait_for()
    assert root.locator(".lhw-row").count() == rows + 1
    # The answer stays; another question may have opened over it, as what is wrong with the new schedule.
    pane.get_by_text("of the schedule as it was then").wait_for(state="attached")


def test_an_export_is_downloaded_and_a_saved_workbench_opens_again(page):
    root = page.page.locator(".lhw")
    root.get_by_role("slider", name="knob rows").fill("5")
    root.get_by_role("button", name="undo: set rows = 64").wait_for()
    with page.page.expect_download() as mlir:
        root.get_by_label("export").select_option("schedule")
    assert 'tune.knob<"rows"> = 64' in mlir.value.path().read_text()
    with page.page.expect_download() as state:
        root.get_by_label("export").select_option("state")
    assert json.loads(state.value.path().read_text())["schema"] == "lhkit.workbench/1"
    run_code(page, AGAIN)
    slider = root.get_by_role("slider", name="knob rows")
    slider.wait_for()
    assert slider.input_value() == "5"


def test_a_trace_that_hangs_is_stopped_and_taken_up_again(page):
    root = page.page.locator(".lhw")
    run_code(page, HANG)
    root.get_by_role("slider", name="knob rows").fill("5")
    root.locator(".lhw-working").get_by_role("button", name="stop").click()
    notice = root.locator(".lhw-notice")
    notice.get_by_text("tracing was stopped").wait_for(timeout=5_000)
    root.locator(".lhw-outcome", has_text="stopped").wait_for()
    notice.get_by_role("button", name="take it up again").click()
    root.locator(".lhw-outcome", has_text="applies").wait_for()
    assert root.locator(".lhw-working").is_hidden()


def test_an_empty_schedule_becomes_a_proposal(bench_page):
    bench_page.page.set_viewport_size({"width": 1280, "height": 900})
    run_code(bench_page, "import lhkit\nbench = lhkit.explore(lhkit.payloads.fc_relu(64, 64, 64), None)\nbench")
    root = bench_page.page.locator(".lhw")
    button = root.get_by_role("button", name="propose: a first schedule")
    root.evaluate("root => { window.benchBefore = root; }")
    button.click()
    root.locator(".lhw-row", has_text="fuse").first.wait_for(timeout=90_000)
    button.get_by_text("✦", exact=True).wait_for()  # shorter, now that there are steps
    root.get_by_role("button", name="undo: proposal").wait_for()
    assert root.get_by_role("tab", name="Steps").get_attribute("aria-selected") == "true"
    assert root.get_by_role("slider", name="knob tile_m").is_visible()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    bench_page.page.screenshot(path=SCREENSHOTS / "workbench_proposed.png")
    # The notebook keeps a picture of the proposal, and the workbench on screen stays the same.
    bench_page.page.wait_for_function(f"{PICTURE}.includes('%epilogue')")
    assert bench_page.page.evaluate("document.querySelector('.lhw.lh-live') === window.benchBefore")
    # The button kept the focus while it could not be pressed, and where the picture was shown anew.
    assert "propose: a first schedule" in bench_page.page.evaluate("document.activeElement.ariaLabel ?? ''")
    root.locator(".lhw-main", has_text="match").first.click()
    root.locator(".lhw-row.lh-now", has_text="match").first.wait_for()
