"""``lhkit compare``: two benchmarks or two sweeps, as ratios with intervals."""

from __future__ import annotations

from pathlib import Path

import click

from lhkit.bench.bench_file import load_bench, read_json
from lhkit.bench.run_comparison import RunComparison, compare_runs
from lhkit.cli.options import benchmarks_module
from lhkit.cli.positive_number import POSITIVE_NUMBER
from lhkit.cli.terminal import say
from lhkit.draw.tables import Table, format_ns, table_text
from lhkit.model.errors import usage_error
from lhkit.sweeps.sweep_files import compare_sweeps, is_sweep_file, load_records

_MOST_ROWS = 20


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
        records = load_records(first), load_records(second)
        runs = compare_sweeps(*records, across_environments=across_environments)
        _show_sweeps(runs)
    elif _are_suites(first, second):
        suites = benchmarks_module("suite_file")
        loaded = [suites.load_suite(file) for file in (first, second)]
        compare_suites = benchmarks_module("suite_results").compare_suites
        runs = compare_suites(*loaded, across_environments=across_environments)
        _show_benches(runs, has_times=False)
    else:
        runs = compare_runs(load_bench(first), load_bench(second), across_environments=across_environments)
        _show_benches(runs, has_times=True)
    slower = [r for r in runs.ratios if fail_below is not None and r.speed.high < fail_below]
    for r in slower:
        interval = f"{r.speed.low:.3g} – {r.speed.high:.3g}"
        say(f"lhkit: {r.name} has {interval} of its speed before, below {fail_below:g}", err=True)
    if slower:
        raise click.exceptions.Exit(1)


def _are_suites(first: str, second: str) -> bool:
    if is_sweep_file(Path(first)) or is_sweep_file(Path(second)):
        return False  # load_bench reports what is wrong
    loaded = [read_json(Path(file)) for file in (first, second)]
    schemas = [str(data.get("schema")) if isinstance(data, dict) else "" for data in loaded]
    is_first, is_second = (schema.startswith("lhkit.suite/") for schema in schemas)
    if is_first != is_second:
        raise usage_error(
            f"{second if is_first else first} is not a run of the suite, and the other file is one"
        )
    return is_first


def _show_sweeps(runs: RunComparison) -> None:
    if runs.differences:
        say("lhkit: the environments differ", err=True)
    _show_table(runs, has_times=True, most_rows=_MOST_ROWS)
    speed = runs.quartiles
    quartiles = f"{speed.middle:.3g}× (quartiles {speed.low:.3g} – {speed.high:.3g})"
    say(f"{len(runs.ratios)} variants in common: median speed B / A {quartiles}.")
    if len(runs.ratios) > _MOST_ROWS:
        say(f"The {_MOST_ROWS} fastest in B are shown.")
    say("There is no anchor: raw times, which move with the clock of the machine.")
    for names, run in ((runs.only_first, "A"), (runs.only_second, "B")):
        if names:
            say(f"Only in {run}: {len(names)} variants.")


def _show_benches(runs: RunComparison, *, has_times: bool) -> None:
    for name, ours, theirs in runs.differences:
        say(f"lhkit: the environments differ in {name}: {ours} → {theirs}", err=True)
    _show_table(runs, has_times=has_times)
    no_anchor = "There is no common anchor: raw times, which move with the clock of the machine."
    say(f"Speeds are relative to {runs.relative_to} of the same run." if runs.relative_to else no_anchor)
    for names, run in ((runs.only_first, "A"), (runs.only_second, "B")):
        if names:
            say(f"Only in {run}: {', '.join(names)}.")
    for name, why in runs.not_compared:
        say(f"{name}: not compared: {why}")


def _show_table(runs: RunComparison, *, has_times: bool, most_rows: int | None = None) -> None:
    rows = []
    for r in runs.ratios[:most_rows]:
        times = map(format_ns, r.medians_ns) if has_times else ()
        interval = f"{r.speed.low:.3g} – {r.speed.high:.3g}"
        verdict = ", ".join(filter(None, (r.verdict, r.note)))
        rows.append((r.name, *times, f"{r.speed.middle:.3g}×", interval, verdict))
    times_header = ("median in A", "median in B") if has_times else ()
    say(table_text(Table(("", *times_header, "speed B / A", "99 % interval", ""), tuple(rows))))
