"""How long a graph of 2,000 nodes takes, from records to pixels; run by hand: ``make heavy``."""

import shutil
import sys
import time
from pathlib import Path

import pytest

from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout

sys.path.insert(0, str(Path(__file__).parents[1] / "draw"))
from graph_cases import chain_graph

pytestmark = pytest.mark.heavy
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.mark.parametrize("reach", [8, 40, 400])
def test_two_thousand_nodes_are_laid_out_and_drawn_within_four_seconds(reach, tmp_path):
    from playwright.sync_api import sync_playwright

    graph_svg(layout(chain_graph(50, 8)))  # what is imported on the first call
    started = time.perf_counter()
    placed = layout(chain_graph(2000, reach))
    laid_out = time.perf_counter()
    drawing = tmp_path / "graph.svg"
    drawing.write_text(graph_svg(placed), encoding="utf-8")
    written = time.perf_counter()
    with sync_playwright() as running:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = running.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto("about:blank")
        shown = time.perf_counter()
        page.goto(drawing.as_uri())
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        painted = time.perf_counter()
        browser.close()
    layout_s, write_s, paint_s = laid_out - started, written - laid_out, painted - shown
    print(
        f"\n2,000 nodes, reach {reach}: laid out {layout_s:.2f} s, written {write_s:.2f} s, painted {paint_s:.2f} s"
    )
    assert layout_s + write_s + paint_s < 4
