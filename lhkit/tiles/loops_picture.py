"""The loops of a structured op as SVG and text: nested boxes from the outermost loop to the op itself."""

from __future__ import annotations

import base64
from typing import Any

from lhkit.draw.svg import element, escaped, svg, svg_png, text_width
from lhkit.draw.theme import MONO
from lhkit.model.op_loops import OpLoops

_FONT, _LINE, _PAD, _MARGIN = 12.0, 18.0, 10.0, 8.0
# The mark of a role is a letter too: never colour alone.
_ROLES = {"parallel": ("live", "‖"), "reduction": ("changed", "Σ"), "batch": ("moved", "≡")}


def loops_text(loops: OpLoops) -> str:
    """Return the loops as text: dimensions and operands, then the loops around it, indented."""
    dimensions = ", ".join(
        f"{d.name} ({d.role}, {'?' if d.extent is None else d.extent})" for d in loops.dimensions
    )
    operands = "  ".join(f"{letter}[{indices}]" for letter, indices in loops.operands)
    lines = [f"{loops.op} {loops.where}: {dimensions}", f"  {operands}"]
    if not loops.left:
        return "\n".join([*lines, "at the end nothing is left of it"])
    lines.append("at the end:" if loops.around else "at the end, in no loop:")
    for depth, loop in enumerate(loops.around):
        lines.append("  " * (depth + 1) + str(loop))
    lines.append("  " * (len(loops.around) + 1) + loops.left_in_words)
    return "\n".join(lines)


def loops_svg(loops: OpLoops, *, themed: bool = True) -> str:
    """Return the loops as nested boxes, the outermost first, with the op and its dimensions innermost."""
    names = [str(loop) for loop in loops.around]
    operands = "  ".join(f"{letter}[{indices}]" for letter, indices in loops.operands)
    title = f"{loops.left_in_words}, from {loops.op}" if loops.left else f"{loops.op}: nothing is left of it"
    title = loops.left_in_words if loops.left == loops.op else title
    rows = [f"{d.name}  {'?' if d.extent is None else d.extent}  {d.role}" for d in loops.dimensions]
    beside = text_width("Σ ", _FONT)  # leading spaces would be collapsed
    inner = max(text_width(title, _FONT), *(beside + text_width(t, _FONT) for t in (operands, *rows)))
    depth = len(names)
    width = (
        max([inner, *(text_width(n, _FONT) - 2 * _PAD * (depth - i) for i, n in enumerate(names))]) + 2 * _PAD
    )
    height = _LINE * (2 + len(rows)) + _PAD
    total = (width + 2 * _PAD * depth + 2 * _MARGIN, height + (_LINE + 2 * _PAD) * depth + 2 * _MARGIN)
    drawn = []
    x, y = _MARGIN, _MARGIN
    for i, name in enumerate(names):
        rest = depth - i
        drawn.append(_box(x, y, width + 2 * _PAD * rest, height + (_LINE + 2 * _PAD) * rest, "line", "paper"))
        drawn.append(_words(name, x + _PAD, y + _LINE - 2, "ink"))
        x, y = x + _PAD, y + _LINE + _PAD
    drawn.append(_box(x, y, width, height, "line", "panel"))
    drawn.append(_words(title, x + _PAD, y + _LINE - 2, "ink", bold=True))
    drawn.append(_words(operands, x + _PAD, y + 2 * _LINE - 2, "faint"))
    for at, (row, dimension) in enumerate(zip(rows, loops.dimensions, strict=True)):
        role, mark = _ROLES[dimension.role]
        drawn.append(_words(mark, x + _PAD, y + (at + 3) * _LINE - 2, role, bold=True))
        drawn.append(_words(row, x + _PAD + beside, y + (at + 3) * _LINE - 2, "ink"))
    return svg(*total, *drawn, label=f"Loops of {loops.op}", themed=themed)


def _box(x: float, y: float, width: float, height: float, stroke: str, fill: str) -> str:
    return element("rect", x=x, y=y, width=width, height=height, rx=4, stroke=stroke, fill=fill)


def _words(text: str, x: float, y: float, fill: str, *, bold: bool = False) -> str:
    weight = "bold" if bold else None
    look: dict[str, Any] = {"font_family": MONO, "font_size": _FONT, "font_weight": weight, "fill": fill}
    return element("text", escaped(text), x=x, y=y, **look)


def loops_bundle(loops: OpLoops) -> dict[str, Any]:
    """Return the loops as a MIME bundle: SVG, PNG and text."""
    return {
        "image/svg+xml": loops_svg(loops),
        "image/png": base64.b64encode(svg_png(loops_svg(loops, themed=False))).decode(),
        "text/plain": loops_text(loops),
    }
