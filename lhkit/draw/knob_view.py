"""A view that follows knobs: Python draws again while a slider moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from lhkit.draw.view import ViewWidget
from lhkit.draw.viewer import View, view_content
from lhkit.model.knob import Knob, KnobValue

# How long values are waited for: those that came while a picture was drawn are read, and the last one counts.
_PAUSE_S = 0.02

Redraw = Callable[[Mapping[str, KnobValue]], tuple[View | None, str]]


def controls_of(knobs: Sequence[Knob]) -> list[dict[str, Any]]:
    """Return a slider for each knob that lists numbers, a menu for one that lists anything else."""
    return [
        {"name": knob.name, "values": list(knob.options), "menu": not all(map(_is_number, knob.options))}
        for knob in knobs
        if len(knob.options) > 1
    ]


def _is_number(value: KnobValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def soon(act: Callable[[], None]) -> None:
    """Act when messages that wait were read; at once where no loop reads any."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_later(_PAUSE_S, act)


class KnobView(ViewWidget):
    """A view with controls for knobs.

    Attributes:
        controls: What can be moved, as `controls_of` says.
        knobs: The value of every knob; set it, or move a slider, and the view is drawn again.
        said: Why the view is not that of these values, or what is wrong with them; empty if nothing is.
    """

    controls: traitlets.List[Any] = traitlets.List().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        view: View,
        controls: Sequence[Mapping[str, Any]],
        knobs: Mapping[str, KnobValue],
        redraw: Redraw,
        later: Callable[[Callable[[], None]], None] = soon,
    ) -> None:
        super().__init__(view)
        self.controls, self.knobs = list(controls), dict(knobs)
        self._redraw, self._later, self._is_due = redraw, later, False
        self.observe(self._follow, "knobs")

    def _follow(self, _: object) -> None:
        # Values that come while a drawing is due are dropped: it takes the newest.
        if not self._is_due:
            self._is_due = True
            self._later(self._draw)

    def _draw(self) -> None:
        self._is_due = False
        view, said = self._redraw(dict(self.knobs))
        if view is not None:
            self.content = view_content(view)
        self.said = said
