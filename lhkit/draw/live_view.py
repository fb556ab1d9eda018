"""Drawings and knob controls for notebook cells, live where there is a kernel."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lhkit.draw.figures import entitle, figure_html, figure_pdf, figure_png, figure_svg
from lhkit.draw.svg import drawing_id, element, escaped, html_document, png_pdf, svg_png, titled
from lhkit.draw.viewer import (
    Pane,
    View,
    framed_html,
    view_html,
)
from lhkit.model.errors import usage_error
from lhkit.model.file_io import write_file
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lhkit.draw.view_widgets import Selection, ViewWidget

# Environment variable: 0 turns widgets off, for notebooks that are only executed; ``frame`` says that each
# output is a document of its own, so that its HTML brings the script along.
LIVE = "LHKIT_LIVE"
# The PNG of an SVG up to this many characters is rendered at twice the size.
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
        pdf: Makes the PDF where it is not made of the PNG.
        live: Makes the widget that takes the picture over, where that is not a plain `ViewWidget`.
        title: What it shows; files have it above the picture.
        about: The payload, the schedule, the run and the machine that it is of, in a line below the title.
    """

    view: View
    text: str
    svg: Callable[[], str]
    is_text: bool = False
    png: Callable[[], bytes] | None = None
    pdf: Callable[[], bytes] | None = None
    live: Callable[[], ViewWidget] | None = None
    title: str = ""
    about: str = ""

    def picture(self) -> str:
        """Return the picture with its title as SVG with light colours."""
        return self.svg() if self.png is not None else titled(self.svg(), self.title, self.about)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        picture, is_framed = self.picture(), in_frames()
        bundle: dict[str, Any] = {
            "text/html": framed_html(self.view) if is_framed else view_html(self.view),
            "image/svg+xml": picture,
            "image/png": base64.b64encode(self._png(picture)).decode(),
            "text/plain": repr(self),
        }
        if os.environ.get(LIVE) != "0" and is_live():
            from lhkit.draw.view_widgets import make_live, widget_bundle

            if not is_framed:
                make_live(self.view, self.live)
            elif self.live:  # its knobs need the kernel, which only the host's own widgets reach
                bundle |= widget_bundle(make_live(self.view, self.live))
        return bundle

    def __repr__(self) -> str:
        return printable(self.text)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as a file: the same bytes for the same value.

        Args:
            path: The file; its suffix selects the format: ``.svg``, ``.png``, ``.pdf`` (plots as lines, others
                as pixels), or ``.html``, a page that answers to clicks and keys.

        Returns:
            Its path.

        Raises:
            UsageError: The format is not supported, or the file cannot be written.
        """
        file = Path(path)
        formats: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.picture().encode(),
            ".png": lambda: self._png(self.picture()),
            ".pdf": self.pdf or (lambda: png_pdf(self._png(self.picture()))),
            ".html": lambda: self._page().encode(errors="replace"),
        }
        make = formats.get(file.suffix.lower())
        if make is None:
            message = f"{file} does not end like a picture"
            raise usage_error(message, f"This drawing is written as {', '.join(formats)}.")
        write_file(file, make())
        return file

    def _page(self) -> str:
        """Return a page with the drawing, its data and its script."""
        about = element("p", escaped(self.about), class_="faint") if self.about else ""
        return html_document(self.title or self.view.panes[0].title, (framed_html(self.view), about))

    def _png(self, picture: str) -> bytes:
        if self.png is not None:
            return self.png()
        zoom = 2.0 if len(picture) < _SMALL and not self.is_text else 1.0
        return svg_png(picture, zoom=zoom)

    @property
    def widget(self) -> ViewWidget:
        """A separate widget, for a place in a layout; it shares the selection too."""
        from lhkit.draw.view_widgets import ViewWidget

        return self.live() if self.live else ViewWidget(self.view)

    @property
    def selection(self) -> Selection:
        """What is selected in the drawings of this trace; observe it, or set it."""
        from lhkit.draw.view_widgets import selection_of

        return selection_of(self.view.key)


def is_live() -> bool:
    """Return whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")  # a kernel has loaded it
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def in_frames() -> bool:
    """Return whether outputs are documents of their own, which widgets elsewhere cannot take over."""
    if LIVE in os.environ:
        return os.environ[LIVE] == "frame"
    if not is_live():
        return False
    from IPython.core.getipython import get_ipython

    return "google.colab" in sys.modules or "__vsc_ipynb_file__" in getattr(get_ipython(), "user_ns", ())


def figure_drawing(name: str, title: str, figure: Figure, text: str, about: str = "") -> Drawing:
    """Return a matplotlib figure as a drawing; it gets its title where it is a file, or an image of its own."""
    bare, shown = figure_svg(figure), figure_html(figure)
    said = element("p", escaped(about), class_="lh-note") if about else ""
    view = View(drawing_id(name, bare, about), (Pane(name, title, shown + said, picture=bare),))
    room = entitle(figure, title, about)
    return Drawing(
        view,
        text,
        lambda: figure_svg(figure, room),
        png=lambda: figure_png(figure, room),
        pdf=lambda: figure_pdf(figure, room),
        title=title,
        about=about,
    )


def knob_attributes(knob: Knob) -> dict[str, object]:
    """Return the attributes of every input of a knob, by which the scripts find it."""
    return {"data_knob": knob.name, "aria_label": f"knob {knob.name}", "title": knob.allowed()}


def knob_control(knob: Knob, value: KnobValue | None, *, class_: str = "lh-knob") -> str:
    """Return a control at a value, or at the first option; its input holds an index of the options."""
    options = list(knob.options)
    at = options.index(value) if value in options else 0
    values, attributes = json.dumps(options), knob_attributes(knob)
    name = element("span", escaped(knob.name), class_=f"{class_}-name")
    if all(isinstance(o, int | float) and not isinstance(o, bool) for o in options):
        span = {"type": "range", "min": 0, "max": len(options) - 1, "step": 1, "value": at}
        slider = element("input", **span, data_values=values, aria_valuetext=value, **attributes)
        said = element("output", "" if value is None else escaped(str(value)))
        return element("label", name, slider, said, class_=class_)
    chosen = [
        element("option", escaped(str(option)), value=i, selected="selected" if i == at else None)
        for i, option in enumerate(options)
    ]
    return element("label", name, element("select", *chosen, data_values=values, **attributes), class_=class_)
