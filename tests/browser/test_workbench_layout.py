"""The layout of the workbench: columns by width, nothing cut, and panes that are resized, moved, closed and kept."""

import json
import signal
import sys
from contextlib import suppress

import nbformat
import pytest
from conftest import SCREENSHOTS, notebook_of, run_cell
from conftest import opened as lab_page
from explore_tab import explored
from jupyter_pages import ROOT
from playwright.sync_api import TimeoutError

WIDTHS = {599: 1, 600: 2, 1099: 2, 1100: 3}
# The page, and the workbench's cell in JupyterLab at 1280x800 with the side bar open.
SIZES = ((828, 608), (950, 640), (1280, 800), (1440, 900), (1920, 1080))
AREAS = """() => [...document.querySelectorAll(".lhw-area")].map((each) => {
  const { left, top, width, height } = each.getBoundingClientRect();
  return { name: each.dataset.area, left, top, width, height };
})"""
# Controls and areas that are not whole inside of what they belong to; lists that scroll are left out.
CUT = """() => {
  const root = document.querySelector(".lhw");
  const inside = (inner, outer) => {
    const [a, b] = [inner.getBoundingClientRect(), outer.getBoundingClientRect()];
    return !a.width || (a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1);
  };
  const found = [];
  const check = (nodes, outer) => nodes.forEach((node) => inside(node, outer) || found.push(node.outerHTML.slice(0, 120)));
  check(root.querySelectorAll(".lhw-area, .lhw-top :is(button, select, input)"), root);
  for (const area of root.querySelectorAll(".lhw-area")) {
    check(area.querySelectorAll(".lhw-strip button, .lhw-bar :is(button, select, input, label), .lhw-zoom button, .lhw-body"), area);
    const body = area.querySelector(".lhw-pane:not([hidden]) > .lhw-body");
    if (body.clientHeight < 24) found.push(`${area.dataset.area}: ${body.clientHeight} px are left of its pane`);
  }
  const said = [...root.querySelectorAll(".lhw-notice, .lhw-lost-line, .lhw-run-line")].map((each) => each.textContent).join(" ");
  if (found.length) found.push(`${root.clientHeight} px high, ${root.querySelector(".lhw-top").clientHeight} of them the bar; said: ${said}`);
  if (root.scrollWidth > root.clientWidth || root.scrollHeight > root.clientHeight) found.push("the root scrolls");
  return found;
}"""


@pytest.fixture(scope="module")
def tab():
    with explored() as found:
        yield found


@pytest.fixture
def opened(tab, watched):
    """Return a function that opens the workbench in its default layout."""
    pages = []

    def open_page(width=1440, height=900, **options):
        found = watched(width=width, height=height, **options)
        pages.append(found)
        found.page.goto(tab.address)
        found.page.locator(".lhw .lhw-row").first.wait_for()
        use(found.page, "compose")
        return found.page

    yield open_page
    for found in pages:
        defects = found.page.locator(".lhw-notice[data-kind=defect]")
        assert defects.all_text_contents() == []
        found.check(*tab.addresses)


def use(page, preset):
    page.get_by_label("layout", exact=True).select_option(f"use {preset}")


def areas(page):
    return {area["name"]: area for area in page.evaluate(AREAS)}


def menu(page, name, item):
    page.get_by_role("button", name=f"arrange: {name}").click()
    page.get_by_role("menuitem", name=item).click()


def resize(page, width, height=800):
    page.set_viewport_size({"width": width, "height": height})
    columns = 1 if width < 600 else 2 if width < 1100 else 3
    page.locator(f".lhw-main-grid[data-columns='{columns}']").wait_for()


def cut(page):
    """Return what is cut when the page has come to rest: the panes' heights follow a frame after the columns."""
    with suppress(TimeoutError):
        page.wait_for_function(f"() => ({CUT})().length === 0", timeout=5000)
    return page.evaluate(CUT)


