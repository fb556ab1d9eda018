"""Positions of operands to one scale, a matrix product as on paper; the picture as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.draw.svg import fitted, text_width
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


def title_text(picture: TilePicture) -> str:
    """Return the op, and in which payload of a trace."""
    return f"{picture.op}, {picture.where}" if picture.where else picture.op


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
        said.append(f"made anew for each\N{NO-BREAK SPACE}{operand.new_in}")
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


def size_text(working_set: WorkingSet, picture: TilePicture) -> str:
    """Return the bytes of a working set; of one that only rounding makes equal to a cache: how it differs."""
    said = format_bytes(working_set.total_bytes)
    smaller = [c for c in picture.caches if c.size_bytes < working_set.total_bytes]
    return f"just over {said}" if any(format_bytes(c.size_bytes) == said for c in smaller) else said


def working_sets_shown(picture: TilePicture, frame: TileFrame, most: int = 5) -> tuple[WorkingSet, ...]:
    """Return the working sets to show, without loops that run once or add nothing."""
    counts = [1, *(loop.count for loop in reversed(picture.loops))]
    kept: list[WorkingSet] = []
    for each, count in zip(frame.working_sets, counts, strict=True):
        if not kept or (count > 1 and each.total_bytes != kept[-1].total_bytes):
            kept.append(each)
    return tuple(kept[:most])


def broken(text: str, width: float) -> Iterable[str]:
    """Yield the lines of a text that is no wider than so many pixels."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and text_width(longer, FONT, mono=False) > width:
            yield line
            longer = word
        line = longer
    yield line


def tiles_text(picture: TilePicture, iteration: int | None = None) -> str:
    """Return a tile picture as plain text at an iteration, from 0; default the one of the still picture."""
    frame = tile_frame(picture, iteration)
    lines = [title_text(picture), *picture.notes, iteration_text(picture, frame)]
    for depth, (loop, value) in enumerate(zip(picture.loops, frame.values, strict=True)):
        lines.append(f"{'  ' * (depth + 1)}{loop_text(loop, value)}")
    for operand, tile in zip(picture.operands, frame.tiles, strict=True):
        most = "" if tile.tile.is_exact else "at most "
        what = f"tile of {operand.letter}: {most}{extents_text(tile.tile.counts, 'x')} of"
        size = f"{extents_text(operand.shape, 'x')}{_bytes_text(operand, tile.tile)}"
        lines.append(f"{what} {size}  {operand.name}[{place_text(tile.tile)}], {reuse_text(operand)}")
    for each in working_sets_shown(picture, frame):
        lines.append(f"{pass_text(each)}: {size_text(each, picture)}, {fits_text(each, picture)}")
    return "\n".join(lines)


WIDTH = 680.0
LINE = 15.0
FONT = 12.0
_GAP = 26.0
_LEAST = 14.0
_STRIP = 22.0
_SHEET = 4.0
_AXIS = 20.0
_WIDEST_CAPTION = 290.0


@dataclass(frozen=True, slots=True)
class Sheet:
    """An operand as drawn, in pixels; x and y are its upper left corner.

    Attributes:
        behind: Number of sheets hinted at behind it.
        is_to_scale: False where an edge would be too short to see.
    """

    operand: int
    x: float
    y: float
    width: float
    height: float
    caption: tuple[str, ...]
    caption_width: float
    down: str
    across: str
    behind: int
    is_to_scale: bool


@dataclass(frozen=True, slots=True)
class TileLayout:
    """The positions of all sheets; ``corner`` is the free corner of a product (x, y, width, height)."""

    sheets: tuple[Sheet, ...]
    corner: tuple[float, float, float, float] | None
    height: float
    width: float


# ``brief``: short captions and little room, to be read in a low pane; ``small``: no captions, one of many.
Detail = Literal["full", "brief", "small"]


def lay_out(picture: TilePicture, frame: TileFrame, *, top: float = 0.0, detail: Detail = "full") -> TileLayout:
    """Return the positions of the operands."""
    shape = _product(picture.operands)
    flat = all(len(o.shown) == 1 for o in picture.operands)
    blocks = [_Block(i, o, frame, detail, flat=flat) for i, o in enumerate(picture.operands)]
    return _as_product(blocks, shape, top, detail) if shape else _in_rows(blocks, top, detail)


class _Block:
    """An operand and its caption, before it is placed."""

    def __init__(
        self, number: int, operand: PicturedOperand, frame: TileFrame, detail: Detail, *, flat: bool
    ) -> None:
        self.number, self.operand, self.is_flat = number, operand, flat
        self.widest = 150.0 if detail == "brief" else _WIDEST_CAPTION
        tile = frame.tiles[number]
        shape = extents_text(operand.shape)
        if detail == "brief":
            is_whole = tile.tile.counts == operand.shape
            part = f"all of {shape}" if is_whole else f"tile {extents_text(tile.tile.counts)} of {shape}"
            lines = [part] if operand.shape else []
        else:
            sizes = [f"tile {tile_text(operand, tile.tile)}", reuse_text(operand)] if operand.shape else []
            lines = [shape, *sizes, *filter(None, [hidden_text(operand, tile)])]
        title = f"{operand.letter} {operand.name}"
        if flat:  # strips one above the other: a line each
            lines = [", ".join([title, *lines])]
        else:
            lines = [title, *(part for line in lines for part in broken(line, self.widest - 2))]
        self.lines = () if detail == "small" else tuple(lines)
        shown = [operand.shape[a] for a in operand.shown]
        self.rows = shown[0] if len(shown) == 2 else None
        self.columns = shown[-1] if shown else 1
        hidden_extents = [n for a, n in enumerate(operand.shape) if a not in operand.shown and n > 1]
        self.behind = 2 if hidden_extents else 0

    def size(self, scale: float) -> tuple[float, float]:
        height = _STRIP if self.rows is None else max(self.rows * scale, _LEAST)
        return max(self.columns * scale, _LEAST), height

    @property
    def caption_height(self) -> float:
        return LINE * len(self.lines) + (4 if self.lines else 0) + self.behind * _SHEET

    @property
    def caption_width(self) -> float:
        # A little more, so that what just fits is not cut.
        wide = max((text_width(line, FONT, mono=i == 0) + 2 for i, line in enumerate(self.lines)), default=0.0)
        return min(wide, WIDTH - 2 * _AXIS if self.is_flat else self.widest)

    def placed(self, x: float, y: float, scale: float, room: float) -> Sheet:
        width, height = self.size(scale)
        names = [self.operand.axes[a] for a in self.operand.shown]
        exact = self.columns * scale >= _LEAST and (self.rows is None or self.rows * scale >= _LEAST)
        return Sheet(
            operand=self.number,
            x=x,
            y=y,
            width=width,
            height=height,
            caption=tuple(fitted(line, room, FONT, mono=i == 0) for i, line in enumerate(self.lines)),
            caption_width=room,
            down=names[0] if len(names) == 2 else "",
            across=names[-1] if names else "",
            behind=self.behind,
            is_to_scale=exact,
        )


def _product(operands: Sequence[PicturedOperand]) -> tuple[int, int, int] | None:
    """Return the operands at the left, above and in the corner if they form a matrix product."""
    outputs = [i for i, o in enumerate(operands) if o.is_output]
    if len(outputs) != 1 or len(operands) != 3 or any(len(o.shown) != 2 for o in operands):
        return None
    names = [tuple(o.axes[a] for a in o.shown) for o in operands]
    down, across = names[outputs[0]]
    left = [i for i, (d, a) in enumerate(names) if i not in outputs and d == down and a != across]
    above = [i for i, (d, a) in enumerate(names) if i not in outputs and a == across and d != down]
    if len(left) != 1 or len(above) != 1 or names[left[0]][1] != names[above[0]][0]:
        return None
    return left[0], above[0], outputs[0]


# Of a matrix product: its width and height without captions.
_ROOM: Mapping[Detail, tuple[float, float]] = {
    "full": (WIDTH - 2 * _AXIS - _GAP, 430.0),
    "brief": (240.0, 150.0),
    "small": (150.0, 150.0),
}


def _as_product(blocks: list[_Block], shape: tuple[int, int, int], top: float, detail: Detail) -> TileLayout:
    left, above, output = (blocks[i] for i in shape)
    small = detail == "small"
    room, most = _ROOM[detail]
    rows = (above.rows or 1) + (output.rows or 1)
    scale = min(room / (left.columns + output.columns), most / rows)
    gap = 8.0 if small else _GAP
    axis = 0.0 if small else _AXIS
    left_width, left_height = left.size(scale)
    above_width, above_height = above.size(scale)
    # Captions may be wider than the rectangles below them.
    first_width = max(left_width, left.caption_width)
    second_width = max(above_width, above.caption_width, output.caption_width)
    x0, y0 = axis, top + above.caption_height
    x1 = x0 + first_width + gap + axis
    y1 = y0 + above_height + axis + max(left.caption_height, output.caption_height) + (gap if small else 0)
    sheets = (
        left.placed(x0, y1, scale, first_width),
        above.placed(x1, y0, scale, second_width),
        output.placed(x1, y1, scale, second_width),
    )
    ordered = tuple(sorted(sheets, key=lambda s: s.operand))
    corner = (x0, top, first_width + gap, y1 - left.caption_height - top)
    bottom = y1 + max(left_height, output.size(scale)[1]) + axis
    return TileLayout(ordered, corner, bottom, x1 + second_width)


def _in_rows(blocks: list[_Block], top: float, detail: Detail) -> TileLayout:
    flat, small = all(b.rows is None for b in blocks), detail == "small"
    rooms: Mapping[Detail, tuple[float, float]] = {
        "full": (WIDTH - 2 * _AXIS, 172.0), "brief": (640.0, 90.0), "small": (150.0, 64.0)}  # fmt: skip
    room, most = rooms[detail]
    most = room if flat else most
    longest = max((max(b.columns, b.rows or 1) for b in blocks), default=1)
    scale = most / longest
    gap, axis = (8.0, 0.0) if small else (_GAP, _AXIS)
    sheets: list[Sheet] = []
    y, width = top, 0.0
    for row in _wrapped(blocks, scale, room, gap + axis):
        caption = max(b.caption_height for b in row)
        x = axis
        for block in row:
            wide = min(max(block.size(scale)[0], block.caption_width), room)
            sheets.append(block.placed(x, y + caption, scale, wide))
            x += wide + gap + axis
        width = max(width, x - gap - axis)
        y += caption + max(b.size(scale)[1] for b in row) + axis + gap / 2
    return TileLayout(tuple(sheets), None, y, width)


def _wrapped(blocks: list[_Block], scale: float, room: float, gap: float) -> list[list[_Block]]:
    rows: list[list[_Block]] = []
    used = 0.0
    for block in blocks:
        wide = max(block.size(scale)[0], block.caption_width)
        if rows and used + gap + wide <= room:
            rows[-1].append(block)
            used += gap + wide
        else:
            rows.append([block])
            used = wide
    return rows
