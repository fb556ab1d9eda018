"""SVG and text of a laid-out graph."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from lhkit.draw.layered_layout import (
    DETAIL_SIZE,
    LABEL_SIZE,
    TITLE_SIZE,
    GraphLayout,
    LabelPlace,
    NodePlace,
    Route,
    layout,
)
from lhkit.draw.svg import element, escaped, marks, svg, text_width
from lhkit.draw.theme import MONO
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode, LegendEntry

_MARK_SIZE = 11.0
_LEGEND_LINE, _LEGEND_GAP, _LEGEND_SIZE = 20.0, 18.0, 10.5
# The width of a graph for a narrow column. A legend wraps to its graph, but not to less than this.
_NARROW = 372.0
_ARROW, _MARGIN = 7.0, 12.0
# One hue from faint to full for a quantity, readable without colour vision.
_HEAT_ROLE = "consumed"
_LIGHTEST, _DARKEST = 0.06, 0.45  # keeps texts readable in both themes


def graph_html(graph: FlowGraph) -> str:
    """Return a graph for a view: as `graph_svg` has it, and if that is wide once more for a narrow column."""
    wide = layout(graph)
    if wide.width <= _NARROW:
        return graph_svg(wide)
    narrow = element("div", graph_svg(layout(graph, _NARROW)), class_="lh-narrow", hidden="")
    return element("div", graph_svg(wide), class_="lh-wide") + narrow


def graph_svg(places: GraphLayout, *, themed: bool = True) -> str:
    """Return a graph as one SVG element."""
    graph = places.graph
    entries = graph.legend if places.nodes else (LegendEntry("nothing to show"),)
    legend, legend_width, above = _legend(entries, max(places.width, _NARROW))
    boxes = [p for p in places.nodes if p.is_box]
    others = [p for p in places.nodes if not p.is_box]
    body = element(
        "g",
        *[_outline(p) for p in boxes],
        *[_route(r, graph.edges) for r in places.routes],
        *[_node(p) for p in others],
        *[_texts(p) for p in boxes],
        *[_label(each, graph.edges) for each in places.labels],
        transform=f"translate(0,{above:g})" if legend else None,
        font_family=MONO,
    )
    width, height = max(places.width, legend_width), places.height + above
    return svg(width, height, legend, body, label=graph.title, themed=themed)


def _node(place: NodePlace) -> str:
    node = place.node
    inside = [_outline(place, is_marked=False), _texts(place)]
    if node.hover:
        inside.insert(0, element("title", escaped(node.hover)))
    return element("g", *inside, **_marks(node))


def _marks(node: FlowNode) -> dict[str, object]:
    label = f"{node.sign} {node.title}".strip() + (f", {node.quantity}" if node.quantity else "")
    is_marked = node.step is not None or bool(node.handles or node.ops)
    return marks(step=node.step, handles=node.handles, ops=node.ops, label=label if is_marked else "")


def _outline(place: NodePlace, *, is_marked: bool = True) -> str:
    """Return the rectangle of a node: its colour, its marks, dashed for a ghost, a second line if folded."""
    node = place.node
    rect: dict[str, object] = {
        "x": place.x,
        "y": place.y,
        "width": place.width,
        "height": place.height,
        "rx": 6.0 if place.is_box else 4.0,
        "fill": _paper(place),
        "stroke": node.role or ("line" if place.is_box else "faint"),
        "stroke_width": 1.8 if node.role else 1.0,
        "stroke_dasharray": "5 3" if node.is_ghost else None,
    }
    title = [element("title", escaped(node.hover))] if node.hover and is_marked else []
    drawn = element("rect", *title, **rect, **(_marks(node) if is_marked else {}))
    inner = {**rect, "x": place.x + 3, "y": place.y + 3, "width": place.width - 6, "height": place.height - 6}
    if node.heat is not None:
        drawn += element("rect", **{**inner, "stroke": "none", **_heat(node.heat)})
    if node.is_folded:
        drawn += element("rect", **{**inner, "fill": "none", "stroke_width": 0.8, "rx": 3.0})
    return drawn


def _heat(share: float) -> dict[str, object]:
    return {"fill": _HEAT_ROLE, "fill_opacity": _LIGHTEST + share * (_DARKEST - _LIGHTEST)}


def _paper(place: NodePlace) -> str:
    role = place.node.role
    if not place.is_box and role in ("created", "changed", "erased", "selected"):
        return f"{role}-paper"
    return "panel" if place.is_box and place.depth % 2 == 0 else "paper"


def _texts(place: NodePlace) -> str:
    node = place.node
    left = place.x + 9.0
    middle = place.x + place.width / 2
    common: dict[str, object] = {"pointer_events": "none"}
    if place.is_box:
        common |= {"x": left, "stroke": _paper(place), "stroke_width": 3.0, "paint_order": "stroke"}
    else:
        common |= {"x": middle, "text_anchor": "middle"}
    top = place.y + 9.0 + TITLE_SIZE
    weight = "bold" if place.is_box or node.sign else None
    struck = "line-through" if node.is_ghost else None
    style = {"font_size": TITLE_SIZE, "font_weight": weight, "fill": "ink", "text_decoration": struck, **common}
    title = element("text", escaped(place.title), y=top - 1, **style)
    if not place.detail:
        return title
    style = {"font_size": DETAIL_SIZE, "fill": "faint" if node.heat is None else "ink", **common}
    return title + element("text", escaped(place.detail), y=top + DETAIL_SIZE + 2, **style)


def _route(route: Route, edges: Sequence[FlowEdge]) -> str:
    served = [edges[i] for i in route.edges]
    edge = served[0]
    role = edge.role or "faint"
    handles = dict.fromkeys(h for e in served for h in e.handles)
    ops = dict.fromkeys(o for e in served for o in e.ops)
    (_, y_before), (x, y) = route.points[-2:]
    back = -_ARROW if y >= y_before else _ARROW
    shown = [*route.points[:-1], (x, y + back)]
    path = _path(shown if route.arrives else route.points)
    dashes = "4 3" if edge.is_dead else None
    line = element("path", d=path, fill="none", stroke=role, stroke_width=1.2, stroke_dasharray=dashes)
    inside = [element("title", escaped(edge.hover)), line] if edge.hover else [line]
    if route.arrives:
        inside.append(element("path", d=f"M{x:.6g} {y:.6g}l-3.2 {back:g}h6.4z", fill=role))
    if edge.is_dead:
        inside.append(_strike(route, role))
    if edge.sign and route.arrives:
        inside.append(element("text", escaped(edge.sign), x=x + 5, y=y - 3, font_size=_MARK_SIZE, fill=role))
    return element("g", *inside, **marks(handles=handles, ops=ops))


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return a route as a path: straight down within layers, S-curves between them."""
    (x, y), *rest = points
    parts = [f"M{x:.5g} {y:.6g}"]
    for to_x, to_y in rest:
        if to_x == x:
            parts.append(f"V{to_y:.6g}")
        else:
            middle = (y + to_y) / 2
            parts.append(f"C{x:.6g} {middle:.6g} {to_x:.6g} {middle:.6g} {to_x:.6g} {to_y:.6g}")
        x, y = to_x, to_y
    return "".join(parts)


