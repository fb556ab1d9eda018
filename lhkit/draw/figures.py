"""Figures as files: SVG for pages, PNG for readers that show nothing else, PDF for papers."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lhkit.model.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# A dollar sign that matplotlib would take for the begin or the end of a formula.
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


def figure_svg(figure: Figure) -> str:
    """Return a figure as an SVG element: the same bytes for the same figure, its text in the page's colour."""
    import matplotlib as mpl

    out = io.StringIO()
    _take_texts_literally(figure)
    with mpl.rc_context({"svg.hashsalt": "lhkit", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Black is what matplotlib draws by default; in a dark page it has to be light.
    svg = re.sub(r"(stroke|fill): ?#000000", r"\1: currentColor", svg)
    return re.sub(r"<text(?![^>]*fill)", '<text fill="currentColor"', svg)


def figure_png(figure: Figure) -> bytes:
    """Return a figure as PNG on white, for readers that show nothing else."""
    out = io.BytesIO()
    _take_texts_literally(figure)
    figure.savefig(out, format="png", dpi=150, facecolor="white")
    return out.getvalue()


def figure_pdf(figure: Figure) -> bytes:
    """Return a figure as PDF: the same bytes for the same figure."""
    out = io.BytesIO()
    _take_texts_literally(figure)
    figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return out.getvalue()


def _take_texts_literally(figure: Figure) -> None:
    """Let no text of a figure be read as a formula; controls and bidirectional marks become escapes.

    Names in it come from files of strangers: between two dollar signs matplotlib looks for TeX, and raises
    ValueError where there is none. Tick labels made of numbers alone stay what their formatter makes.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(_literal(text.get_text()))
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        labels = axis.get_major_formatter()
        if isinstance(labels, FuncFormatter):  # what set_xticks and set_yticks make of given labels
            axis.set_major_formatter(FuncFormatter(lambda x, at, made=labels: _literal(made(x, at))))


def _literal(text: str) -> str:
    return _FORMULA.sub(r"\\$", printable(text))


# Labels that must not overlap: moved apart, as little as that takes.


def spaced(places: Sequence[float], least: float, bounds: tuple[float, float]) -> tuple[float, ...]:
    """Return places at least so far apart, in the same order, near where they were.

    Labels that crowd are spread around their common middle, and pushed back inside of the bounds.

    Args:
        places: Where each would like to be.
        least: The least distance of two; less where the bounds have no room for that.
        bounds: The lowest and the highest place there is.
    """
    low, high = bounds
    if len(places) > 1:
        least = min(least, (high - low) / (len(places) - 1))
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Runs of labels that touch: first place, and how many.
    runs: list[tuple[float, list[int]]] = []
    for i in order:
        runs.append((places[i], [i]))
        while len(runs) > 1 and runs[-2][0] + least * len(runs[-2][1]) > runs[-1][0]:
            members = runs[-2][1] + runs[-1][1]
            # The middle of the run is the mean of where its members would like to begin.
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
