"""Graphs as SVG and text: marks for the selection, dead edges, folded boxes, scales; names stay text."""

import dataclasses
import re
import xml.etree.ElementTree as ET

import lhkit
from lhkit.draw.graph_svg import graph_html, graph_svg, graph_text
from lhkit.draw.layered_layout import layout
from lhkit.draw.svg import svg_png
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode, LegendEntry
from lhkit.model.ir_outline import OutlinedBlock, OutlinedOp, PayloadOutline
from lhkit.model.step_form import TypedName
from lhkit.model.trace_record import PayloadDelta
from lhkit.traces.graph.payload_graph import Quantity, payload_flow, payload_flow_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "%<script>alert('1')</script>&\""

GRAPH = FlowGraph(
    "a schedule",
    (
        FlowNode("a", "0 match", "line 2", step=0, hover="step 0"),
        FlowNode("box", "1 sequence", step=1),
        FlowNode("b", "2 unroll", parent="box", sign="✕", role="dead", step=2),
        FlowNode("c", "linalg.generic", "12 ops", ops=("o3", "o4"), is_folded=True, heat=0.5, quantity="2 ms"),
        FlowNode("d", "tensor.empty", role="erased", sign="−", ops=("o9",), is_ghost=True),
    ),
    (
        FlowEdge("a", "b", "0", "%loop", "consumed", "●", handles=("h1",), hover="consumed"),
        FlowEdge("a", "b", "1", "%body", "dead", "✕", is_dead=True, handles=("h2",), hover="why it died"),
        FlowEdge("a", "c", "0", "%loop", "read", "○", handles=("h1",)),
    ),
    (LegendEntry("consumes", "●", "consumed"), LegendEntry("0 ms", heat=0.0)),
)


def drawn(graph):
    return ET.fromstring(graph_svg(layout(graph), themed=False))


def test_nodes_and_edges_carry_marks():
    root = drawn(GRAPH)
    assert {e.get("data-step") for e in root.iter() if e.get("data-step")} == {"0", "1", "2"}
    assert {e.get("data-handle") for e in root.iter() if e.get("data-handle")} == {"h1", "h2"}
    assert {e.get("data-op") for e in root.iter() if e.get("data-op")} == {"o3 o4", "o9"}
    reached = [e.get("aria-label") for e in root.iter() if e.get("tabindex") == "0"]
    assert set(reached) == {
        "0 match",
        "1 sequence",
        "✕ 2 unroll",
        "linalg.generic, 2 ms",
        "− tensor.empty",
        "%loop",
        "%body",
    }


def test_a_dead_edge_is_struck_through_and_says_why():
    dead = [g for g in drawn(GRAPH).iter(f"{SVG}g") if g.get("data-handle") == "h2"]
    arriving = next(g for g in dead if g.find(f"{SVG}text") is not None)
    assert arriving.find(f"{SVG}text").text == "✕" and arriving.find(f"{SVG}title").text == "why it died"
    assert all(g.find(f"{SVG}path").get("stroke-dasharray") for g in dead)
    struck = [t for t in drawn(GRAPH).iter(f"{SVG}text") if t.get("text-decoration") == "line-through"]
    assert len(struck) == 2  # its name, and the op that is not there any more


def test_a_folded_box_has_a_second_line_and_a_ghost_is_dashed():
    nodes = {g.get("data-op"): g for g in drawn(GRAPH).iter(f"{SVG}g") if g.get("data-op")}
    # outline, depth of colour, second line
    assert len(nodes["o3 o4"].findall(f"{SVG}rect")) == 3
    assert nodes["o9"].find(f"{SVG}rect").get("stroke-dasharray")


def test_names_are_text():
    nodes = (FlowNode("a", HOSTILE, HOSTILE, hover=HOSTILE, ops=("o1",)), FlowNode("b", "b"))
    graph = FlowGraph(HOSTILE, nodes, (FlowEdge("a", "b", "0", HOSTILE, hover=HOSTILE, handles=("h1",)),))
    text = graph_svg(layout(graph))
    assert "<script" not in text
    root = ET.fromstring(text)
    assert root.get("aria-label") == HOSTILE
    assert HOSTILE in {t.text for t in root.iter(f"{SVG}title")}