def _strike(route: Route, role: str) -> str:
    """Return two short strokes across the middle of a route: the mark of an invalid value."""
    segments = itertools.pairwise(route.points)
    (x1, y1), (x2, y2) = max(segments, key=lambda ends: abs(ends[1][1] - ends[0][1]))
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    d = "".join(f"M{x - 5:.6g} {y + by + 3:.6g}l10 -6" for by in (-2, 2))
    return element("path", d=d, stroke=role, stroke_width=1.4, fill="none")


def _label(place: LabelPlace, edges: Sequence[FlowEdge]) -> str:
    edge = edges[place.edge]
    inside = [element("title", escaped(edge.hover or edge.label)), escaped(place.text)]
    style: dict[str, object] = {"font_size": LABEL_SIZE, "fill": "faint"}
    if edge.is_dead:
        style |= {"fill": edge.role, "text_decoration": "line-through"}
    selects = marks(handles=edge.handles, ops=edge.ops, label=edge.label if edge.handles else "")
    return element("text", *inside, x=place.x, y=place.y, **style, **selects)


def _legend(entries: Sequence[LegendEntry], room: float) -> tuple[str, float, float]:
    """Return the legend, wrapped to a width as far as it can be, the width that it takes, and its height."""
    if not entries:
        return "", 0.0, 0.0
    drawn, x, y, reached = [], _MARGIN, 0.0, 0.0
    for entry in entries:
        sign, sign_width = _legend_sign(entry)
        needed = sign_width + text_width(entry.text, _LEGEND_SIZE, mono=False)
        if x > _MARGIN and x + needed > room - _MARGIN:
            x, y = _MARGIN, y + _LEGEND_LINE
        look = {"x": sign_width, "y": 16.0, "font_size": _LEGEND_SIZE, "fill": "faint"}
        words = element("text", escaped(entry.text), **look)
        drawn.append(element("g", sign, words, transform=f"translate({x:g},{y:g})"))
        reached = max(reached, x + needed + _MARGIN)
        x += needed + _LEGEND_GAP
    return element("g", *drawn), reached, y + _LEGEND_LINE + 2


def _legend_sign(entry: LegendEntry) -> tuple[str, float]:
    """Return the sign of an entry, and how much is left of its words."""
    if entry.heat is not None:
        swatch: dict[str, object] = {"y": 6.0, "width": 12.0, "height": 12.0, "rx": 2.0}
        return element("rect", **swatch, **_heat(entry.heat), stroke="faint"), 17.0
    if not entry.sign:
        return "", 0.0
    sign = element("text", escaped(entry.sign), y=16.0, fill=entry.role or "ink", font_weight="bold")
    return sign, text_width(entry.sign, 12.0) + 6


def graph_text(graph: FlowGraph) -> str:
    """Return a graph as text: nodes nested under their boxes, with their edges."""
    leaving: dict[str, list[FlowEdge]] = defaultdict(list)
    for edge in graph.edges:
        leaving[edge.source].append(edge)
    names = {n.id: n.title for n in graph.nodes}
    lines, depth = [graph.title], {None: 0}
    for node in graph.nodes:
        depth[node.id] = depth[node.parent] + 1  # type: ignore[index]
        indent = "  " * (depth[node.id] - 1)  # type: ignore[index]
        parts = [f"{node.sign or '·'} {node.title}", node.detail, node.quantity]
        folded = " (folded)" if node.is_folded else ""
        lines.append(indent + "  ".join(p for p in parts if p) + folded)
        ports: dict[tuple[str, bool], list[FlowEdge]] = defaultdict(list)
        for edge in leaving[node.id]:
            ports[edge.port, edge.is_dead].append(edge)
        for (_, is_dead), going in ports.items():
            targets = ", ".join(dict.fromkeys(f"{names[e.target]} {e.sign}".rstrip() for e in going))
            dead = " ✕" if is_dead else ""
            lines.append(f"{indent}    {going[0].label}{dead} → {targets}")
    return "\n".join(lines) + "\n"
