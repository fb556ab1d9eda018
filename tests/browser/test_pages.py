"""Pages as files: they open from disk without a kernel and without a request, and answer to clicks and keys."""

import pytest
from conftest import SCREENSHOTS, WIDTHS

import lhkit
from lhkit.draw.viewer import page_html, view_html
from lhkit.model.file_io import write_file

HOSTILE = '"</script><script>window.hurt = 1</script><img src=x onerror=window.hurt=2>"'
MARKED = f"""
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op) {{
    %fill = transform.structured.match ops{{["linalg.fill"]}} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %fill {HOSTILE} : !transform.any_op
    transform.yield
  }}
}}
"""
SELECTED = ".lh-selected"


@pytest.fixture(scope="module")
def trace():
    return lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir"))


@pytest.fixture(scope="module")
def page_file(trace, tmp_path_factory):
    return trace.save_html(tmp_path_factory.mktemp("page") / "trace.html")


def opened(watched, path, **options):
    page = watched(**options)
    page.page.goto(path.as_uri())
    if options.get("scripts", True):
        page.page.wait_for_selector(".lh-live .lh-frame")
    return page


def pane(page, name):
    return page.page.locator(f'[data-pane="{name}"]')


def step_shown(page):
    return page.page.locator(".lh-steps .lh-said").inner_text()


def handle_named(trace, name):
    return next(h.id for h in trace.handle_records if h.name == name)


def test_a_click_on_a_handle_lights_it_in_every_pane(watched, page_file, trace):
    page = opened(watched, page_file)
    forall = handle_named(trace, "%forall_2")
    pane(page, "schedule").locator(f'[data-handle~="{forall}"]').first.click()
    for name in ("timeline", "schedule", "payload"):
        lit = pane(page, name).locator(f'{SELECTED}[data-handle~="{forall}"]')
        assert lit.count() >= 1, name
    (op,) = trace.states_after(9)[forall].payload
    assert pane(page, "payload").locator(f'{SELECTED}[data-op~="{op}"]').count() >= 1
    assert "%forall_2" in page.page.locator(".lh-chosen").inner_text()
    others = [h.id for h in trace.handle_records if trace.states_after(9)[h.id].payload != (op,)]
    assert not any(pane(page, "timeline").locator(f'{SELECTED}[data-handle="{h}"]').count() for h in others)
    page.page.keyboard.press("Escape")
    assert page.page.locator(SELECTED).count() == 0
    page.check("file:")


def test_a_click_on_a_payload_op_lights_the_handles_that_point_to_it(watched, page_file, trace):
    page = opened(watched, page_file)
    function = trace.states_after(9)[handle_named(trace, "%root")].payload[0]
    pane(page, "payload").locator(f'[data-op~="{function}"]').first.click(position={"x": 60, "y": 5})
    root = handle_named(trace, "%root")
    assert pane(page, "timeline").locator(f'{SELECTED}[data-handle="{root}"]').count() >= 1


def test_steps_are_gone_through_by_slider_buttons_and_keys(watched, page_file):
    page = opened(watched, page_file)
    assert step_shown(page).startswith("step 9")
    page.page.get_by_role("button", name="step: back").click()
    assert step_shown(page).startswith("step 8")
    page.page.wait_for_function(
        "document.querySelector('[data-pane=payload]').innerText.includes('after step 8')"
    )
    page.page.keyboard.press("ArrowLeft")
    assert step_shown(page).startswith("step 7")
    page.page.locator(".lh-steps input").fill("0")
    assert step_shown(page) == "before the first step"
    page.page.wait_for_function(
        "document.querySelector('[data-pane=payload]').innerText.includes('payload as given')"
    )
    pane(page, "timeline").locator(".lh-heads [data-step='5']").click()
    assert step_shown(page).startswith("step 5")
    page.check("file:")


def test_folded_drawings_open_and_follow_the_steps(watched, page_file):
    page = opened(watched, page_file)
    graph, tiles = pane(page, "payload-graph"), pane(page, "tiles")
    assert not graph.locator("svg").is_visible() and not tiles.locator("svg").is_visible()
    graph.locator("summary").click()
    graph.get_by_text("After step 9, loop.unroll").wait_for()
    page.page.get_by_role("button", name="step: back").click()
    graph.get_by_text("After step 8, ").wait_for()
    page.page.locator(".lh-steps input").fill("5")
    graph.get_by_text("The payload as given.").wait_for()
    tiles.locator("summary").click()
    tiles.locator("svg").wait_for()
    tiles.get_by_role("button", name="iteration: on").click()
    assert tiles.locator("output").inner_text().startswith("iteration 12 of ")  # from the one shown first on
    page.check("file:")