def test_a_picture_without_its_theme():
    plain = graph_svg(layout(GRAPH), themed=False)
    assert "<style" not in plain and "<style" in graph_svg(layout(GRAPH))
    assert svg_png(plain).startswith(b"\x89PNG")


def test_a_wide_graph_has_another_one_for_a_narrow_column_and_legends_wrap():
    titles = [f"{i} transform.structured.tile_using_for" for i in range(4)]
    legend = tuple(LegendEntry(f"some words, {i}", "●", "consumed") for i in range(8))
    wide = FlowGraph("wide", tuple(FlowNode(t[0], t) for t in titles), (), legend)
    for graph, is_wide in ((wide, True), (dataclasses.replace(wide, nodes=wide.nodes[:1]), False)):
        widths = [float(w) for w in re.findall(r'viewBox="0 0 (\S+) ', graph_html(graph))]
        assert len(widths) == 1 + is_wide and 250 < widths[-1] <= 372
        assert not is_wide or widths[0] > 800
    narrow = ET.fromstring(graph_svg(layout(wide, 372), themed=False))
    lines = {g.get("transform").partition(",")[2] for g in narrow[1].iter(f"{SVG}g") if g.get("transform")}
    assert len(lines) == 3


def test_a_long_name_keeps_its_end():
    edges = tuple(FlowEdge("a", "b", str(i), f"%extracted_slice_of_something_{i}") for i in (17, 18))
    found = layout(FlowGraph("long", (FlowNode("a", "a"), FlowNode("b", "b")), edges))
    assert [label.text[-2:] for label in found.labels] == ["17", "18"]
    assert all("…" in label.text for label in found.labels)


def test_a_graph_as_text(golden):
    golden(graph_text(GRAPH))


def values(count):
    return tuple(TypedName(f"%{i}", "f32") for i in range(count))


def op(name, parent, operands=(), results=(), blocks=(), **more):
    line = more.pop("line", 1 if parent is None else parent + 2)  # not that of the op around it
    return OutlinedOp(name, "", parent, 0, 0, operands, results, blocks, line, **more)


LOOP = PayloadOutline(
    values(5),
    (
        op("func.func", None, blocks=(OutlinedBlock(0, 0, (0,)),), id="o0"),
        op("math.exp", 0, (0,), (1,), id="o1"),
        op("scf.for", 0, (1,), (4,), (OutlinedBlock(0, 0, (2,)),), id="o2"),
        op("arith.addf", 2, (0, 2), (3,), id="o3"),
        op("scf.yield", 2, (3,), id="o4"),
        op("func.return", 0, (4,), id="o5"),
    ),
)


def test_values_go_from_ops_and_arguments_to_ops():
    graph = payload_flow(LOOP)
    ends = {(e.source, e.target, e.label) for e in graph.edges}
    assert ends == {
        ("o0 0 0", "o1", "%0"),
        ("o1", "o2", "%1"),
        ("o0 0 0", "o3", "%0"),
        ("o2 0 0", "o3", "%2"),
        ("o3", "o4", "%3"),
        ("o2", "o5", "%4"),
    }
    assert [n.parent for n in graph.nodes] == [None, "o0", "o0", "o0", "o2", "o2", "o2", "o0"]


def test_what_is_large_folds_and_unfolds_when_asked():
    folded = payload_flow(LOOP, most_ops=5)
    loop = next(n for n in folded.nodes if n.id == "o2")
    assert loop.is_folded and loop.detail.startswith("2 ops: arith.addf ×1, scf.yield ×1")
    assert loop.ops == ("o2", "o3", "o4") and not any(n.parent == "o2" for n in folded.nodes)
    # What enters an op inside enters the box, once.
    assert [(e.source, e.label) for e in folded.edges if e.target == "o2"] == [("o1", "%1"), ("o0 0 0", "%0")]
    assert {n.id for n in payload_flow(LOOP, most_ops=1, unfolded=["o2"]).nodes} == {
        n.id for n in payload_flow(LOOP).nodes
    }
    assert payload_flow(LOOP, most_ops=1).edges == ()


