"""Outputs that live in frames of their own, as in VS Code and Colab: drawings step and select without a parent.

The page imitates these hosts: each output is the document of an ``<iframe sandbox="allow-scripts">``, which has an
origin of its own and no access to the page. The page sets the height of a frame as its document says; the model of
a widget is a message to the page.
"""

import html
import json

import pytest
from conftest import SCREENSHOTS

import lhkit
from lhkit.draw.live_view import LIVE
from lhkit.sweeps.sweep_board import SweepBoard

# Says how high the document is, and collects what goes wrong.
REPORT = """<script>
new ResizeObserver(() => parent.postMessage({height: document.documentElement.offsetHeight}, "*"))
  .observe(document.documentElement);
try { parent.document; parent.postMessage({reached: true}, "*"); } catch { /* as it must be */ }
</script>"""
PAGE = """<!doctype html><title>outputs in frames</title>
<script>
window.sent = [];
window.addEventListener("message", ({source, data}) => {
  const frame = [...document.querySelectorAll("iframe")].find((each) => each.contentWindow === source);
  if (data.height) frame.style.height = `${data.height}px`;
  else window.sent.push(data);
});
</script>"""
# What a host of anywidget does in a frame: the module, and a model whose messages go to the page.
WIDGET = """<div id="place"></div><script type="module">
const module = await import(URL.createObjectURL(new Blob([%s], {type: "text/javascript"})));
const state = %s, handlers = {};
const model = {
  get: (name) => state[name],
  on: (name, handler) => (handlers[name] = handler), off() {},
  send: (content) => parent.postMessage(content, "*"),
};
window.addEventListener("message", ({data}) => { state.state = data; handlers["change:state"](); });
module.default.render({model, el: document.getElementById("place")});
</script>"""
BOARD = {
    "done": 3,
    "total": 9,
    "end": None,
    "best": "m = 8: 1.20 ms",
    "confirming": None,
    "failures": [],
    "heat": None,
}


@pytest.fixture(scope="module")
def trace():
    return lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir"))


@pytest.fixture
def framed(watched, monkeypatch):
    """Return a function that shows outputs, each in a frame of its own; nothing is asked or goes wrong."""
    monkeypatch.setenv(LIVE, "frame")
    pages = []

    def show(*outputs, **options):
        found = watched(**options)
        pages.append(found)
        frames = [
            f'<iframe sandbox="allow-scripts" style="width: 100%" srcdoc="{html.escape(REPORT + output)}"></iframe>'
            for output in outputs
        ]
        found.page.goto("about:blank")
        found.page.set_content(PAGE + "\n".join(frames))
        return found.page

    yield show
    for page in pages:
        page.check()
        assert {"reached": True} not in page.page.evaluate("window.sent")


def output_of(value):
    return value._repr_mimebundle_()["text/html"]


def heights(page, least, most):
    """Wait until each frame is as high as its document, with nothing that scrolls in it, and sensibly so."""
    for number, frame in enumerate(page.frames[1:]):
        frame.wait_for_function("innerHeight === document.documentElement.offsetHeight")
        high = frame.evaluate("innerHeight")
        assert least <= high <= most, (number, high)
        assert frame.evaluate("document.documentElement.scrollHeight <= innerHeight + 1"), number


def test_drawings_step_and_select_in_frames_of_their_own(framed, trace):
    page = framed(
        *(output_of(each) for each in (trace, lhkit.show.timeline(trace), lhkit.show.tiles(trace))), height=4000
    )
    view, timeline, tiles = page.frames[1:]
    view.locator(".lh-live .lh-frame").first.wait_for()
    said = view.locator(".lh-steps .lh-said")
    before = said.inner_text()
    view.locator(".lh-steps input").press("ArrowLeft")
    view.wait_for_function(
        "before => document.querySelector('.lh-steps .lh-said').textContent !== before", arg=before
    )
    handle = next(h.id for h in trace.handle_records if h.name == "%forall_2")
    for frame in (view, timeline):
        frame.locator(f".lh-live [data-handle~='{handle}']").first.click()
        frame.locator(f".lh-selected[data-handle~='{handle}']").first.wait_for()
        assert "%forall_2" in frame.locator(".lh-chosen").inner_text()
    label = tiles.locator(".lh-live .lh-said").first.inner_text()
    tiles.locator(".lh-live input[type=range]").first.press("ArrowRight")
    tiles.wait_for_function("before => document.querySelector('.lh-said').textContent !== before", arg=label)
    heights(page, 150, 2400)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "framed_outputs.png", full_page=True)


def test_a_sweep_board_in_a_frame_follows_its_model_and_stops(framed):
    page = framed(
        WIDGET % (json.dumps(str(SweepBoard._esm)).replace("<", "\\u003c"), json.dumps({"state": BOARD}))
    )
    frame = page.frames[1]
    frame.locator(".lh-said", has_text="3 of 9 variants").wait_for()
    page.evaluate("state => frames[0].postMessage(state, '*')", {**BOARD, "done": 4})
    frame.locator(".lh-said", has_text="4 of 9 variants").wait_for()
    frame.locator(".lh-stop").click()
    page.wait_for_function("window.sent.some((content) => content.kind === 'stop')")
    heights(page, 20, 300)


def test_a_name_that_ends_scripts_stays_a_name(framed):
    hostile = "</script><script>parent.postMessage({reached: true}, '*')</script>"
    text = lhkit.load_schedule("fc_relu_handles.mlir").text.replace(
        "transform.loop.unroll", f"// {hostile}\n    transform.loop.unroll"
    )
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule(text))
    page = framed(output_of(trace))
    page.frames[1].locator(".lh-live .lh-frame").first.wait_for()
