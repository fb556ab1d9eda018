"""Tile pictures as SVG: the tile filled, what was visited before it tinted, its way drawn, bytes beside caches."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lhkit.analysis.tiles import tile_frame
from lhkit.model.tile_picture import Box, OperandTile, PicturedOperand, Sweep, TileFrame, TilePicture
from lhkit.render.byte_sizes import format_bytes
from lhkit.render.svg import drawing_id, element, escaped, fitted, marks, svg, text_width
from lhkit.render.theme import MONO
from lhkit.render.tile_layout import FONT, LINE, WIDTH, Sheet, TileLayout, lay_out
from lhkit.render.tile_text import (
    fits_text,
    iteration_text,
    loop_text,
    pass_text,
    working_sets_shown,
)

_LEAST_TILE = 3.0
_CODE = 11.0
_LARGE_TILE = 10.0
# Rows of a way that lie closer are not told apart.
_ROWS_APART = 7.0
_MARGIN = 10.0
_HATCH = drawing_id("hatch of visited tiles")
_BAR_X, _BAR_WIDTH, _BAR_HEIGHT = 118.0, 250.0, 12.0


def tiles_svg(picture: TilePicture, iteration: int | None = None, *, themed: bool = True) -> str:
    """Return a tile picture at an iteration as SVG.

    Args:
        picture: The picture.
        iteration: Which iteration, from 0; default the one that a still picture shows.
        themed: Follow the reader's theme; without it the colours are the light ones.
    """
    frame = tile_frame(picture, iteration)
    head, top = _head(picture, frame)
    layout = lay_out(picture, frame, top=top)
    in_corner = _loops_fit(picture, frame, layout)
    if not in_corner and picture.loops:
        layout = lay_out(picture, frame, top=top + LINE * len(picture.loops) + 8)
    loops = _loops(picture, frame, *((layout.corner[0], top) if in_corner and layout.corner else (0.0, top)))
    body = "".join(_sheet(s, picture, frame) for s in layout.sheets)
    bars, height = _working_sets(picture, frame, layout.height + 14)
    legend = _legend(height + 14, layout)
    inner = element("g", head, loops, body, bars, legend, transform=f"translate({_MARGIN} {_MARGIN})")
    label = f"Tiles of {picture.op}, {iteration_text(picture, frame)}"
    wide = max(WIDTH, layout.width) + 2 * _MARGIN
    return svg(wide, height + 14 + LINE + 2 * _MARGIN, _hatch(), inner, label=label, themed=themed)


def tiles_frames(picture: TilePicture, count: int = 16, *, themed: bool = True) -> tuple[str, ...]:
    """Return the picture at the first iterations, one SVG each, for stepping through.

    Args:
        picture: The picture.
        count: At most how many.
        themed: Follow the reader's theme.
    """
    return tuple(tiles_svg(picture, n, themed=themed) for n in range(min(count, picture.iterations)))


def tiles_multiples_svg(picture: TilePicture, count: int = 8, *, themed: bool = True) -> str:
    """Return the first iterations side by side, small: the order in which the loops visit the tiles.

    Args:
        picture: The picture.
        count: At most how many.
        themed: Follow the reader's theme.
    """
    frames = [tile_frame(picture, n) for n in range(min(count, picture.iterations))]
    layouts = [lay_out(picture, frame, top=LINE + 8, small=True) for frame in frames]
    labels = [_short_label(picture, frame) for frame in frames]
    wide = max([x.width for x in layouts] + [text_width(t, FONT - 1) for t in labels]) + 24
    tall = max(x.height for x in layouts) + 14
    columns = max(1, int(WIDTH // wide))
    parts = []
    for n, (frame, layout, label) in enumerate(zip(frames, layouts, labels, strict=True)):
        title = element("text", escaped(label), y=FONT, font_size=FONT - 1, font_family=MONO, fill="ink")
        body = "".join(_sheet(s, picture, frame, small=True) for s in layout.sheets)
        place = f"translate({_MARGIN + n % columns * wide:.1f} {_MARGIN + n // columns * tall:.1f})"
        parts.append(element("g", title, body, transform=place, data_frame=n))
    rows = math.ceil(len(frames) / columns)
    size = min(len(frames), columns) * wide + 2 * _MARGIN, rows * tall + 2 * _MARGIN
    said = f"The first {len(frames)} of {picture.iterations:,} iterations of the loops around {picture.op}"
    return svg(*size, _hatch(), *parts, label=said, themed=themed)


def _short_label(picture: TilePicture, frame: TileFrame) -> str:
    values = " ".join(f"{x.label}={v}" for x, v in zip(picture.loops, frame.values, strict=True))
    return f"{frame.number + 1}: {values}" if values else picture.op


def _hatch() -> str:
    line = element("path", d="M0 6 L6 0", stroke="read", stroke_width=1, opacity=0.45)
    ground = element("rect", width=6, height=6, fill="read", opacity=0.13)
    return element(
        "defs", element("pattern", ground, line, id=_HATCH, width=6, height=6, patternUnits="userSpaceOnUse")
    )


def _head(picture: TilePicture, frame: TileFrame) -> tuple[str, float]:
    """Return the title and what has to be said, and where it ends."""
    lines = [element("text", escaped(picture.op), y=FONT, font_size=15, font_weight=700, fill="ink")]
    y = FONT + LINE + 3
    where = fitted(iteration_text(picture, frame), WIDTH, FONT, mono=False)
    lines.append(element("text", escaped(where), y=y, fill="ink"))
    for note in picture.notes:
        for line in _broken(note, WIDTH):
            y += LINE
            lines.append(element("text", escaped(line), y=y, fill="dead"))
    return "".join(lines), y + 14


def _broken(text: str, width: float) -> Iterable[str]:
    """Yield a text in lines that fit a width."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and text_width(longer, FONT, mono=False) > width:
            yield line
            longer = word
        line = longer
    yield line


