"""``lhkit bench --suite``: runs the suite, shows it, and writes its files."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.instruction_caps import instruction_caps
from benchmarks.suite import OURS, SuiteFamily, SuiteResult, SuiteRow, SuiteTable
from benchmarks.suite_collection import file_name, with_other_families
from benchmarks.suite_file import suite_to_json
from benchmarks.suite_page import suite_page
from benchmarks.suite_results import judge_goals
from benchmarks.suite_run import SuiteOptions, SuiteRun
from benchmarks.suite_table import choose_families, choose_rivals, load_table, with_rivals_of
from benchmarks.suite_tables import family_table, goal_table, result_lines, rival_lines, row_line
from lhkit.bench.side_by_side import Progress
from lhkit.cli.bench_command import SuiteAsked
from lhkit.cli.terminal import check_single_stdout, say, show_progress, write_text
from lhkit.draw.tables import table_text
from lhkit.load.target_choice import find_target
from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.worker.limits import Limits


def run_suite(
    families: Sequence[str],
    asked: SuiteAsked,
    json_file: str | None,
    *,
    seed: int,
    limits: Limits,
    options: Mapping[str, Any],
) -> None:
    """Run the suite, show it, and write what was asked for; what was measured survives Ctrl-C.

    Args:
        families: Names of families; none for all.
        asked: The options of the suite.
        json_file: File for JSON; a folder for one named by CPU and target, whose rows of other families stay;
            or None.
        seed: What arguments and order are drawn from.
        limits: Time and memory of a request to the compiler.
        options: The other options of ``lhkit bench``.
    """
    check_single_stdout(json_file, asked.html_file)
    if asked.is_quick and json_file is not None and Path(json_file).is_dir():
        raise usage_error(f"quick rows do not belong into {json_file}", "Name a file, or leave out --quick.")
    table = choose_rivals(load_table(Path(asked.table_file) if asked.table_file else None), asked.rivals)
    chosen = choose_families(table, families)
    table = with_rivals_of(table, chosen)
    target = find_target(options["target"]).name
    os.environ.update(instruction_caps(target))  # before the first process that NumPy or a rival runs in
    processes = 1 if asked.is_quick else asked.processes
    how = SuiteOptions(asked.is_quick, options["rounds"], asked.seconds, seed, target, limits, processes)
    rows: dict[str, SuiteRow] = {}
    is_complete = False
    run = SuiteRun(table, how)
    for line in rival_lines(run.versions):
        say(f"lhkit: {line}", err=True)
    try:
        for row in _measured_rows(run, chosen):
            rows[row.name] = row  # one by one: what was measured survives Ctrl-C
        is_complete = True
    finally:
        missing = () if families else table.missing
        measured = tuple(rows.values())
        found = SuiteResult(asked.is_quick, is_complete, 1, target, run.versions, measured, missing)
        if json_file is not None and Path(json_file).is_dir():
            file = Path(json_file) / file_name(found)
            write_text(str(file), suite_text(with_other_families(found, file, load_table().families)))
            json_file = None
        _show(found, table, json_file, asked.html_file)
    _refuse_failures(found)


def _measured_rows(run: SuiteRun, families: Sequence[SuiteFamily]) -> Iterator[SuiteRow]:
    total = run.steps(families)
    progress = _Progress(total)
    for row in run.rows(families, progress.begin):
        progress.clear()
        say(f"[{progress.number}/{total}] {row.name}: {row_line(row)}", err=True)
        yield row


class _Progress:
    """A line on a terminal that says which row is being measured and how far it is."""

    def __init__(self, total: int) -> None:
        self.number = 0
        self._total = total

    def begin(self, name: str) -> Progress | None:
        self.number += 1
        if not sys.stderr.isatty():
            return None
        head = f"[{self.number}/{self._total}] {name}"

        def after_round(done: int, most: int) -> None:
            show_progress(f"{head} … round {done} of at most {most}")

        say(f"{head} …", nl=False, err=True)
        return after_round

    def clear(self) -> None:
        if sys.stderr.isatty():
            show_progress("")


def _show(result: SuiteResult, table: SuiteTable, json_file: str | None, html_file: str | None) -> None:
    if json_file is not None:
        write_text(json_file, suite_text(result))
    if html_file is not None:
        command = shlex.join(["lhkit", *sys.argv[1:]])
        write_text(html_file, suite_page(result, table.families, command))
    if "-" in (json_file, html_file):
        return
    shown = [f for f in table.families if any(row.family == f.name for row in result.rows)]
    for family in shown:
        say(f"\n{family.title}")
        say(table_text(family_table([row for row in result.rows if row.family == family.name])))
    if not result.is_quick and shown:
        say(f"\n{table_text(goal_table(judge_goals(result, shown)))}")
    say("\n" + "\n".join(result_lines(result)))


def suite_text(result: SuiteResult) -> str:
    """Return a run of the suite as the text of its file: one line per row, for readable diffs."""
    data = suite_to_json(result)
    rows = ",\n".join(f"  {json.dumps(row, separators=(',', ':'))}" for row in data.pop("rows"))
    head = json.dumps(data, indent=1).removesuffix("\n}")
    return f'{head},\n "rows": [\n{rows}\n ]\n}}\n' if rows else f'{head},\n "rows": []\n}}\n'


def _refuse_failures(result: SuiteResult) -> None:
    failed = [(row, left) for row in result.rows for left in row.left_out if left.name == OURS]
    if not failed:
        return
    row, left = failed[0]
    more = f" (and {len(failed) - 1} more rows)" if len(failed) > 1 else ""
    wrong = next((f for f in failed if f[1].kind == "wrong-result"), None)
    if wrong is not None:
        row, left = wrong
    raise error_for(Failure(kind=left.kind, message=f"{row.name}: {left.message}{more}"))