def test_the_keyboard_alone_reaches_and_selects(watched, page_file):
    page = opened(watched, page_file)
    page.page.locator(".lh-steps input").focus()
    for _ in range(12):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("document.activeElement.dataset.handle !== undefined"):
            break
    said = page.page.evaluate("document.activeElement.getAttribute('aria-label')")
    outline = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.page.keyboard.press("Enter")
    assert said and outline == "solid" and page.page.locator(SELECTED).count() > 0


def test_the_wheel_scrolls_and_zooms_only_with_a_key(watched, page_file):
    page = opened(watched, page_file, height=700)
    rows, head = pane(page, "timeline").locator(".lh-tl-tracks"), ".lh-heads [data-step='1'] rect"
    before = pane(page, "timeline").locator(head).bounding_box()["width"]
    rows.hover()
    page.page.mouse.wheel(0, 150)
    page.page.wait_for_function("window.scrollY > 0")
    assert pane(page, "timeline").locator(head).bounding_box()["width"] == before
    rows.hover()
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -200)
    page.page.keyboard.up("Control")
    page.page.wait_for_function(
        "([head, width]) => document.querySelector(head).getBoundingClientRect().width > width",
        arg=[head, before + 10],
    )


def test_a_payload_whose_names_hold_markup_is_shown_as_text(watched, tmp_path):
    payload = lhkit.load_payload(
        f"func.func @{HOSTILE}(%a: tensor<4xf32>) -> tensor<4xf32> {{\n"
        "  %z = arith.constant 0.0 : f32\n"
        "  %f = linalg.fill ins(%z : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %f : tensor<4xf32>\n}\n",
        name="<img src=x onerror=hurt()>.mlir",
    )
    trace = lhkit.trace(payload, lhkit.load_schedule(MARKED, name="</style><script>window.hurt=3</script>"))
    assert trace.outcome.status == "ok", trace.outcome.message
    page = opened(watched, trace.save_html(tmp_path / "p.html"))
    assert page.page.evaluate("window.hurt") is None
    assert page.page.locator(".lh-live img").count() == 0
    text = pane(page, "payload").inner_text()
    assert HOSTILE in text.replace("\n", "")
    assert "<img src=x onerror=hurt()>.mlir" in page.page.locator("h1").inner_text()
    page.check("file:")


def test_frames_of_their_own_axis_are_stepped_and_played(watched, trace, tmp_path):
    drawing = lhkit.show.tiles(trace, step=7)
    path = tmp_path / "tiles.html"
    write_file(path, page_html(drawing.view, title="t", summary="s", facts=()).encode())
    page = opened(watched, path)
    said = page.page.locator('[data-pane="tiles"] .lh-said')
    assert said.inner_text().startswith("iteration 22 of")
    page.page.get_by_role("button", name="iteration: on").click()
    assert said.inner_text().startswith("iteration 23 of")
    page.page.get_by_role("button", name="play").click()
    page.page.wait_for_function("document.querySelector('.lh-said').textContent.startsWith('iteration 25 ')")
    page.check("file:")


def test_a_page_shows_its_pictures_without_scripts(watched, page_file):
    page = opened(watched, page_file, scripts=False)
    assert page.page.locator("svg").first.is_visible()
    assert page.page.get_by_text("after step 9").first.is_visible()
    page.check("file:")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_fits_its_window_in_both_themes(watched, page_file, width, dark):
    page = opened(watched, page_file, width=width, dark=dark)
    pane(page, "timeline").locator("[data-handle]").nth(4).click()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / f"page_{width}_{'dark' if dark else 'light'}.png", full_page=True)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    ink = page.page.evaluate("getComputedStyle(document.querySelector('.lh-live')).color")
    brightness = sum(int(c) for c in ink[ink.index("(") + 1 : -1].split(",")[:3])
    assert (brightness > 3 * 128) is dark


# Whatever has to be scrolled to be seen, or reaches beyond the right edge.
CUT = """() => [...document.querySelectorAll('.lh-view, .lh-view *')].filter((node) => {
  const box = node.getBoundingClientRect();
  const scrolls = getComputedStyle(node).overflowY !== 'visible' && node.scrollHeight > node.clientHeight + 1;
  return box.width > 0 && !node.closest('details:not([open]) > :not(summary)') && (scrolls || box.right > window.innerWidth + 1) && !node.closest('svg svg, g, defs');
}).map((node) => node.tagName + '.' + node.getAttribute('class'))"""


def test_on_paper_nothing_is_cut(watched, trace):
    kernel = lhkit.compile("matmul.mlir", "matmul_tile_fuse_vectorize.mlir")
    page = watched(width=720).page
    page.emulate_media(media="print")
    for drawing in (
        lhkit.show.diff(trace, step=5), lhkit.show.code(kernel), lhkit.show.page(trace), lhkit.show.graph(trace, 9)
    ):  # fmt: skip
        page.set_content(f"<body style='margin: 0'>{view_html(drawing.view)}</body>")
        assert page.evaluate(CUT) == []
    page.emulate_media(media="screen")
    assert page.evaluate(CUT) != []
