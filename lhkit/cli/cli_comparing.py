"""What ``lhkit compare`` says about two sweeps, and about two runs of the suite."""

from __future__ import annotations

from pathlib import Path

from lhkit.cli.terminal import say
from lhkit.draw.tables import Table, format_ns, table_text
from lhkit.model.errors import usage_error
from lhkit.suite.suite import SuiteResult
from lhkit.suite.suite_comparison import compare_suites
from lhkit.suite.suite_table import load_suite
from lhkit.sweeps.store_comparison import SweepComparison, VariantRatio, compare_sweeps
from lhkit.sweeps.sweep_files import is_sweep_file, load_records
from lhkit.sweeps.variant_record import SweepRecord

_MOST_ROWS = 20


def are_sweeps(first: str, second: str) -> bool:
    """Return whether both files are stores of sweeps, or what ``lhkit sweep --json`` wrote."""
    return is_sweep_file(Path(first)) and is_sweep_file(Path(second))


def compare_sweep_files(
    first: str, second: str, *, across_environments: bool
) -> list[tuple[str, float, float]]:
    """Show two sweeps against each other; return name and interval of the speed of each common variant."""
    runs = compare_sweeps(load_records(first), load_records(second), across_environments=across_environments)
    if not runs.same_environment:
        say("lhkit: the environments differ", err=True)
    say(table_text(_table(runs)))
    say("\n".join(_lines(runs)))
    return [(_name(r), r.speed.low, r.speed.high) for r in runs.ratios]


def _table(runs: SweepComparison) -> Table:
    rows = []
    for r in runs.ratios[:_MOST_ROWS]:
        interval = f"{r.speed.low:.3g} – {r.speed.high:.3g}"
        times = [_median(record) for record in (r.first, r.second)]
        rows.append((_name(r), *times, f"{r.speed.middle:.3g}×", interval, r.verdict))
    return Table(("", "median in A", "median in B", "speed B / A", "99 % interval", ""), tuple(rows))


def _lines(runs: SweepComparison) -> list[str]:
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


def suites_in(first: str, second: str) -> tuple[SuiteResult, SuiteResult] | None:
    """Return what both files hold if both are runs of the suite, None if neither is.

    Raises:
        UsageError: One is and the other is not, or a file cannot be read.
    """
    if is_sweep_file(Path(first)) or is_sweep_file(Path(second)):
        return None  # the reader of single runs says what is wrong
    found = load_suite(first), load_suite(second)
    if found[0] is None and found[1] is None:
        return None
    if found[0] is None or found[1] is None:
        other = first if found[0] is None else second
        raise usage_error(f"{other} is no run of the suite, and the other file is one")
    return found[0], found[1]


def show_suites(
    first: SuiteResult, second: SuiteResult, *, across_environments: bool
) -> list[tuple[str, float, float]]:
    """Show two runs of the suite against each other; return name and interval of each common row's speed."""
    runs = compare_suites(first, second, across_environments=across_environments)
    for name, ours, theirs in runs.differences:
        say(f"lhkit: the environments differ in {name}: {ours} → {theirs}", err=True)
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
    for names, run in ((runs.only_first, "A"), (runs.only_second, "B")):
        if names:
            say(f"Only in {run}: {', '.join(names)}.")
    for name, why in runs.not_compared:
        say(f"{name}: not compared: {why}")
    return [(r.name, r.speed.low, r.speed.high) for r in runs.ratios]
