"""The pictures of the workbench in JupyterLab: how much of them is seen, and how they are zoomed."""

import pytest
from conftest import run_code

ROWS = """(pane) => {
  const body = pane.querySelector(".lhw-body").getBoundingClientRect();
  const heads = pane.querySelector(".lh-heads:not(:empty)").getBoundingClientRect();
  const seen = ({ top, bottom }) => top >= heads.bottom && bottom <= body.bottom;
  return [...pane.querySelectorAll(".lh-name text")].filter((name) => seen(name.getBoundingClientRect())).length;
}"""
# Where the middle of a pane's picture lies, as a share of its size.
MIDDLE = """(pane) => {
  const body = pane.querySelector(".lhw-body").getBoundingClientRect();
  const picture = pane.querySelector("svg").getBoundingClientRect();
  return (body.left + body.width / 2 - picture.left) / picture.width;
}"""


@pytest.fixture
def bench(bench_page):
    """Return the workbench on a screen of 1280 by 800 pixels, without JupyterLab's list of files beside it."""
    page = bench_page.page
    size = page.viewport_size
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    run_code(bench_page, "import lhkit\nbench = lhkit.explore()\nbench")
    root = page.locator(".lhw")
    root.locator("[data-pane='timeline'] svg").first.wait_for()
    yield root
    page.evaluate("window.jupyterapp.shell.expandLeft()")
    page.set_viewport_size(size)


def pane(bench, name):
    return bench.locator(f".lhw-pane[data-pane='{name}']")


# The width of the picture of a pane, once it is the same for 20 frames: what is around it may still take room.
WIDTH_AT_REST = """async (pane) => {
  let [width, frames] = [-1, 0];
  while (frames < 20) {
    await new Promise(requestAnimationFrame);
    const now = pane.querySelector("svg")?.getBoundingClientRect().width ?? -1;
    frames = now === width ? frames + 1 : 0;
    width = now;
  }
  return width;
}"""


def width(bench, name):
    return pane(bench, name).evaluate(WIDTH_AT_REST)


# How far below the top of its pane the head of the selected step is; what is above the pane may come and go.
BELOW_TOP = """pane => pane.querySelector(".lh-heads .lh-step.lh-now").getBoundingClientRect().top
  - pane.querySelector(".lhw-body").getBoundingClientRect().top"""


def test_eight_rows_of_the_timeline_are_seen_and_columns_say_their_step(bench):
    timeline = pane(bench, "timeline")
    assert timeline.evaluate(ROWS) >= 8
    timeline.locator(".lh-heads [data-step='3']").hover()
    bench.locator(".lhw-pointed", has_text="transform.merge_handles").wait_for()
    timeline.locator(".lh-heads [data-step='2']").focus()
    bench.locator(".lhw-pointed", has_text="transform.get_producer_of_operand").wait_for()
    bench.page.keyboard.press("Enter")
    bench.locator(".lhw-row.lh-now[data-step='2']").wait_for()
    # The column of a step comes into sight with it, and heads and names stay where they are.
    bench.locator(".lhw-walk input").fill("10")
    bench.locator(".lhw-row.lh-now[data-step='9']").wait_for()
    timeline.locator(".lh-heads .lh-step.lh-now[data-step='9']").wait_for()  # it is drawn anew
    area = timeline.locator(".lhw-body").bounding_box()
    head = timeline.locator(".lh-heads .lh-step.lh-now").bounding_box()
    assert head["x"] + head["width"] <= area["x"] + area["width"] + 1
    before = timeline.evaluate(BELOW_TOP)
    timeline.locator(".lh-name").last.evaluate("name => name.scrollIntoView({block: 'nearest'})")
    assert timeline.evaluate(BELOW_TOP) == pytest.approx(before, abs=1)


def test_the_tiles_follow_the_step_that_is_selected(bench):
    bench.get_by_role("tab", name="Tiles").click()  # on two columns behind the handles
    tiles = pane(bench, "tiles")
    tiles.locator("svg", has_text="linalg.max, after step 5").wait_for()
    bench.locator(".lhw-row[data-step='8'] .lhw-op").click()
    tiles.locator("svg", has_text="linalg.matmul, after step 8").wait_for()
    tiles.locator(".lh-said", has_text="iteration 22 of 2,048").wait_for()
    bench.locator(".lhw-given .lhw-main").click()
    tiles.locator("svg", has_text="linalg.matmul, the payload as given").wait_for()
    tiles.locator(".lh-said").wait_for(state="hidden")  # there is nothing to iterate over
    bench.locator(".lhw-row[data-step='8'] .lhw-op").click()
    tiles.locator(".lh-said", has_text="iteration 22 of 2,048").wait_for()


def test_pictures_are_zoomed_by_buttons_keys_and_wheel_and_stay_so(bench):
    page = bench.page
    bench.get_by_role("tab", name="Tiles").click()  # on two columns behind the handles
    pane(bench, "tiles").locator("svg").wait_for()
    fitting, middle = width(bench, "tiles"), pane(bench, "tiles").evaluate(MIDDLE)
    zoom = {
        name: bench.get_by_role("button", name=f"{name}: Tiles")
        for name in ("zoom out", "fit the pane", "zoom in")
    }
    zoom["zoom in"].click()
    zoom["zoom in"].click()
    large = width(bench, "tiles")
    assert large == pytest.approx(fitting * 1.5625, rel=0.02)
    assert pane(bench, "tiles").evaluate(MIDDLE) == pytest.approx(middle, abs=0.02)
    bench.get_by_role("status", name="zoom: Tiles").filter(has_text="156 %").wait_for()
    # A handle is selected, a knob is set, another step is shown: the pictures are as large as they were.
    bench.locator(".lhw-row[data-step='6'] .lhw-op").click()
    pane(bench, "tiles").locator("svg", has_text="after step 6").wait_for()  # the rows are drawn anew till then
    bench.locator(".lhw-row.lh-now[data-step='6'] [data-handle]").last.click()
    bench.locator(".lh-chosen", has_text="%forall").wait_for()
    drawn = pane(bench, "tiles").locator("svg").evaluate("svg => svg.outerHTML")
    bench.get_by_role("slider", name="knob tile").fill("0")
    page.wait_for_function(
        "(old) => document.querySelector('.lhw [data-pane=tiles] svg').outerHTML !== old", arg=drawn
    )
    # The brief picture of a low pane is as wide as its words, in which are the caches of this CPU.
    assert width(bench, "tiles") == pytest.approx(large, rel=0.1)
    zoom["fit the pane"].click()
    assert width(bench, "tiles") == pytest.approx(fitting, rel=0.1)
    bench.get_by_role("tab", name="Schedule graph").click()
    graph = pane(bench, "schedule_graph")
    graph.locator("svg").wait_for()
    fitting = width(bench, "schedule_graph")
    graph.locator(".lhw-body").focus()
    page.keyboard.press("+")
    assert width(bench, "schedule_graph") == pytest.approx(fitting * 1.25, rel=0.02)
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert width(bench, "schedule_graph") == pytest.approx(fitting / 1.25, rel=0.02)
    page.keyboard.press("0")
    assert width(bench, "schedule_graph") == pytest.approx(fitting, rel=0.02)
    graph.locator(".lhw-body").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -150)
    page.keyboard.up("Control")
    page.wait_for_function(
        "(width) => document.querySelector('.lhw [data-pane=schedule_graph] svg').getBoundingClientRect().width > width",
        arg=fitting * 1.2,
    )
