"""One operand of a tile picture as SVG."""

from __future__ import annotations

import itertools
import math

from lhkit.draw.svg import element, escaped, marks
from lhkit.draw.theme import MONO
from lhkit.model.tile_picture import Box, OperandTile, PicturedOperand, Sweep, TileFrame, TilePicture
from lhkit.tiles.tile_layout import LINE, Sheet
from lhkit.tiles.tile_text import place_text

_LEAST_TILE = 3.0
_LARGE_TILE = 10.0
# Rows of a path that are closer cannot be distinguished.
_ROWS_APART = 7.0
_MOST_OUTLINES = 3


class _Scale:
    """Maps elements of an operand to pixels of its sheet."""

    def __init__(self, sheet: Sheet, operand: PicturedOperand) -> None:
        self._sheet = sheet
        self._axes = (None, *operand.shown) if len(operand.shown) == 1 else (*operand.shown, None)[:2]
        self._shape = operand.shape

    def _along(self, axis: int | None, at: float, start: float, length: float) -> float:
        return start + (length * at / self._shape[axis] if axis is not None and self._shape[axis] else 0.0)

    def point(self, index: tuple[float, ...]) -> tuple[float, float]:
        down, across = self._axes
        y = self._sheet.y + self._sheet.height / 2
        if down is not None:
            y = self._along(down, index[down], self._sheet.y, self._sheet.height)
        x = (
            self._sheet.x
            if across is None
            else self._along(across, index[across], self._sheet.x, self._sheet.width)
        )
        return x, y

    def box(self, box: Box, least: float = 0.0) -> dict[str, float]:
        x0, y0 = self.point(tuple(float(low) for low, _ in box))
        x1, y1 = self.point(tuple(float(high) for _, high in box))
        if self._axes[0] is None:
            y0, y1 = self._sheet.y, self._sheet.y + self._sheet.height
        if self._axes[1] is None:
            x1 = self._sheet.x + self._sheet.width
        width, height = max(x1 - x0, least), max(y1 - y0, least)
        x0 = min(x0, self._sheet.x + self._sheet.width - width)
        y0 = min(y0, self._sheet.y + self._sheet.height - height)
        return {"x": x0, "y": y0, "width": width, "height": height}


def draw_sheet(sheet: Sheet, picture: TilePicture, frame: TileFrame, hatch: str, *, small: bool = False) -> str:
    """Return an operand at an iteration; ``hatch`` is the pattern of visited parts.

    Small sheets have no passes, path and caption.
    """
    operand, tile = picture.operands[sheet.operand], frame.tiles[sheet.operand]
    scale = _Scale(sheet, operand)
    parts = [_behind(sheet), _ground(sheet)]
    parts += [
        element("rect", fill=f"url(#{hatch})", **scale.box(part.box))
        for part in tile.visited
        if _same_sheet(part.box, tile.tile.box, operand.shown)
    ]
    if not small:
        parts += _passes(tile, scale, operand)
    # What is small must not vanish under the way, nor the way under what is large.
    layers = [_tile(picture, operand, tile, scale), "" if small else _way(tile, scale)]
    place = scale.box(tile.tile.box)
    parts += layers if min(place["width"], place["height"]) > _LARGE_TILE else layers[::-1]
    if small:
        x, y = sheet.x + sheet.width - 4, sheet.y + sheet.height - 5
        letter = escaped(operand.letter)
        parts.append(element("text", letter, x=x, y=y, text_anchor="end", font_size=10, fill="faint"))
    else:
        parts += [_caption(sheet), _axis_names(sheet)]
    return element("g", *parts)


def _behind(sheet: Sheet) -> str:
    return "".join(
        element(
            "rect",
            x=sheet.x + 4.0 * n,
            y=sheet.y - 4.0 * n,
            width=sheet.width,
            height=sheet.height,
            fill="paper",
            stroke="line",
        )
        for n in range(sheet.behind, 0, -1)
    )


def _ground(sheet: Sheet) -> str:
    return element(
        "rect", x=sheet.x, y=sheet.y, width=sheet.width, height=sheet.height, fill="panel", stroke="faint"
    )


def _same_sheet(part: Box, tile: Box, shown: tuple[int, ...]) -> bool:
    """Return True if a part and the tile overlap along the hidden axes."""
    hidden = [a for a in range(len(tile)) if a not in shown]
    return all(part[a][0] < tile[a][1] and tile[a][0] < part[a][1] for a in hidden)


