"""matplotlib figures as SVG, PNG and PDF, reproducible byte by byte."""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lhkit.draw.theme import DARK_FIGURES, FAINT, figure_paint
from lhkit.model.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


# matplotlib takes an unescaped dollar sign as the start or end of a formula.
_FORMULA = re.compile(r"(?<!\\)\$")


def new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a transparent figure, its size in inches, and its axes without a frame above and at the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


_TITLE, _ABOUT, _EDGE = 11.0, 8.0, 6.0  # in points
_LEAST_AXES = 0.75  # in inches


def entitle(figure: Figure, title: str, about: str = "") -> float:
    """Write a title, and a line on what a figure is of, above its upper edge; nothing in it moves.

    Returns:
        The room that they need there in inches, which the functions below are to be given.
    """
    width, height = figure.get_size_inches()
    lines = []
    texts: tuple[tuple[str, float, dict[str, Any]], ...] = (
        (title, _TITLE, {"weight": "bold"}),
        (about, _ABOUT, {"color": FAINT}),
    )
    for text, size, look in texts:
        columns = int((72 * width - 2 * _EDGE) / (size * 0.6))
        lines += [(line, size, look) for line in textwrap.wrap(text, columns)]
    room = y = (sum(1.35 * size for _, size, _ in lines) + _EDGE) / 72
    for line, size, look in lines:
        y -= 1.35 * size / 72
        figure.text(_EDGE / 72 / width, 1 + y / height, line, fontsize=size, **look)
    return float(room)


def load_matplotlib() -> None:
    """Load what draws, with its fonts, which takes a second: in a thread, where the kernel is to stay free."""
    figure, axes = new_axes(1, 1)
    axes.set_title("0")
    figure.savefig(io.BytesIO(), format="svg")


def figure_svg(figure: Figure, room: float = 0.0, *, salt: str = "lhkit") -> str:
    """Return a figure as an SVG element: text in the page's colour, the palette in that of the theme around.

    ``room`` is what `entitle` returned, here and below. Two figures in one document have ids by their ``salt``.
    """
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        svg = _written(figure, room, format="svg", metadata={"Date": None, "Creator": None}).decode()
    svg = svg[svg.index("<svg") :]
    # matplotlib draws black by default; a dark page needs the ink of the theme.
    svg = re.sub(r"(stroke|fill): ?#000000", r"\1: currentColor", svg)
    for color in DARK_FIGURES:
        svg = re.sub(rf"(stroke|fill): ?{color}\b", rf"\1: {figure_paint(color)}", svg, flags=re.IGNORECASE)
    return re.sub(r"<text(?![^>]*fill)", '<text fill="currentColor"', svg)


NARROW, _WIDEST = 4.9, 8.5  # in inches: a figure for a column of 400 pixels, and the widest that it is made of


# Of figures that no narrow column has room for: what is drawn there.
_DRAWN_NARROW: weakref.WeakKeyDictionary[Figure, Figure] = weakref.WeakKeyDictionary()


def with_narrow(figure: Figure, narrow: Figure) -> Figure:
    """Return a figure that `figure_html` shows by another one, ``NARROW`` inches wide, in a narrow column."""
    _DRAWN_NARROW[figure] = narrow
    return figure


def figure_html(figure: Figure) -> str:
    """Return a figure as HTML for a view: as `figure_svg` has it, and once more for a narrow column.

    Scaled down to 400 pixels letters would be half as high. There is no second one where labels would be cut,
    nor of a figure that is narrow itself.
    """
    wide, (width, height) = figure_svg(figure), figure.get_size_inches()
    if (other := _DRAWN_NARROW.get(figure)) is not None:
        return _in_two_widths(wide, figure_svg(other, salt="lhkit, narrow"))
    if width <= NARROW:
        return f'<div class="lh-narrow">{wide}</div>'
    if figure.get_layout_engine() is None or width > _WIDEST:
        return wide
    figure.set_size_inches(NARROW, height)
    hidden: list[Text] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of the layout: there is no room for the axes
            hidden = _hide_overlapping(figure)
            narrow = figure_svg(figure, salt="lhkit, narrow")
            box = figure.get_tightbbox()
            fits = box.x0 > -_EDGE / 72 and box.x1 < NARROW + _EDGE / 72
            fits = fits and min(axes.get_position().width for axes in figure.axes) * NARROW > _LEAST_AXES
    except UserWarning:
        fits = False
    figure.set_size_inches(width, height)
    for label in hidden:
        label.set_visible(True)
    if not fits:
        return wide
    return _in_two_widths(wide, narrow)


