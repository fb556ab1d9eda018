"""Where the texts and marks of an SVG are, as polygons, and which of them overlap."""

import itertools
import math
import re
import xml.etree.ElementTree as ET

from lhkit.draw.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
_MOVES = re.compile(r"(translate|rotate)\(([-\d.]+)(?:[ ,]+([-\d.]+))?\)")
# How far glyphs reach above and below their line, as shares of the font size, and what may touch in pixels.
_ABOVE, _BELOW, _MAY_TOUCH = 0.74, 0.2, 0.6


def _move(matrix, transform):
    a, b, c, d, e, f = matrix
    for kind, *numbers in _MOVES.findall(transform or ""):
        x, y = (float(number or 0) for number in numbers)
        if kind == "translate":
            e, f = a * x + c * y + e, b * x + d * y + f
        else:
            sine, cosine = math.sin(math.radians(x)), math.cos(math.radians(x))
            a, b, c, d = (
                a * cosine + c * sine,
                b * cosine + d * sine,
                c * cosine - a * sine,
                d * cosine - b * sine,
            )
    return a, b, c, d, e, f


def _corners(matrix, left, top, right, bottom):
    a, b, c, d, e, f = matrix
    points = (left, top), (right, top), (right, bottom), (left, bottom)
    return tuple((a * x + c * y + e, b * x + d * y + f) for x, y in points)


def _text_box(node, matrix):
    size, x, y = float(node.get("font-size")), float(node.get("x", 0)), float(node.get("y", 0))
    text = "".join(node.itertext())
    gap = sum(float(part.get("dx", 0)) for part in node.iter(f"{SVG}tspan"))
    width = text_width(text, size) + gap
    left = x - {"end": width, "middle": width / 2}.get(node.get("text-anchor"), 0)
    return text, _corners(matrix, left, y - _ABOVE * size, left + width, y + _BELOW * size)


def _mark_box(node, matrix):
    xs, ys = [], []
    for shape in node:
        if shape.tag == f"{SVG}circle":
            x, y, r = (float(shape.get(name)) for name in ("cx", "cy", "r"))
            xs += [x - r, x + r]
            ys += [y - r, y + r]
        if shape.tag == f"{SVG}path":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", shape.get("d"))]
            xs += numbers[::2]
            ys += numbers[1::2]
    return node.get("class"), _corners(matrix, min(xs), min(ys), max(xs), max(ys))


def boxes(drawing):
    """Return (what it is, its four corners) of every text and mark of an SVG."""
    found = []

    def visit(node, matrix):
        matrix = _move(matrix, node.get("transform"))
        if node.tag == f"{SVG}text":
            found.append(_text_box(node, matrix))
        elif "lh-mark" in (node.get("class") or "").split():
            found.append(_mark_box(node, matrix))
        else:
            for child in node:
                visit(child, matrix)

    visit(ET.fromstring(drawing), (1, 0, 0, 1, 0, 0))
    return found


def _are_apart(one, other):
    """Return True if a side of one of two convex polygons has the other wholly outside."""
    for polygon in (one, other):
        for (x, y), (u, v) in itertools.pairwise((*polygon, polygon[0])):
            length = math.hypot(u - x, v - y)
            normal = (v - y) / length, (x - u) / length
            a = [px * normal[0] + py * normal[1] for px, py in one]
            b = [px * normal[0] + py * normal[1] for px, py in other]
            if max(a) <= min(b) + _MAY_TOUCH or max(b) <= min(a) + _MAY_TOUCH:
                return True
    return False


def overlaps(drawing):
    """Return pairs of texts and marks that lie on each other."""
    found = []
    placed = [
        (what, corners, min(x for x, _ in corners), max(x for x, _ in corners))
        for what, corners in boxes(drawing)
    ]
    placed.sort(key=lambda p: p[2])
    for i, (what, corners, _, right) in enumerate(placed):
        for other, its, left, _ in placed[i + 1 :]:
            if left > right:
                break
            if not _are_apart(corners, its):
                found.append((what, other))
    return found


def out_of_bounds(drawing):
    """Return what reaches beyond the edges of an SVG."""
    _, _, width, height = map(float, ET.fromstring(drawing).get("viewBox").split())
    return [
        what
        for what, corners in boxes(drawing)
        if not all(-1 <= x <= width + 1 and -1 <= y <= height + 1 for x, y in corners)
    ]
