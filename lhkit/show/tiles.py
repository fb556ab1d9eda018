"""Tile pictures, also such that follow knobs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id
from lhkit.draw.viewer import View
from lhkit.model.boundary import public
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.provenance import Provenance
from lhkit.model.tile_picture import TilePicture
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import trace_key
from lhkit.show.value_views import tiles_pane, tiles_view
from lhkit.tiles.tile_requests import Shapes, tile_picture_of
from lhkit.tiles.tile_svg import tiles_svg
from lhkit.tiles.tile_text import tiles_text
from lhkit.traces.record.trace_run import trace_schedule

if TYPE_CHECKING:
    from lhkit.draw.knob_view import KnobView

# Iterations to step through while knobs move: each takes some milliseconds to draw.
_MOVING_ITERATIONS = 8


@public
def tiles(
    shown: Trace | Payload,
    op: str | int | None = None,
    *,
    step: int | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
    knobs: bool = False,
) -> Drawing:
    """Return what the iterations of the loops around a structured op touch of its operands.

    Args:
        shown: A trace, or a payload as it stands.
        op: A handle by name or id, a payload op by id or name, or a number among the linalg ops; None for the
            one with most work.
        step: The step of the trace after which to look; None for the last at which the op was still there.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.
        knobs: With a kernel, add a slider or menu for each knob of the trace's schedule that lists its values:
            while it moves, the schedule is applied again and the picture follows.

    Raises:
        UsageError: There is no such op, or its extents are not known; there are no knobs to move.
    """
    wanted = _Wanted(op, step, shapes)
    if knobs:
        return _with_knobs(shown, wanted)
    picture = wanted.picture(shown)
    key = trace_key(shown) if isinstance(shown, Trace) else drawing_id("payload", shown.sha256)
    return _drawing(tiles_view(key, picture), picture)


@dataclasses.dataclass(frozen=True, slots=True)
class _Wanted:
    """Which op, after which step, with which shapes."""

    op: str | int | None
    step: int | None
    shapes: Shapes

    def picture(self, shown: Trace | Payload) -> TilePicture:
        return tile_picture_of(shown, op=self.op, step=self.step, shapes=self.shapes)


def _drawing(view: View, picture: TilePicture) -> Drawing:
    return Drawing(view, tiles_text(picture), lambda: tiles_svg(picture, themed=False))


def _with_knobs(shown: Trace | Payload, wanted: _Wanted) -> Drawing:
    from lhkit.draw.knob_view import KnobView, controls_of

    given = shown.provenance if isinstance(shown, Trace) else None
    if not isinstance(shown, Trace) or given is None:
        raise usage_error(
            "there is no schedule whose knobs could move",
            "Give a trace that was made here; one that was read from JSON holds no schedule.",
        )
    schedule = given.schedule
    controls = controls_of(schedule.knobs)
    if not controls:
        message = f"{schedule.source} has no knob that lists its values"
        raise usage_error(message, "Leave out knobs=True for the picture alone.")
    key, picture = trace_key(shown), wanted.picture(shown)
    view = _knob_view(key, picture, schedule.values)

    def live() -> KnobView:
        return KnobView(view, controls, schedule.values, functools.partial(_redrawn, given, wanted, key))

    return dataclasses.replace(_drawing(view, picture), live=live)


def _redrawn(
    given: Provenance, wanted: _Wanted, key: str, values: Mapping[str, KnobValue]
) -> tuple[View | None, str]:
    """Return the picture with these values and what went wrong, for people."""
    try:
        trace = trace_schedule(given.payload, given.schedule, values)
        picture = wanted.picture(trace)
    except LhkitError as error:
        return None, f"not drawn: {error.failure.message}"
    said = (trace.outcome.message or "").partition("\n")[0]
    return _knob_view(key, picture, values), said


def _knob_view(key: str, picture: TilePicture, values: Mapping[str, KnobValue]) -> View:
    pane = tiles_pane(picture, _MOVING_ITERATIONS)
    said = ", ".join(f"{name} = {value}" for name, value in values.items())
    return View(key, (dataclasses.replace(pane, title=f"{pane.title}: {said}"),))
