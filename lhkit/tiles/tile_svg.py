"""Tile pictures as SVG: operands, loops, and bytes compared with caches."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lhkit.draw.svg import drawing_id, element, escaped, fitted, svg, text_width
from lhkit.draw.tables import format_bytes
from lhkit.draw.theme import MONO
from lhkit.model.tile_picture import TileFrame, TilePicture
from lhkit.tiles.tile_facts import tile_frame
from lhkit.tiles.tile_layout import FONT, LINE, WIDTH, TileLayout, lay_out
from lhkit.tiles.tile_sheets import draw_sheet
from lhkit.tiles.tile_text import (
    fits_text,
    iteration_text,
    loop_text,
    pass_text,
    working_sets_shown,
)

_CODE = 11.0
_MARGIN = 10.0
_BAR_X, _BAR_WIDTH, _BAR_HEIGHT = 118.0, 250.0, 12.0


def tiles_svg(picture: TilePicture, iteration: int | None = None, *, themed: bool = True) -> str:
    """Return a tile picture as SVG at an iteration, from 0; default the one of the still picture."""
    return tiles_at(picture, picture.first if iteration is None else iteration, themed=themed)[1]


def tiles_at(picture: TilePicture, iteration: int, *, themed: bool = True) -> tuple[str, str]:
    """Return an iteration in words, and its picture as SVG."""
    frame = tile_frame(picture, iteration)
    return iteration_text(picture, frame), _drawn(picture, frame, "still", themed=themed)


def _drawn(picture: TilePicture, frame: TileFrame, role: str, *, themed: bool) -> str:
    """Return a picture; ``role`` makes ids unique between visible and hidden pictures of a page."""
    hatch = _hatch_id(picture, frame, role)
    head, top = _head(picture, frame)
    layout = lay_out(picture, frame, top=top)
    in_corner = _loops_fit(picture, frame, layout)
    if not in_corner and picture.loops:
        layout = lay_out(picture, frame, top=top + LINE * len(picture.loops) + 8)
    loops = _loops(picture, frame, *((layout.corner[0], top) if in_corner and layout.corner else (0.0, top)))
    body = "".join(draw_sheet(s, picture, frame, hatch) for s in layout.sheets)
    bars, height = _working_sets(picture, frame, layout.height + 14)
    legend = _legend(height + 14, layout, hatch)
    inner = element("g", head, loops, body, bars, legend, transform=f"translate({_MARGIN} {_MARGIN})")
    label = f"Tiles of {picture.op}, {iteration_text(picture, frame)}"
    wide = max(WIDTH, layout.width) + 2 * _MARGIN
    return svg(wide, height + 14 + LINE + 2 * _MARGIN, _hatch(hatch), inner, label=label, themed=themed)


def tiles_frames(picture: TilePicture, count: int = 16, *, themed: bool = True) -> tuple[tuple[str, str], ...]:
    """Return (iteration in words, SVG) of at most ``count`` first iterations."""
    frames = [tile_frame(picture, n) for n in range(min(count, picture.iterations))]
    return tuple((iteration_text(picture, f), _drawn(picture, f, "frame", themed=themed)) for f in frames)


def tiles_multiples_svg(picture: TilePicture, count: int = 8, *, themed: bool = True) -> str:
    """Return at most ``count`` first iterations side by side, small."""
    frames = [tile_frame(picture, n) for n in range(min(count, picture.iterations))]
    layouts = [lay_out(picture, frame, top=LINE + 8, small=True) for frame in frames]
    values = [" ".join(f"{x.label}={v}" for x, v in zip(picture.loops, f.values, strict=True)) for f in frames]
    labels = [f"{f.number + 1}: {v}" if v else picture.op for f, v in zip(frames, values, strict=True)]
    wide = max([x.width for x in layouts] + [text_width(t, FONT - 1) for t in labels]) + 24
    tall = max(x.height for x in layouts) + 14
    columns = max(1, int(WIDTH // wide))
    hatch = _hatch_id(picture, frames[0], "multiples")
    parts = []
    for n, (frame, layout, label) in enumerate(zip(frames, layouts, labels, strict=True)):
        title = element("text", escaped(label), y=FONT, font_size=FONT - 1, font_family=MONO, fill="ink")
        body = "".join(draw_sheet(s, picture, frame, hatch, small=True) for s in layout.sheets)
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
    return element(
        "defs", element("pattern", ground, line, id=name, width=6, height=6, patternUnits="userSpaceOnUse")
    )


def _head(picture: TilePicture, frame: TileFrame) -> tuple[str, float]:
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
    pairs = zip(picture.loops, frame.values, strict=True)
    return ["\u00a0\u00a0" * depth + loop_text(loop, value) for depth, (loop, value) in enumerate(pairs)]


def _loops(picture: TilePicture, frame: TileFrame, x: float, y: float) -> str:
    return "".join(
        element(
            "text", escaped(line), x=x, y=y + 10 + LINE * n, font_size=_CODE, font_family=MONO, fill="faint"
        )
        for n, line in enumerate(_loop_lines(picture, frame))
    )


def _working_sets(picture: TilePicture, frame: TileFrame, y: float) -> tuple[str, float]:
    """Return the bytes of a tile and of each pass as bars beside the caches, and their lower edge."""
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
        parts.append(
            element("path", d=f"M{x:.1f} {y + 14:.1f}V{bottom:.1f}", stroke="faint", stroke_dasharray="2 2")
        )
        at = x + 6 if anchor == "end" else x
        parts.append(element("text", said, x=at, y=y + 10, text_anchor=anchor, font_size=10, fill="faint"))
    for n, each in enumerate(shown):
        top = y + LINE + 4 + n * (LINE + 3)
        role = "changed" if n == 0 else "read"
        parts.append(element("text", escaped(pass_text(each)), y=top + 10, fill="ink"))
        bar = element(
            "rect",
            x=_BAR_X,
            y=top,
            width=max(place(each.total_bytes), 1.0),
            height=_BAR_HEIGHT,
            fill=role,
            opacity=0.8,
        )
        said = f"{format_bytes(each.total_bytes)}: {fits_text(each, picture)}"
        words = element("text", escaped(said), x=_BAR_X + _BAR_WIDTH + 14, y=top + 10, fill="ink")
        parts += [bar, words]
    return "".join(parts), bottom


def _legend(y: float, layout: TileLayout, hatch: str) -> str:
    parts = []
    x = 0.0
    signs = (
        ("this tile", {"fill": "changed", "stroke": "ink"}),
        ("visited before", {"fill": f"url(#{hatch})", "stroke": "line"}),
        ("one pass of a loop", {"fill": "none", "stroke": "ink", "stroke_dasharray": "3 2"}),
    )
    for text, look in signs:
        parts.append(element("rect", x=x, y=y, width=14, height=10, **look))
        parts.append(element("text", text, x=x + 20, y=y + 9, font_size=11, fill="faint"))
        x += 36 + text_width(text, 11, mono=False)
    if not all(s.is_to_scale for s in layout.sheets):
        said = "short edges are not to scale"
        parts.append(element("text", said, x=x, y=y + 9, font_size=11, fill="faint"))
    return "".join(parts)