def test_columns_follow_the_width(opened):
    page = opened(width=1440)
    for width, columns in WIDTHS.items():
        resize(page, width)
        names = {
            1: ["narrow"],
            2: ["left", "middle", "handles", "bottom"],
            3: ["left", "middle", "bottom", "handles", "pictures"],
        }
        page.wait_for_function(
            "([n]) => document.querySelectorAll('.lhw-area').length === n", arg=[len(names[columns])]
        )
        found = areas(page)
        assert list(found) == names[columns]
        assert len({area["left"] for name, area in found.items() if name != "bottom"}) == columns


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_cut(opened, dark):
    page = opened(dark=dark)
    for preset in ("compose", "debug", "tune", "teach"):
        use(page, preset)
        for width, height in SIZES:
            resize(page, width, height)
            assert cut(page) == [], f"{preset} at {width}x{height}"


def test_a_picture_fits_its_pane_both_ways(opened):
    page = opened(width=1440, height=1000)
    use(page, "tune")
    pane = page.locator("[data-pane=tiles] .lhw-body")
    pane.locator("svg").wait_for()
    box, picture = pane.bounding_box(), pane.locator("svg").bounding_box()
    assert picture["width"] <= box["width"] and picture["height"] <= box["height"]


LETTERS = """() => {
  const svg = document.querySelector("[data-pane=tiles] svg");
  return (12 * svg.getBoundingClientRect().width) / svg.viewBox.baseVal.width;
}"""


def test_letters_of_a_tile_picture_can_be_read_in_a_low_pane(opened):
    page = opened(width=1280, height=800)
    tiles = page.locator("[data-pane=tiles]")
    for step in (5, 8):
        page.locator(f".lhw-row[data-step='{step}'] .lhw-op").click()
        tiles.locator("svg", has_text=f"after step {step}").wait_for()
        page.wait_for_function(f"() => ({LETTERS})() >= 8.5")
    assert tiles.locator("svg", has_text="bytes touched").count() == 0
    page.set_viewport_size({"width": 1280, "height": 1900})
    tiles.locator("svg", has_text="bytes touched").wait_for()  # there is room for all of it
    page.wait_for_function(f"() => ({LETTERS})() >= 8.5")


