"""The page of a trace: with graphs and tiles where they are small, and a page in any case."""

import dataclasses
import re

import lhkit
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.show.trace_view import PageFacts, page_facts

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


def test_a_trace_read_from_json_has_the_same_facts(fc_relu_trace):
    read = trace_from_json(trace_to_json(fc_relu_trace))
    given, again = page_facts(fc_relu_trace), page_facts(read)
    assert again.flows == given.flows and again.tiles.op == given.tiles.op
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


def test_a_trace_of_nothing_has_no_facts(fc_relu_trace):
    assert page_facts(dataclasses.replace(fc_relu_trace, step_records=(), snapshots=())) == PageFacts()


def test_what_is_too_large_or_does_not_parse_is_left_out_with_a_sentence(fc_relu_trace, monkeypatch):
    monkeypatch.setattr("lhkit.show.trace_view._MOST_OPS", 20)
    facts = page_facts(fc_relu_trace)
    assert facts.flows == () and facts.tiles is not None
    assert re.match(r"Graphs of the payload are not drawn: it has \d\d ops", *facts.notes)
    assert pane_names(fc_relu_trace)[-2:] == ["tiles", "left-out"]
    first, *others = fc_relu_trace.snapshots
    torn = dataclasses.replace(fc_relu_trace, snapshots=(dataclasses.replace(first, text="func.func"), *others))
    facts = page_facts(torn)
    assert facts.flows == () and facts.tiles is None
    assert [note.partition(":")[0] for note in facts.notes] == [
        "Graphs of the payload are not drawn",
        "No picture of tiles",
    ]