def _loops_fit(picture: TilePicture, frame: TileFrame, layout: TileLayout) -> bool:
    if layout.corner is None:
        return False
    _, _, width, height = layout.corner
    widest = max((text_width(line, _CODE) for line in _loop_lines(picture, frame)), default=0.0)
    return widest <= width + 10 and LINE * len(picture.loops) <= height - 10


def _loop_lines(picture: TilePicture, frame: TileFrame) -> list[str]:
    """Return the loops as text, indented as they are nested."""
    pairs = zip(picture.loops, frame.values, strict=True)
    return ["\u00a0\u00a0" * depth + loop_text(loop, value) for depth, (loop, value) in enumerate(pairs)]


def _loops(picture: TilePicture, frame: TileFrame, x: float, y: float) -> str:
    return "".join(
        element(
            "text", escaped(line), x=x, y=y + 10 + LINE * n, font_size=_CODE, font_family=MONO, fill="faint"
        )
        for n, line in enumerate(_loop_lines(picture, frame))
    )


class _Scale:
    """From elements of an operand to pixels of its sheet."""

    def __init__(self, sheet: Sheet, operand: PicturedOperand) -> None:
        self._sheet = sheet
        self._axes = (None, *operand.shown) if len(operand.shown) == 1 else (*operand.shown, None)[:2]
        self._shape = operand.shape

    def _along(self, axis: int | None, at: float, start: float, length: float) -> float:
        return start + (length * at / self._shape[axis] if axis is not None and self._shape[axis] else 0.0)

    def point(self, index: tuple[float, ...]) -> tuple[float, float]:
        """Return where an element is drawn."""
        down, across = self._axes
        y = self._sheet.y + self._sheet.height / 2
        if down is not None:
            y = self._along(down, index[down], self._sheet.y, self._sheet.height)
        x = self._sheet.x if across is None else self._along(across, index[across], self._sheet.x, self._sheet.width)
        return x, y

    def box(self, box: Box, least: float = 0.0) -> dict[str, float]:
        """Return a rectangle as attributes, at least so wide and high."""
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


