"""What ``lhkit compare`` says about two sweeps."""

from __future__ import annotations

from pathlib import Path

import click

from lhkit.analysis.sweep_runs import SweepComparison, VariantRatio, compare_sweeps
from lhkit.model.sweep import SweepRecord
from lhkit.render.tables import Table, format_ns, table_text
from lhkit.session.sweep_files import is_sweep_file, load_records

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
        click.echo("lhkit: the environments differ", err=True)
    click.echo(table_text(_table(runs)))
    click.echo("\n".join(_lines(runs)))
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
