"""MIME bundles: how values show themselves at the end of a notebook cell."""

from __future__ import annotations

import base64
import html
from typing import Any

from lhkit.model.measurement import Comparison
from lhkit.render.bars import draw_speed_bars
from lhkit.render.figures import figure_png, figure_svg
from lhkit.render.tables import comparison_lines, comparison_table, table_html, table_text


def comparison_bundle(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as table and bars: HTML, PNG, and text."""
    table = comparison_table(comparison)
    lines = "\n".join(comparison_lines(comparison))
    figure = draw_speed_bars(comparison)
    return {
        "text/html": f"{table_html(table)}\n<pre>{html.escape(lines)}</pre>\n{figure_svg(figure)}",
        "image/png": base64.b64encode(figure_png(figure)).decode(),
        "text/plain": f"{table_text(table)}\n{lines}",
    }
