"""Elements of SVG and HTML: escaped text, colours by role, selection marks, reproducible ids."""

from __future__ import annotations

import hashlib
import html
import io
import re
import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from lhkit.draw.theme import ROLES, SANS, TEXT_ROLES, static_text, theme_style
from lhkit.model.printable import printable

# Upper estimates of character widths in units of the font size.
_MONO_WIDTH = 0.602
_SANS_WIDTH = 0.56


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element: ``class_`` is ``class``, underscores are hyphens, None and False are left out.

    ``fill`` and ``stroke`` may name roles of the theme. Children are markup; plain text must be `escaped`.
    """
    classes = str(attributes.pop("class_", "") or "").split()
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        if name in {"fill", "stroke"} and value in ROLES:
            classes.append(f"lh-{name[0]}-{value}")
            is_text = name == "fill" and tag in {"text", "tspan"}
            value = (TEXT_ROLES if is_text and value in TEXT_ROLES else ROLES)[str(value)][0]  # noqa: PLW2901
        if isinstance(value, float):
            text = _number(value)
        else:  # numbers need no escaping
            text = str(value) if isinstance(value, int) else escaped(str(value))
        written.append(f' {name.rstrip("_").replace("_", "-")}="{text}"')
    if classes:
        written.insert(0, f' class="{html.escape(" ".join(classes))}"')
    return f"<{tag}{''.join(written)}>{''.join(children)}</{tag}>"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def escaped(text: str) -> str:
    """Return plain text as markup; control and bidirectional characters become visible escapes."""
    return html.escape(printable(text))


def marks(
    *, step: int | None = None, handles: Iterable[str] = (), ops: Iterable[str] = (), label: str = ""
) -> dict[str, object]:
    """Return the attributes of a selectable element; with a label the keyboard reaches it too."""
    found: dict[str, object] = {"data_step": step}
    found["data_handle"] = " ".join(handles) or None
    found["data_op"] = " ".join(ops) or None
    if label:
        found |= {"tabindex": 0, "role": "button", "aria_label": label}
    return found


def text_width(text: str, size: float, *, mono: bool = True) -> float:
    """Return an upper estimate of the width of Latin text, in the unit of the font size."""
    return len(text) * size * (_MONO_WIDTH if mono else _SANS_WIDTH)


def fitted(text: str, width: float, size: float, *, mono: bool = True) -> str:
    """Return a text cut to a width, with an ellipsis."""
    room = int(width / (size * (_MONO_WIDTH if mono else _SANS_WIDTH)))
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def svg(width: float, height: float, *children: str, label: str, themed: bool = True) -> str:
    """Return a drawing as one SVG element; unthemed ones carry the light colours and no style sheet."""
    style = f"<style>{theme_style()}</style>" if themed else ""
    return element(
        "svg",
        element("title", escaped(label)),
        style,
        *children,
        xmlns="http://www.w3.org/2000/svg",
        class_="lh",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=_number(width),
        height=_number(height),
        role="img",
        aria_label=label,
        font_family=SANS,
        font_size=12,
    )


def with_theme(drawing: str) -> str:
    """Return an SVG element with the style sheet of the theme: it follows what is around it, or the reader."""
    start, rest = drawing.split(">", 1)
    if 'class="lh"' not in start:
        start = start.replace("<svg", '<svg class="lh"', 1)
    return f"{start}><style>{theme_style()}</style>{rest}"


_TITLE_SIZE, _ABOUT_SIZE, _TITLE_EDGE = 14.0, 11.0, 10.0


def titled(drawing: str, title: str, about: str = "") -> str:
    """Return a drawing made by `svg` below a title and a line on what it is of, both wrapped to its width."""
    found = re.search(r'viewBox="0 0 (\S+) (\S+)"', drawing)
    if found is None or not title:
        return drawing
    width, height = max(float(found[1]), 320.0), float(found[2])
    words, y = [], 0.0
    for text, size, look in (
        (title, _TITLE_SIZE, {"fill": "ink", "font_weight": "bold"}),
        (about, _ABOUT_SIZE, {"fill": "faint"}),
    ):
        columns = int((width - 2 * _TITLE_EDGE) / (size * _SANS_WIDTH))
        for line in textwrap.wrap(text, columns):
            y += size * 1.4
            words.append(element("text", escaped(line), x=_TITLE_EDGE, y=y, font_size=size, **look))
    below = y + _TITLE_EDGE
    inner = drawing.replace("<svg", f'<svg y="{_number(below)}"', 1)
    return svg(width, height + below, *words, inner, label=title, themed=False)


# No side of a PNG has more pixels: a viewer has to hold all of them.
MOST_PIXELS = 8192


def svg_png(drawing: str, *, zoom: float = 2.0) -> bytes:
    """Return an SVG made with ``themed=False`` as PNG on white: the same picture on every machine.

    A drawing that would have more than `MOST_PIXELS` on a side is scaled down to that.
    """
    import matplotlib as mpl
    import resvg_py

    if box := re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', drawing):
        zoom = min(zoom, MOST_PIXELS / max(float(box[1]), float(box[2]), 1.0))
    # matplotlib ships these fonts, so the picture is the same on every machine.
    fonts = Path(mpl.get_data_path()) / "fonts" / "ttf"
    names = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=drawing,
            background="#ffffff",
            zoom=zoom,
            skip_system_fonts=True,
            font_files=[str(fonts / name) for name in names],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
        )
    )


def png_pdf(image: bytes) -> bytes:
    """Return a PNG as a PDF of one page; the same bytes for the same image."""
    from PIL import Image

    out, never = io.BytesIO(), time.gmtime(0)
    picture = Image.open(io.BytesIO(image)).convert("RGB")
    picture.save(out, "PDF", resolution=192.0, creationDate=never, modDate=never)
    return out.getvalue()


def drawing_id(*parts: str) -> str:
    """Return a hash of the given parts as an id for markup."""
    return "lh" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def html_document(title: str, sections: Sequence[str], *, style: str = "") -> str:
    """Return a complete HTML page of these sections; ``style`` is added to the shared style sheet."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{static_text('page.css').strip()}\n{style}</style>\n"
        "</head>\n<body>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )
