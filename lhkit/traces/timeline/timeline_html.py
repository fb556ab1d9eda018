"""A handle timeline as HTML: names that stay while the tracks scroll, and what is folded in parts to unfold."""

from __future__ import annotations

from lhkit.draw.svg import element, escaped, svg
from lhkit.draw.theme import theme_style
from lhkit.traces.timeline.timeline_heads import heads_part
from lhkit.traces.timeline.timeline_layout import TimelineLayout
from lhkit.traces.timeline.timeline_marks import legend_part
from lhkit.traces.timeline.timeline_records import Fold, TimelineDrawing
from lhkit.traces.timeline.timeline_svg import elsewhere_words, names_part, rows_part, tracks_part

_STYLE = """
.lh-timeline { font-size: 14px; background: var(--lh-paper); }
.lh-timeline .lh-sheet { display: flex; overflow-x: auto; }
.lh-timeline svg { flex: none; max-width: none; display: block; margin: 0; }
.lh-timeline .lh-names { position: sticky; left: 0; z-index: 1; background: var(--lh-paper);
  box-shadow: 1px 0 0 var(--lh-line); }
.lh-timeline .lh-compact { display: grid; grid-template-columns: auto 1fr; overflow: visible;
  width: max-content; min-width: 100%; }
.lh-timeline .lh-heads { position: sticky; top: 0; z-index: 2; background: var(--lh-paper);
  box-shadow: 0 1px 0 var(--lh-line); }
.lh-timeline .lh-heads:empty { left: 0; z-index: 3; }
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


def timeline_html(drawing: TimelineDrawing, *, styled: bool = True, is_compact: bool = False) -> str:
    """Return a timeline as an HTML fragment; what is folded is in ``<details>``, drawn in full.

    A box folds the inside of all steps that have others inside; it needs no script.

    Args:
        drawing: The timeline.
        styled: Whether it brings its style sheets, or is put where they are.
        is_compact: Whether columns have numbers and no names, in heads that stay where it scrolls; names are
            said by pointing at them, and by screen readers.
    """
    legend, bottom = legend_part(_LEGEND_WIDTH, 12)
    head, colon, rest = drawing.verdict.partition(":")
    tone = "" if drawing.verdict.startswith("ok") else "lh-failed"
    verdict = element("p", element("b", escaped(head + colon), class_=tone), escaped(rest))
    views = [_view(drawing, is_compact)]
    if drawing.overview is not None:
        box = element("input", type="checkbox", class_="lh-fold-box")
        views = [
            element("label", box, " fold what lies inside of steps", class_="lh-faint"),
            element("div", _view(drawing, is_compact), class_="lh-unfolded"),
            element("div", _view(drawing.overview, is_compact), class_="lh-folded"),
        ]
    return element(
        "div",
        element("style", theme_style() + _STYLE) if styled else "",
        verdict,
        svg(_LEGEND_WIDTH, bottom + 4, legend, label="legend", themed=False),
        *views,
        class_="lh lh-timeline",
    )


def _view(drawing: TimelineDrawing, is_compact: bool) -> str:
    return _sheet(drawing, is_compact) + "".join(_fold(fold, is_compact) for fold in drawing.folds)


def _sheet(drawing: TimelineDrawing, is_compact: bool) -> str:
    at = TimelineLayout(drawing, is_compact=is_compact)
    title, top = drawing.title, at.tracks if is_compact else 0.0
    names = element("div", _cut(names_part(drawing, at), 0, top, at, f"{title}: names"), class_="lh-names")
    if is_compact:
        heads = _cut(heads_part(drawing, at), at.left, 0, at, f"{title}: steps", bottom=top)
        rows = _cut(rows_part(drawing, at), at.left, top, at, title)
        parts = [element("div", class_="lh-heads"), element("div", heads, class_="lh-heads"), names, rows]
    else:
        parts = [names, _cut(tracks_part(drawing, at), at.left, 0, at, title)]
    more = element("p", escaped(elsewhere_words(drawing)), class_="lh-faint") if drawing.elsewhere else ""
    return element("div", *parts, class_="lh-sheet lh-compact" if is_compact else "lh-sheet") + more


def _cut(
    part: str, left: float, top: float, at: TimelineLayout, label: str, *, bottom: float | None = None
) -> str:
    """Return a drawing of a part from a place on: to the names' right edge from 0, else to the end."""
    width = at.width - left if left else at.left
    height = (at.bottom + 6 if bottom is None else bottom) - top
    moved = element("g", part, transform=f"translate({-left:.2f} {-top:.2f})") if left or top else part
    return svg(width, height, moved, label=label, themed=False)


def _fold(fold: Fold, is_compact: bool) -> str:
    sheets = (_sheet(sheet, is_compact) for sheet in fold.sheets)
    return element("details", element("summary", escaped(fold.label)), *sheets)
