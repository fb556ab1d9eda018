"""The result of a sweep as a MIME bundle: the table of the best, and the drawing that fits its knobs."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.svg import escaped
from lhkit.draw.tables import table_html, table_text
from lhkit.sweeps.confirmation import Confirmation, describe_confirmation
from lhkit.sweeps.sweep_heat import can_be_mapped, draw_heat_map, heat_map
from lhkit.sweeps.sweep_history import draw_history, draw_statuses, status_bars, sweep_history
from lhkit.sweeps.sweep_parallel import draw_parallel_coordinates, parallel_coordinates
from lhkit.sweeps.sweep_summary import varied_knobs
from lhkit.sweeps.sweep_table import confirmation_lines, course_lines, sweep_lines, sweep_table
from lhkit.sweeps.variant_record import SweepResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sweep_result_bundle(result: SweepResult) -> dict[str, Any]:
    """Return the result of a sweep as table and drawing, and below them its course and what failed."""
    table = sweep_table(result)
    bundle = {"text/plain": sweep_text(result)}
    shown = table_html(table) if table.rows else ""
    verdict = "\n".join(confirmation_lines(result))
    shown += f"<pre>{escaped(verdict)}</pre>" if verdict else ""
    if varied_knobs(result.records):
        figure = draw_knobs(result)
        shown += figure_svg(figure)
        bundle["image/png"] = base64.b64encode(figure_png(figure)).decode()
    more = "<pre>" + escaped("\n".join(course_lines(result))) + "</pre>"
    if result.records:
        more += figure_svg(_draw_history(result)) + figure_svg(_draw_outcomes(result))
    course = f"<details><summary>course and outcomes of the sweep</summary>{more}</details>"
    return {"text/html": f"<div>{shown}{course}</div>", **bundle}


def sweep_text(result: SweepResult) -> str:
    """Return the result for a terminal: the table of the best, and what belongs under it."""
    table, lines = sweep_table(result), "\n".join(sweep_lines(result))
    return f"{table_text(table)}\n{lines}" if table.rows else lines


def draw_knobs(result: SweepResult) -> Figure:
    """Return the figure that fits the knobs: heat maps of up to three, else parallel coordinates.

    Raises:
        UsageError: No knob was varied.
    """
    winners = {found.leader_key for _, found in result.confirmations if found.winner_key or found.is_settled}
    if can_be_mapped(result.records):
        varied = varied_knobs(result.records)
        values = {name: own for name, own in result.axes if name in varied}
        return draw_heat_map(heat_map(result.records, values=values, winners=winners))
    return draw_parallel_coordinates(parallel_coordinates(result.records, winners=winners))


def _draw_history(result: SweepResult) -> Figure:
    return draw_history(sweep_history(result.records))


def _draw_outcomes(result: SweepResult) -> Figure:
    return draw_statuses(status_bars(result.records))


SweepFigure = Literal["knobs", "history", "outcomes"]
SWEEP_FIGURES: Mapping[SweepFigure, Callable[[SweepResult], Figure]] = {
    "knobs": draw_knobs,
    "history": _draw_history,
    "outcomes": _draw_outcomes,
}


def confirmation_bundle(confirmation: Confirmation) -> dict[str, Any]:
    """Return the outcome of a confirmation as text."""
    return {"text/plain": "\n".join(describe_confirmation(confirmation))}