def _passes(tile: OperandTile, scale: _Scale, operand: PicturedOperand) -> list[str]:
    """Return outlines of the passes of loops that differ from the tile and the whole."""
    whole = tuple((0, n) for n in operand.shape)
    seen = {_on_sheet(whole, operand.shown), _on_sheet(tile.tile.box, operand.shown)}
    found: list[str] = []
    for part in reversed(tile.passes):
        box = _on_sheet(part.box, operand.shown)
        if box not in seen and len(found) < _MOST_OUTLINES:
            seen.add(box)
            outline = scale.box(part.box, _LEAST_TILE)
            found.append(
                element("rect", fill="none", stroke="ink", stroke_width=1, stroke_dasharray="5 3", **outline)
            )
    return found


def _on_sheet(box: Box, shown: tuple[int, ...]) -> Box:
    return tuple(box[a] for a in shown)


def _tile(picture: TilePicture, operand: PicturedOperand, tile: OperandTile, scale: _Scale) -> str:
    if not tile.tile.elements:
        return ""
    label = f"tile of {operand.letter}"
    found = marks(handles=picture.handles, ops=picture.op_ids, label=label if picture.op_ids else "")
    title = element("title", escaped(f"{label}: {operand.name}[{place_text(tile.tile)}]"))
    place = scale.box(tile.tile.box, _LEAST_TILE)
    return element("rect", title, fill="changed", stroke="ink", stroke_width=1, **place, **found)


def _way(tile: OperandTile, scale: _Scale) -> str:
    """Return the path of the tile: rows and the jumps between them, or one row and the trend."""
    if tile.row is None:
        return ""
    parts = [_rows(tile.coarse_rows, scale, width=0.8, opacity=0.4)]
    starts = [scale.point(start) for start, _ in tile.rows]
    apart = min((math.dist(a, b) for a, b in itertools.pairwise(starts)), default=_ROWS_APART)
    if tile.rows and apart >= _ROWS_APART:
        parts.append(_rows(tile.rows, scale, width=1.2, opacity=0.75))
    else:
        parts.append(_rows((tile.row,), scale, width=1.2, opacity=0.75))
        if tile.trend is not None:
            parts.append(_rows((tile.trend,), scale, width=1.2, opacity=0.75))
    return element("g", *parts, fill="none", pointer_events="none")


def _rows(rows: tuple[Sweep, ...], scale: _Scale, *, width: float, opacity: float) -> str:
    parts = []
    before: tuple[float, float] | None = None
    for start, end in rows:
        a, b = scale.point(start), scale.point(end)
        if before is not None and math.dist(before, a) > 1:
            jump = f"M{before[0]:.1f} {before[1]:.1f}L{a[0]:.1f} {a[1]:.1f}"
            parts.append(element("path", d=jump, stroke="ink", stroke_width=0.7, stroke_dasharray="1.5 3"))
        parts.append(element("path", d=_arrow(a, b), stroke="ink", stroke_width=width))
        before = b
    return element("g", *parts, opacity=opacity)


def _arrow(a: tuple[float, float], b: tuple[float, float]) -> str:
    length = math.dist(a, b)
    line = f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"
    if length < 6:
        return line
    dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    wings = [(b[0] - 5 * dx - s * 2.6 * dy, b[1] - 5 * dy + s * 2.6 * dx) for s in (1, -1)]
    return (
        f"{line}M{wings[0][0]:.1f} {wings[0][1]:.1f}L{b[0]:.1f} {b[1]:.1f}L{wings[1][0]:.1f} {wings[1][1]:.1f}"
    )


def _caption(sheet: Sheet) -> str:
    lines = []
    first = sheet.y - 4 - sheet.behind * 4 - LINE * (len(sheet.caption) - 1)
    for n, line in enumerate(sheet.caption):
        y = first + LINE * n
        if n == 0:
            letter, _, name = line.partition(" ")
            rest = element("tspan", escaped(name), dx=6, font_weight=400, font_family=MONO, fill="faint")
            lines.append(element("text", escaped(letter), rest, x=sheet.x, y=y, font_weight=700, fill="ink"))
        else:
            lines.append(element("text", escaped(line), x=sheet.x, y=y, fill="ink" if n == 2 else "faint"))
    return "".join(lines)


def _axis_names(sheet: Sheet) -> str:
    across = element(
        "text",
        escaped(sheet.across),
        x=sheet.x + sheet.width / 2,
        y=sheet.y + sheet.height + 14,
        text_anchor="middle",
        font_style="italic",
        fill="faint",
    )
    if not sheet.down:
        return across
    x, y = sheet.x - 8, sheet.y + sheet.height / 2
    turned = f"rotate(-90 {x:.1f} {y:.1f})" if len(sheet.down) > 1 else None
    down = element(
        "text",
        escaped(sheet.down),
        x=x,
        y=y if turned else y + 4,
        text_anchor="middle",
        font_style="italic",
        fill="faint",
        transform=turned,
    )
    return across + down
