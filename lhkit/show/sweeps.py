"""Pictures of sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lhkit.draw.figure_drawings import figure_drawing
from lhkit.draw.live_view import Drawing
from lhkit.model.boundary import public
from lhkit.model.errors import usage_error
from lhkit.sweeps.sweep_bundle import SWEEP_FIGURES, SweepFigure, sweep_text
from lhkit.sweeps.variant_record import SweepResult

if TYPE_CHECKING:
    from lhkit.sweeps.live_sweep import Sweep

_TITLES = {"knobs": "Knobs", "history": "Best so far", "outcomes": "Outcomes"}


@public
def sweep(result: SweepResult | Sweep, *, kind: SweepFigure = "knobs") -> Drawing:
    """Return what a sweep found, or has found so far.

    Args:
        result: The result, or the sweep itself.
        kind: ``knobs``: heat maps of up to three knobs (the third gives a map for each of its values), else
            parallel coordinates with the importance of knobs; ``history``: the best so far after each variant;
            ``outcomes``: how many variants ended in which way, with what most of them said.

    Raises:
        UsageError: There is no such kind, or no knob was varied.
    """
    if kind not in SWEEP_FIGURES:
        raise usage_error(f"there is no figure {kind!r} of a sweep", f"There are: {', '.join(SWEEP_FIGURES)}.")
    found = result if isinstance(result, SweepResult) else result.result()
    return figure_drawing(f"sweep-{kind}", _TITLES[kind], SWEEP_FIGURES[kind](found), sweep_text(found))