def test_borders_are_dragged_and_moved_by_keys_and_the_sizes_are_kept(opened):
    page = opened()
    before = areas(page)["left"]["width"]
    border = page.get_by_role("separator").first
    box = border.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 62, box["y"] + 200)
    page.mouse.move(box["x"] + 82, box["y"] + 200)
    page.mouse.up()
    assert areas(page)["left"]["width"] == pytest.approx(before + 80, abs=3)
    border.focus()
    page.keyboard.press("ArrowLeft")
    dragged = areas(page)["left"]["width"]
    assert dragged == pytest.approx(before + 56, abs=3)
    page.reload()
    page.locator(".lhw .lhw-row").first.wait_for()
    wide = "([px]) => Math.abs(document.querySelector('[data-area=left]').offsetWidth - px) <= 3"
    page.wait_for_function(wide, arg=[dragged])
    use(page, "compose")
    assert areas(page)["left"]["width"] == pytest.approx(before, abs=3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_waits_for_python_is_sent_before_the_page_closes(opened, tab):
    page = opened()
    before = areas(page)["left"]["width"]
    border = page.get_by_role("separator").first
    idle = "() => !document.querySelector('.lhw-working:not([hidden])')"
    page.wait_for_function(idle)
    wide = "([px]) => Math.abs(document.querySelector('[data-area=left]').offsetWidth - px) <= 3"
    tab.process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(3):  # the first is sent, the others wait for its answer
            border.press("ArrowRight")  # which focuses it: panes that are new make new borders
        page.wait_for_function(wide, arg=[before + 72])
        page.goto("about:blank")
    finally:
        tab.process.send_signal(signal.SIGCONT)
    page.goto(tab.address)
    page.locator(".lhw .lhw-row").first.wait_for()
    page.wait_for_function(wide, arg=[before + 72])


def test_a_long_notice_leaves_room_for_the_panes(opened):
    page = opened()
    page.evaluate("document.querySelector('.lhw-notice').textContent = 'a defect in lhkit: '.repeat(500)")
    page.wait_for_function("() => document.querySelector('.lhw-notice').clientHeight > 60")
    assert cut(page) == []


def test_a_pane_is_put_beside_another_closed_and_opened_by_the_keyboard(opened):
    page = opened()
    page.get_by_role("tab", name="Results").click()
    menu(page, "bottom", "put Results right")
    found = areas(page)
    assert found["own1"]["top"] == found["bottom"]["top"] and found["own1"]["left"] > found["bottom"]["left"]
    assert page.locator("[data-area=own1] [data-pane=results]").is_visible()
    page.get_by_role("button", name="arrange: own1").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")  # to the last
    page.keyboard.press("Enter")
    assert "own1" not in areas(page) and not page.get_by_role("tab", name="Results").count()
    page.get_by_label("layout", exact=True).select_option("open results")
    assert page.locator("[data-area=own1] [data-pane=results]").is_visible()
    menu(page, "own1", "put Results beside Handles, as a tab")
    assert page.locator("[data-area=handles] [data-pane=results]").is_visible() and "own1" not in areas(page)
    page.get_by_role("button", name="arrange: handles").click()
    page.keyboard.press("Escape")
    assert not page.get_by_role("menu").is_visible()


def test_a_tab_is_dragged_to_a_side_of_an_area(opened):
    page = opened()
    target = areas(page)["middle"]
    page.get_by_role("tab", name="Tiles").drag_to(
        page.locator("[data-area=middle]"),
        target_position={"x": target["width"] / 2, "y": target["height"] - 30},
    )
    found = areas(page)
    assert found["own1"]["left"] == found["middle"]["left"] and found["own1"]["top"] > found["middle"]["top"]
    assert page.locator("[data-area=own1] [data-pane=tiles]").is_visible()


def test_panes_that_come_to_the_front_by_themselves_are_rendered(opened):
    page = opened()
    page.get_by_role("tab", name="Schedule graph").click()
    page.get_by_role("tab", name="Tiles").click()
    menu(page, "pictures", "close Tiles")
    page.locator("[data-pane=schedule_graph] svg, [data-pane=payload_graph] svg").first.wait_for()


@pytest.mark.parametrize(
    "layout",
    [
        {"preset": "__proto__", "closed": 3, "own": {"3": {"tree": {"size": 1, "rows": []}}}},
        {"preset": "constructor", "own": {"3": {"tree": {"size": -1, "areas": ["left"]}, "places": 7}}},
        {"own": {"3": {"tree": {"size": 1, "columns": [{"size": 1, "areas": ["<b>"]}, {"size": 1e300}]}}}},
    ],
)
def test_a_layout_that_is_not_well_formed_is_the_default(opened, layout):
    page = opened()
    expected = {name: each["left"] for name, each in areas(page).items()}
    send = """async (layout) => {
      const socket = new WebSocket(`ws://${location.host}/socket`);
      await new Promise((done) => socket.addEventListener("open", done));
      socket.send(JSON.stringify({ do: "set_layout", layout, by: "another page", id: "1" }));
    }"""
    page.evaluate(send, '{"preset": "teach"}')
    page.locator("[data-area=bottom]").wait_for(state="detached")
    page.evaluate(send, json.dumps(layout))
    page.locator("[data-area=bottom]").wait_for()
    found = areas(page)
    assert {name: each["left"] for name, each in found.items()} == expected


def test_full_screen_and_back(opened):
    page = opened(width=900, height=700)
    button = page.get_by_role("button", name="full screen")
    button.click()
    page.locator(".lhw:fullscreen").wait_for()
    button.click()
    page.locator(".lhw:not(:fullscreen)").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_cut_in_jupyterlab_beside_its_side_bar(watched, server, dark):
    name = f"layout_{dark}.ipynb"
    nbformat.write(notebook_of(["import lhkit\nbench = lhkit.explore()\nbench"]), server.folder / name)
    found = lab_page(watched, server, "lab", name, width=1280, height=800)
    page = found.page
    execute = "window.jupyterapp.commands.execute"
    if dark:
        page.evaluate(f"{execute}('apputils:change-theme', {{theme: 'JupyterLab Dark'}})")
        page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
    page.evaluate("window.jupyterapp.shell.expandLeft()")
    run_cell(found, 0)
    page.locator(".lhw-main-grid[data-columns='2']").wait_for()
    page.locator(".lhw .lhw-row.lh-now").wait_for()
    use(page, "compose")
    assert page.evaluate(CUT) == []
    page.locator(".lhw").scroll_into_view_if_needed()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"workbench_side_bar_{'dark' if dark else 'light'}.png")
    page.evaluate(f"{execute}('apputils:change-theme', {{theme: 'JupyterLab Light'}})")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


# How many whole lines of the payload are seen, and what its controls cover of the strip with its tab.
PAYLOAD = """() => {
  const pane = document.querySelector("[data-pane=payload]"), body = pane.querySelector(".lhw-body");
  const box = (node) => node.getBoundingClientRect();
  const seen = [...body.querySelectorAll(".l, summary")].filter((line) => box(line).bottom <= box(body).bottom + 1);
  const tab = document.querySelector("[data-tab=payload]");
  return { lines: seen.length, covered: box(pane.querySelector(".lhw-bar")).left < box(tab).right };
}"""


def test_the_payload_has_lines_beside_a_long_title_and_its_tab_is_not_covered(opened):
    page = opened(width=828, height=608)  # JupyterLab's cell at 1280x800 with the side bar open
    page.locator(".lhw-row[data-step='7'] .lhw-op").click()
    page.locator("[data-pane=payload] .lh-irt", has_text="fuse_into_containing_op").wait_for()
    assert page.evaluate(PAYLOAD)["lines"] >= 4
    page.get_by_role("tab", name="Text").click()  # takes the room of two columns
    page.locator(".cm-content").wait_for()
    assert not page.evaluate(PAYLOAD)["covered"]
    page.get_by_role("tab", name="Steps").click()  # as the next page begins with it
    page.locator(".lhw-row").first.wait_for()


OVER_THE_STRIP = """() => {
  const area = document.querySelector("[data-area=middle]"), box = (node) => node.getBoundingClientRect();
  const order = [area.querySelector("[data-tab=payload]"), ...area.querySelector(".lhw-bar").children, area.querySelector(".lhw-arrange")];
  return order.slice(1).filter((node, i) => box(node).left < box(order[i]).right - 1).map((node) => node.textContent);
}"""


def test_at_600_pixels_the_payload_has_its_title_and_its_controls_beside_one_another(opened):
    page = opened(width=600, height=800)
    page.get_by_role("tab", name="Text").click()
    page.locator(".cm-content").wait_for()
    assert page.evaluate(OVER_THE_STRIP) == []
    page.get_by_role("tab", name="Steps").click()  # as the next page begins with it
    page.locator(".lhw-row").first.wait_for()


IN_SIGHT = """(node) => {
  const [box, pane] = [node.getBoundingClientRect(), node.closest(".lhw-body").getBoundingClientRect()];
  return box.height > 0 && box.top >= pane.top - 1 && box.bottom <= Math.min(pane.bottom, innerHeight) + 1;
}"""


@pytest.fixture
def failing(watched, tmp_path):
    """A tab at 1280x800 whose schedule fails at step 6, with repairs."""
    text = (ROOT / "schedules" / "fc_relu_handles.mlir").read_text()
    place = text.index("    %sum_tile, ")
    death = "    %generic = transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op\n"
    (tmp_path / "dead.mlir").write_text(text[:place] + death + text[place:])
    with explored("fc_relu.mlir", str(tmp_path / "dead.mlir"), "--trust") as dead:
        page = watched(width=1280, height=800).page
        page.goto(dead.address)
        page.locator(".lhw-repair").first.wait_for(state="attached")
        yield page


