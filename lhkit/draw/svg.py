"""Elements of SVG and HTML: escaped text, colours by role, marks for the selection, ids that repeat."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from lhkit.draw.theme import PAGE_STYLE, ROLES, SANS, theme_style
from lhkit.model.printable import printable

# Widths of a character as a share of the font size, a little generous: there is no font to ask.
_MONO_WIDTH = 0.602
_SANS_WIDTH = 0.56


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an element of markup.

    Args:
        tag: Its name.
        children: Markup inside of it; plain text goes through ``escaped`` first.
        attributes: ``class_`` for ``class``, underscores for hyphens, None and False leave one out.
            ``fill`` and ``stroke`` may name roles of the theme: they become the light colour, and a class that
            follows it.
    """
    classes = str(attributes.pop("class_", "") or "").split()
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        if name in {"fill", "stroke"} and value in ROLES:
            classes.append(f"lh-{name[0]}-{value}")
            value = ROLES[str(value)][0]  # noqa: PLW2901
        if isinstance(value, float):
            text = _number(value)
        else:  # numbers hold nothing to escape
            text = str(value) if isinstance(value, int) else escaped(str(value))
        written.append(f' {name.rstrip("_").replace("_", "-")}="{text}"')
    if classes:
        written.insert(0, f' class="{html.escape(" ".join(classes))}"')
    return f"<{tag}{''.join(written)}>{''.join(children)}</{tag}>"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def escaped(text: str) -> str:
    """Return plain text as markup; controls, which SVG may not hold, and marks that turn text are escapes."""
    return html.escape(printable(text))


def marks(
    *, step: int | None = None, handles: Iterable[str] = (), ops: Iterable[str] = (), label: str = ""
) -> dict[str, object]:
    """Return the attributes by which the selection finds an element and a keyboard reaches it.

    Args:
        step: Index of the step that it stands for.
        handles: Ids of the handles that it stands for.
        ops: Ids of the payload ops that it stands for.
        label: What a screen reader says; elements without one are lit with the selection and not stopped at.
    """
    found: dict[str, object] = {"data_step": step}
    found["data_handle"] = " ".join(handles) or None
    found["data_op"] = " ".join(ops) or None
    if label:
        found |= {"tabindex": 0, "role": "button", "aria_label": label}
    return found


def text_width(text: str, size: float, *, mono: bool = True) -> float:
    """Return about how wide a text is, in the unit of its font size; never too little for Latin text."""
    return len(text) * size * (_MONO_WIDTH if mono else _SANS_WIDTH)


def fitted(text: str, width: float, size: float, *, mono: bool = True) -> str:
    """Return a text that fits a width, its end given up for an ellipsis where it has to be."""
    room = int(width / (size * (_MONO_WIDTH if mono else _SANS_WIDTH)))
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def svg(width: float, height: float, *children: str, label: str, themed: bool = True) -> str:
    """Return a drawing as one SVG element.

    Args:
        width: In pixels.
        height: In pixels.
        children: What is in it.
        label: What it shows, for a reader that does not see it.
        themed: Carry the style sheet that follows the theme; without it the colours are the light ones.
    """
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


def svg_png(drawing: str, *, zoom: float = 2.0) -> bytes:
    """Return an SVG made with ``themed=False`` as PNG on white: the same picture on every machine.

    Args:
        drawing: The SVG.
        zoom: Pixels of the PNG for a pixel of the SVG.
    """
    import matplotlib as mpl
    import resvg_py

    # matplotlib ships these fonts, so the picture does not hang on what a machine has installed.
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


def drawing_id(*parts: str) -> str:
    """Return an id for markup that is the same for the same drawing, and differs between drawings."""
    return "lh" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def html_document(title: str, sections: Sequence[str], *, style: str = "") -> str:
    """Return a page of its own with these sections, in the style of all pages and what is added to it."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{PAGE_STYLE}\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )
