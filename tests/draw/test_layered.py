"""Layouts: nothing on anything, nothing through anything, the same in every process."""

import dataclasses
import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from graph_cases import chain_graph, overlaps, problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode


@st.composite
def graphs(draw):
    """Graphs as schedules and payloads are: what is used stands before its user, at every depth."""
    count = draw(st.integers(1, 24))
    parents = [None]
    for i in range(1, count):
        parents.append(draw(st.one_of(st.none(), st.integers(0, i - 1))))
    titles = draw(st.lists(st.text("abc.<&%_", max_size=40), min_size=count, max_size=count))
    nodes = [FlowNode(f"n{i}", titles[i], parent=None if p is None else f"n{p}") for i, p in enumerate(parents)]
    # Boxes stand before what is inside of them in the order of their text.
    ordered, waiting = [], [n for n in reversed(nodes) if n.parent is None]
    while waiting:
        node = waiting.pop()
        ordered.append(node)
        waiting += [n for n in reversed(nodes) if n.parent == node.id]
    around = {n.id: {n.id} for n in ordered}
    for n in ordered:
        if n.parent:
            around[n.id] |= around[n.parent]
    edges = []
    for _ in range(draw(st.integers(0, 40))):
        a, b = sorted((draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))))
        a, b = ordered[a].id, ordered[b].id
        if a not in around[b] and b not in around[a]:
            port = draw(st.integers(0, 2))
            edges.append(
                FlowEdge(a, b, str(port), draw(st.text("%ab", max_size=24)), is_dead=draw(st.booleans()))
            )
    return FlowGraph("random", tuple(ordered), tuple(edges))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_nothing_overlaps(graph):
    for placed in (layout(graph), layout(graph, 372)):
        assert problems(placed) == []


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24))
def test_circles_are_drawn_without_overlaps(pairs):
    nodes = tuple(FlowNode(f"n{i}", f"op{i}") for i in range(10))
    edges = tuple(FlowEdge(f"n{a}", f"n{b}") for a, b in dict.fromkeys(pairs) if a != b)
    assert problems(layout(FlowGraph("circles", nodes, edges))) == []


def test_what_is_wrong_would_be_found():
    nodes = (FlowNode("box", "box"), FlowNode("a", "a", parent="box"), FlowNode("b", "b"), FlowNode("c", "c"))
    good = layout(FlowGraph("three", nodes, (FlowEdge("a", "b"), FlowEdge("b", "c"))))
    assert problems(good) == []
    box, a, b, c = good.nodes
    moved = dataclasses.replace(good, nodes=(box, a, dataclasses.replace(b, x=c.x, y=c.y), c))
    assert "b lies on c" in problems(moved)
    outside = dataclasses.replace(good, nodes=(box, dataclasses.replace(a, x=box.x - 30), b, c))
    assert "a sticks out of box" in problems(outside)
    crossed = dataclasses.replace(good, nodes=(box, a, dataclasses.replace(b, height=b.height + 40), c))
    assert any(found.startswith("b ") for found in problems(crossed))
    between = dataclasses.replace(c, node=FlowNode("d", "d"), y=(a.y + b.y) / 2, x=b.x, height=20)
    assert "a → b crosses d" in problems(
        dataclasses.replace(
            good,
            graph=dataclasses.replace(good.graph, nodes=(*nodes, between.node)),
            nodes=(*good.nodes, between),
        )
    )


def test_an_edge_goes_through_the_ports_of_its_boxes():
    nodes = (
        FlowNode("a", "a"),
        FlowNode("outer", "outer"),
        FlowNode("inner", "inner", parent="outer"),
        FlowNode("b", "b", parent="inner"),
    )
    found = layout(FlowGraph("ports", nodes, (FlowEdge("a", "b"),)))
    places = {p.node.id: p for p in found.nodes}
    pieces = sorted((r.points for r in found.routes), key=lambda points: points[0][1])
    assert len(pieces) == 3
    assert pieces[0][-1] == pieces[1][0] and pieces[1][-1] == pieces[2][0]
    assert pieces[1][0][1] == places["outer"].y and pieces[2][0][1] == places["inner"].y
    assert [r.arrives for r in found.routes].count(True) == 1


def test_one_value_that_goes_to_several_places_has_one_port_and_one_name():
    nodes = tuple(FlowNode(n, n) for n in "abcd")
    edges = (
        FlowEdge("a", "b", "0", "%x"),
        FlowEdge("b", "c"),
        FlowEdge("c", "d"),
        FlowEdge("a", "d", "0", "%x"),
    )
    found = layout(FlowGraph("shared", nodes, edges))
    starts = {r.points[0] for r in found.routes if 0 in r.edges or 3 in r.edges}
    assert [label.text for label in found.labels] == ["%x"] and len(starts) == 1


def test_a_layout_is_kept_by_content():
    one, same = chain_graph(30, 6), chain_graph(30, 6)
    assert one is not same and layout(one) is layout(same)


