"""A picture of a value for a cell of a notebook, live where there is a kernel."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lhkit.draw.svg import svg_png
from lhkit.draw.viewer import View, view_html
from lhkit.model.errors import usage_error
from lhkit.model.files import write_file
from lhkit.model.printable import printable

if TYPE_CHECKING:
    from lhkit.draw.selection import Selection
    from lhkit.draw.view import ViewWidget

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
        pdf: Makes the PDF, where there is one.
        live: Makes the widget that takes the picture over, where that is no plain `ViewWidget`.
    """

    view: View
    text: str
    svg: Callable[[], str]
    is_text: bool = False
    png: Callable[[], bytes] | None = None
    pdf: Callable[[], bytes] | None = None
    live: Callable[[], ViewWidget] | None = None

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        picture = self.svg()
        bundle = {
            "text/html": view_html(self.view),
            "image/svg+xml": picture,
            "image/png": base64.b64encode(self._png(picture)).decode(),
            "text/plain": repr(self),
        }
        if os.environ.get(LIVE) != "0":
            from lhkit.draw.view import is_live, make_live

            if is_live():
                make_live(self.view, self.live)
        return bundle

    def __repr__(self) -> str:
        return printable(self.text)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as a file: the same bytes for the same value.

        Args:
            path: The file; its suffix says the format: ``.svg``, ``.png``, and ``.pdf`` for figures of numbers.

        Returns:
            Its path.

        Raises:
            UsageError: There is no such format of it, or the file cannot be written.
        """
        file = Path(path)
        formats: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.svg().encode(),
            ".png": lambda: self._png(self.svg()),
        }
        if self.pdf is not None:
            formats[".pdf"] = self.pdf
        make = formats.get(file.suffix.lower())
        if make is None:
            message = f"{file} does not end like a picture"
            raise usage_error(message, f"This drawing is written as {', '.join(formats)}.")
        write_file(file, make())
        return file

    def _png(self, picture: str) -> bytes:
        """Return the PNG of the drawing, whose SVG is given."""
        if self.png is not None:
            return self.png()
        zoom = 2.0 if len(picture) < _SMALL and not self.is_text else 1.0
        return svg_png(picture, zoom=zoom)

    @property
    def widget(self) -> ViewWidget:
        """A widget of its own, for a place in a layout; it shares the selection too."""
        from lhkit.draw.view import ViewWidget

        return self.live() if self.live else ViewWidget(self.view)

    @property
    def selection(self) -> Selection:
        """What is selected in the drawings of this trace; observe it, or set it."""
        from lhkit.draw.selection import selection_of

        return selection_of(self.view.key)