def test_many_values_between_two_ops_are_one_edge():
    results = tuple(range(1, 65))
    elements = (
        op("func.func", None, blocks=(OutlinedBlock(0, 0, (0,)),), id="o0"),
        op("vector.to_elements", 0, (0,), results, id="o1"),
        op("vector.from_elements", 0, results, (65,), id="o2"),
        op("arith.addf", 0, (1, 65), (66,), id="o3"),
    )
    graph = payload_flow(PayloadOutline(values(67), elements))
    assert [(e.source, e.target, e.label) for e in graph.edges if e.source != "o0 0 0"] == [
        ("o1", "o2", "64 values"),
        ("o1", "o3", "%1"),
        ("o2", "o3", "%65"),
    ]
    assert layout(graph).width < 400


def test_a_payload_is_folded_to_sixty_ops():
    inside = [op(f"math.f{i}", 2, (1,), (i,), id=f"o{i}") for i in range(3, 73)]
    outline = PayloadOutline(values(73), (*LOOP.ops[:3], *inside))
    assert len(payload_flow(outline).nodes) == 4 < len(payload_flow(outline, most_ops=100).nodes)


def unrolled(count):
    """A loop with so many reads of an argument, each beside a sum that goes on from the one before."""
    ops, sums = [], 1
    for i in range(count):
        read, total = 3 + 2 * i, 4 + 2 * i
        ops.append(op("vector.load", 2, (0, 100 + i), (read,), id=f"r{i}"))
        ops.append(op("vector.fma", 2, (read, sums), (total,), id=f"s{i}"))
        sums = total
    constants = [op("arith.constant", 0, (), (100 + i,), id=f"c{i}") for i in range(count)]
    return PayloadOutline(values(200), (*LOOP.ops[:3], *ops, *constants))


def test_ops_that_are_alike_share_a_node_where_a_box_would_not_open_otherwise():
    outline = unrolled(10)
    graph = payload_flow(outline, most_ops=20, delta=PayloadDelta(created=("r9",)))
    (loads,) = [n for n in graph.nodes if n.title == "vector.load ×9"]
    assert loads.ops == tuple(f"r{i}" for i in range(9)) and loads.is_folded and loads.parent == "o2"
    # One that the step made, and sums that each go on from another one, are unlike.
    assert [n.title for n in graph.nodes if n.title.startswith("vector")] == [
        "vector.load ×9", *["vector.fma"] * 9, "vector.load", "vector.fma"
    ]  # fmt: skip
    whole = payload_flow(outline, most_ops=20, unfolded=["o2"])
    assert sum(n.title == "vector.load" for n in whole.nodes) == 10


def test_values_from_ops_that_share_a_node_are_one_edge():
    pairs = [op("vector.load", 2, (0,), (3 + i,), id=f"r{i}") for i in range(40)]
    pairs += [op("vector.store", 2, (3 + i,), id=f"w{i}") for i in range(40)]
    graph = payload_flow(PayloadOutline(values(50), (*LOOP.ops[:3], *pairs)))
    ends = [(e.source, e.target, e.label) for e in graph.edges if e.target == "w0"]
    assert ends == [("r0", "w0", "40 values")]
    assert {n.title for n in graph.nodes} >= {"vector.load ×40", "vector.store ×40"}


def test_constants_are_drawn_only_where_the_step_touched_them_and_the_legend_says_so():
    graph = payload_flow(unrolled(3), delta=PayloadDelta(created=("c1",)))
    assert [n.id for n in graph.nodes if n.title == "arith.constant"] == ["c1"]
    assert [entry.text for entry in graph.legend] == [
        "created", "not drawn: constants and tensor.empty that the step left alone"
    ]  # fmt: skip
    assert payload_flow(LOOP).legend == ()


