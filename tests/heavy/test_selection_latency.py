"""How long a selection takes in the page of a thousand ops and in the workbench of a thousand steps, and the page
itself; run by hand: ``make heavy``.

Times are taken in the browser around what a click does: of the script, and until the frame is painted.
"""

import shutil
import statistics
import time

import pytest
from explore_tab import explored
from jupyter_pages import running_browser

import lhkit

pytestmark = pytest.mark.heavy
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
# Selects each of 30 elements in turn; a click is over when the frame after it is on screen.
SELECT = """async (selector) => {
  const found = [...document.querySelectorAll(selector)];
  const times = [];
  for (let i = 0; i < 31; i++) {
    const node = found[(i * 37) % found.length];
    const started = performance.now();
    node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - started);
  }
  return times.slice(1);
}"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    trace = lhkit.trace(lhkit.load_payload("op_chain.mlir"), lhkit.load_schedule("op_chain_tile_fuse.mlir"))
    return trace.save_html(tmp_path_factory.mktemp("page") / "op_chain.html")


def test_a_selection_in_a_thousand_ops_takes_less_than_a_tenth_of_a_second(page_file):
    playwright = pytest.importorskip("playwright.sync_api")
    size = page_file.stat().st_size
    assert size < 5_000_000
    with playwright.sync_playwright() as running:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = running.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        started = time.perf_counter()
        page.goto(page_file.as_uri())
        page.wait_for_selector(".lh-live [data-pane=payload] .lh-frame")
        opened = time.perf_counter() - started
        medians = {}
        for kind in ("handle", "op"):
            medians[kind] = statistics.median(page.evaluate(SELECT, f"[data-{kind}]:not([data-step])"))
        browser.close()
    print(f"\nop_chain's page: {size / 1e6:.2f} MB, opened in {opened:.2f} s")
    print("selection, median of 30: " + ", ".join(f"{k} {v:.1f} ms" for k, v in medians.items()))
    assert opened < 3
    assert max(medians.values()) < 100


# Selects steps in sight in the timeline, all of it unfolded: [script, painted] of each.
STEPS = """async () => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let i = 0; i < 61; i++) {
    const heads = [...document.querySelectorAll("[data-pane=timeline] .lh-heads .lh-step[data-step]:not(.lh-at)")];
    const node = heads[(i * 37) % heads.length];
    await painted();
    const started = performance.now();
    node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const script = performance.now() - started;
    await painted();
    times.push([script, performance.now() - started]);
    await new Promise((done) => setTimeout(done, 40 * (i % 4)));
  }
  return times.slice(1);
}"""


def test_a_step_among_a_thousand_is_selected_within_a_frame():
    with explored("mlp.mlir", "mlp.mlir") as tab, running_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(tab.address)
        page.get_by_role("button", name="unfold all steps").click()
        page.wait_for_function("document.querySelectorAll('.lh-tl-fold[aria-expanded=false]').length === 0")
        count = page.evaluate("Number(document.querySelector('.lhw-walking input').max)")
        times = page.evaluate(STEPS)
    for what, values in zip(("script", "painted"), zip(*times, strict=True), strict=True):
        ranked = sorted(values)
        p95 = ranked[round(0.95 * (len(ranked) - 1))]
        print(f"\n{count} steps, {what}: median {statistics.median(values):.1f} ms, p95 {p95:.1f} ms")
    assert count >= 1000
    assert statistics.median(script for script, _ in times) < 16
