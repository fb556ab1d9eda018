"""A tile picture as HTML with frames to step through."""

from __future__ import annotations

import base64
from typing import Any

from lhkit.draw.svg import element, escaped, svg_png
from lhkit.draw.theme import MONO, theme_style
from lhkit.model.tile_picture import TilePicture
from lhkit.tiles.tile_svg import tiles_frames, tiles_multiples_svg, tiles_svg
from lhkit.tiles.tile_text import tiles_text

_MULTIPLES = 8
_FRAMES = 16


def tiles_html(picture: TilePicture, count: int = _FRAMES) -> str:
    """Return a tile picture as HTML in an element of class ``lh``.

    Up to ``count`` frames are hidden in elements with ``data-frame`` for a script to step through; without a
    script the first iterations are shown side by side, folded.
    """
    still = element(
        "div", tiles_svg(picture, themed=False), class_="lh-tiles-still", data_iteration=picture.first
    )
    frames = "".join(
        element("div", frame, data_frame=n, hidden="hidden")
        for n, (_, frame) in enumerate(tiles_frames(picture, count, themed=False))
    )
    parts = [
        still,
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
