"""How long the workbench takes from input to the redrawn picture, in JupyterLab; run by hand: ``make heavy``.

Times are taken in the page, from the event that a reader causes to the frame on screen; medians of 30.
"""

import statistics
import time

import nbformat
import pytest
from jupyter_pages import Watched, notebook_of, opened, run_cell, running_browser, served

pytestmark = pytest.mark.heavy
# Waits for what a function of the page says, frame by frame; a picture is there when the frame after it is painted.
WAIT = """
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const until = async (is) => { for (let i = 0; i < 1200 && !is(); i++) await frame(); await frame(); };
const root = document.querySelector(".lhw");
const frameOf = (pane) => root.querySelector(`[data-pane="${pane}"] .lhw-frame`);
"""
# Shows 30 steps in turn, as a click on their rows does, and waits until the payload is the one after the step.
STEPS = f"""async () => {{ {WAIT}
  const rows = [...root.querySelectorAll(".lhw-main[data-goto]")];
  const times = [];
  for (let i = 0; i < 31; i++) {{
    const row = rows[(i * 7 + 1) % rows.length];
    const step = row.dataset.goto;
    const started = performance.now();
    row.click();
    await until(() => row.closest(".lh-now") && frameOf("payload").dataset.frame === `${{step}}|false`);
    times.push(performance.now() - started);
  }}
  return times.slice(1);
}}"""
# Selects 30 handles in turn, and waits until one of their marks is lit in the timeline.
HANDLES = f"""async () => {{ {WAIT}
  const names = [...root.querySelectorAll('[data-pane="timeline"] [data-handle]')];
  const times = [];
  for (let i = 0; i < 31; i++) {{
    const node = names[(i * 37) % names.length];
    const started = performance.now();
    node.dispatchEvent(new MouseEvent("click", {{ bubbles: true }}));
    await until(() => node.classList.contains("lh-selected"));
    times.push(performance.now() - started);
  }}
  return times.slice(1);
}}"""
# Moves a slider 30 times, and waits until what payload and tile picture say is something else.
KNOB = f"""async () => {{ {WAIT}
  const slider = root.querySelector("[data-knob]");
  const times = [];
  for (let i = 0; i < 31; i++) {{
    const before = [frameOf("payload").textContent, frameOf("tiles").textContent];
    const started = performance.now();
    slider.value = i % (Number(slider.max) + 1);
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await until(() => frameOf("payload").textContent !== before[0] && frameOf("tiles").textContent !== before[1]);
    times.push(performance.now() - started);
  }}
  return times.slice(1);
}}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A function that opens a notebook whose second cell is a workbench."""
    warm = "import lhkit\nlhkit.explore().close()"
    chain = "lhkit.explore('op_chain.mlir', 'op_chain_tile_fuse.mlir')"
    with served(tmp_path_factory.mktemp("server")) as server, running_browser() as browser:
        nbformat.write(notebook_of([warm, "lhkit.explore()"]), server.folder / "fc_relu.ipynb")
        nbformat.write(notebook_of([warm, chain]), server.folder / "chain.ipynb")

        def open_page(**_):
            context = browser.new_context(viewport={"width": 1600, "height": 1000})
            context.set_default_timeout(60_000)
            return Watched(context.new_page())

        yield lambda name: opened(open_page, server, "lab", name)


def opened_bench(watched):
    """Open the workbench of the second cell; the first has loaded everything."""
    page = watched.page
    run_cell(watched, 0)
    page.wait_for_function("!document.querySelector('.jp-InputPrompt')?.textContent.includes('*')")
    started = time.perf_counter()
    run_cell(watched, 1)
    page.locator(".lhw .lhw-row.lh-now").wait_for()
    page.locator(".lhw [data-pane='payload'] .lh-ir").wait_for()
    return time.perf_counter() - started


def medians(page, **scripts):
    return {name: statistics.median(page.evaluate(script)) for name, script in scripts.items()}


def said(name, opened_s, found):
    listed = ", ".join(f"{k} {v:.0f} ms" for k, v in found.items())
    print(f"\n{name}: opened in {opened_s:.2f} s; median of 30: {listed}")


def test_fc_relu_is_redrawn_while_the_hand_moves(lab):
    watched = lab("fc_relu.ipynb")
    opened_s = opened_bench(watched)
    found = medians(watched.page, step=STEPS, handle=HANDLES, knob=KNOB)
    said("fc_relu", opened_s, found)
    assert max(found["step"], found["handle"]) < 150
    assert found["knob"] < 300


def test_a_thousand_ops_open_in_five_seconds(lab):
    watched = lab("chain.ipynb")
    opened_s = opened_bench(watched)
    found = medians(watched.page, step=STEPS, handle=HANDLES)
    said("op_chain", opened_s, found)
    assert opened_s < 5
    assert max(found.values()) < 300
