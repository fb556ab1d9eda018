"""A profile as text, table and bars: the time of each part, and what the core allows for it."""

from __future__ import annotations

import textwrap
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lhkit.draw.figures import figure_html, figure_png, new_axes
from lhkit.draw.svg import drawing_id
from lhkit.draw.tables import Table, format_ns, format_share, table_html, table_text
from lhkit.draw.theme import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from lhkit.draw.viewer import Pane, View, view_html
from lhkit.parts.part_profile import PartTime, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_BARS = 24
_LABEL_WIDTH = 44
# With hatches, so that kinds differ without colours too.
KIND_LOOKS = {
    "contraction": (BLUE, ""),
    "convolution": (PURPLE, ""),
    "reduction": (ORANGE, "//"),
    "elementwise": (GREEN, ".."),
    "copy": (SKY, "\\\\"),
    "other": (VERMILION, "xx"),
}


def profile_table(profile: Profile) -> Table:
    """Return a row for each part, the largest distance to its limit first."""
    header = ("part", "kind", "time", "share", "limit", "of limit", "bound by", "layer")
    rows = [part_cells(t, profile.parts_ns) for t in profile.ranked]
    if len({t.schedule for t in profile.times}) == 1:
        return Table(header, tuple(rows))
    with_schedule = [(*row, t.schedule) for row, t in zip(rows, profile.ranked, strict=True)]
    return Table((*header, "schedule"), tuple(with_schedule))


def part_cells(t: PartTime, total_ns: float) -> tuple[str, ...]:
    """Return the cells of a part's row: name, kind, time, share, limit, share of limit, bound, layer."""
    limit = "" if t.limit_ns is None else format_ns(t.limit_ns)
    reached = "" if t.limit_ns is None or not t.time_ns else format_share(t.limit_ns / t.time_ns)
    share = format_share(t.time_ns / total_ns)
    return (t.part.name, t.part.kind, format_ns(t.time_ns), share, limit, reached, t.bound, t.layer)


def profile_words(profile: Profile) -> str:
    """Return what the parts add up to, and which one is furthest from its limit."""
    total = f"{PurePath(profile.name).name}: {format_ns(profile.kernel_ns)} a call; its parts add up to"
    share = f" {format_ns(profile.parts_ns)} ({format_share(profile.parts_ns / profile.kernel_ns)})"
    worst = profile.ranked[0]
    where = f" ({worst.layer})" if worst.layer else ""
    if not worst.distance_ns:
        return f"{total}{share}. No part takes longer than operations and bytes take at the core's limits."
    above = f"{format_ns(worst.distance_ns)} above what the core allows"
    return f"{total}{share}. Most is to be gained in {worst.part.name}{where}: {above}."


def draw_profile(profile: Profile) -> Figure:
    """Return a figure: a bar for each part, the longest distance first, with a mark at its limit."""
    shown = profile.ranked[:_MOST_BARS]
    rest = profile.ranked[_MOST_BARS:]
    figure, axes = new_axes(8.0, 1.1 + 0.36 * (len(shown) + bool(rest)))
    for row, t in enumerate(shown):
        colour, hatch = KIND_LOOKS[t.part.kind]
        axes.barh(row, t.time_ns / 1e3, height=0.66, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        if t.limit_ns:
            axes.plot([t.limit_ns / 1e3] * 2, [row - 0.42, row + 0.42], color="black", linewidth=2)
        axes.annotate(
            f"{format_ns(t.time_ns)}, {format_share(t.time_ns / profile.parts_ns)}",
            (max(t.time_ns, t.limit_ns or 0.0) / 1e3, row),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    if rest:
        axes.barh(len(shown), sum(t.time_ns for t in rest) / 1e3, height=0.66, color=GREY)
    labels = [*map(_label, shown), *[f"{len(rest)} more"] * bool(rest)]
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.margins(x=0.18)
    axes.set_xlim(left=0)
    axes.set_xlabel("µs a call; the upright mark is what the core\nallows (operations or bytes)")
    kinds = dict.fromkeys(t.part.kind for t in shown)
    bars = []
    for kind in kinds:
        colour, hatch = KIND_LOOKS[kind]
        bars.append(axes.barh(-9, 0, color=colour, hatch=hatch, edgecolor="white", label=kind))
    figure.legend(handles=bars, loc="outside upper center", ncols=len(bars), fontsize=8, frameon=False)
    return figure


def _label(t: PartTime) -> str:
    return textwrap.shorten(f"{t.part.name}  {t.layer or t.part.kind}", _LABEL_WIDTH, placeholder="…")


def profile_bundle(profile: Profile) -> dict[str, Any]:
    """Return a profile as a MIME bundle."""
    words, table = profile_words(profile), profile_table(profile)
    figure = draw_profile(profile)
    shown = figure_html(figure) + table_html(table)
    return {
        "text/plain": f"{words}\n{table_text(table)}",
        "text/html": view_html(View(drawing_id("profile", words), (Pane("profile", words, shown),))),
        "image/png": figure_png(figure),
    }
