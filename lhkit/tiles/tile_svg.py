"""Tile pictures as SVG and HTML: operands, loops, and bytes compared with caches."""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Sequence
from typing import Any

from lhkit.draw.figures import spaced
from lhkit.draw.svg import drawing_id, element, escaped, fitted, marks, svg, svg_png, text_width
from lhkit.draw.tables import format_bytes
from lhkit.draw.theme import MONO, theme_style
from lhkit.model.tile_picture import (
    Box,
    OperandTile,
    Part,
    PicturedOperand,
    Sweep,
    TileFrame,
    TilePicture,
    WorkingSet,
)
from lhkit.tiles.tile_facts import tile_frame
from lhkit.tiles.tile_layout import (
    FONT,
    LINE,
    WIDTH,
    Sheet,
    TileLayout,
    broken,
    fits_text,
    iteration_text,
    lay_out,
    loop_text,
    pass_text,
    place_text,
    size_text,
    tiles_text,
    title_text,
    working_sets_shown,
)

_CODE = 11.0
_MARGIN = 10.0
_WIDEST_NOTE = 540.0
_NARROWEST = 280.0
_BAR_X, _BAR_WIDTH, _BAR_HEIGHT = 118.0, 210.0, 12.0


def tiles_svg(picture: TilePicture, iteration: int | None = None, *, themed: bool = True) -> str:
    """Return a tile picture as SVG at an iteration, from 0; default the one of the still picture."""
    frame = tile_frame(picture, picture.first if iteration is None else iteration)
    return _drawn(picture, frame, "still", themed=themed)


def tiles_at(picture: TilePicture, iteration: int, *, themed: bool = True) -> tuple[str, str, str]:
    """Return an iteration in words, its picture as SVG, and one with less in it, to be read in a low pane."""
    frame = tile_frame(picture, iteration)
    briefly = _drawn_briefly(picture, frame, themed=themed)
    return iteration_text(picture, frame), _drawn(picture, frame, "still", themed=themed), briefly


def _drawn(picture: TilePicture, frame: TileFrame, role: str, *, themed: bool) -> str:
    """Return a picture; ``role`` makes ids unique between visible and hidden pictures of a page."""
    hatch = _hatch_id(picture, frame, role)
    head, top = _head(picture, frame)
    layout = lay_out(picture, frame, top=top)
    in_corner = _loops_fit(picture, frame, layout)
    if not in_corner and picture.loops:
        layout = lay_out(picture, frame, top=top + LINE * len(picture.loops) + 8)
    x = layout.corner[0] if in_corner and layout.corner else 0.0
    look: dict[str, Any] = {"font_size": _CODE, "font_family": MONO, "fill": "faint"}
    lines = enumerate(_loop_lines(picture, frame))
    loops = "".join(_words(line, x, top + 10 + LINE * n, **look) for n, line in lines)
    body = "".join(_sheet(s, picture, frame, hatch) for s in layout.sheets)
    bars, height = _working_sets(picture, frame, layout.height + 14)
    legend = _legend(height + 14, layout, hatch, is_moving=bool(picture.loops))
    inner = element("g", head, loops, body, bars, legend, transform=f"translate({_MARGIN} {_MARGIN})")
    label = f"Tiles of {picture.op}, {iteration_text(picture, frame)}"
    # At least as wide as the first iteration, whose tiles are whole: what plays keeps its size.
    first = tile_frame(picture, 0)
    wide = max(_width(picture, frame, layout), _width(picture, first, lay_out(picture, first))) + 2 * _MARGIN
    return svg(wide, height + 14 + LINE + 2 * _MARGIN, _hatch(hatch), inner, label=label, themed=themed)


