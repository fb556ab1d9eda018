"""A run of the suite as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.suite import SuiteFamily, SuiteResult
from benchmarks.suite_bars import family_groups, family_title, ratio_svg, rivals_in_order, row_group
from benchmarks.suite_results import judge_goals
from benchmarks.suite_tables import family_table, goal_table, result_lines
from lhkit.draw.svg import element, escaped, html_document
from lhkit.draw.tables import Table, table_html

_STYLE = "figure svg { max-width: min(100%, 60rem); }\n"
_HOW = (
    "Each entry was verified against NumPy, then sampled in rounds of one run, on one core, other programs in"
    " processes of their own. A program that can be run in several settings is measured in the fastest of them,"
    " which a short round chooses for each shape. A ratio is the median over rounds, with a 95 % interval;"
    " right of the line, lhkit's schedule is faster. Other programs and NumPy are called from Python, which is"
    " part of their time."
)


def suite_page(result: SuiteResult, families: Sequence[SuiteFamily], command: str) -> str:
    """Return the page."""
    shown = [family for family in families if any(r.family == family.name for r in result.rows)]
    rivals = rivals_in_order(result)
    sections = [
        element("h1", "lhkit's schedules beside NumPy, PyTorch and IREE"),
        element("p", escaped(_HOW)),
        element("pre", escaped("\n".join(result_lines(result))), class_="notes"),
    ]
    if len(shown) > 1:
        overview = "Geometric means by family; whiskers from the least shape to the greatest."
        sections.append(_figure(ratio_svg(family_groups(result, shown), rivals, overview), overview))
    for family in shown:
        rows = [row for row in result.rows if row.family == family.name]
        sections.append(element("h2", escaped(family_title(family, result))))
        if any(row.comparison is not None for row in rows):
            caption = f"{family_title(family, result)}: speed as a multiple of each rival's."
            sections.append(_figure(ratio_svg([row_group("", rows)], rivals, caption), caption))
        sections.append(table_html(family_table(rows)))
    if not result.is_quick:
        sections += [element("h2", "Goals"), table_html(goal_table(judge_goals(result, shown)))]
    made = element("div", table_html(_facts(result, command)), class_="facts")
    return html_document(
        "lhkit bench --suite", [*sections, element("h2", "How this was made"), made], style=_STYLE
    )


def _figure(drawing: str, caption: str) -> str:
    return element("figure", drawing, element("figcaption", escaped(caption)))


def _facts(result: SuiteResult, command: str) -> Table:
    facts = [("command", command), ("target", result.target), ("threads of each kernel", str(result.threads))]
    first = next((row.comparison for row in result.rows if row.comparison is not None), None)
    if first is not None:
        facts += first.environment
    if first is not None and first.limits is not None:
        limits = f"{first.limits.fma_gflops:.4g} GFLOP/s of FMA, {first.limits.copy_gbytes:.3g} GB/s copied"
        facts.append(("limits of the core in the first row", limits))
    return Table(("", ""), tuple(facts))
