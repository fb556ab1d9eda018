"""Dataflow of shipped payloads and schedules, live and from JSON: which op is which is exact."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

import lhkit
from lhkit.draw import svg as svg_module
from lhkit.draw.graph_svg import graph_svg, graph_text
from lhkit.draw.layered_layout import layout
from lhkit.model.errors import UsageError
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.graph.folded_graph import folded_graph
from lhkit.traces.graph.payload_graph import outline_after, payload_flow_of
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.record.handle_history import PayloadHistory, work_of_step

ROOT = Path(__file__).parents[2]
FC_RELU = ["fc_relu_handles", "fc_relu_tile_fuse"]


def traced(payload, schedule, worker):
    payload = lhkit.load_payload(ROOT / "data" / f"{payload}.mlir", worker=worker)
    schedule = lhkit.load_schedule(ROOT / "schedules" / f"{schedule}.mlir", worker=worker)
    return lhkit.trace(payload, schedule, worker=worker)


@pytest.fixture(scope="module", params=FC_RELU)
def fc_relu(request, worker):
    return traced("fc_relu", request.param, worker)


@pytest.fixture(scope="module")
def op_chain(worker):
    return traced("op_chain", "op_chain_tile_fuse", worker)


def problems_of_ids(trace, step, worker):
    """What the trace says otherwise than the outline after a step."""
    outline = outline_after(trace, step, worker=worker)
    ids = [op.id for op in outline.ops]
    alive = PayloadHistory(trace).alive_before(step + 1)
    if sorted(ids) != sorted(o.id for o in alive):
        return ["not the ops that were there"]
    found = [op for op in outline.ops if trace.op(op.id).name != op.name]
    delta = trace.step_records[step].payload_delta if step >= 0 else None
    new = set(ids) if delta is None else set(delta.created)
    for op in outline.ops:
        parent = None if op.parent is None else outline.ops[op.parent].id
        if op.id in new and parent != trace.op(op.id).parent:
            found.append(op)
    return found


def test_ops_of_the_text_are_the_ops_of_the_trace(fc_relu, worker):
    from_json = trace_from_json(json.loads(json.dumps(trace_to_json(fc_relu))))
    for snapshot in fc_relu.snapshots:
        assert problems_of_ids(fc_relu, snapshot.step, worker) == []
        live = outline_after(fc_relu, snapshot.step, worker=worker)
        assert outline_after(from_json, snapshot.step, worker=worker) == live


def test_ops_that_stay_keep_their_operands(fc_relu, worker):
    """An op that no step changed takes the same values of the same ops as before: ids are not mixed up."""
    last = {}
    for snapshot in fc_relu.snapshots:
        outline = outline_after(fc_relu, snapshot.step, worker=worker)
        made = {v: (op.id, n) for op in outline.ops for n, v in enumerate(op.results)}
        now = {op.id: tuple(made.get(v) for v in op.operands) for op in outline.ops}
        touched = set()
        if snapshot.step >= 0:
            delta = fc_relu.step_records[snapshot.step].payload_delta
            touched = {*delta.changed, *delta.created}
        kept = [o for o in now if o in last and o not in touched]
        assert {o: now[o] for o in kept} == {o: last[o] for o in kept}
        last = now
    assert last


def test_payloads_of_every_step(fc_relu, worker, golden):
    texts = []
    for snapshot in fc_relu.snapshots:
        graph = payload_flow_of(fc_relu, snapshot.step, worker=worker)
        assert len(layout(graph).nodes) == len(graph.nodes)
        texts.append(graph_text(graph))
    golden("\n".join(texts).replace(f"{ROOT}/", ""))


def test_the_schedule(fc_relu, golden):
    graph = schedule_flow(fc_relu)
    golden(graph_text(graph).replace(f"{ROOT}/", ""))
    assert graph_svg(layout(graph)) == graph_svg(layout(schedule_flow(fc_relu)))


def test_the_deaths_of_handles_are_edges(worker):
    trace = traced("fc_relu", "fc_relu_handles", worker)
    names = {h.id: h.name for h in trace.handle_records}
    dead = {(names[e.handles[0]], e.target): e.hover for e in schedule_flow(trace).edges if e.is_dead}
    assert set(dead) == {("%elementwise", "step 5"), ("%piece", "step 9")}
    assert "both point to the same linalg.max" in dead["%elementwise", "step 5"]
    assert "lies inside that scf.for" in dead["%piece", "step 9"]
    assert graph_svg(layout(schedule_flow(trace))).count("data-step=") == len(trace.step_records)


STOPPED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %a, %b = transform.split_handle %op : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %g = transform.structured.generalize %a : (!transform.any_op) -> !transform.any_op
    %v = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def test_steps_that_never_ran_are_below_the_one_that_failed_and_both_are_explained(worker):
    payload = lhkit.load_payload(ROOT / "data" / "fc_relu.mlir", worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(STOPPED, worker=worker), worker=worker)
    graph = schedule_flow(trace)
    tops = {place.node.step: place.y for place in layout(graph).nodes}
    never = [s.index for s in trace.step_records if s.status == "not-run"]
    assert len(never) == 2 and all(tops[step] > tops[trace.outcome.failed_step] for step in never)
    assert {(e.text, e.sign) for e in graph.legend} >= {("framed: failed", "✕"), ("dashed: never ran", "…")}
    assert not any(e.sign == "…" for e in schedule_flow(traced("fc_relu", "fc_relu_handles", worker)).legend)


def test_the_legend_explains_what_steps_did_to_the_payload_and_no_mark_that_is_folded_away(worker):
    graph = schedule_flow(traced("fc_relu", "fc_relu_handles", worker))
    assert "+ created  − erased  ~ changed" in [e.text for e in graph.legend]
    assert {"○", "●", "✕"} <= {e.sign for e in graph.legend}
    folded = folded_graph(dataclasses.replace(graph, edges=graph.edges[:1]), 2)
    assert {e.sign for e in folded.legend} == {e.sign for e in folded.edges} | {""}


def test_a_thousand_ops_fold_and_unfold(op_chain, worker):
    folded = payload_flow_of(op_chain, -1, worker=worker)
    assert [n.title for n in folded.nodes] == ["builtin.module", "func.func @op_chain"]
    assert folded.nodes[1].is_folded and "2001 ops: tensor.empty ×1000" in folded.nodes[1].detail
    function = folded.nodes[1].id
    unfolded = payload_flow_of(op_chain, -1, unfolded=[function], worker=worker)
    assert len(unfolded.nodes) == 1001 + 3  # without a thousand tensor.empty, which compute nothing
    assert not any(n.title == "tensor.empty" for n in unfolded.nodes)
    found = layout(unfolded)
    assert len(found.nodes) == len(unfolded.nodes) and layout(unfolded) is found


def test_the_last_payload_and_what_was_erased(op_chain, worker):
    graph = payload_flow_of(op_chain, worker=worker)
    assert problems_of_ids(op_chain, 7, worker) == []
    assert [n.title for n in graph.nodes if n.sign == "−"] == ["1002 ops erased"]
    generic = next(n for n in graph.nodes if n.title == "linalg.generic")
    assert generic.sign == "+" and generic.is_folded and len(generic.ops) == 1002


def test_a_payload_alone_has_the_names_of_its_author(worker):
    payload = lhkit.load_payload(ROOT / "data" / "fc_relu.mlir", worker=worker)
    graph = payload_flow_of(payload, worker=worker)
    assert {"%product", "%lhs", "%relu"} <= {e.label for e in graph.edges}
    assert all(n.ops == () for n in graph.nodes)


NESTED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @tile(%op: !transform.any_op {transform.consumed}) {
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %fills = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %fills : !transform.any_op {
    ^bb0(%fill: !transform.any_op):
      transform.include @tile failures(propagate) (%fill) : (!transform.any_op) -> ()
    }
    transform.yield
  }
}
"""