def _drawn_briefly(picture: TilePicture, frame: TileFrame, *, themed: bool) -> str:
    """Return a picture without loops, passes, legend and scale: the title, the tiles and their size."""
    hatch = _hatch_id(picture, frame, "brief")
    first = lay_out(picture, tile_frame(picture, 0), detail="brief")
    wide = max(lay_out(picture, frame, detail="brief").width, first.width, _NARROWEST)
    title = list(broken(title_text(picture), wide))
    layout = lay_out(picture, frame, top=LINE * len(title) + 6, detail="brief")
    sets = working_sets_shown(picture, frame)[:1]
    said = [f"{pass_text(each)} {_fits(each, picture)}" for each in sets]
    said += [note for note in picture.notes if note.startswith("Shown is")]  # of several copies one
    below = [line for each in said for line in broken(each, wide)]
    lines = [(line, LINE * n + FONT, {"font_weight": 700}) for n, line in enumerate(title)]
    lines += [(line, layout.height + LINE * n + FONT, {}) for n, line in enumerate(below)]
    words = "".join(_words(line, None, y, fill="ink", **look) for line, y, look in lines)
    body = "".join(_sheet(s, picture, frame, hatch) for s in layout.sheets)
    inner = element("g", words, body, transform=f"translate({_MARGIN} {_MARGIN})")
    label = f"Tiles of {picture.op}, {iteration_text(picture, frame)}"
    height = layout.height + LINE * len(below) + 2 * _MARGIN
    return svg(wide + 2 * _MARGIN, height, _hatch(hatch), inner, label=label, themed=themed)


def _width(picture: TilePicture, frame: TileFrame, layout: TileLayout) -> float:
    """Return how wide a picture is: in a narrow column a narrow one has larger letters."""
    notes = [line for note in picture.notes for line in broken(note, _WIDEST_NOTE)]
    texts = [(text, 0.0, FONT) for text in (*notes, iteration_text(picture, frame))]
    texts.append((title_text(picture), 0.0, 15.0))
    beside = _BAR_X + _BAR_WIDTH + 14
    texts += [(_fits(each, picture), beside, FONT) for each in working_sets_shown(picture, frame)]
    widest = max(x + text_width(text, size, mono=False) for text, x, size in texts)
    return max(layout.width, _legend_width(layout), min(widest, WIDTH))


def _fits(each: WorkingSet, picture: TilePicture) -> str:
    return f"{size_text(each, picture)}: {fits_text(each, picture)}"


def _words(text: str, x: float | None, y: float, **look: Any) -> str:
    return element("text", escaped(text), x=x, y=y, **look)


def tiles_frames(picture: TilePicture, count: int = 16, *, themed: bool = True) -> tuple[tuple[str, str], ...]:
    """Return (iteration in words, SVG) of at most ``count`` first iterations."""
    frames = _first_frames(picture, count)
    return tuple((iteration_text(picture, f), _drawn(picture, f, "frame", themed=themed)) for f in frames)


def _first_frames(picture: TilePicture, count: int) -> list[TileFrame]:
    return [tile_frame(picture, n) for n in range(min(count, picture.iterations))]