def _sheet(sheet: Sheet, picture: TilePicture, frame: TileFrame, *, small: bool = False) -> str:
    operand, tile = picture.operands[sheet.operand], frame.tiles[sheet.operand]
    scale = _Scale(sheet, operand)
    parts = [_behind(sheet), _ground(sheet)]
    parts += [
        element("rect", fill=f"url(#{_HATCH})", **scale.box(part.box))
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
        place = {"x": sheet.x + sheet.width - 4, "y": sheet.y + sheet.height - 5, "text_anchor": "end"}
        parts.append(element("text", escaped(operand.letter), font_size=10, fill="faint", **place))
    else:
        parts += [_caption(sheet), _axis_names(sheet)]
    return element("g", *parts)


def _behind(sheet: Sheet) -> str:
    """Return the sheets behind one, as edges that show."""
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
    """Return True if a part and the tile have something in common along the axes that are not drawn."""
    hidden = [a for a in range(len(tile)) if a not in shown]
    return all(part[a][0] < tile[a][1] and tile[a][0] < part[a][1] for a in hidden)


def _passes(tile: OperandTile, scale: _Scale, operand: PicturedOperand) -> list[str]:
    """Return outlines of what loops touch in a pass, those that differ from the tile and the whole."""
    whole = tuple((0, n) for n in operand.shape)
    seen = {_on_sheet(whole, operand.shown), _on_sheet(tile.tile.box, operand.shown)}
    found = []
    for part in reversed(tile.passes):
        box = _on_sheet(part.box, operand.shown)
        if box not in seen and len(found) < 3:
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
    at = ", ".join(f"{low}:{high}" for low, high in tile.tile.box)
    title = element("title", escaped(f"{label}: {operand.name}[{at}]"))
    place = scale.box(tile.tile.box, _LEAST_TILE)
    return element("rect", title, fill="changed", stroke="ink", stroke_width=1, **place, **found)


def _way(tile: OperandTile, scale: _Scale) -> str:
    """Return the way of the tile: rows with heads and the jumps between them, or one row and where the rows go."""
    if tile.row is None:
        return ""
    parts = [_rows(tile.coarse_rows, scale, width=0.8, opacity=0.4)]
    starts = [scale.point(start) for start, _ in tile.rows]
    apart = min((math.dist(a, b) for a, b in zip(starts, starts[1:], strict=False)), default=_ROWS_APART)
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
    """Return the path of an arrow; a dot where it goes nowhere."""
    length = math.dist(a, b)
    line = f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"
    if length < 6:
        return line
    dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    wings = [(b[0] - 5 * dx - s * 2.6 * dy, b[1] - 5 * dy + s * 2.6 * dx) for s in (1, -1)]
    return f"{line}M{wings[0][0]:.1f} {wings[0][1]:.1f}L{b[0]:.1f} {b[1]:.1f}L{wings[1][0]:.1f} {wings[1][1]:.1f}"


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


def _working_sets(picture: TilePicture, frame: TileFrame, y: float) -> tuple[str, float]:
    """Return the bytes of a tile and of each pass as bars beside the caches, and where they end."""
    shown = working_sets_shown(picture, frame)
    sizes = [w.total_bytes for w in shown if w.total_bytes] + [c.size_bytes for c in picture.caches]
    if not sizes:
        return "", y
    low = math.floor(math.log2(min(sizes))) - 1
    high = math.ceil(math.log2(max(sizes)) + 0.2)

    def place(count: int) -> float:
        return _BAR_WIDTH * (math.log2(count) - low) / (high - low) if count else 0.0

    parts = [element("text", "bytes touched", y=y + 10, fill="ink", font_weight=700)]
    bottom = y + LINE + 6 + len(shown) * (LINE + 3)
    for n, cache in enumerate(picture.caches):
        x = _BAR_X + place(cache.size_bytes)
        anchor = "end" if n == len(picture.caches) - 1 else "middle"
        said = f"{cache.name} {format_bytes(cache.size_bytes)}"
        parts.append(element("path", d=f"M{x:.1f} {y + 14:.1f}V{bottom:.1f}", stroke="faint", stroke_dasharray="2 2"))
        at = x + 6 if anchor == "end" else x
        parts.append(element("text", said, x=at, y=y + 10, text_anchor=anchor, font_size=10, fill="faint"))
    for n, each in enumerate(shown):
        top = y + LINE + 4 + n * (LINE + 3)
        role = "changed" if n == 0 else "read"
        parts.append(element("text", escaped(pass_text(each)), y=top + 10, fill="ink"))
        bar = element(
            "rect", x=_BAR_X, y=top, width=max(place(each.total_bytes), 1.0), height=_BAR_HEIGHT, fill=role, opacity=0.8
        )
        said = f"{format_bytes(each.total_bytes)}: {fits_text(each, picture)}"
        words = element("text", escaped(said), x=_BAR_X + _BAR_WIDTH + 14, y=top + 10, fill="ink")
        parts += [bar, words]
    return "".join(parts), bottom


def _legend(y: float, layout: TileLayout) -> str:
    """Return what the marks mean, in a line."""
    parts = []
    x = 0.0
    signs = (
        ("this tile", {"fill": "changed", "stroke": "ink"}),
        ("visited before", {"fill": f"url(#{_HATCH})", "stroke": "line"}),
        ("one pass of a loop", {"fill": "none", "stroke": "ink", "stroke_dasharray": "3 2"}),
    )
    for text, look in signs:
        parts.append(element("rect", x=x, y=y, width=14, height=10, **look))
        parts.append(element("text", text, x=x + 20, y=y + 9, font_size=11, fill="faint"))
        x += 36 + text_width(text, 11, mono=False)
    if not all(s.is_to_scale for s in layout.sheets):
        said = "short edges drawn longer than they are"
        parts.append(element("text", said, x=x, y=y + 9, font_size=11, fill="faint"))
    return "".join(parts)
