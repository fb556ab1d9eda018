"""The timeline of a trace of more than a thousand steps, on a page: it folds, filters, searches, zooms and pans."""

import pytest

import lhkit
from lhkit.draw.viewer import page_html
from lhkit.model.file_io import write_file

# Elements that a timeline draws: what is in sight only.
MOST_ELEMENTS = 3000
COLUMNS = "document.querySelectorAll('.lh-heads .lh-step').length"


@pytest.fixture(scope="module")
def trace(worker):
    made = lhkit.trace("mlp.mlir", "mlp.mlir", worker=worker)
    assert len(made.step_records) > 700
    return made


@pytest.fixture(scope="module")
def page_file(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "timeline.html"
    view = lhkit.show.timeline(trace).view
    write_file(path, page_html(view, title="t", summary="s", facts=()).encode())
    return path


@pytest.fixture
def timeline(watched, page_file):
    page = watched(width=1280, height=800)
    page.page.goto(page_file.as_uri())
    found = page.page.locator(".lh-tl")
    found.locator(".lh-heads .lh-step").first.wait_for()
    yield found
    page.check("file:")


def names(timeline):
    return timeline.locator(".lh-names [data-handle]").evaluate_all("all => all.map((e) => e.dataset.handle)")


def scrolled(timeline):
    return timeline.locator(".lh-tl-scroller").evaluate("e => e.scrollLeft")


def test_includes_are_closed_at_first_and_open_one_by_one(timeline):
    steps = timeline.locator(".lh-heads .lh-step[data-step]")
    before, first = steps.count(), names(timeline)
    assert before < 20
    closed = timeline.locator(".lh-tl-fold[aria-expanded='false']")
    closed.first.click()
    timeline.locator(".lh-tl-fold[aria-expanded='true']").first.wait_for()
    assert steps.count() > before
    assert set(names(timeline)) - set(first), "nested steps have rows of their handles"
    timeline.locator(".lh-tl-fold[aria-expanded='true']").first.click()
    timeline.locator(".lh-tl-fold[aria-expanded='true']").first.wait_for(state="detached")
    assert names(timeline) == first


def test_all_steps_are_there_and_only_those_in_sight_are_drawn(timeline, trace):
    page = timeline.page
    timeline.get_by_role("button", name="unfold all steps").click()
    page.wait_for_function("document.querySelectorAll('.lh-tl-fold[aria-expanded=false]').length === 0")
    assert timeline.locator(".lh-tl-stage *").count() < MOST_ELEMENTS
    timeline.locator(".lh-tl-map").wait_for(state="visible")
    # The last column comes into sight with its step; the causes stay where they are.
    notes = timeline.locator(".lh-tl-notes").bounding_box()
    page.locator(".lh-steps input").fill(str(len(trace.step_records) // 2))
    timeline.locator(f".lh-heads .lh-at[data-step='{len(trace.step_records) // 2 - 1}']").wait_for()
    assert scrolled(timeline) > 0
    assert timeline.locator(".lh-tl-notes").bounding_box() == notes
    assert notes["x"] + notes["width"] <= 1280
    timeline.locator(".lh-tl-notes", has_text="✕").wait_for()


def test_only_steps_with_an_effect(timeline, trace):
    timeline.get_by_role("button", name="unfold all steps").click()
    timeline.page.wait_for_function(f"{COLUMNS} > 20")
    count = "Number.parseFloat(document.querySelector('.lh-tl-sizer').style.width)"
    before = timeline.page.evaluate(count)
    timeline.get_by_label("only steps with effect").check()
    timeline.page.wait_for_function(f"{count} < {before / 2}")
    idle = {s.index for s in trace.step_records if s.op == "transform.param.constant" and not s.warnings}
    seen = timeline.locator(".lh-heads .lh-step[data-step]").evaluate_all(
        "all => all.map((e) => Number(e.dataset.step))"
    )
    assert seen and not idle & set(seen)


def test_steps_handles_and_causes_are_found(timeline, trace):
    page, words = timeline.page, timeline.get_by_role("searchbox")
    words.fill("structured.vectorize")
    count = sum(s.op.startswith("transform.structured.vectorize") for s in trace.step_records)
    timeline.locator(".lh-tl-found", has_text=f"{count} found").wait_for()
    words.press("Enter")
    timeline.locator(".lh-tl-found", has_text=f"1 of {count}").wait_for()
    first = next(s.index for s in trace.step_records if s.op.startswith("transform.structured.vectorize"))
    timeline.locator(f".lh-heads .lh-at[data-step='{first}']").wait_for()
    assert page.locator(".lh-steps .lh-said").inner_text().startswith(f"step {first} ")
    name = next(h.name for h in trace.handle_records if h.name == "%narrow")
    words.fill(name)
    words.press("Enter")
    timeline.locator(".lh-name", has_text=name).first.wait_for()
    words.fill("alias of")
    words.press("Enter")
    timeline.locator(".lh-tl-notes text", has_text="alias of").first.wait_for()
    words.fill("no such thing")
    timeline.locator(".lh-tl-found", has_text="nothing found").wait_for()
    words.press("Escape")
    assert words.input_value() == ""


def test_it_is_zoomed_and_dragged_and_the_map_scrolls(timeline):
    page = timeline.page
    timeline.get_by_role("button", name="unfold all steps").click()
    timeline.locator(".lh-tl-map").wait_for(state="visible")
    page.evaluate("document.querySelector('.lh-tl-scroller').scrollLeft = 2000")
    columns = timeline.locator(".lh-heads .lh-step").count()
    timeline.get_by_role("button", name="zoom in: timeline").click()
    page.wait_for_function(f"{COLUMNS} < {columns}")
    tracks = timeline.locator(".lh-tl-tracks").bounding_box()
    x, y, before = tracks["x"] + 300, tracks["y"] + 60, scrolled(timeline)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=4)
    page.mouse.up()
    assert scrolled(timeline) == pytest.approx(before + 100, abs=2)
    box = timeline.locator(".lh-tl-map").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + 10)
    page.wait_for_function(f"document.querySelector('.lh-tl-scroller').scrollLeft > {before + 1000}")


def test_rows_are_one_tab_stop_that_arrows_walk(timeline):
    first = timeline.locator(".lh-names [tabindex='0']")
    assert first.count() == 1
    rows = names(timeline)
    first.focus()
    timeline.page.keyboard.press("ArrowDown")
    assert timeline.page.evaluate("document.activeElement.dataset.handle") == rows[1]
    timeline.page.keyboard.press("Enter")
    assert timeline.page.locator(".lh-chosen").inner_text() != ""


def test_a_click_anywhere_in_a_row_selects_its_handle(timeline):
    page = timeline.page
    row = timeline.locator(".lh-names [data-handle]").nth(1)
    name, chosen = row.bounding_box(), page.locator(".lh-chosen")
    middle = name["y"] + name["height"] / 2
    for part in ("names", "notes", "tracks"):
        box = timeline.locator(f".lh-tl-{part}").bounding_box()
        at = box["x"] + (box["width"] - 3 if part == "notes" else 3)
        assert page.evaluate("([x, y]) => !document.elementFromPoint(x, y).dataset.handle", [at, middle - 8])
        page.keyboard.press("Escape")
        page.wait_for_function("document.querySelector('.lh-chosen').textContent === ''")
        page.mouse.click(at, middle - 8)
        page.wait_for_function("document.querySelector('.lh-chosen').textContent !== ''")
        assert row.evaluate("name => name.classList.contains('lh-selected')"), part
    assert row.text_content().split(" ")[0].split("@")[0].rstrip("…") in chosen.inner_text()


EMPTY_BAND = """() => {
  const heads = document.querySelector(".lh-heads");
  const lowest = Math.max(...[...heads.querySelectorAll("text, path")].map((each) => each.getBoundingClientRect().bottom));
  return heads.getBoundingClientRect().bottom - lowest;
}"""


def test_there_is_no_room_for_brackets_that_are_out_of_sight(timeline):
    page = timeline.page
    assert page.evaluate(EMPTY_BAND) < 10
    timeline.get_by_role("button", name="unfold all steps").click()
    page.wait_for_function("document.querySelectorAll('.lh-tl-fold[aria-expanded=false]').length === 0")
    assert page.evaluate(EMPTY_BAND) < 25  # a line at most, of a bracket at the edge
    high = timeline.locator(".lh-heads").bounding_box()["height"]
    page.evaluate("(s => { s.scrollLeft = s.scrollWidth / 2; })(document.querySelector('.lh-tl-scroller'))")
    page.wait_for_function("document.querySelector('.lh-heads .lh-step[data-step=\"0\"]') === null")
    assert timeline.locator(".lh-heads").bounding_box()["height"] >= high  # room for its brackets
    high = timeline.locator(".lh-heads").bounding_box()["height"]
    page.evaluate("document.querySelector('.lh-tl-scroller').scrollLeft = 0")
    page.wait_for_function("document.querySelector('.lh-heads .lh-step[data-step=\"0\"]') !== null")
    assert timeline.locator(".lh-heads").bounding_box()["height"] == high, "rows stay where they are"


def test_numbers_at_the_edges_are_whole_or_not_there(timeline, trace):
    """Half of a number is another one: 237 for 2371."""
    page, count = timeline.page, len(trace.step_records)
    timeline.get_by_role("button", name="unfold all steps").click()
    page.wait_for_function("document.querySelectorAll('.lh-tl-fold[aria-expanded=false]').length === 0")
    heads = "document.querySelector('.lh-heads').getBoundingClientRect()"
    cut = f"""() => [...document.querySelectorAll('.lh-heads .lh-step[data-step] > text:first-of-type')]
      .map((text) => [text.textContent, text.getBoundingClientRect()])
      .filter(([, box]) => box.left < {heads}.left - 0.5 || box.right > {heads}.right + 0.5)
      .map(([words]) => words)"""
    # The one that is shown may be moved to be whole; the others are above their columns, or there is none.
    moved = """() => [...document.querySelectorAll('.lh-heads .lh-step[data-step]:not(.lh-at)')].filter((step) => {
      const middle = (node) => (node.getBoundingClientRect().left + node.getBoundingClientRect().right) / 2;
      return Math.abs(middle(step.querySelector('rect')) - middle(step.querySelector('text'))) > 2;
    }).map((step) => step.textContent)"""
    for step in (count // 2, count - 1):
        page.locator(".lh-steps input").fill(str(step + 1))
        shown = timeline.locator(f".lh-heads .lh-at[data-step='{step}'] > text")
        shown.first.wait_for()
        assert shown.first.text_content() == str(step) and page.evaluate(cut) == []
    for left in range(2000, 2018, 3):  # a column has 18 pixels
        page.evaluate(f"document.querySelector('.lh-tl-scroller').scrollLeft = {left}")
        page.wait_for_function(f"document.querySelector('.lh-tl-scroller').scrollLeft === {left}")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(cut) == [] and page.evaluate(moved) == []
