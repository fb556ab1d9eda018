"""Figures as files: SVG for pages, PNG for readers that show nothing else, PDF for papers."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_svg(figure: Figure) -> str:
    """Return a figure as an SVG element: the same bytes for the same figure, its text in the page's colour."""
    import matplotlib as mpl

    out = io.StringIO()
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
    figure.savefig(out, format="png", dpi=150, facecolor="white")
    return out.getvalue()


def figure_pdf(figure: Figure) -> bytes:
    """Return a figure as PDF: the same bytes for the same figure."""
    out = io.BytesIO()
    figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return out.getvalue()
