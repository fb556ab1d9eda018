"""Step, op and instruction light one another; questions are one column; two steps side by side."""

import pytest
from conftest import SCREENSHOTS, run_code

CODE = "import lhkit\nbench = lhkit.explore()\nbench"


@pytest.fixture
def bench(bench_page):
    run_code(bench_page, CODE)
    root = bench_page.page.locator(".lhw")
    root.locator(".lhw-row.lh-now[data-step='5']").wait_for()
    root.locator("[data-pane='payload'] .l").first.wait_for()
    yield root


def section(bench, name):
    return bench.locator(f".lhw-question[data-section='{name}']")


def test_an_instruction_lights_its_payload_line_and_goes_to_its_step(bench):
    bench.get_by_role("tab", name="Code").click()
    code = bench.locator("[data-pane='code']")
    code.get_by_role("button", name="compile").click()
    row = code.locator(".lhw-instruction[data-op]").first
    row.wait_for(timeout=90_000)
    row.click()
    # loop.unroll made one copy of the matmul, and left the other as tiling had made it.
    made = ".lhw-row.lh-now:is([data-step='9'], [data-step='8'])"
    bench.locator(made).wait_for()
    line = bench.locator("[data-pane='payload'] .l.lh-selected")
    line.first.wait_for()
    assert "linalg.matmul" in line.first.inner_text()
    assert "selected: linalg.matmul, line " in bench.locator(".lh-chosen").inner_text()
    assert "of the time" in code.locator(".lhw-loop[open] .lhw-line").first.inner_text()
    assert row.evaluate("node => node.classList.contains('lh-selected') && node.classList.contains('lhw-made')")
    assert code.locator(".lhw-loop[open] .lhw-line.lh-selected").count() == 1
    # The loop around it is selected in the payload: its instructions light.
    bench.page.keyboard.press("Escape")
    code.locator(".lh-selected").first.wait_for(state="detached")
    bench.locator("[data-pane='payload'] .l[data-op]", has_text="= scf.for").first.click()
    code.locator(".lhw-instruction.lh-selected").first.wait_for()
    # By keys: Enter on an instruction selects it; another step takes its mark away.
    bench.locator(".lhw-row[data-step='0'] .lhw-main").click()
    bench.locator(".lhw-row.lh-now[data-step='0']").wait_for()
    assert not code.locator(".lhw-made").count()
    row.focus()
    bench.page.keyboard.press("Enter")
    bench.locator(made).wait_for()
    section(bench, "slow").locator("> summary").click()
    # From the answer to the line in the payload, which comes into sight.
    pane = bench.locator("[data-pane='payload'] .lhw-body")
    pane.evaluate(
        "body => { body.style.cssText = 'flex: none; height: 3em'; body.scrollTop = body.scrollHeight; }"
    )
    bench.page.keyboard.press("Escape")
    section(bench, "slow").locator("[data-made]").first.click()
    line.first.wait_for()
    bench.page.wait_for_function(
        "([line, pane]) => { const [a, b] = [line, pane].map(e => e.getBoundingClientRect());"
        " return a.top >= b.top && a.bottom <= b.bottom; }",
        arg=[line.first.element_handle(), pane.element_handle()],
    )
    said = section(bench, "slow").inner_text()
    assert "scalar code" in said and "spill" in said and "Stalls and cache misses" in said
    bench.page.screenshot(path=SCREENSHOTS / "workbench_code.png")


def test_the_guide_says_facts_of_what_is_selected_and_filters_what_was_tried(bench):
    facts = bench.locator(".lhw-facts")
    facts.get_by_text("step 5: structured.tile_using_forall").wait_for()
    facts.get_by_text("a tile 12 KiB").wait_for()
    bench.locator(".lhw-row[data-step='5'] [data-handle]").first.click()
    facts.get_by_text("after step 5: invalidated").wait_for()
    bench.locator(".lhw-row[data-step='5'] [data-handle]").last.click()
    bench.page.keyboard.press("t")
    tried = section(bench, "tried")
    tried.locator("li").first.wait_for(timeout=60_000)
    assert tried.evaluate("node => node.open") and not section(bench, "problems").evaluate("node => node.open")
    bench.locator(".lhw-spoken", has_text="tried, ").wait_for(state="attached", timeout=90_000)
    shown = tried.locator("li:not([hidden])").count()
    tried.get_by_role("searchbox", name="filter what was tried").fill("annotate")
    assert 0 < tried.locator("li:not([hidden])").count() < shown
    bench.page.screenshot(path=SCREENSHOTS / "workbench_guide.png")


def test_two_steps_are_compared_side_by_side(bench):
    payload = bench.locator("[data-pane='payload']")
    bench.locator(".lhw-given .lhw-main").click()
    payload.get_by_role("button", name="compare from here").click()
    bench.locator(".lhw-row[data-step='9'] .lhw-op").click()
    sides = payload.locator(".lh-sides")
    sides.wait_for()
    payload.locator(
        ".lh-irt", has_text="after step 9, transform.loop.unroll, against the payload as given"
    ).wait_for()
    gone = sides.locator(".l.e", has_text="linalg.max").bounding_box()
    made = sides.locator(".l.a", has_text="linalg.matmul").first.bounding_box()
    assert gone["x"] + gone["width"] <= made["x"] + 2, "the old payload is at the left"
    bench.page.screenshot(path=SCREENSHOTS / "workbench_sides.png")
    payload.get_by_role("button", name="against the payload as given").click()
    sides.wait_for(state="detached")
