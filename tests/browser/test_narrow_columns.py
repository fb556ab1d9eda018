"""Every drawing in a column of 400 pixels and on paper: nothing is wider than it, or scrolls sideways."""

import dataclasses
import math
import re
import sys
from pathlib import Path

import pytest
from sweep_records import grid, result_of

import lhkit
from lhkit.draw.svg import html_document
from lhkit.draw.viewer import framed_html, view_html
from lhkit.sweeps.strategies.predicted import Prediction
from lhkit.sweeps.sweep_page import sweep_page

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import gallery

# Timelines have a scale of their own, which is moved with a map of the whole; carets stand below their letters.
WIDER = """() => [...document.querySelectorAll("body *")].filter((node) => {
  if (node.closest(".lh-tl, .lh-failure pre, details:not([open])")) return false;
  const scrolls = ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  return node.getBoundingClientRect().right > innerWidth + 1 || (scrolls && node.scrollWidth > node.clientWidth + 1);
}).map((node) => `${node.tagName} ${node.getAttribute("class")}`)"""


def whole_sweep():
    """A sweep over four knobs, which no heat map has."""
    records = grid(lambda **knobs: math.prod(knobs.values()), **dict.fromkeys("abcd", (1, 2, 3)))
    return result_of(records, **dict.fromkeys("abcd", (1, 2, 3)))


def drawings():
    """The drawings of the gallery, of a vectorized payload and of machine code, and shown values."""
    show, trace, bench = lhkit.show, gallery._trace(), gallery._bench()
    vectorized = lhkit.trace("matmul.mlir", "matmul_tile_fuse_vectorize.mlir")
    kernel = lhkit.compile("matmul.mlir", "matmul_tile_fuse_vectorize.mlir")
    passes = lhkit.passes("fc_relu.mlir", "builtin.module(canonicalize,linalg-generalize-named-ops)")
    found = {call.partition("(")[0]: draw() for call, draw in gallery.DRAWINGS.items()}
    found |= {
        "timeline": show.timeline(trace),
        "long timeline": show.timeline(vectorized),
        "timeline of a model": show.timeline(lhkit.trace("mlp.mlir", "cpu.mlir")),
        "schedule": show.graph(trace),
        "graph": show.graph(vectorized, step=vectorized.step_records[-1].index),
        "tiles": show.tiles(trace),
        "roofline of runs": show.roofline({"first": bench, "second": bench}),
        "throughput": show.throughput({256: bench, 512: bench}),
        "code": show.code(kernel),
        "knobs": show.sweep(whole_sweep()),
        "live buffers": show.live_buffers(lhkit.compile("mlp.mlir")),
        "passes": show.op_counts(passes),
        "counts of a model": show.op_counts(lhkit.trace("mlp.mlir", "cpu.mlir")),
        "page": show.page(trace),
    }
    shown = {name: framed_html(drawing.view) for name, drawing in found.items()}
    shown |= {f"{name}, no script": view_html(drawing.view) for name, drawing in found.items()}
    values = {"comparison": bench, "measurement": bench.measurements[0], "kernel": kernel, "passes": passes}
    values |= {"sweep result": gallery._sweep(), "payload": kernel.payload, "schedule": kernel.schedule}
    bundles = {f"value {name}": value._repr_mimebundle_()["text/html"] for name, value in values.items()}
    return shown | bundles


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    found = {}
    for number, (name, html) in enumerate(drawings().items()):
        found[name] = folder / f"{number}.html"
        page = html_document(name, [html], style="body { margin: 8px; padding: 0; }")
        found[name].write_text(page, encoding="utf-8", errors="replace")
    return found


A4_PIXELS = 1123  # its height


def too_wide(page, pages):
    found = {}
    for name, path in pages.items():
        page.goto(path.as_uri())
        if page.locator("script").count():
            page.wait_for_selector(".lh-live :is(.lh-frame, .lh-tl-stage)")
        if wider := page.evaluate(WIDER):
            found[name] = wider
    return found


def test_no_drawing_is_wider_than_a_narrow_column(watched, pages):
    page = watched(width=400, height=800).page
    assert too_wide(page, pages) == {}


def test_no_drawing_is_wider_than_paper(watched, pages):
    page = watched(width=718, height=1000).page
    page.emulate_media(media="print")
    assert too_wide(page, pages) == {}


# The lines whose words begin left of the end of their number.
HIDDEN = """() => [...document.querySelectorAll(".lh-ir .l[data-n]")].filter((line) => {
  const words = document.createRange();
  words.selectNodeContents(line);
  const [first] = [...words.getClientRects()].filter((box) => box.width);
  const { display, paddingLeft, textIndent } = getComputedStyle(line);
  const start = parseFloat(paddingLeft) + (display === "flex" ? 0 : parseFloat(textIndent));
  const number = start + parseFloat(getComputedStyle(line, "::before").width);
  return first && first.left < line.getBoundingClientRect().left + number - 1;
}).map((line) => line.innerText)"""


