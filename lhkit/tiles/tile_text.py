"""A tile picture as text, and the texts of its captions."""

from __future__ import annotations

from lhkit.draw.tables import format_bytes
from lhkit.model.tile_picture import (
    OperandTile,
    Part,
    PicturedLoop,
    PicturedOperand,
    TileFrame,
    TilePicture,
    WorkingSet,
)
from lhkit.tiles.tile_facts import tile_frame


def extents_text(extents: tuple[int, ...], times: str = "×") -> str:
    """Return extents as ``64×64``."""
    return times.join(map(str, extents))


def iteration_text(picture: TilePicture, frame: TileFrame) -> str:
    """Return which iteration it is, with the loops' values."""
    if not picture.loops:
        return "no loop around it: one execution touches everything"
    values = ", ".join(f"{x.label} = {v}" for x, v in zip(picture.loops, frame.values, strict=True))
    return f"iteration {frame.number + 1:,} of {picture.iterations:,}: {values}"


def loop_text(loop: PicturedLoop, value: int) -> str:
    """Return a loop with its progress: ``scf.for k = 64 (2/8 by 64)``."""
    run = (value - loop.first) // loop.step + 1
    order = ", in any order" if loop.op in ("scf.forall", "scf.parallel") else ""
    return f"{loop.op} {loop.label} = {value} ({run}/{loop.count} by {loop.step}{order})"


def tile_text(operand: PicturedOperand, part: Part) -> str:
    """Return the tile's size: ``64×64, 16 KiB``."""
    most = "" if part.is_exact else " at most"
    pairs = zip(part.counts, part.steps, strict=True)
    gaps = ", with gaps" if any(count > 1 and step != 1 for count, step in pairs) else ""
    return f"{extents_text(part.counts)}{most}{gaps}{_bytes_text(operand, part)}"


def _bytes_text(operand: PicturedOperand, part: Part) -> str:
    size = operand.element_bytes
    return "" if size is None else f", {format_bytes(part.elements * size)}"


def place_text(part: Part) -> str:
    """Return the place of a part, as slices: ``0:16, 1:32:2``."""
    said = []
    for (low, high), count, step in zip(part.box, part.counts, part.steps, strict=True):
        gaps = "" if count < 2 or step == 1 else f":{step}" if step else " in part"
        said.append(f"{low}:{high}{gaps}")
    return ", ".join(said)


def reuse_text(operand: PicturedOperand) -> str:
    """Return how often a tile is reused: consecutively, and after others."""
    said = []
    if operand.stays > 1:
        said.append(f"stays for {operand.stays:,} iterations")
    if operand.returns > 1:
        said.append(f"visited {operand.returns:,} times")
    if operand.new_in is not None:
        said.append(f"made anew for each {operand.new_in}")
    return ", ".join(said) or "each tile once"


def hidden_text(operand: PicturedOperand, tile: OperandTile) -> str:
    """Return the place of the tile along hidden axes, or ""."""
    said = []
    for axis, (low, high) in enumerate(tile.tile.box):
        if axis in operand.shown or operand.shape[axis] == 1:
            continue
        extent = operand.shape[axis]
        run = f"{low} of {extent}" if high - low == 1 else f"{low}…{high - 1} of {extent}"
        place = f"all {extent}" if high - low == extent else run
        said.append(f"{operand.axes[axis] or f'axis {axis}'}: {place}")
    return ", ".join(said)


def pass_text(working_set: WorkingSet) -> str:
    """Return the label of a working set."""
    return "one tile" if working_set.label == "tile" else f"a pass of {working_set.label}"


def fits_text(working_set: WorkingSet, picture: TilePicture) -> str:
    """Return which caches hold a working set."""
    if not picture.caches:
        return "the machine's caches are not known"
    small = [c.name for c in picture.caches if c.size_bytes < working_set.total_bytes]
    said = [f"does not fit {small[-1]}"] if small else []
    if working_set.fits is not None:
        said.append(f"fits {working_set.fits.name}")
    return ", ".join(said)


def working_sets_shown(picture: TilePicture, frame: TileFrame, most: int = 5) -> tuple[WorkingSet, ...]:
    """Return the working sets to show, without loops that run once or add nothing."""
    counts = [1, *(loop.count for loop in reversed(picture.loops))]
    kept: list[WorkingSet] = []
    for each, count in zip(frame.working_sets, counts, strict=True):
        if not kept or (count > 1 and each.total_bytes != kept[-1].total_bytes):
            kept.append(each)
    return tuple(kept[:most])


def tiles_text(picture: TilePicture, iteration: int | None = None) -> str:
    """Return a tile picture as plain text at an iteration, from 0; default the one of the still picture."""
    frame = tile_frame(picture, iteration)
    lines = [picture.op, *picture.notes, iteration_text(picture, frame)]
    for depth, (loop, value) in enumerate(zip(picture.loops, frame.values, strict=True)):
        lines.append(f"{'  ' * (depth + 1)}{loop_text(loop, value)}")
    for operand, tile in zip(picture.operands, frame.tiles, strict=True):
        most = "" if tile.tile.is_exact else "at most "
        what = f"tile of {operand.letter}: {most}{extents_text(tile.tile.counts, 'x')} of"
        size = f"{extents_text(operand.shape, 'x')}{_bytes_text(operand, tile.tile)}"
        lines.append(f"{what} {size}  {operand.name}[{place_text(tile.tile)}], {reuse_text(operand)}")
    for each in working_sets_shown(picture, frame):
        lines.append(f"{pass_text(each)}: {format_bytes(each.total_bytes)}, {fits_text(each, picture)}")
    return "\n".join(lines)
