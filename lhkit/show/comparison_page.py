"""A self-contained HTML page of a comparison, with its provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.draw.figures import figure_svg
from lhkit.draw.svg import escaped, html_document
from lhkit.draw.tables import Table, comparison_lines, comparison_table, table_html
from lhkit.model.measurement import Comparison
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import draw_knobs, sweep_lines, sweep_table


@dataclass(frozen=True, slots=True)
class PageParts:
    """The contents of a page.

    Attributes:
        texts: Folded sources and IR, as (heading, text).
        links: Related pages, as (file, text).
    """

    title: str
    summary: str
    comparison: Comparison
    texts: tuple[tuple[str, str], ...]
    command: str
    links: tuple[tuple[str, str], ...] = ()
    sweep: SweepResult | None = None


def render_page(parts: PageParts) -> str:
    """Return the page as HTML."""
    comparison = parts.comparison
    made = {**dict(comparison.environment), **_inputs(comparison), "command": parts.command}
    sections = [
        f"<h1>{escaped(parts.title)}</h1>",
        f"<p>{escaped(parts.summary)}</p>",
        _figure(comparison),
        "<h2>Numbers</h2>",
        table_html(comparison_table(comparison)),
        f'<pre class="notes">{escaped(chr(10).join(comparison_lines(comparison)))}</pre>',
        *([] if parts.sweep is None else _sweep(parts.sweep)),
        *([] if not parts.links else ["<h2>Step by step</h2>", _linked(parts.links)]),
        "<h2>Texts</h2>",
        *[_folded(heading, text) for heading, text in parts.texts],
        "<h2>How this was made</h2>",
        f'<div class="facts">{table_html(_facts(made))}</div>',
    ]
    return html_document(parts.title, sections)


def links_page(title: str, links: Sequence[tuple[str, str]]) -> str:
    """Return a page of links, given as (file, text)."""
    return html_document(title, [f"<h1>{escaped(title)}</h1>", _linked(links)])


def _linked(links: Sequence[tuple[str, str]]) -> str:
    items = (f'<li><a href="{escaped(file)}">{escaped(text)}</a></li>' for file, text in links)
    return f"<ul>{''.join(items)}</ul>"


def _figure(comparison: Comparison) -> str:
    caption = (
        f"Speed as a multiple of {comparison.anchor}, median of {comparison.rounds} rounds with 95 % intervals,"
        " time of a call, and share of the core's limit that is nearer. All entries ran in one process,"
        " in random order within each round."
    )
    svg = figure_svg(draw_speed_bars(comparison))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escaped(caption)}"', 1)
    return f"<figure>\n{svg}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>"


def _sweep(result: SweepResult) -> list[str]:
    caption = f"The knobs of {result.schedule.source}: each variant was compiled, checked and timed."
    table = sweep_table(result)
    lines = "\n".join(sweep_lines(result))
    return [
        "<h2>Tile sizes</h2>",
        f"<figure>\n{figure_svg(draw_knobs(result))}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>",
        table_html(table),
        f'<pre class="notes">{escaped(lines)}</pre>',
    ]


def _folded(heading: str, text: str) -> str:
    lines = text.count("\n") + 1
    summary = f"{escaped(heading)} <span class='faint'>({lines} lines)</span>"
    return f"<details><summary>{summary}</summary><pre>{escaped(text)}</pre></details>"


def _inputs(comparison: Comparison) -> dict[str, str]:
    hashes = {f"sha256 of {m.name}": m.schedule_sha256 for m in comparison.measurements if m.schedule_sha256}
    payload = {"payload": comparison.payload, "sha256 of the payload": comparison.payload_sha256}
    environment = {"sha256 of the environment": comparison.environment_sha256}
    return {**environment, **payload, **hashes, "seed": str(comparison.seed)}


def _facts(facts: Mapping[str, str]) -> Table:
    rows: Sequence[tuple[str, str]] = tuple(facts.items())
    return Table(("", ""), tuple(rows))
