"""``lhkit bench --suite``: families and shapes beside NumPy, PyTorch and IREE."""

from __future__ import annotations

import functools
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lhkit.bench.sampler import Progress
from lhkit.cli.terminal import check_single_stdout, say, show_progress, write_text
from lhkit.draw.tables import table_text
from lhkit.load.target_choice import find_target
from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.suite.suite import OURS, SuiteFamily, SuiteResult, SuiteRow, SuiteTable
from lhkit.suite.suite_file import suite_to_json
from lhkit.suite.suite_page import suite_page
from lhkit.suite.suite_results import judge_goals
from lhkit.suite.suite_run import SuiteOptions, SuiteRun
from lhkit.suite.suite_table import choose_families, choose_rivals, load_table, with_rivals_of
from lhkit.suite.suite_tables import family_table, goal_table, result_lines, rival_lines, row_line
from lhkit.worker.limits import Limits

# Options of ``lhkit bench`` that apply to the suite too.
_SHARED = frozenset(
    ("payload", "schedules", "json_file", "target", "rounds", "seconds", "seed", "timeout", "memory")
)
_OWN = frozenset(("is_suite", "rivals", "is_quick", "html_file", "table_file"))

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SuiteAsked:
    """What the options of the suite ask for.

    Attributes:
        rivals: Names of rivals; none for all.
        is_quick: Whether small shapes are enough.
        html_file: File for a page, or None.
        table_file: Another table than the one that comes with lhkit, or None.
        seconds: How long to sample a row, or None: as the table says.
    """

    rivals: tuple[str, ...]
    is_quick: bool
    html_file: str | None
    table_file: str | None
    seconds: float | None


def suite_options(function: F) -> F:
    """Add ``--suite`` and what goes with it; the command gets a `SuiteAsked` as ``suite``, or None."""

    @click.option(
        "--suite", "is_suite", is_flag=True, help="Time lhkit's families; arguments name some of them."
    )
    @click.option(
        "--rival", "rivals", multiple=True, metavar="NAME", help="Compare with this rival only (with --suite)."
    )
    @click.option(
        "--quick", "is_quick", is_flag=True, help="Small shapes only, as a smoke test (with --suite)."
    )
    @click.option("--html", "html_file", metavar="FILE", help="Save a page with the plots (with --suite).")
    @click.option("--table", "table_file", metavar="FILE", help="Your own families, as TOML (with --suite).")
    @functools.wraps(function)
    def with_suite(
        *args: Any,
        is_suite: bool,
        rivals: tuple[str, ...],
        is_quick: bool,
        html_file: str | None,
        table_file: str | None,
        **options: Any,
    ) -> Any:
        given = _given_options()
        if not is_suite and given & _OWN:
            raise usage_error("--rival, --quick, --html and --table go with --suite")
        if is_suite and (others := given - _OWN - _SHARED):
            raise usage_error(f"--suite does not go with {', '.join(sorted(map(_spelled, others)))}")
        seconds = options["seconds"] if "seconds" in given else None
        asked = SuiteAsked(rivals, is_quick, html_file, table_file, seconds) if is_suite else None
        return function(*args, suite=asked, **options)

    return with_suite  # type: ignore[return-value]


def _given_options() -> frozenset[str]:
    """Return the names of the options that were given explicitly."""
    context = click.get_current_context()
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is ParameterSource.COMMANDLINE)


def _spelled(name: str) -> str:
    command = click.get_current_context().command
    return next((p.opts[-1] for p in command.params if p.name == name and p.opts), name)


def run_suite(
    families: Sequence[str],
    asked: SuiteAsked,
    json_file: str | None,
    *,
    seed: int,
    limits: Limits,
    options: Mapping[str, Any],
) -> None:
    """Run the suite, print it and write the files; rows measured before Ctrl-C are kept."""
    check_single_stdout(json_file, asked.html_file)
    table = choose_rivals(load_table(Path(asked.table_file) if asked.table_file else None), asked.rivals)
    chosen = choose_families(table, families)
    table = with_rivals_of(table, chosen)
    target = find_target(options["target"]).name
    how = SuiteOptions(asked.is_quick, options["rounds"], asked.seconds, seed, target, limits)
    rows: list[SuiteRow] = []
    is_complete = False
    with SuiteRun(table, how) as run:
        for line in rival_lines(run.versions):
            say(f"lhkit: {line}", err=True)
        try:
            for row in _measured_rows(run, chosen):
                rows.append(row)  # one by one, so that rows survive Ctrl-C
            is_complete = True
        finally:
            missing = () if families else table.missing
            found = SuiteResult(asked.is_quick, is_complete, 1, target, run.versions, tuple(rows), missing)
            _show(found, table, json_file, asked.html_file)
    _refuse_failures(found)


def _measured_rows(run: SuiteRun, families: Sequence[SuiteFamily]) -> Iterator[SuiteRow]:
    total = sum(len(run.shapes(family)) for family in families)
    progress = _Progress(total)
    for row in run.rows(families, progress.begin):
        progress.clear()
        say(f"[{progress.number}/{total}] {row.name}: {row_line(row)}", err=True)
        yield row


class _Progress:
    """Progress line on a terminal."""

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
    """Return a run of the suite as JSON with one line per row, so that diffs are readable."""
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