def test_what_a_step_did_has_signs():
    before = PayloadOutline(
        values(6),
        (
            *LOOP.ops[:5],
            op("math.tanh", 2, (3,), (5,), id="o6"),
            op("func.return", 0, (5,), id="o5"),
        ),
    )
    delta = PayloadDelta(created=("o3",), erased=("o6",), changed=("o5",), moved=("o1",))
    graph = payload_flow(LOOP, delta=delta, before=before)
    assert {n.id: n.sign for n in graph.nodes if n.sign} == {"o3": "+", "o5": "~", "o1": "↕", "erased o6": "−"}
    ghost = next(n for n in graph.nodes if n.is_ghost)
    assert (ghost.parent, ghost.ops, ghost.role) == ("o2", ("o6",), "erased")
    assert [(e.source, e.target, e.is_dead) for e in graph.edges if e.is_dead] == [("o3", "erased o6", True)]
    assert [entry.text for entry in graph.legend] == ["created", "erased", "changed", "moved"]


def test_a_change_inside_marks_the_folded_box():
    graph = payload_flow(LOOP, most_ops=5, delta=PayloadDelta(created=("o3",), changed=("o4",)))
    loop = next(n for n in graph.nodes if n.id == "o2")
    assert loop.sign == "~" and loop.detail.startswith("2 ops +1 ~1:")


def test_bodies_of_named_ops_are_not_counted_as_the_text_does_not_show_them():
    graph = payload_flow_of(lhkit.load_payload("attention.mlir"))
    named = [n for n in graph.nodes if n.title.startswith("linalg.")]
    assert {n.title for n in named} >= {"linalg.transpose", "linalg.reduce", "linalg.broadcast"}
    assert not any(n.is_folded for n in named) and all(n.detail.startswith("tensor<") for n in named)
    assert graph.legend[-1].text == "not drawn: constants and tensor.empty"
    one = payload_flow(LOOP, most_ops=5, delta=PayloadDelta(created=("o3",)))
    assert [n.detail.partition(":")[0] for n in one.nodes if n.id == "o2"] == ["2 ops +1"]


def test_many_erased_ops_are_one_node():
    ops = tuple(op("math.exp", 0, (0,), (), id=f"o{i}") for i in range(1, 60))
    before = PayloadOutline(
        values(1), (op("func.func", None, blocks=(OutlinedBlock(0, 0, (0,)),), id="o0"), *ops)
    )
    after = PayloadOutline(values(1), before.ops[:1])
    erased = tuple(f"o{i}" for i in range(1, 60))
    (ghost,) = [
        n for n in payload_flow(after, delta=PayloadDelta(erased=erased), before=before).nodes if n.is_ghost
    ]
    assert (ghost.title, ghost.detail, ghost.ops) == ("59 ops erased", "math.exp ×59", erased)


def test_a_quantity_is_a_number_and_a_depth_of_colour():
    graph = payload_flow(LOOP, quantity=Quantity("time", "ms", {"o1": 1.0, "o3": 4.0}))
    shown = {n.id: (n.quantity, n.heat) for n in graph.nodes if n.quantity}
    assert shown == {"o1": ("1 ms", 0.25), "o3": ("4 ms", 1.0)}
    assert [entry.text for entry in graph.legend] == ["time: 0 ms", "2", "4 ms"]
    assert graph_svg(layout(graph)).count("fill-opacity") == 2 + 3


def test_without_ids_ops_are_numbered():
    ops = tuple(OutlinedOp(*[getattr(o, f) for f in OutlinedOp.__slots__[:-1]]) for o in LOOP.ops)
    graph = payload_flow(PayloadOutline(LOOP.values, ops), unfolded=["2"])
    assert [n.id for n in graph.nodes if n.title == "scf.for"] == ["2"]
    assert all(n.ops == () for n in graph.nodes) and all(e.ops == () for e in graph.edges)


def test_a_graph_of_nothing_says_so():
    root = drawn(FlowGraph("empty", (), ()))
    assert [t.text for t in root.iter(f"{SVG}text")] == ["nothing to show"]
