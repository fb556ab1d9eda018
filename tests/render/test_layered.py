"""Layouts: nothing on anything, nothing through anything, the same in every process."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from graph_cases import chain_graph, problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lhkit.model.flow import FlowEdge, FlowGraph, FlowNode
from lhkit.render.graph import graph_svg
from lhkit.render.layered import layout



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
            edges.append(FlowEdge(a, b, str(port), draw(st.text("%ab", max_size=24)), is_dead=draw(st.booleans())))
    return FlowGraph("random", tuple(ordered), tuple(edges))


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_nothing_overlaps(graph):
    assert problems(layout(graph)) == []


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24))
def test_circles_are_drawn_without_overlaps(pairs):
    nodes = tuple(FlowNode(f"n{i}", f"op{i}") for i in range(10))
    edges = tuple(FlowEdge(f"n{a}", f"n{b}") for a, b in dict.fromkeys(pairs) if a != b)
    assert problems(layout(FlowGraph("circles", nodes, edges))) == []
