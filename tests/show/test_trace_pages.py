"""The page of a trace: with graphs and tiles where they are small, and a page in any case."""

import base64
import dataclasses
import re
import zlib
from pathlib import Path

import lhkit
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.show.trace_view import detail_panes, trace_page

LARGE = ["payload-graph", "tiles"]


def pane_names(trace):
    return [p.name for p in lhkit.show.page(trace).view.panes]


def test_a_small_trace_has_graphs_by_step_and_tiles_all_folded(fc_relu_trace):
    view = lhkit.show.page(fc_relu_trace).view
    panes = {p.name: p for p in view.panes}
    assert list(panes)[-3:] == ["schedule-graph", *LARGE]
    assert all(panes[name].folded for name in ("schedule-graph", *LARGE))
    changed = [s.index for s in fc_relu_trace.step_records if s.payload_delta.created]
    frames = panes["payload-graph"].frames
    assert [f.at for f in frames] == [-1, *changed] and panes["payload-graph"].axis == "step"
    assert "The payload as given" in frames[0].html and "After step 5, " in frames[1].html
    assert panes["tiles"].axis == "iteration" and len(panes["tiles"].frames) > 1


def test_a_trace_read_from_json_has_the_same_details(fc_relu_trace):
    read = trace_from_json(trace_to_json(fc_relu_trace))
    (graphs, tiles), (given_graphs, given_tiles) = detail_panes(read), detail_panes(fc_relu_trace)
    assert graphs == given_graphs and tiles.title == given_tiles.title
    assert set(LARGE) < set(pane_names(read))


def test_a_trace_that_fails_has_a_page():
    unmatched = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %none = transform.structured.match ops{["linalg.conv_2d"]} in %root : (!transform.any_op) -> !transform.any_op
    %loop = transform.get_parent_op %root {op_name = "scf.for"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
    trace = lhkit.trace(lhkit.payloads.fc_relu(16, 32, 8), lhkit.load_schedule(unmatched, name="fails.mlir"))
    assert trace.outcome.status == "failed"
    names = pane_names(trace)
    assert names[0] == "failure" and set(LARGE) < set(names)


def test_a_page_has_no_folders_of_the_machine_that_made_it():
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")
    assert Path(trace.payload.source).is_absolute()
    page = trace_page(trace, {}, detail_panes(trace))
    packed = [zlib.decompress(base64.b64decode(z)).decode() for z in re.findall(r'"z":"([^"]+)"', page)]
    texts = [page, *packed]
    assert len(packed) > 5 and any("fc_relu.mlir:" in text for text in texts)
    assert [text for text in texts if str(Path(trace.payload.source).parents[1]) in text] == []


def test_a_trace_of_nothing_has_no_details(fc_relu_trace):
    assert detail_panes(dataclasses.replace(fc_relu_trace, step_records=(), snapshots=())) == []


def test_what_is_too_large_or_does_not_parse_is_left_out_with_a_sentence(fc_relu_trace, monkeypatch):
    monkeypatch.setattr("lhkit.show.trace_view._MOST_OPS", 20)
    tiles, left_out = detail_panes(fc_relu_trace)
    assert tiles.name == "tiles"
    assert re.search(r">Graphs of the payload are not drawn: it has \d\d ops", left_out.html)
    assert pane_names(fc_relu_trace)[-2:] == ["tiles", "left-out"]
    first, *others = fc_relu_trace.snapshots
    torn = dataclasses.replace(fc_relu_trace, snapshots=(dataclasses.replace(first, text="func.func"), *others))
    (left_out,) = detail_panes(torn)
    assert re.findall(r">([A-Z][^:]*):", left_out.html) == [
        "Graphs of the payload are not drawn",
        "No picture of tiles",
    ]