def tiles_multiples_svg(picture: TilePicture, count: int = 8, *, themed: bool = True) -> str:
    """Return at most ``count`` first iterations side by side, small."""
    frames = _first_frames(picture, count)
    layouts = [lay_out(picture, frame, top=LINE + 8, detail="small") for frame in frames]
    values = [" ".join(f"{x.label}={v}" for x, v in zip(picture.loops, f.values, strict=True)) for f in frames]
    labels = [f"{f.number + 1}: {v}" if v else picture.op for f, v in zip(frames, values, strict=True)]
    wide = max([x.width for x in layouts] + [text_width(t, FONT - 1) for t in labels]) + 24
    tall = max(x.height for x in layouts) + 14
    columns = max(1, int(WIDTH // wide))
    hatch = _hatch_id(picture, frames[0], "multiples")
    parts = []
    for n, (frame, layout, label) in enumerate(zip(frames, layouts, labels, strict=True)):
        title = _words(label, None, FONT, font_size=FONT - 1, font_family=MONO, fill="ink")
        body = "".join(_sheet(s, picture, frame, hatch, small=True) for s in layout.sheets)
        place = f"translate({_MARGIN + n % columns * wide:.1f} {_MARGIN + n // columns * tall:.1f})"
        parts.append(element("g", title, body, transform=place, data_frame=n))
    rows = math.ceil(len(frames) / columns)
    size = min(len(frames), columns) * wide + 2 * _MARGIN, rows * tall + 2 * _MARGIN
    said = f"The first {len(frames)} of {picture.iterations:,} iterations of the loops around {picture.op}"
    return svg(*size, _hatch(hatch), *parts, label=said, themed=themed)


def _hatch_id(picture: TilePicture, frame: TileFrame, role: str) -> str:
    # A pattern in a part of a page that is hidden is not drawn elsewhere either, so none is shared.
    return drawing_id(role, picture.op, str(picture.step), repr(picture.operands), repr(frame))


def _hatch(name: str) -> str:
    line = element("path", d="M0 6 L6 0", stroke="read", stroke_width=1, opacity=0.45)
    ground = element("rect", width=6, height=6, fill="read", opacity=0.13)
    pattern = element("pattern", ground, line, id=name, width=6, height=6, patternUnits="userSpaceOnUse")
    return element("defs", pattern)


def _head(picture: TilePicture, frame: TileFrame) -> tuple[str, float]:
    y = FONT + LINE + 3
    where = fitted(iteration_text(picture, frame), WIDTH, FONT, mono=False)
    heading = fitted(title_text(picture), WIDTH, 15, mono=False)
    title = _words(heading, None, FONT, font_size=15, font_weight=700, fill="ink")
    lines = [title, _words(where, None, y, fill="ink")]
    for note in picture.notes:
        for line in broken(note, _WIDEST_NOTE):
            y += LINE
            lines.append(_words(line, None, y, fill="dead"))
    return "".join(lines), y + 14


def _loops_fit(picture: TilePicture, frame: TileFrame, layout: TileLayout) -> bool:
    if layout.corner is None:
        return False
    _, _, width, height = layout.corner
    widest = max((text_width(line, _CODE) for line in _loop_lines(picture, frame)), default=0.0)
    return widest <= width + 10 and LINE * len(picture.loops) <= height - 10


def _loop_lines(picture: TilePicture, frame: TileFrame) -> list[str]:
    pairs = zip(picture.loops, frame.values, strict=True)
    return ["\u00a0\u00a0" * depth + loop_text(loop, value) for depth, (loop, value) in enumerate(pairs)]


def _working_sets(picture: TilePicture, frame: TileFrame, y: float) -> tuple[str, float]:
    """Return the bytes of a tile and of each pass as dots beside the caches, and their lower edge.

    The axis is logarithmic, so that nothing has a length: a bar would seem to.
    """
    shown = working_sets_shown(picture, frame)
    sizes = [w.total_bytes for w in shown if w.total_bytes] + [c.size_bytes for c in picture.caches]
    if not sizes:
        return "", y
    low = math.floor(math.log2(min(sizes))) - 1
    high = math.ceil(math.log2(max(sizes)) + 0.2)

    def place(count: int) -> float:
        return _BAR_WIDTH * (math.log2(count) - low) / (high - low) if count else 0.0

    parts = [_words("bytes touched", None, y + 10, fill="ink", font_weight=700)]
    bottom = y + LINE + 6 + len(shown) * (LINE + 3)
    names = [f"{cache.name} {format_bytes(cache.size_bytes)}" for cache in picture.caches]
    widest = max((text_width(name, 10, mono=False) for name in names), default=0.0) + 6
    wanted = [place(cache.size_bytes) for cache in picture.caches]
    for at, label, name in zip(wanted, spaced(wanted, widest, (0, _BAR_WIDTH)), names, strict=True):
        line = f"M{_BAR_X + label:.1f} {y + 13:.1f}L{_BAR_X + at:.1f} {y + 18:.1f}V{bottom:.1f}"
        parts.append(element("path", d=line, fill="none", stroke="faint", stroke_dasharray="2 2"))
        parts.append(_words(name, _BAR_X + label, y + 10, text_anchor="middle", font_size=10, fill="faint"))
    for n, each in enumerate(shown):
        top = y + LINE + 4 + n * (LINE + 3)
        middle = top + _BAR_HEIGHT / 2
        row = f"M{_BAR_X} {middle:.1f}H{_BAR_X + _BAR_WIDTH}"
        parts += [
            _words(pass_text(each), None, top + 10, fill="ink"),
            element("path", d=row, stroke="line"),
            element("circle", cx=_BAR_X + place(each.total_bytes), cy=middle, r=5, stroke="ink",
                    fill="changed" if n == 0 else "read"),
            _words(_fits(each, picture), _BAR_X + _BAR_WIDTH + 14, top + 10, fill="ink"),
        ]  # fmt: skip
    parts.append(
        _words("logarithmic", _BAR_X + _BAR_WIDTH, bottom + 6, text_anchor="end", font_size=10, fill="faint")
    )
    return "".join(parts), bottom


_SIGNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("this tile", {"fill": "changed", "stroke": "ink"}),
    ("visited before", {"stroke": "line"}),
    ("one pass of a loop", {"fill": "none", "stroke": "ink", "stroke_dasharray": "3 2"}),
)
_NOT_TO_SCALE = "short edges are not to scale"


def _legend(y: float, layout: TileLayout, hatch: str, *, is_moving: bool) -> str:
    parts, x = [], 0.0
    for text, look in _SIGNS if is_moving else _SIGNS[:1]:
        fill = {"fill": f"url(#{hatch})"} if "fill" not in look else {}
        parts.append(element("rect", x=x, y=y, width=14, height=10, **fill, **look))
        parts.append(_words(text, x + 20, y + 9, font_size=11, fill="faint"))
        x += 36 + text_width(text, 11, mono=False)
    if not all(s.is_to_scale for s in layout.sheets):
        parts.append(_words(_NOT_TO_SCALE, x, y + 9, font_size=11, fill="faint"))
    return "".join(parts)


def _legend_width(layout: TileLayout) -> float:
    texts = [text for text, _ in _SIGNS]
    if not all(s.is_to_scale for s in layout.sheets):
        texts.append(_NOT_TO_SCALE)
    return sum(36 + text_width(text, 11, mono=False) for text in texts)


_LEAST_TILE = 3.0
_LARGE_TILE = 10.0
# Rows of a path that are closer cannot be distinguished.
_ROWS_APART = 7.0
_MOST_OUTLINES = 3
_LEAST_GAP = 1.0


class _Scale:
    """Maps elements of an operand to pixels of its sheet."""

    def __init__(self, sheet: Sheet, operand: PicturedOperand) -> None:
        self._sheet = sheet
        self._down, self._across = (None, None, *operand.shown)[-2:]
        self._shape = operand.shape

    def _part(self, axis: int, index: Sequence[float]) -> float:
        return index[axis] / self._shape[axis] if self._shape[axis] else 0.0

    def point(self, index: Sequence[float]) -> tuple[float, float]:
        right = 0.0 if self._across is None else self._part(self._across, index)
        below = 0.5 if self._down is None else self._part(self._down, index)
        return self._sheet.x + self._sheet.width * right, self._sheet.y + self._sheet.height * below

    def box(self, box: Box, least: float = 0.0) -> dict[str, float]:
        (x0, y0), (x1, y1) = (self.point(corner) for corner in zip(*box, strict=True))
        if self._down is None:
            y0, y1 = self._sheet.y, self._sheet.y + self._sheet.height
        if self._across is None:
            x1 = self._sheet.x + self._sheet.width
        width, height = max(x1 - x0, least), max(y1 - y0, least)
        x0 = min(x0, self._sheet.x + self._sheet.width - width)
        y0 = min(y0, self._sheet.y + self._sheet.height - height)
        return {"x": x0, "y": y0, "width": width, "height": height}

    def pieces(self, part: Part, tile: Box) -> list[Box]:
        """Return the boxes of a part on the sheet of the tile; gaps that are too narrow to see are closed."""
        along = [
            self._visible(axis, runs) if axis in (self._down, self._across)
            # On hidden axes only: is it on this sheet?
            else runs[:1] if any(low < tile[axis][1] and tile[axis][0] < high for low, high in runs)
            else ()
            for axis, runs in enumerate(part.runs)
        ]  # fmt: skip
        return list(itertools.product(*along))

    def _visible(self, axis: int, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        edge = self._sheet.height if axis == self._down else self._sheet.width
        found: list[tuple[int, int]] = []
        for low, high in runs:
            if found and (low - found[-1][1]) * edge / self._shape[axis] < _LEAST_GAP:
                found[-1] = (found[-1][0], high)
            else:
                found.append((low, high))
        return found


def _sheet(sheet: Sheet, picture: TilePicture, frame: TileFrame, hatch: str, *, small: bool = False) -> str:
    """Return an operand at an iteration; ``hatch`` is the pattern of visited parts.

    Small sheets have no passes, path and caption.
    """
    operand, tile = picture.operands[sheet.operand], frame.tiles[sheet.operand]
    scale = _Scale(sheet, operand)
    parts = [_paper(sheet, 4.0 * n, "paper", "line") for n in range(sheet.behind, 0, -1)]
    parts.append(_paper(sheet, 0.0, "panel", "faint"))
    parts += [
        element("rect", fill=f"url(#{hatch})", **scale.box(box))
        for part in tile.visited
        for box in scale.pieces(part, tile.tile.box)
    ]
    if not small:
        parts += _passes(tile, scale, operand)
    # What is small must not vanish under the way, nor the way under what is large.
    layers = [_tile(picture, operand, tile, scale), "" if small else _way(tile, scale)]
    place = scale.box(tile.tile.box)
    parts += layers if min(place["width"], place["height"]) > _LARGE_TILE else layers[::-1]
    if small:
        x, y = sheet.x + sheet.width - 4, sheet.y + sheet.height - 5
        parts.append(_words(operand.letter, x, y, text_anchor="end", font_size=10, fill="faint"))
    else:
        parts += [_caption(sheet), _axis_names(sheet)]
    return element("g", *parts)


def _paper(sheet: Sheet, shift: float, fill: str, stroke: str) -> str:
    x, y = sheet.x + shift, sheet.y - shift
    return element("rect", x=x, y=y, width=sheet.width, height=sheet.height, fill=fill, stroke=stroke)


def _passes(tile: OperandTile, scale: _Scale, operand: PicturedOperand) -> list[str]:
    """Return outlines of the passes of loops that differ from the tile and the whole."""
    whole = tuple((0, n) for n in operand.shape)
    seen = {_on_sheet(whole, operand.shown), _on_sheet(tile.tile.box, operand.shown)}
    distinct = {_on_sheet(part.box, operand.shown): part for part in reversed(tile.passes)}
    parts = [part for seen_as, part in distinct.items() if seen_as not in seen][:_MOST_OUTLINES]
    look: dict[str, Any] = {"fill": "none", "stroke": "ink", "stroke_width": 1, "stroke_dasharray": "5 3"}
    boxes = [box for part in parts for box in scale.pieces(part, tile.tile.box)]
    return [element("rect", **look, **scale.box(box, _LEAST_TILE)) for box in boxes]


def _on_sheet(box: Box, shown: tuple[int, ...]) -> Box:
    return tuple(box[a] for a in shown)


def _tile(picture: TilePicture, operand: PicturedOperand, tile: OperandTile, scale: _Scale) -> str:
    if not tile.tile.elements:
        return ""
    label = f"tile of {operand.letter}"
    found = marks(handles=picture.handles, ops=picture.op_ids, label=label if picture.op_ids else "")
    title = element("title", escaped(f"{label}: {operand.name}[{place_text(tile.tile)}]"))
    boxes = scale.pieces(tile.tile, tile.tile.box)
    look: dict[str, Any] = {"fill": "changed", "stroke": "ink", "stroke_width": 1, **found}
    if len(boxes) == 1:
        return element("rect", title, **scale.box(boxes[0], _LEAST_TILE), **look)
    return element("g", title, *(element("rect", **scale.box(box, _LEAST_TILE)) for box in boxes), **look)


def _way(tile: OperandTile, scale: _Scale) -> str:
    """Return the path of the tile: rows and the jumps between them, or one row and the trend."""
    if tile.row is None:
        return ""
    parts = [_rows(tile.coarse_rows, scale, width=0.8, opacity=0.4)]
    starts = [scale.point(start) for start, _ in tile.rows]
    apart = min((math.dist(a, b) for a, b in itertools.pairwise(starts)), default=_ROWS_APART)
    if tile.rows and apart >= _ROWS_APART:
        paths = [tile.rows]
    else:
        paths = [(row,) for row in (tile.row, tile.trend) if row is not None]
    parts += [_rows(rows, scale, width=1.2, opacity=0.75) for rows in paths]
    return element("g", *parts, fill="none", pointer_events="none")


def _rows(rows: tuple[Sweep, ...], scale: _Scale, *, width: float, opacity: float) -> str:
    parts = []
    before: tuple[float, float] | None = None
    for start, end in rows:
        a, b = scale.point(start), scale.point(end)
        if before is not None and math.dist(before, a) > 1:
            jump = _line(before, a)
            parts.append(element("path", d=jump, stroke="ink", stroke_width=0.7, stroke_dasharray="1.5 3"))
        parts.append(element("path", d=_arrow(a, b), stroke="ink", stroke_width=width))
        before = b
    return element("g", *parts, opacity=opacity)


def _arrow(a: tuple[float, float], b: tuple[float, float]) -> str:
    length = math.dist(a, b)
    if length < 6:
        return _line(a, b)
    dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    wings = [(b[0] - 5 * dx - s * 2.6 * dy, b[1] - 5 * dy + s * 2.6 * dx) for s in (1, -1)]
    return _line(a, b) + _line(wings[0], b, wings[1])


def _line(*points: tuple[float, float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _caption(sheet: Sheet) -> str:
    title, *others = sheet.caption
    y = sheet.y - 4 - sheet.behind * 4 - LINE * len(others)
    letter, _, name = title.partition(" ")
    rest = element("tspan", escaped(name), dx=6, font_weight=400, font_family=MONO, fill="faint")
    lines = [element("text", escaped(letter), rest, x=sheet.x, y=y, font_weight=700, fill="ink")]
    for n, line in enumerate(others, 1):
        lines.append(_words(line, sheet.x, y + LINE * n, fill="ink" if line.startswith("tile ") else "faint"))
    return "".join(lines)


def _axis_names(sheet: Sheet) -> str:
    common = {"text_anchor": "middle", "font_style": "italic", "fill": "faint"}
    across = _words(sheet.across, sheet.x + sheet.width / 2, sheet.y + sheet.height + 14, **common)
    if not sheet.down:
        return across
    x, y = sheet.x - 8, sheet.y + sheet.height / 2
    turned = f"rotate(-90 {x:.1f} {y:.1f})" if len(sheet.down) > 1 else None
    return across + _words(sheet.down, x, y if turned else y + 4, **common, transform=turned)


_MULTIPLES = 8
_FRAMES = 16


def tiles_html(picture: TilePicture, count: int = _FRAMES) -> str:
    """Return a tile picture as HTML in an element of class ``lh``.

    Up to ``count`` frames are hidden in elements with ``data-frame`` for a script to step through; without a
    script the first iterations are shown side by side, folded.
    """
    still = tiles_svg(picture, themed=False)
    frames = "".join(
        element("div", frame, data_frame=n, hidden="hidden")
        for n, (_, frame) in enumerate(tiles_frames(picture, count, themed=False))
    )
    parts = [
        element("div", still, class_="lh-tiles-still", data_iteration=picture.first),
        element("div", frames, class_="lh-tiles-frames", data_frames=min(count, picture.iterations)),
    ]
    if picture.iterations > 1:
        shown = min(_MULTIPLES, picture.iterations)
        summary = element("summary", f"the first {shown} of {picture.iterations:,} iterations")
        parts.append(element("details", summary, tiles_multiples_svg(picture, _MULTIPLES, themed=False)))
    text = element("pre", escaped(tiles_text(picture)), style=f"font-family: {MONO}; overflow-x: auto")
    parts.append(element("details", element("summary", "in words"), text))
    return element("div", *parts, class_="lh lh-tiles")


def tiles_bundle(picture: TilePicture) -> dict[str, Any]:
    """Return a tile picture as HTML, PNG and text."""
    return {
        "text/html": element("style", theme_style()) + tiles_html(picture, 0),
        "image/png": base64.b64encode(svg_png(tiles_svg(picture, themed=False))).decode(),
        "text/plain": tiles_text(picture),
    }
