"""The workbench by keys alone: one tab stop per list, keys that are listed, and what a screen reader hears."""

import pytest
from conftest import SCREENSHOTS, run_code

# How many stops each list of the workbench has, by the pane; form fields above and below a list are not in it.
STOPS = """() => Object.fromEntries([...document.querySelectorAll(".lhw .lhw-pane:not([hidden]):not([data-pane=timeline])")]
  .map((pane) => [pane.dataset.pane, [...pane.querySelectorAll(".lhw-body, .lhw-body *")]
    .filter((node) => node.tabIndex >= 0 && node.checkVisibility()).length]))"""
FOCUSED = "() => { const { activeElement: at } = document; return [at.className, at.textContent.trim()]; }"


@pytest.fixture
def bench(bench_page):
    run_code(bench_page, "import lhkit\nbench = lhkit.explore()\nbench")
    root = bench_page.page.locator(".lhw")
    root.locator(".lhw-row.lh-now[data-step='5']").wait_for()
    root.locator("[data-pane='payload'] .l").first.wait_for()
    yield root


def focused(bench):
    return bench.page.evaluate(FOCUSED)


def press(bench, *keys):
    for key in keys:
        bench.page.keyboard.press(key)


def test_each_list_is_one_tab_stop_and_rows_are_gone_through_by_arrows(bench):
    page = bench.page
    assert page.evaluate(STOPS) == {"steps": 1, "payload": 1, "tiles": 1, "guide": 1}
    bench.locator(".lhw-row.lh-now .lhw-main").focus()
    press(bench, "Tab")
    assert focused(bench)[1].startswith("+ add a step")
    press(bench, "Shift+Tab")
    assert "tile_using_forall" in focused(bench)[1]
    press(bench, "ArrowDown")
    bench.locator(".lhw-row.lh-now[data-step='6']").wait_for()
    press(bench, "Home", "ArrowDown")
    bench.locator(".lhw-row.lh-now[data-step='0']").wait_for()
    # A walk through the payload: the line that the step changed first is the stop, Enter selects its op.
    bench.locator(".lhw-row[data-step='5'] .lhw-main").click()
    bench.locator("[data-frame^='5|']").wait_for(state="attached")
    bench.locator("[data-pane='payload'] .l[tabindex='0']").focus()
    first = focused(bench)
    assert first[0].split()[:2] == ["l", "a"]
    press(bench, "ArrowDown")
    assert focused(bench) != first
    press(bench, "Enter")
    bench.locator("[data-pane='payload'] .l.lh-selected").first.wait_for()
    assert page.evaluate(STOPS)["payload"] == 1


def test_a_row_has_keys_for_all_that_it_holds(bench):
    bench.locator(".lhw-row[data-step='4'] .lhw-main").focus()
    press(bench, "Enter", "k")
    slider = bench.get_by_role("slider", name="knob tile")
    assert slider.evaluate("input => input === document.activeElement")
    press(bench, "ArrowRight")
    bench.get_by_role("button", name="undo: set tile = 64").wait_for()
    press(bench, "Escape")
    assert "lhw-main" in focused(bench)[0]
    bench.locator(".lhw-row[data-step='5'] .lhw-main").focus()
    press(bench, "Enter", "h")
    bench.locator(".lh-chosen", has_text="%relu").wait_for()
    press(bench, "h")
    bench.locator(".lh-chosen", has_text="%tile").wait_for()
    bench.locator(".lhw-row[data-step='0'] .lhw-main").focus()
    count = bench.locator(".lhw-row").count()
    press(bench, "d")
    bench.get_by_role("button", name="undo: duplicate").wait_for()
    assert bench.locator(".lhw-row").count() == count + 1


def test_the_keys_are_listed_and_the_focus_comes_back(bench):
    main = bench.locator(".lhw-row.lh-now .lhw-main")
    main.focus()
    press(bench, "?")
    keys = bench.locator("dialog.lhw-keys")
    keys.wait_for(state="visible")
    said = keys.inner_text()
    for words in (
        "the step before, the step behind",
        "select its next handle",
        "duplicate it",
        "zoom in, out, fit",
    ):
        assert words in said
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    bench.page.screenshot(path=SCREENSHOTS / "workbench_keys.png")
    press(bench, "Escape")
    keys.wait_for(state="hidden")
    assert main.evaluate("node => node === document.activeElement")


def test_what_changes_elsewhere_is_said_to_a_screen_reader(bench):
    spoken = bench.locator(".lhw-spoken[aria-live=polite]")
    assert spoken.count() == 1
    bench.locator(".lhw-row[data-step='5'] .lhw-main").focus()
    press(bench, " ")  # what it made is not there for those behind it
    bench.locator(".lhw-notice", has_text="depend").wait_for()
    bench.get_by_role("button", name="switch off it and").click()
    spoken.get_by_text("problem").wait_for(state="attached")


def test_the_search_for_a_step_is_answered_in_the_browser(bench):
    bench.get_by_role("button", name="+ add a step").click()
    search = bench.get_by_role("searchbox", name="search ops and recipes")
    found = bench.locator(".lhw-results [data-choose]")
    found.first.wait_for()
    search.fill("tile loops")
    bench.locator(".lhw-results [data-choose='transform.structured.tile_using_for']").wait_for()
    search.fill("general")
    bench.locator(".lhw-results li:first-child [data-choose='transform.structured.generalize']").wait_for()
    search.fill("zzzz")
    bench.locator(".lhw-results", has_text="Nothing like that").wait_for()