def test_steps_inside_of_steps_are_boxes_and_their_work_is_one(worker, golden):
    payload = lhkit.load_payload(ROOT / "data" / "fc_relu.mlir", worker=worker)
    trace = lhkit.trace(payload, lhkit.load_schedule(NESTED, worker=worker), worker=worker)
    graph = schedule_flow(trace)
    golden(graph_text(graph).replace(f"{ROOT}/", ""))
    foreach = next(s for s in trace.step_records if s.op == "transform.foreach")
    assert {n.parent for n in graph.nodes if "include" in n.title} == {f"step {foreach.index}"}
    delta, before = work_of_step(trace, foreach.index)
    inner = [s.payload_delta for s in trace.step_records if s.op.endswith("tile_using_for")]
    assert len(inner) == 2 and before == 0
    assert {o for d in inner for o in d.erased} - {o for d in inner for o in d.created} == set(delta.erased)
    assert payload_flow_of(trace, foreach.index, worker=worker).legend


def test_a_step_without_a_payload_is_refused(fc_relu, worker):
    with pytest.raises(UsageError, match="no payload after step 99"):
        payload_flow_of(fc_relu, 99, worker=worker)


def test_a_schedule_of_hundreds_of_steps_is_folded_to_what_can_be_read(worker):
    trace = traced("mlp", "mlp", worker)
    graph = schedule_flow(trace)
    assert len(trace.step_records) > 500 and len(graph.nodes) <= 60
    held = [re.search(r"(\d+) inside", n.detail) for n in graph.nodes]
    whole = schedule_flow(trace, most=10_000)
    assert len(graph.nodes) + sum(int(h[1]) for h in held if h) == len(whole.nodes)
    places = layout(graph)
    assert places.width < 4000 and places.height < 2000
    known = {n.id for n in graph.nodes}
    assert all(e.source in known and e.target in known and e.source != e.target for e in graph.edges)


def test_a_box_with_a_failed_step_is_opened_first():
    nodes = [FlowNode("top", "top"), FlowNode("a", "a", parent="top"), FlowNode("b", "b", parent="top")]
    nodes += [FlowNode(f"a{n}", "x", parent="a", sign="✕" if n == 1 else "") for n in range(3)]
    nodes += [FlowNode(f"b{n}", "x", parent="b") for n in range(2)]
    edges = (FlowEdge("a1", "b1", "0", "%x"), FlowEdge("b0", "b1", "0"), FlowEdge("a0", "b0", "0", "%y"))
    graph = folded_graph(FlowGraph("g", tuple(nodes), edges), most=6)
    assert [n.id for n in graph.nodes] == ["top", "a", "b", "a0", "a1", "a2"]
    assert graph.nodes[2].is_folded and graph.nodes[2].detail == "2 inside"
    assert [(e.source, e.target, e.label) for e in graph.edges] == [("a1", "b", "%x"), ("a0", "b", "%y")]


def test_a_png_has_no_side_beyond_the_cap(monkeypatch):
    monkeypatch.setattr(svg_module, "MOST_PIXELS", 500)
    png = svg_module.svg_png(svg_module.svg(4000, 100, label="wide", themed=False))
    assert int.from_bytes(png[16:20], "big") == 500 and int.from_bytes(png[20:24], "big") in (12, 13)
