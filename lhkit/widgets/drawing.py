"""A picture of a value for a cell of a notebook, live where there is a kernel."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.render.svg import svg_png
from lhkit.render.viewer import View, view_html

if TYPE_CHECKING:
    from lhkit.widgets.selection import Selection
    from lhkit.widgets.view import ViewWidget

# Set to 0 where notebooks run only to be kept as files.
LIVE = "LHKIT_LIVE"
# Characters of an SVG up to which its PNG has two pixels for one: larger pictures would make notebooks heavy.
_SMALL = 24_000


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of a value, shown by a notebook as HTML, SVG, PNG or text, whichever it can.

    Attributes:
        view: Its panes.
        text: What it says, for a terminal.
        svg: The picture alone with light colours, made when it is asked for.
        is_text: Whether the picture is of lines of text, of which a plain PNG is large enough.
        png: Makes the PNG where it is not made of the SVG.
    """

    view: View
    text: str
    svg: Callable[[], str]
    is_text: bool = False
    png: Callable[[], bytes] | None = None

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        picture = self.svg()
        zoom = 2.0 if len(picture) < _SMALL and not self.is_text else 1.0
        png = self.png() if self.png else svg_png(picture, zoom=zoom)
        bundle = {
            "text/html": view_html(self.view),
            "image/svg+xml": picture,
            "image/png": base64.b64encode(png).decode(),
            "text/plain": self.text,
        }
        if os.environ.get(LIVE) != "0":
            from lhkit.widgets.view import is_live, make_live

            if is_live():
                make_live(self.view)
        return bundle

    def __repr__(self) -> str:
        return self.text

    @property
    def widget(self) -> ViewWidget:
        """A widget of its own, for a place in a layout; it shares the selection too."""
        from lhkit.widgets.view import ViewWidget

        return ViewWidget(self.view)

    @property
    def selection(self) -> Selection:
        """What is selected in the drawings of this trace; observe it, or set it."""
        from lhkit.widgets.selection import selection_of

        return selection_of(self.view.key)