def test_repairs_of_a_step_that_fails_are_in_sight(failing):
    summary = failing.locator("[data-section=problems] > summary")
    summary.get_by_text("repairs found").wait_for()
    assert summary.evaluate(IN_SIGHT)
    assert failing.locator(".lhw-repair").first.evaluate(IN_SIGHT)
    failing.locator(".lhw-repair").first.click()
    failing.locator(".lhw-outcome", has_text="applies").wait_for()
    failing.locator("[data-section=problems]:not([open])").wait_for()
    for question in failing.locator(".lhw-question > summary").all():
        assert question.evaluate(IN_SIGHT), "all questions are above the fold, and the facts under them"


def test_the_step_that_is_shown_stays_in_sight_in_a_narrower_timeline(failing):
    failing.locator("[data-pane=timeline] .lh-heads").get_by_text("6", exact=True).wait_for()
    resize(failing, 600)
    failing.locator("[data-pane=timeline] .lh-heads").get_by_text("6", exact=True).wait_for()


def test_the_row_of_the_step_and_the_selected_handle_are_whole(opened):
    page = opened(width=828, height=608)
    row = page.locator(".lhw-row.lh-now")
    page.reload()
    row.locator(".lhw-tools").wait_for()
    page.locator(".lhw-facts li").first.wait_for()  # the guide has grown, and the steps have less room
    page.wait_for_function(f"() => ({IN_SIGHT})(document.querySelector('.lhw-row.lh-now'))", timeout=5000)
    page.locator(".lhw-row[data-step='7'] .lhw-op").click()
    row.locator("[data-handle]").first.click()
    chosen = page.locator(".lh-chosen", has_text="%matmul")
    assert chosen.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_a_step_that_is_added_at_the_end_is_in_sight_in_the_timeline(opened):
    page = opened(width=600, height=800)
    page.locator(".lhw-main", has_text="unroll").click()
    page.get_by_role("button", name="+ add a step …").click()
    page.keyboard.type("generalize")
    page.locator(".lhw-found li:first-child button", has_text="structured.generalize").click()
    page.locator(".lhw-form select").first.select_option("%relu_tile")
    page.locator(".lhw-form").get_by_role("button", name="add", exact=True).click()
    page.locator(".lhw-row.lh-now[data-step='10']").wait_for()
    page.locator("[data-pane=timeline] .lh-heads").get_by_text("10", exact=True).wait_for()
    page.wait_for_function(f"() => ({IN_SIGHT})(document.querySelector('.lhw-row.lh-now'))", timeout=5000)
    page.get_by_role("button", name="undo: ").click()
    page.locator(".lhw-row[data-step='10']").wait_for(state="detached")


def test_a_picture_that_came_while_another_pane_was_in_front_has_its_size(opened):
    page = opened(width=828, height=608)
    use(page, "tune")
    page.locator("[data-pane=tiles] svg").wait_for()
    use(page, "compose")
    page.get_by_role("slider", name="knob tile").fill("0")  # it is drawn anew behind the handles
    page.get_by_role("button", name="undo: set tile = 8").wait_for()
    page.get_by_role("tab", name="Tiles").click()
    page.locator("[data-pane=tiles] svg").wait_for()
    body, picture = (page.locator(f"[data-pane=tiles] {part}").bounding_box() for part in (".lhw-body", "svg"))
    assert picture["width"] > 60
    assert picture["y"] + picture["height"] <= body["y"] + body["height"]


def test_the_heads_of_two_columns_take_one_line_each(opened):
    page = opened(width=850)
    page.get_by_role("tab", name="Text", exact=True).click()  # the handles' column is narrower beside it
    page.locator(".lhw-area[data-area=handles]:has(.lhw-tabs)").wait_for()
    tabs = page.locator(".lhw-area[data-area=handles] .lhw-tab:visible")
    tops = {tabs.nth(i).bounding_box()["y"] for i in range(tabs.count())}
    assert tabs.count() == 5 and len(tops) == 1
    head = page.locator("[data-pane=payload] .lh-irt")
    height, line, overflow = head.evaluate(
        "p => [p.clientHeight, parseFloat(getComputedStyle(p).lineHeight), p.scrollWidth - p.clientWidth]"
    )
    assert height < 1.5 * line and overflow <= 1  # the counts, which come last, are whole
    page.get_by_role("tab", name="Steps", exact=True).click()
