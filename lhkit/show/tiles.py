"""Tile pictures, also such that follow knobs."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.model.payload import Payload
from lhkit.model.trace import Trace
from lhkit.render.svg import drawing_id
from lhkit.render.tile_text import tiles_text
from lhkit.render.tiles import tiles_svg
from lhkit.render.trace_view import trace_key
from lhkit.render.value_views import tiles_view
from lhkit.session.tilings import tile_picture_of
from lhkit.widgets.drawing import Drawing


def tiles(
    shown: Trace | Payload,
    op: str | int | None = None,
    *,
    step: int | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
) -> Drawing:
    """Return what the iterations of the loops around a structured op touch of its operands.

    Args:
        shown: A trace, or a payload as it stands.
        op: A handle by name or id, a payload op by id or name, or a number among the linalg ops; None for the
            one with most work.
        step: The step of the trace after which to look; None for the last at which the op was still there.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.

    Raises:
        UsageError: There is no such op, or its extents are not known.
    """
    picture = tile_picture_of(shown, op=op, step=step, shapes=shapes)
    key = trace_key(shown) if isinstance(shown, Trace) else drawing_id("payload", shown.sha256)
    return Drawing(tiles_view(key, picture), tiles_text(picture), lambda: tiles_svg(picture, themed=False))
