"""Widgets of drawings: panes with a slider over their steps, a shared selection, knobs that redraw.

Only a Jupyter kernel needs this module: anywidget and IPython, which it loads, take half a second.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from lhkit.draw.viewer import DRAWING_FILES, View, script, view_content, view_id, view_style
from lhkit.model.knob import KnobValue

_KINDS = ("step", "handle", "op")
_SELECTIONS: weakref.WeakValueDictionary[str, Selection] = weakref.WeakValueDictionary()


class Selection(traitlets.HasTraits):
    """What the live drawings of one trace have selected; observe it, or set it to light something everywhere.

    Attributes:
        value: ``{"kind": "step" | "handle" | "op", "id": str}``, several ids separated by spaces, or None.
        step: Index of the step that is shown.
    """

    value: traitlets.Dict[str, str] = traitlets.Dict(allow_none=True, default_value=None)
    step = traitlets.Int(allow_none=True, default_value=None)

    @traitlets.validate("value")
    def _check(self, proposal: Any) -> Any:
        value = proposal["value"]
        if value is not None and (value.get("kind") not in _KINDS or not isinstance(value.get("id"), str)):
            raise traitlets.TraitError(f"a selection has a kind ({', '.join(_KINDS)}) and an id, not {value!r}")
        return value

    def select(self, kind: str, ids: str) -> None:
        """Select a step, handles or payload ops by id, in every live drawing."""
        self.value = {"kind": kind, "id": ids}

    def clear(self) -> None:
        """Select nothing."""
        self.set_trait("value", None)


def selection_of(key: str) -> Selection:
    """Return the selection shared by the live drawings of a key."""
    return _SELECTIONS.setdefault(key, Selection())


class ViewWidget(anywidget.AnyWidget):
    """Drawings of a view, with a slider over their steps and the selection that all views of a trace share.

    ``ViewWidget(view)`` at the end of a cell, or inside of ipywidgets' boxes, shows it. A drawing of
    ``lhkit.show`` needs no more than its own output: the widget takes that over where it finds it.

    Attributes:
        view_id: Pictures with this id become this view.
        shared: What all views of the trace have selected.
    """

    _esm = script("lhkit.js", shared=DRAWING_FILES)
    _css = view_style()
    content = traitlets.Dict().tag(sync=True)
    view_id = traitlets.Unicode().tag(sync=True)
    selection = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    step = traitlets.Int(allow_none=True, default_value=None).tag(sync=True)

    def __init__(self, view: View) -> None:
        shared = selection_of(view.key)
        super().__init__(
            content=view_content(view), view_id=view_id(view), selection=shared.value, step=shared.step
        )
        self.shared: Selection = shared
        traitlets.link((shared, "value"), (self, "selection"))
        traitlets.link((shared, "step"), (self, "step"))


# Widgets by the id of their view; the oldest are closed.
_LIVE: dict[str, ViewWidget] = {}
_MOST_LIVE = 100


def widget_bundle(widget: anywidget.AnyWidget) -> dict[str, Any]:
    """Return the MIME type by which a host shows a widget where the output is."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view}


def make_live(view: View, make: Callable[[], ViewWidget] | None = None) -> ViewWidget:
    """Make the pictures of a view live; one widget serves all pictures of equal views."""
    found = _LIVE.get(view_id(view))
    if found is None:
        found = _LIVE[view_id(view)] = make() if make else ViewWidget(view)
    if len(_LIVE) > _MOST_LIVE:
        _LIVE.pop(next(iter(_LIVE))).close()
    return found


# Debounce interval, so that only the newest of several queued values is drawn.
_PAUSE_S = 0.02

Redraw = Callable[[Mapping[str, KnobValue]], tuple[View | None, str]]


def debounce(act: Callable[[], None]) -> None:
    """Act after the queued messages were read; at once without an event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_later(_PAUSE_S, act)


class KnobView(ViewWidget):
    """A view with controls for knobs.

    Attributes:
        said: Why the view does not show these values; empty if it does.
        drawn: The values that it shows.
    """

    controls = traitlets.Unicode().tag(sync=True)
    knobs = traitlets.Dict().tag(sync=True)
    drawn = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        view: View,
        controls: str,
        knobs: Mapping[str, KnobValue],
        redraw: Redraw,
        later: Callable[[Callable[[], None]], None] = debounce,
    ) -> None:
        super().__init__(view)
        self.controls, self.knobs, self.drawn = controls, dict(knobs), dict(knobs)
        self._redraw, self._later, self._is_due = redraw, later, False
        self.observe(self._follow, "knobs")
        self.on_msg(self._hear)

    def _hear(self, _widget: object, content: Mapping[str, Any], _buffers: Sequence[bytes]) -> None:
        """Answer a page that asks whether the kernel is there."""
        if content.get("do") == "beat":
            self.send({"done": content.get("id")})

    def _follow(self, _: object) -> None:
        # A drawing that is due takes the newest values.
        if not self._is_due:
            self._is_due = True
            self._later(self._draw)

    def _draw(self) -> None:
        self._is_due = False
        knobs = dict(self.knobs)
        view, said = self._redraw(knobs)
        # In one message: if the kernel ended between two, the page would show a picture of values that it does
        # not name.
        with self.hold_sync():
            if view is not None:
                self.content, self.drawn = view_content(view), knobs
            self.said = said
