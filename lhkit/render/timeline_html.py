"""A handle timeline as HTML: names that stay while the tracks scroll, and what is folded in parts to unfold."""

from __future__ import annotations

from lhkit.render.svg import element, escaped, svg
from lhkit.render.theme import theme_style
from lhkit.render.timeline_layout import TimelineLayout
from lhkit.render.timeline_marks import legend_part
from lhkit.render.timeline_records import Fold, TimelineDrawing
from lhkit.render.timeline_svg import elsewhere_words, names_part, tracks_part

_STYLE = """
.lh-timeline { font-size: 14px; background: var(--lh-paper); }
.lh-timeline .lh-sheet { display: flex; overflow-x: auto; }
.lh-timeline svg { flex: none; max-width: none; display: block; margin: 0; }
.lh-timeline .lh-names { position: sticky; left: 0; z-index: 1; background: var(--lh-paper);
  box-shadow: 1px 0 0 var(--lh-line); }
.lh-timeline p { margin: .4rem 10px; max-width: 60rem; }
.lh-timeline .lh-faint, .lh-timeline summary { color: var(--lh-faint); }
.lh-timeline summary { cursor: pointer; padding: .3rem 10px; }
.lh-timeline label { display: block; padding: .3rem 10px; cursor: pointer; }
.lh-timeline:has(.lh-fold-box:checked) .lh-unfolded, .lh-timeline:not(:has(.lh-fold-box:checked)) .lh-folded {
  display: none; }
.lh-timeline .lh-failed { color: var(--lh-dead); }
""".strip()
_LEGEND_WIDTH = 680.0


def timeline_style() -> str:
    """Return the style sheet of `timeline_html`, once for a page; it needs that of the theme."""
    return _STYLE


def timeline_html(drawing: TimelineDrawing, *, styled: bool = True) -> str:
    """Return a timeline as an HTML fragment; what is folded is in ``<details>``, drawn in full.

    A box folds the inside of all steps that have others inside; it needs no script.

    Args:
        drawing: The timeline.
        styled: Whether it brings its style sheets, or is put where they are.
    """
    legend, bottom = legend_part(_LEGEND_WIDTH, 12)
    head, colon, rest = drawing.verdict.partition(":")
    tone = "" if drawing.verdict.startswith("ok") else "lh-failed"
    verdict = element("p", element("b", escaped(head + colon), class_=tone), escaped(rest))
    views = [_view(drawing)]
    if drawing.overview is not None:
        box = element("input", type="checkbox", class_="lh-fold-box")
        views = [
            element("label", box, " fold what lies inside of steps", class_="lh-faint"),
            element("div", _view(drawing), class_="lh-unfolded"),
            element("div", _view(drawing.overview), class_="lh-folded"),
        ]
    return element(
        "div",
        element("style", theme_style() + _STYLE) if styled else "",
        verdict,
        svg(_LEGEND_WIDTH, bottom + 4, legend, label="legend", themed=False),
        *views,
        class_="lh lh-timeline",
    )


def _view(drawing: TimelineDrawing) -> str:
    return _sheet(drawing) + "".join(map(_fold, drawing.folds))


def _sheet(drawing: TimelineDrawing) -> str:
    at = TimelineLayout(drawing)
    height = at.bottom + 6
    names = svg(at.left, height, names_part(drawing, at), label=f"{drawing.title}: names", themed=False)
    tracks = element("g", tracks_part(drawing, at), transform=f"translate({-at.left:.2f} 0)")
    more = element("p", escaped(elsewhere_words(drawing)), class_="lh-faint") if drawing.elsewhere else ""
    return (
        element(
            "div",
            element("div", names, class_="lh-names"),
            svg(at.width - at.left, height, tracks, label=drawing.title, themed=False),
            class_="lh-sheet",
        )
        + more
    )


def _fold(fold: Fold) -> str:
    return element("details", element("summary", escaped(fold.label)), *map(_sheet, fold.sheets))