def _in_two_widths(wide: str, narrow: str) -> str:
    return f'<div class="lh-wide">{wide}</div><div class="lh-narrow" hidden>{narrow}</div>'


_LEAST_GAP = 3.0  # between tick labels, in points


def _hide_overlapping(figure: Figure) -> list[Text]:
    """Hide the tick labels below axes that would run into the one at their left; return them."""
    figure.draw_without_rendering()
    hidden = []
    for axes in figure.axes:
        end = -math.inf
        labels = axes.xaxis.get_ticklabels(which="both")
        boxes = [(label, label.get_window_extent()) for label in labels if label.get_text()]
        for label, box in sorted(boxes, key=lambda pair: pair[1].x0):
            if not label.get_visible():
                continue
            if box.x0 < end + _LEAST_GAP * figure.dpi / 72:
                label.set_visible(False)
                hidden.append(label)
            else:
                end = box.x1
    return hidden


def figure_png(figure: Figure, room: float = 0.0) -> bytes:
    """Return a figure as PNG on white."""
    figure.patch.set_alpha(1.0)  # or the colour of the face is a transparent one
    try:
        return _written(figure, room, format="png", dpi=150, facecolor="white")
    finally:
        figure.patch.set_alpha(0.0)


def figure_pdf(figure: Figure, room: float = 0.0) -> bytes:
    """Return a figure as PDF."""
    return _written(
        figure, room, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
    )


def _written(figure: Figure, room: float, **how: Any) -> bytes:
    from matplotlib.transforms import Bbox

    out = io.BytesIO()
    _take_texts_literally(figure)
    width, height = figure.get_size_inches()
    figure.savefig(out, bbox_inches=Bbox.from_bounds(0, 0, width, height + room) if room else None, **how)
    return out.getvalue()


def _take_texts_literally(figure: Figure) -> None:
    """Escape dollar signs, control and bidirectional characters in all texts but numeric tick labels.

    Names come from untrusted files, and matplotlib raises ValueError for bad TeX between two dollar signs.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(_literal(text.get_text()))
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        labels = axis.get_major_formatter()
        if isinstance(labels, FuncFormatter):  # made by set_xticks and set_yticks
            axis.set_major_formatter(FuncFormatter(lambda x, at, made=labels: _literal(made(x, at))))


def _literal(text: str) -> str:
    return _FORMULA.sub(r"\\$", printable(text))


def cut(name: str, most: int) -> str:
    """Return a name in one line of at most so many letters, with an ellipsis."""
    line = " ".join(name.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def spaced(places: Sequence[float], least: float, bounds: tuple[float, float]) -> tuple[float, ...]:
    """Move labels apart to a least distance, keeping their order, as little as possible and within bounds."""
    low, high = bounds
    if len(places) > 1:
        least = min(least, (high - low) / (len(places) - 1))
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Runs of touching labels: (first place, count).
    runs: list[tuple[float, list[int]]] = []
    for i in order:
        runs.append((places[i], [i]))
        while len(runs) > 1 and runs[-2][0] + least * len(runs[-2][1]) > runs[-1][0]:
            members = runs[-2][1] + runs[-1][1]
            # The run is centred on the mean of the wanted places.
            start = sum(places[m] - least * n for n, m in enumerate(members)) / len(members)
            runs[-2:] = [(start, members)]
    found = [0.0] * len(places)
    for start, members in runs:
        for n, member in enumerate(members):
            found[member] = start + least * n
    for n, member in enumerate(reversed(order)):
        found[member] = min(found[member], high - least * n)
    for n, member in enumerate(order):
        found[member] = max(found[member], low + least * n)
    return tuple(found)
