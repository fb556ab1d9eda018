"""Figures of matplotlib as drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lhkit.draw.figures import figure_pdf, figure_png, figure_svg
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id
from lhkit.draw.viewer import Pane, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_drawing(name: str, title: str, figure: Figure, text: str) -> Drawing:
    """Return a figure as a drawing.

    Args:
        name: What its pane is called in a page.
        title: Its heading.
        figure: The figure.
        text: What it says, for a terminal.
    """
    svg = figure_svg(figure)
    view = View(drawing_id(name, svg), (Pane(name, title, svg, picture=svg),))
    return Drawing(view, text, lambda: svg, png=lambda: figure_png(figure), pdf=lambda: figure_pdf(figure))
