"""The pictures of the README, drawn by the package itself: ``python docs/pictures.py`` writes them anew."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import lhkit
from benchmarks.kernelbench_page import kernelbench_page
from benchmarks.suite import SuiteFamily
from benchmarks.suite_bars import dots_svg, family_groups, ratio_svg, rivals_in_order
from benchmarks.suite_collection import collection_groups, collection_page, load_collection
from benchmarks.suite_table import FOLDER as BENCHMARKS
from benchmarks.suite_table import load_table
from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.draw.svg import titled, with_theme
from lhkit.model.target import CacheLevel
from lhkit.show.value_views import trace_words
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.tiles.tile_svg import tiles_svg
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_svg
from lhkit.traces.timeline.timeline_svg import TimelineLayout

sys.path.insert(0, str(Path(__file__).parent))  # it is run as a file, and loaded by its place
from flow_page import PAGE, flow_page
from front_strip import front_strip
from gallery import write as write_gallery
from rooms import rooms_graph

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
RESULTS = ROOT / "docs" / "suite_results.md"
KERNELBENCH = ROOT / "docs" / "kernelbench.md"
# Of no machine in particular, so that the picture is the same everywhere.
CACHES = (CacheLevel("L1", 32 << 10), CacheLevel("L2", 1 << 20), CacheLevel("L3", 32 << 20))


def timeline() -> str:
    """Return the timeline of the handles of a short schedule."""
    return with_theme(lhkit.show.timeline(lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")).picture())


def tiles() -> str:
    """Return what an iteration of a tiled product touches."""
    trace = lhkit.trace("matmul.mlir", "matmul_tile.mlir", {"tile_m": 64})
    drawn = tiles_svg(tile_picture_of(trace, caches=CACHES, iteration=139), themed=False)
    return with_theme(titled(drawn, "Tiles of linalg.matmul", trace_words(trace)))


def graph() -> str:
    """Return the payload of the short schedule after its tiling, with what the step changed."""
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")
    tiling = next(s.index for s in trace.step_records if s.op == "transform.structured.tile_using_forall")
    return with_theme(lhkit.show.graph(trace, step=tiling).picture())


def consumed() -> str:
    """Return what flows between the steps of the short schedule, what is invalidated struck through."""
    return with_theme(lhkit.show.graph(lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")).picture())


_UNROLLED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %product tile_sizes [0, 0, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.loop.unroll %loop {factor = 4} : !transform.any_op
    transform.structured.vectorize %tile : !transform.any_op
    transform.yield
  }
}
"""
_SECONDS_A_STEP, _LAST_STEPS = 1.2, 4


def invalidation() -> str:
    """Return a timeline that plays step by step: a loop is unrolled, and the handle inside is invalidated.

    Where nothing is animated, or the reader wants no motion, it is the whole timeline.
    """
    drawing = timeline_drawing(lhkit.trace("fc_relu.mlir", lhkit.load_schedule(_UNROLLED, name="unroll")))
    picture, layout_ = timeline_svg(drawing), TimelineLayout(drawing)
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture)
    assert found is not None
    width, height = map(float, found.groups())
    # What is below the rows stays; the names of steps lean to the right by their angle.
    below, lean = 100 * (layout_.bottom + 4) / height, layout_.numbers / width / math.tan(math.radians(50))
    above, slot = 100 * (layout_.numbers - 20) / height, 100 * 14 / width
    shown = [
        f"polygon(0 0, {x - slot + 100 * lean:.1f}% 0, {x - slot:.1f}% {above:.1f}%, {x:.1f}% {above:.1f}%, "
        f"{x:.1f}% {below:.1f}%, 100% {below:.1f}%, 100% 100%, 0 100%)"
        for x in (100 * edge / width for edge in layout_.edges[1:-1])
    ]
    beats = len(shown) + 1 + _LAST_STEPS
    frames = " ".join(
        f"{100 * i / beats:.1f}% {{ clip-path: {part}; }}" for i, part in enumerate((*shown, "none"))
    )
    style = (
        f"@keyframes lh-steps {{ {frames} 100% {{ clip-path: none; }} }} "
        "@media (prefers-reduced-motion: no-preference) { svg.lh { "
        f"animation: lh-steps {beats * _SECONDS_A_STEP:g}s step-end infinite; }} }}"
    )
    return picture.replace("</style>", f"{style}</style>", 1)


def rooms() -> str:
    """Return the rooms of the package and who imports whom."""
    return graph_svg(layout(rooms_graph()))


def suite() -> str:
    """Return the results of the suite that come with lhkit, a bar a family, target and rival."""
    results, families = load_collection(), _families()
    rivals = {rival.name: rival for result in results for rival in result.rivals}
    names = {family.name for family in families}
    rows = tuple(row for result in results for row in result.rows if row.family in names)
    joined = dataclasses.replace(results[0], rows=rows, rivals=tuple(rivals.values()))
    label = "Speed of lhkit's schedules as a multiple of NumPy, PyTorch and IREE, geometric means by family."
    return ratio_svg(collection_groups(results, families), rivals_in_order(joined), label)


def suite_summary() -> str:
    """Return the results of the run with the most shapes, a row per family and a mark per rival."""
    result, families = max(load_collection(), key=lambda r: len(r.rows)), _families()
    label = (
        "Speed of lhkit's schedules as a multiple of each program's, geometric means by family,"
        f" {result.target}."
    )
    return dots_svg(family_groups(result, families), rivals_in_order(result), label)


def suite_results() -> str:
    """Return the page with these results side by side."""
    return collection_page(load_collection(), _families())


def _families() -> tuple[SuiteFamily, ...]:
    """Return the families of the suite; what is measured only by name has a page of its own."""
    return tuple(family for family in load_table().families if not family.only_by_name)


def kernelbench() -> str:
    """Return the page on the problems of KernelBench."""
    return kernelbench_page(load_collection(), BENCHMARKS / "kernelbench.toml")


def drawn(name: str) -> str:
    """Return a picture as its file has it: places are named from the project's folder on."""
    return PICTURES[name]().replace(f"{ROOT}/", "") + "\n"


PICTURES: Mapping[str, Callable[[], str]] = {
    "front": front_strip,
    "invalidation": invalidation,
    "timeline": timeline,
    "tiles": tiles,
    "graph": graph,
    "consumed": consumed,
    "rooms": rooms,
    "suite": suite,
    "suite_summary": suite_summary,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in PICTURES:
        (FOLDER / f"{each}.svg").write_text(drawn(each), encoding="utf-8")
    RESULTS.write_text(suite_results(), encoding="utf-8")
    KERNELBENCH.write_text(kernelbench(), encoding="utf-8")
    PAGE.write_text(flow_page(), encoding="utf-8")
    write_gallery()
