"""``lhkit compare``: two benchmarks or two sweeps, as ratios with intervals."""

from __future__ import annotations

from pathlib import Path

import click

from lhkit.bench.bench_store import load_bench
from lhkit.bench.run_comparison import RunComparison, compare_runs
from lhkit.cli.options import POSITIVE_NUMBER
from lhkit.cli.terminal import say
from lhkit.draw.tables import Table, format_ns, table_text
from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import summarize
from lhkit.suite.suite import SuiteResult
from lhkit.suite.suite_comparison import SuiteComparison, compare_suites
from lhkit.suite.suite_table import load_suite
from lhkit.sweeps.store_comparison import SweepComparison, VariantRatio, compare_sweeps
from lhkit.sweeps.sweep_files import is_sweep_file, load_records
from lhkit.sweeps.variant_record import SweepRecord

_MOST_ROWS = 20


def _compare_sweep_files(
    first: str, second: str, *, across_environments: bool
) -> list[tuple[str, float, float]]:
    """Print a comparison of two sweeps; return (variant, low, high) of the speed ratios."""
    runs = compare_sweeps(load_records(first), load_records(second), across_environments=across_environments)
    if not runs.same_environment:
        say("lhkit: the environments differ", err=True)
    say(table_text(_runs_table(runs)))
    say("\n".join(_runs_lines(runs)))
    return [(_name(r), r.speed.low, r.speed.high) for r in runs.ratios]


def _runs_table(runs: SweepComparison) -> Table:
    rows = []
    for r in runs.ratios[:_MOST_ROWS]:
        interval = f"{r.speed.low:.3g} – {r.speed.high:.3g}"
        times = [_median(record) for record in (r.first, r.second)]
        rows.append((_name(r), *times, f"{r.speed.middle:.3g}×", interval, r.verdict))
    return Table(("", "median in A", "median in B", "speed B / A", "99 % interval", ""), tuple(rows))


def _runs_lines(runs: SweepComparison) -> list[str]:
    speed = runs.speed
    count = f"{len(runs.ratios)} variants in common"
    lines = [f"{count}: median speed B / A {speed.middle:.3g}× (quartiles {speed.low:.3g} – {speed.high:.3g})."]
    if len(runs.ratios) > _MOST_ROWS:
        lines.append(f"The {_MOST_ROWS} fastest in B are shown.")
    lines.append("There is no anchor: raw times, which move with the clock of the machine.")
    for count_only, run in ((runs.only_first, "A"), (runs.only_second, "B")):
        if count_only:
            lines.append(f"Only in {run}: {count_only} variants.")
    return lines


def _name(ratio: VariantRatio) -> str:
    return " ".join(f"{name}={value}" for name, value in ratio.knobs) or "the only variant"


def _median(record: SweepRecord) -> str:
    return format_ns(record.time_ns.median) if record.time_ns else ""


def _suites_in(first: str, second: str) -> tuple[SuiteResult, SuiteResult] | None:
    """Load both files if both are runs of the suite, None if neither is."""
    if is_sweep_file(Path(first)) or is_sweep_file(Path(second)):
        return None  # load_bench reports it
    found = load_suite(first), load_suite(second)
    if found[0] is None and found[1] is None:
        return None
    if found[0] is None or found[1] is None:
        other = first if found[0] is None else second
        raise usage_error(f"{other} is no run of the suite, and the other file is one")
    return found[0], found[1]


def _show_suites(
    first: SuiteResult, second: SuiteResult, *, across_environments: bool
) -> list[tuple[str, float, float]]:
    """Print a comparison of two runs of the suite; return (row, low, high) of the speed ratios."""
    runs = compare_suites(first, second, across_environments=across_environments)
    _say_differences(runs)
    rows = tuple(
        (
            r.name,
            f"{r.speed.middle:.3g}×",
            f"{r.speed.low:.3g} – {r.speed.high:.3g}",
            ", ".join(filter(None, (r.verdict, r.note))),
        )
        for r in runs.ratios
    )
    say(table_text(Table(("", "speed B / A", "99 % interval", ""), rows)))
    say("Speeds are relative to NumPy of the same run.")
    for line in _only_lines(runs):
        say(line)
    for name, why in runs.not_compared:
        say(f"{name}: not compared: {why}")
    return [(r.name, r.speed.low, r.speed.high) for r in runs.ratios]


@click.command("compare", epilog="Example: lhkit compare before.json after.json --fail-below 0.95")
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@click.option(
    "--fail-below",
    type=POSITIVE_NUMBER,
    metavar="RATIO",
    help="Exit with 1 if the speed of an entry in B is surely below this multiple of that in A.",
)
@click.option("--across-environments", is_flag=True, help="Compare even if the CPUs differ.")
def command(first: str, second: str, fail_below: float | None, across_environments: bool) -> None:
    """Compare two files of lhkit bench, bench --suite or sweep: speeds in B as multiples of those in A.

    Where both have the same anchor, speeds are taken relative to it, so that the clock of either run cancels.
    Sweeps have none; their variants are matched by their knobs, kernels of a suite by their rows.
    """
    if is_sweep_file(Path(first)) and is_sweep_file(Path(second)):
        speeds = _compare_sweep_files(first, second, across_environments=across_environments)
    elif (suites := _suites_in(first, second)) is not None:
        speeds = _show_suites(*suites, across_environments=across_environments)
    else:
        speeds = _compare_benches(first, second, across_environments)
    slower = [(name, low, high) for name, low, high in speeds if fail_below is not None and high < fail_below]
    for name, low, high in slower:
        say(f"lhkit: {name} has {low:.3g} – {high:.3g} of its speed before, below {fail_below:g}", err=True)
    if slower:
        raise click.exceptions.Exit(1)


def _compare_benches(first: str, second: str, across_environments: bool) -> list[tuple[str, float, float]]:
    """Print a comparison of two benchmarks; return (entry, low, high) of the speed ratios."""
    before, after = load_bench(first), load_bench(second)
    runs = compare_runs(before, after, across_environments=across_environments)
    _say_differences(runs)
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
        first = f"Speeds are relative to {runs.relative_to} of the same run."
    else:
        first = "There is no common anchor: raw times, which move with the clock of the machine."
    return [first, *_only_lines(runs)]


def _only_lines(runs: RunComparison | SuiteComparison) -> list[str]:
    only = ((runs.only_first, "A"), (runs.only_second, "B"))
    return [f"Only in {run}: {', '.join(names)}." for names, run in only if names]


def _say_differences(runs: RunComparison | SuiteComparison) -> None:
    for name, ours, theirs in runs.differences:
        say(f"lhkit: the environments differ in {name}: {ours} → {theirs}", err=True)
