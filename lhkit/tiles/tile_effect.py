"""The effect of tiling on a payload in four figures: loops, footprint, bytes moved, flops per byte.

Bytes moved are those of every tile that is not the tile of the iteration before: an upper bound, for a cache
that keeps one tile of each operand and no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.draw.tables import format_bytes
from lhkit.model.errors import UsageError
from lhkit.model.target import CacheLevel
from lhkit.model.tile_picture import TileEffect, TilePicture, Tilings
from lhkit.tiles.tile_facts import tile_frame, tile_picture, work_of


def effect_of(picture: TilePicture) -> TileEffect:
    """Return the figures of a picture's op."""
    frame = tile_frame(picture, 0)
    tile = frame.working_sets[0]
    moved = 0
    for operand, size in zip(picture.operands, tile.bytes, strict=True):
        moved += (size or 0) * -(-picture.iterations // operand.stays)
    flops, _ = work_of(picture.tilings, picture.structured_op)
    loops = tuple((loop.label, loop.count) for loop in picture.loops)
    fits = tile.fits.name if tile.fits is not None else ""
    return TileEffect(picture.op, loops, tile.total_bytes, fits, moved, flops)


def effect_in(tilings: Tilings, caches: Sequence[CacheLevel]) -> TileEffect | None:
    """Return the figures of the op with most work; None if there is none, or sizes are not known."""
    live = [op for op in tilings.ops if op.is_live] or tilings.ops
    if not live:
        return None
    op = max(live, key=lambda each: (work_of(tilings, each), -each.number))
    try:
        return effect_of(tile_picture(tilings, op, caches=caches))
    except UsageError:
        return None


def effect_words(effect: TileEffect, before: TileEffect | None = None) -> str:
    """Return the figures in words; with those of the payload before, figures that stay are left out."""
    loops = ", ".join(f"{label} ×{count}" for label, count in effect.loops) or "none"
    fits = f", fits {effect.fits}" if effect.fits else ", fits no cache"
    said = [
        (f"loops {loops}", None if before is None else effect.loops == before.loops),
        (f"a tile {format_bytes(effect.footprint_bytes)}{fits}", _same(effect, before, "footprint_bytes")),
        (f"{format_bytes(effect.moved_bytes)} moved", _same(effect, before, "moved_bytes")),
        (f"{effect.flops_per_byte:.2g} flop/byte", _same(effect, before, "flops_per_byte")),
    ]
    words = [text for text, is_same in said if not is_same and (effect.flops or "flop" not in text)]
    if not words:
        return ""
    return f"{effect.op.removeprefix('linalg.')}: {' · '.join(words)}"


def _same(effect: TileEffect, before: TileEffect | None, figure: str) -> bool:
    return before is not None and getattr(effect, figure) == getattr(before, figure)