@pytest.mark.parametrize(("width", "media"), [(400, "screen"), (718, "print"), (1280, "screen")])
def test_no_words_lie_under_the_numbers_of_lines(watched, pages, width, media):
    page = watched(width=width, height=1000).page
    page.emulate_media(media=media)
    for name in ("code", "diff", "value schedule"):
        page.goto(pages[name].as_uri())
        page.locator(".lh-ir .l").first.wait_for()
        assert page.evaluate(HIDDEN) == [], name


def test_a_timeline_is_whole_on_paper_and_as_it_was_after(watched, pages):
    page = watched(width=718, height=1000).page
    page.goto(pages["long timeline"].as_uri())
    rows, columns = page.locator(".lh-names [data-handle]"), page.locator(".lh-heads .lh-step")
    rows.first.wait_for()
    shown = rows.count(), columns.count()
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelector('.lh-tl-scroller').scrollWidth <= innerWidth")
    page.wait_for_function(f"document.querySelectorAll('.lh-names [data-handle]').length > {shown[0]}")
    last = page.locator(".lh-names [data-handle]").last.bounding_box()
    box = page.locator(".lh-tl-stage").bounding_box()
    assert last["y"] + last["height"] <= box["y"] + box["height"] and columns.count() > shown[1]
    page.emulate_media(media="screen")
    page.wait_for_function(f"document.querySelectorAll('.lh-names [data-handle]').length == {shown[0]}")


def test_a_long_timeline_prints_on_as_many_pages_as_it_needs(watched, pages):
    page = watched(width=1280, height=700).page
    page.goto(pages["timeline of a model"].as_uri())
    page.locator(".lh-names [data-handle]").first.wait_for()
    pages_of = [len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) for _ in range(2)]
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelector('.lh-tl-scroller').scrollWidth <= innerWidth")
    height = page.locator(".lh-tl-stage").bounding_box()["height"]
    assert min(pages_of) >= height / A4_PIXELS > 1


# Marks of a row that cover more than half of one another.
CROWDED = """() => {
  const marks = new Map();
  for (const mark of document.querySelectorAll(".lh-tl-tracks .lh-mark")) {
    const { left, right } = mark.getBoundingClientRect();
    const row = marks.get(mark.dataset.handle) ?? [];
    marks.set(mark.dataset.handle, [...row, [left, right]]);
  }
  return [...marks.values()].flatMap((row) => row.flatMap(([left, right], i) =>
    row.slice(i + 1).filter(([from, to]) => Math.min(right, to) - Math.max(left, from) > (right - left) / 2)));
}"""


def test_what_is_made_and_invalidated_in_a_closed_step_has_two_marks_side_by_side(watched, pages):
    page = watched(width=1280, height=800).page
    page.goto(pages["timeline of a model"].as_uri())
    page.locator(".lh-mark.lh-dead").first.wait_for(state="attached")
    assert page.locator(".lh-mark.lh-dead").count() > 5 and page.evaluate(CROWDED) == []


def test_a_button_has_a_drawing_in_its_own_size(watched, pages):
    page = watched(width=400, height=800).page
    page.goto(pages["graph"].as_uri())
    picture, button = page.locator(".lh-body svg:visible"), page.get_by_role("button", name="full size")
    assert picture.bounding_box()["width"] < 400
    button.click()
    assert picture.bounding_box()["width"] > 700 and button.get_attribute("aria-pressed") == "true"
    button.click()
    assert picture.bounding_box()["width"] < 400
    page.set_viewport_size({"width": 1280, "height": 800})
    assert not button.is_visible()


def test_a_figure_is_zoomed_by_keys(watched, pages):
    page = watched(width=1280, height=800).page
    page.goto(pages["roofline"].as_uri())
    picture = page.locator(".lh-wide > svg")
    width = picture.bounding_box()["width"]
    page.locator(".lh-body").focus()
    page.keyboard.press("+")
    assert picture.bounding_box()["width"] == pytest.approx(1.25 * width, rel=0.01)


def test_one_iteration_has_no_slider(watched, pages, tmp_path):
    page = watched().page
    (tmp_path / "t.html").write_text(framed_html(lhkit.show.tiles(lhkit.load_payload("conv2d_nhwc.mlir")).view))
    page.goto((tmp_path / "t.html").as_uri())
    page.locator(".lh-frame svg").wait_for()
    assert page.get_by_role("button", name="▶ play").count() == 0
    page.goto(pages["tiles"].as_uri())
    page.get_by_role("button", name="▶ play").wait_for()


