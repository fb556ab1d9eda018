"""Runs of the suite on several machines and targets: one file each in ``data/suite``, shown side by side."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.suite import SuiteFamily, SuiteResult, SuiteRow, shape_text
from benchmarks.suite_bars import BarGroup, family_groups
from benchmarks.suite_file import load_suite
from benchmarks.suite_results import JudgedGoal, goal_text, judge_goals, rival_ratios, share_of_limit
from benchmarks.suite_tables import LIMITS
from lhkit.draw.tables import format_share

FOLDER = Path(__file__).parents[1] / "data" / "suite"


def cpu_of(result: SuiteResult) -> str:
    """Return the CPU that a run was measured on, with its family and model where known: ``AMD EPYC 25/1``."""
    found = [dict(row.comparison.environment) for row in result.rows if row.comparison is not None]
    name, model = next(((f["cpu"], f.get("cpu model")) for f in found if f.get("cpu")), ("unknown CPU", None))
    return " ".join([name, *filter(None, ["/".join(re.findall(r"\d+", model or ""))])])


def file_name(result: SuiteResult) -> str:
    """Return what the file of a run is called: ``amd-epyc-25-1-avx2.json``."""
    words = re.findall(r"[a-z0-9]+", cpu_of(result).lower().replace("(r)", "").replace("(tm)", ""))
    return "-".join([*words, result.target]) + ".json"


def with_other_families(new: SuiteResult, file: Path, families: Sequence[SuiteFamily]) -> SuiteResult:
    """Return a run with the rows of a file for the families that it did not measure, in the table's order."""
    if not file.is_file():
        return new
    old = load_suite(file)
    measured = {row.family for row in new.rows}
    rows = [*new.rows, *(row for row in old.rows if row.family not in measured)]
    order = {family.name: i for i, family in enumerate(families)}
    rivals = {rival.name: rival for rival in (*old.rivals, *new.rivals)}
    return dataclasses.replace(
        new,
        is_complete=new.is_complete and old.is_complete,
        rows=tuple(sorted(rows, key=lambda row: order.get(row.family, len(order)))),
        rivals=tuple(rivals.values()),
    )


def load_collection(folder: Path = FOLDER) -> tuple[SuiteResult, ...]:
    """Return the runs in a folder, in the order of their names."""
    return tuple(load_suite(file) for file in sorted(folder.glob("*.json")))


def names_of(results: Sequence[SuiteResult]) -> tuple[str, ...]:
    """Return what tells runs apart: the target, after the CPU where there are several."""
    cpus = {cpu_of(result) for result in results}
    return tuple(r.target if len(cpus) == 1 else f"{cpu_of(r)}, {r.target}" for r in results)


def collection_groups(results: Sequence[SuiteResult], families: Sequence[SuiteFamily]) -> tuple[BarGroup, ...]:
    """Return the geometric means of each family, those of each run below one another under its name."""
    groups = []
    for family in families:
        bars = []
        for name, result in zip(names_of(results), results, strict=True):
            for group in family_groups(result, [family]):
                first, *others = group.bars
                bars += [dataclasses.replace(first, label=name), *others]
        if bars:
            groups.append(BarGroup(family.title, tuple(bars)))
    return tuple(groups)


def collection_page(results: Sequence[SuiteResult], families: Sequence[SuiteFamily]) -> str:
    """Return the runs side by side as a page of Markdown: a table per family, and the goals."""
    names = names_of(results)
    machines = ", ".join(dict.fromkeys(f"{cpu_of(result)}" for result in results))
    lines = [
        "# Results side by side",
        "",
        f"Measured on: {machines}. Speeds as multiples of each program's, held to the instructions of the same"
        " target; `python docs/pictures.py` writes this page from the samples in `data/suite`.",
        "",
        "![Geometric means by family and target](pictures/suite.svg)",
    ]
    for family in families:
        rows = [[row for row in result.rows if row.family == family.name] for result in results]
        if any(rows):
            lines += ["", f"## {family.title}", "", *_family_lines(family, names, rows)]
    goals = [judge_goals(result, _measured(result, families)) for result in results]
    if any(goals):
        lines += ["", "## Goals", "", *_markdown(("family", "goal", *names), _goal_rows(goals))]
    return "\n".join(lines) + "\n"


def _measured(result: SuiteResult, families: Sequence[SuiteFamily]) -> list[SuiteFamily]:
    return [family for family in families if any(row.family == family.name for row in result.rows)]


def _family_lines(family: SuiteFamily, names: Sequence[str], rows: Sequence[Sequence[SuiteRow]]) -> list[str]:
    """Return a table with a line per shape and target."""
    rivals = list(dict.fromkeys(r.rival for each in rows for row in each for r in rival_ratios(row)))
    table = []
    for shape in family.shapes:
        for name, each in zip(names, rows, strict=True):
            row = next((row for row in each if row.shape == shape), None)
            if row is None:
                continue
            share = share_of_limit(row)
            ratios = {
                r.rival: f"{r.speed.middle:.2f} ({r.speed.low:.2f} – {r.speed.high:.2f})"
                for r in rival_ratios(row)
            }
            cells = ("" if share is None else format_share(share), *(ratios.get(rival, "") for rival in rivals))
            table.append((shape_text(shape), name, *cells))
    return _markdown(("", "target", LIMITS[family.limit], *(f"× {rival}" for rival in rivals)), table)


def _goal_rows(goals: Sequence[Sequence[JudgedGoal]]) -> list[tuple[str, ...]]:
    """Return a row per goal, with a column per run."""
    found = dict.fromkeys((j.family, goal_text(j.goal)) for each in goals for j in each)
    columns = [{(j.family, goal_text(j.goal)): j for j in each} for each in goals]
    return [(*key, *(_goal_cell(column.get(key)) for column in columns)) for key in found]


def _goal_cell(judged: JudgedGoal | None) -> str:
    if judged is None or judged.value is None:
        return "" if judged is None else judged.verdict
    return f"{judged.value:.2f}, {judged.verdict}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
