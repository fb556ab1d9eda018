"""A running sweep in JupyterLab: it shows what it finds, leaves the kernel free, and stops when told to."""

import dataclasses
import json

import nbformat
import pytest
from conftest import SCREENSHOTS
from sweep_records import grid

from lhkit.draw.theme import static_text
from lhkit.sweeps.sweep_charts import heat_map
from lhkit.sweeps.variant_record import record_from_json

SWEEP = """
import lhkit
# Far more variants than a test has time for.
knobs = {"tile_m": "1..32", "tile_n": "1..16", "tile_k": [8, 16]}
sweep = lhkit.sweep(lhkit.payloads.matmul(64, 64, 64), "open_tiles.mlir", knobs=knobs, store="sweep.jsonl")
sweep
"""
SCHEDULE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %m = transform.tune.knob<"tile_m"> = 8 : i64 from options = {lower_bound = 1 : i64, upper_bound = 64 : i64} -> !transform.param<i64>
    %n = transform.tune.knob<"tile_n"> = 8 : i64 from options = {lower_bound = 1 : i64, upper_bound = 64 : i64} -> !transform.param<i64>
    %k = transform.tune.knob<"tile_k"> = 8 : i64 from options = [8, 16] -> !transform.param<i64>
    transform.structured.tile_using_for %matmul tile_sizes [%m, %n, %k] : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  const panel = app.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  await app.commands.execute("notebook:run-all-cells");
}"""
# Press the button, wait for the words that say it is over, and return the time between, in ms, as the page sees it.
STOP = """() => new Promise((resolve) => {
  const said = document.querySelector(".lh-board .lh-said");
  const pressed = performance.now();
  new MutationObserver(() => {
    if (said.textContent.endsWith(": stopped")) resolve(performance.now() - pressed);
  }).observe(said, {childList: true, characterData: true, subtree: true});
  document.querySelector(".lh-board .lh-stop").click();
})"""


def test_the_map_says_what_its_frame_and_its_marks_mean_and_has_no_cells_of_what_was_not_tried(
    watched, tmp_path
):
    tried = [r for r in grid(lambda m, n: m * n, m=(1, 2), n=(1, 4)) if dict(r.knobs) != {"m": 2, "n": 4}]
    heat = dataclasses.asdict(heat_map(tried, values={"m": (1, 2), "n": (1, 4)}))
    state = {"done": 3, "total": 4, "end": None, "best": None, "confirming": None, "failures": [], "heat": heat}
    data = json.dumps({"state": state, "charts": {}})
    board = static_text("sweep_board.js", "sweeps").replace("export default { render };", "")
    model = "{ get: (name) => data[name], on() {}, off() {}, send() {} }"
    run = f"{board}\nconst data = {data};\nrender({{ model: {model}, el: document.body }});"
    (tmp_path / "board.html").write_text(f'<meta charset="utf-8"><body><script type="module">{run}</script>')
    page = watched().page
    page.goto((tmp_path / "board.html").as_uri())
    page.locator(".lh-best").wait_for()
    said = page.locator(".lh-heat").inner_text()
    assert "the least, each timed alone; framed: fastest when timed alone, not confirmed" in said
    assert "no cell: not tried" in said and page.locator("td.lh-cell").count() == 3


@pytest.fixture
def notebook(server):
    cells = [nbformat.v4.new_code_cell(SWEEP), nbformat.v4.new_code_cell("print('the kernel', 'is free')")]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), server.folder / "sweep.ipynb")
    (server.folder / "open_tiles.mlir").write_text(SCHEDULE)
    server.trust("sweep.ipynb")
    return "sweep.ipynb"


def test_a_sweep_shows_itself_leaves_the_kernel_free_and_stops(server, watched, notebook):
    page = watched().page
    page.goto(server.lab(notebook))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.evaluate(RUN_ALL)
    board = page.locator(".lh-board")
    page.wait_for_selector(".lh-board td.lh-best", timeout=120_000)
    page.wait_for_selector("text=the kernel is free")
    assert "of 1024 variants" in board.locator(".lh-said").inner_text()
    assert board.locator(".lh-so-far").inner_text().startswith("best so far: tile_m = ")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "sweep_board.png")
    page.evaluate(STOP)
    assert board.locator(".lh-stop").is_hidden()
    records = [
        record_from_json(r) for r in map(json.loads, (server.folder / "sweep.jsonl").read_text().splitlines())
    ]
    assert 0 < len(records) < 1024


@pytest.mark.heavy  # on an idle machine
def test_a_sweep_that_is_stopped_on_its_board_ends_within_half_a_second(server, watched, notebook):
    page = watched().page
    page.goto(server.lab(notebook))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.evaluate(RUN_ALL)
    page.wait_for_selector(".lh-board td.lh-best", timeout=120_000)
    taken_ms = page.evaluate(STOP)
    print(f"\nfrom the press of Stop to its end on the screen: {taken_ms:.0f} ms")
    assert taken_ms < 500