def test_nothing_to_draw_is_drawn():
    empty = layout(FlowGraph("nothing", (), ()))
    assert empty.nodes == () and "nothing" in graph_svg(empty)
    alone = layout(FlowGraph("alone", tuple(FlowNode(f"n{i}", "op") for i in range(30)), ()))
    assert problems(alone) == [] and len({p.y for p in alone.nodes}) > 2


@pytest.mark.parametrize("reach", [8, 400], ids=["deep", "wide"])
def test_two_thousand_nodes(reach):
    found = layout(chain_graph(2000, reach))
    assert len(found.nodes) == 2000
    # All pairs would take long: in rows of one height, neighbours are enough.
    by_place = sorted(found.nodes, key=lambda p: (p.y, p.x))
    for a, b in itertools.pairwise(by_place):
        assert not overlaps(a, b)
    assert graph_svg(found).count("<rect") >= 2000


def test_the_same_bytes_in_every_process():
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1])\n"
        "from graph_cases import chain_graph\n"
        "from lhkit.draw.graph_svg import graph_svg\n"
        "from lhkit.draw.layered_layout import layout\n"
        "print(hashlib.sha256(graph_svg(layout(chain_graph(200, 30))).encode()).hexdigest())\n"
        "print('fast_sugiyama' in sys.modules)"
    )
    here = hashlib.sha256(graph_svg(layout(chain_graph(200, 30))).encode()).hexdigest()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, str(Path(__file__).parent)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        assert said.split() == [here, "True"]


def test_the_package_is_loaded_by_the_first_layout_only():
    code = "import sys, lhkit.draw.graph_svg, lhkit.traces.graph.payload_graph; print('fast_sugiyama' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "False"


def test_thousands_of_values_that_live_long_are_cut():
    """A chain whose values all are used again at its end would be a million bends."""
    count = 1500
    nodes = tuple(FlowNode(f"n{i}", "op", ops=(f"o{i}",)) for i in range(count))
    near = [FlowEdge(f"n{i}", f"n{i + 1}") for i in range(count - 1)]
    far = [FlowEdge(f"n{i}", f"n{count - 1}", ops=(f"o{i}",)) for i in range(count - 2)]
    found = layout(FlowGraph("long lives", nodes, (*near, *far)))
    assert len(found.routes) == len(near) + len(far) and all(r.arrives for r in found.routes)
    assert sum(len(r.points) for r in found.routes) < 20_000
    places = {p.node.id: p for p in found.nodes}
    for route in found.routes:
        target = places[found.graph.edges[route.edges[0]].target]
        assert target.x <= route.points[-1][0] <= target.x + target.width and route.points[-1][1] == target.y


def test_a_wide_layer_continues_below_in_the_order_of_the_steps():
    nodes = [FlowNode("root", "root"), *[FlowNode(f"n{i:02}", f"{i:02} transform.include") for i in range(40)]]
    edges = [FlowEdge("root", node.id, "0", "%root") for node in nodes[1:]]
    edges += [FlowEdge("n03", "n39", "0", "%a"), FlowEdge("n20", "n39", "0", "%b")]
    places = layout(FlowGraph("fan", tuple(nodes), tuple(edges)))
    assert problems(places) == [] and places.width < 1300 and places.height < 600
    read = sorted((p for p in places.nodes if p.node.id != "root"), key=lambda p: (round(p.y), p.x))
    leaves = [p.node.id for p in read if p.node.id not in ("n03", "n20", "n39")]
    assert leaves == sorted(leaves)


def test_a_drawing_has_the_order_of_the_steps_and_not_its_mirror_image():
    nodes = [FlowNode(f"n{i}", f"step {i}") for i in range(9)]
    edges = [FlowEdge("n0", f"n{i}", "0", "%a") for i in (1, 2, 3, 4)]
    edges += [FlowEdge(f"n{i}", f"n{i + 4}", "0", "%b") for i in (1, 2, 3, 4)]
    placed = {p.node.id: p.x for p in layout(FlowGraph("rows", tuple(nodes), tuple(edges))).nodes}
    for row in ((1, 2, 3, 4), (5, 6, 7, 8)):
        xs = [placed[f"n{i}"] for i in row]
        assert sum(a < b for a, b in itertools.pairwise(xs)) >= 2


def test_straight_lines_do_not_make_a_graph_much_wider_than_its_layers():
    """Rows of six steps, each read by the last one: the lines past the later rows are moved, not the rows."""
    count = 10 * 6
    nodes = [FlowNode(f"n{i:02}", f"{i:02} transform.structured.match") for i in range(count + 1)]
    edges = [FlowEdge(f"n{i:02}", f"n{i + 6:02}", "0", "%a") for i in range(count - 6)]
    edges += [FlowEdge(f"n{i:02}", f"n{count}", "1", "%b") for i in range(0, count, 3)]
    places = layout(FlowGraph("rows", tuple(nodes), tuple(edges)))
    widest = max(
        sum(p.width + 22 for p in places.nodes if abs(p.y - y) < 9) for y in {p.y for p in places.nodes}
    )
    assert problems(places) == [] and places.width < 1.5 * widest
