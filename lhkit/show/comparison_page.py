"""A self-contained HTML page of a comparison, with its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.draw.figures import figure_svg
from lhkit.draw.svg import escaped, html_document, with_theme
from lhkit.draw.tables import Table, comparison_lines, comparison_table, table_html
from lhkit.model.measurement import Comparison
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import draw_knobs, sweep_lines, sweep_table

Pairs = Sequence[tuple[str, str]]


def render_page(
    title: str,
    summary: str,
    comparison: Comparison,
    texts: Pairs,
    command: str,
    links: Pairs = (),
    sweep: SweepResult | None = None,
) -> str:
    """Return the page as HTML; ``texts`` are folded, as (heading, text), ``links`` are (file, text)."""
    made = {**dict(comparison.environment), **_inputs(comparison), "command": command}
    sections = [
        f"<h1>{escaped(title)}</h1>",
        f"<p>{escaped(summary)}</p>",
        _figure(comparison),
        "<h2>Numbers</h2>",
        table_html(comparison_table(comparison)),
        f'<pre class="notes">{escaped(chr(10).join(comparison_lines(comparison)))}</pre>',
        *([] if sweep is None else _sweep(sweep)),
        *(["<h2>Step by step</h2>", _linked(links)] if links else []),
        "<h2>Texts</h2>",
        *[_folded(heading, text) for heading, text in texts],
        "<h2>How this was made</h2>",
        f'<div class="facts">{table_html(Table(("", ""), tuple(made.items())))}</div>',
    ]
    return html_document(title, sections)


def links_page(title: str, links: Pairs) -> str:
    """Return a page of links, given as (file, text)."""
    return html_document(title, [f"<h1>{escaped(title)}</h1>", _linked(links)])


def _linked(links: Pairs) -> str:
    items = (f'<li><a href="{escaped(file)}">{escaped(text)}</a></li>' for file, text in links)
    return f"<ul>{''.join(items)}</ul>"


def _figure(comparison: Comparison) -> str:
    caption = (
        f"Speed as a multiple of {comparison.anchor}, median of {comparison.rounds} rounds with 95 % intervals,"
        " time of a call, and share of the core's limit that is nearer. All entries ran in one process,"
        " in random order within each round."
    )
    svg = with_theme(figure_svg(draw_speed_bars(comparison)))
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escaped(caption)}"', 1)
    return f"<figure>\n{svg}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>"


def _sweep(result: SweepResult) -> list[str]:
    schedule = PurePath(result.schedule.source).name
    caption = f"The knobs of {schedule}: each variant was compiled, checked and timed."
    lines = "\n".join(sweep_lines(result))
    return [
        "<h2>Tile sizes</h2>",
        f"<figure>\n{with_theme(figure_svg(draw_knobs(result)))}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>",
        table_html(sweep_table(result)),
        f'<pre class="notes">{escaped(lines)}</pre>',
    ]


def _folded(heading: str, text: str) -> str:
    lines = text.count("\n") + 1
    summary = f"{escaped(heading)} <span class='faint'>({lines} lines)</span>"
    return f"<details><summary>{summary}</summary><pre>{escaped(text)}</pre></details>"


def _inputs(comparison: Comparison) -> dict[str, str]:
    return {
        "sha256 of the environment": comparison.environment_sha256,
        "payload": PurePath(comparison.payload).name,
        "sha256 of the payload": comparison.payload_sha256,
        **{f"sha256 of {m.name}": m.schedule_sha256 for m in comparison.measurements if m.schedule_sha256},
        "seed": str(comparison.seed),
    }
