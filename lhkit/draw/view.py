"""A view as a widget, and how a picture in a notebook becomes live."""

from __future__ import annotations

from collections.abc import Callable

import anywidget
import traitlets

from lhkit.draw.selection import Selection, selection_of
from lhkit.draw.viewer import View, script, view_content, view_id, view_style


class ViewWidget(anywidget.AnyWidget):
    """Drawings of a view, with a slider over their steps and the selection that all views of a trace share.

    ``ViewWidget(view)`` at the end of a cell, or inside of ipywidgets' boxes, shows it. A drawing of
    ``lhkit.show`` needs no more than its own output: the widget takes that over where it finds it.

    Attributes:
        content: The view as the script reads it.
        view_id: Pictures with this id become this view.
        selection: What is selected, as `Selection.value`.
        step: The step that is shown.
        shared: What all views of the trace have selected.
    """

    _esm = script("lhkit.js")
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


# The widgets of pictures in this kernel's notebook, by the id of their view; the oldest close.
_LIVE: dict[str, ViewWidget] = {}
_MOST_LIVE = 100


def is_live() -> bool:
    """Return whether there is a kernel with a notebook at its other end."""
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def make_live(view: View, make: Callable[[], ViewWidget] | None = None) -> ViewWidget:
    """Let pictures of a view in the notebook become live; one widget serves all pictures of equal views.

    Args:
        view: The view.
        make: Makes the widget where it is not a plain one.
    """
    found = _LIVE.get(view_id(view))
    if found is None:
        found = _LIVE[view_id(view)] = make() if make else ViewWidget(view)
    if len(_LIVE) > _MOST_LIVE:
        _LIVE.pop(next(iter(_LIVE))).close()
    return found