LETTERS = """() => [...document.querySelectorAll(".lh-body svg text")].filter((text) => text.getBoundingClientRect().width)
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"""


def test_letters_of_figures_can_be_read_in_a_narrow_column(watched, pages):
    """Figures are drawn anew for it; scaled down their letters had 6 to 7.5 pixels."""
    page = watched(width=400, height=800).page
    figures = ("speed", "op_counts", "sweep", "live buffers", "value comparison", "throughput")
    for name in (*figures, "passes", "value passes", "roofline of runs", "knobs", "schedule"):
        page.goto(pages[name].as_uri())
        page.locator(".lh-body svg text").last.wait_for(state="attached")
        letters = page.evaluate(LETTERS)
        assert len(letters) > 5 and min(letters) > 8.5, (name, min(letters))
    page.goto(pages["speed"].as_uri())
    shown = "[...document.querySelectorAll('.lh-body svg')].filter((svg) => svg.getBoundingClientRect().width).length"
    page.wait_for_function(f"{shown} === 1")
    page.get_by_role("button", name="full size").click()
    page.wait_for_function(f"{shown} === 1 && Math.max(...({LETTERS})()) > 12")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function(f"{shown} === 1")


# Pairs of texts in sight that overlap; those that are turned lie along one another.
OVERLAPPING = """() => {
  const texts = [...document.querySelectorAll(".lh-body svg text")].filter((text) => !text.getScreenCTM().b);
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width);
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
    .map(([other]) => [one, other]));
}"""


def test_no_texts_of_a_figure_overlap_in_a_narrow_column(watched, pages):
    page = watched(width=400, height=800).page
    names = ("speed", "counts of a model", "op_counts", "value comparison", "passes", "roofline of runs")
    for name in names:
        page.goto(pages[name].as_uri())
        page.locator(".lh-body svg text").last.wait_for(state="attached")
        assert page.evaluate(OVERLAPPING) == [], name


BROKEN = """() => [...document.querySelectorAll(".lh-rows tr > :nth-child(-n+2)")].flatMap((cell) => {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), words = [];
  while (walk.nextNode()) for (const { 0: word, index } of walk.currentNode.data.matchAll(/[\\w%]+/g)) {
    const range = document.createRange();
    range.setStart(walk.currentNode, index);
    range.setEnd(walk.currentNode, index + word.length);
    if (range.getClientRects().length > 1) words.push(word);
  }
  return words;
})"""


def test_numbers_of_steps_are_not_broken_in_a_narrow_column(watched, pages):
    page = watched(width=400, height=800).page
    page.goto(pages["page"].as_uri())
    page.get_by_text("Steps, one by one").click()
    page.locator(".lh-rows tr").nth(12).wait_for()
    assert page.evaluate(BROKEN) == []


SCROLLING = """() => [...document.querySelectorAll("figure")].filter((figure) => figure.scrollWidth > figure.clientWidth + 1)
  .map((figure) => figure.previousElementSibling.textContent)"""


def test_the_page_of_a_sweep_can_be_read_in_a_narrow_column(watched, tmp_path):
    pairs, rest = (
        tuple((str(n), 1e5 * n, 1.1e5 * n) for n in (1, 2, 3)),
        (((("tile_m", 2), ("tile_n", 8)), 3e6),),
    )
    result = dataclasses.replace(
        gallery._sweep(), end="finished", prediction=Prediction(pairs, 0.9, 3, 3, rest)
    )
    (tmp_path / "s.html").write_text(sweep_page(result))
    page = watched(width=400, height=800).page
    page.goto((tmp_path / "s.html").as_uri())
    letters = page.evaluate(LETTERS.replace(".lh-body svg", "figure svg"))
    assert len(letters) > 50 and min(letters) > 8
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator("figure").count() == 6
    table = page.locator(".scroll").first  # which is wider: a shade at its edge says so
    assert table.evaluate("(e) => e.scrollWidth > e.clientWidth")
    assert table.evaluate("(e) => getComputedStyle(e).backgroundImage").count("linear-gradient") == 4
    assert page.evaluate(SCROLLING) == []  # or a reader sees names of contenders and not how fast they are
    assert (
        page.locator(".lh-narrow > svg").first.is_visible() and not page.locator(".lh-wide").first.is_visible()
    )


def test_counts_of_passes_can_be_read_on_paper(watched, pages):
    page = watched(width=718, height=1000).page
    page.emulate_media(media="print")
    for name in ("passes", "value passes"):
        page.goto(pages[name].as_uri())
        page.locator(".lh-body svg text").last.wait_for(state="attached")
        letters = page.evaluate(LETTERS)
        assert len(letters) > 5 and min(letters) > 8.5, (name, min(letters))
