"""``lhkit compare``: two benchmarks or two sweeps, as ratios with intervals."""

from __future__ import annotations

import click

from lhkit.bench.bench_store import load_bench
from lhkit.bench.run_comparison import RunComparison, compare_runs
from lhkit.cli.cli_comparing import are_sweeps, compare_sweep_files, show_suites, suites_in
from lhkit.cli.options import POSITIVE_NUMBER
from lhkit.cli.terminal import say
from lhkit.draw.tables import Table, format_ns, table_text
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import summarize


@click.command("compare", epilog="Example: lhkit compare before.json after.json --fail-below 0.95")
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@click.option(
    "--fail-below",
    type=POSITIVE_NUMBER,
    metavar="RATIO",
    help="Exit with 1 if the speed of an entry in B is surely below this multiple of that in A.",
)
@click.option("--across-environments", is_flag=True, help="Compare all the same if the CPUs differ.")
def command(first: str, second: str, fail_below: float | None, across_environments: bool) -> None:
    """Compare two files of lhkit bench, bench --suite or sweep: speeds in B as multiples of those in A.

    Where both have the same anchor, speeds are taken relative to it, so that the clock of either run cancels.
    Sweeps have none; their variants are matched by their knobs, kernels of a suite by their rows.
    """
    if are_sweeps(first, second):
        speeds = compare_sweep_files(first, second, across_environments=across_environments)
    elif (suites := suites_in(first, second)) is not None:
        speeds = show_suites(*suites, across_environments=across_environments)
    else:
        speeds = _compare_benches(first, second, across_environments)
    slower = [(name, low, high) for name, low, high in speeds if fail_below is not None and high < fail_below]
    for name, low, high in slower:
        say(f"lhkit: {name} has {low:.3g} – {high:.3g} of its speed before, below {fail_below:g}", err=True)
    if slower:
        raise click.exceptions.Exit(1)


def _compare_benches(first: str, second: str, across_environments: bool) -> list[tuple[str, float, float]]:
    """Show two runs against each other; return name and interval of the speed of each common entry."""
    before, after = load_bench(first), load_bench(second)
    runs = compare_runs(before, after, across_environments=across_environments)
    for name, ours, theirs in runs.differences:
        say(f"lhkit: the environments differ in {name}: {ours} → {theirs}", err=True)
    say(table_text(_table(runs, before, after)))
    say("\n".join(_lines(runs)))
    return [(r.name, r.speed.low, r.speed.high) for r in runs.ratios]


def _table(runs: RunComparison, before: Comparison, after: Comparison) -> Table:
    times = [{s.name: format_ns(s.median_ns) for s in summarize(run)} for run in (before, after)]
    rows = []
    for r in runs.ratios:
        interval = f"{r.speed.low:.3g} – {r.speed.high:.3g}"
        verdict = ", ".join(filter(None, (r.verdict, r.note)))
        rows.append((r.name, times[0][r.name], times[1][r.name], f"{r.speed.middle:.3g}×", interval, verdict))
    return Table(("", "median in A", "median in B", "speed B / A", "99 % interval", ""), tuple(rows))


def _lines(runs: RunComparison) -> list[str]:
    if runs.relative_to is not None:
        lines = [f"Speeds are relative to {runs.relative_to} of the same run."]
    else:
        lines = ["There is no common anchor: raw times, which move with the clock of the machine."]
    for names, run in ((runs.only_first, "A"), (runs.only_second, "B")):
        if names:
            lines.append(f"Only in {run}: {', '.join(names)}.")
    return lines
