"""The page on KernelBench: the result of each problem on each machine, and the counts of all."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite import OURS, PLAIN, SuiteResult, SuiteRow
from benchmarks.suite_collection import cpu_of
from benchmarks.suite_results import rival_ratios
from lhkit.draw.tables import format_ns

FAMILY = "kernelbench"
EAGER, COMPILED = "torch", "torch.compile, frozen"


@dataclass(frozen=True, slots=True)
class ProblemResult:
    """The result of a problem.

    Attributes:
        number: Its number, ``1.19``.
        ns: The median time of a call of the scheduled kernel; None if it was not measured.
        speeds: Multiples of the speed of others, by name.
        failures: What failed, by whose it is.
    """

    number: str
    ns: float | None
    speeds: dict[str, float]
    failures: dict[str, str]

    @property
    def is_right(self) -> bool:
        """Whether it was imported, and gives what the module gives."""
        return self.ns is not None or (OURS in self.failures and PLAIN not in self.failures)

    @property
    def is_scheduled(self) -> bool:
        """Whether the schedule takes it, gives the right result, and is no slower than none."""
        return self.ns is not None


def problem_result(row: SuiteRow) -> ProblemResult:
    """Return what a row says about its problem."""
    failures = {left.name: f"{left.kind}: {left.message}" for left in row.left_out}
    if any(left.kind.startswith("payload") for left in row.left_out):
        failures[PLAIN] = failures.get(PLAIN, failures[OURS])
    speeds = {ratio.rival: ratio.speed.middle for ratio in rival_ratios(row)}
    ns = None
    if row.comparison is not None:
        ns = statistics.median(ns for _, ns in row.comparison.measurement(OURS).samples_ns)
    return ProblemResult(str(row.shape[0]), ns, speeds, failures)


def counts(results: Sequence[ProblemResult]) -> tuple[tuple[str, str], ...]:
    """Return what is counted over all problems, and the counts."""
    scheduled = [r for r in results if r.is_scheduled]
    found = [
        ("problems", str(len(results))),
        ("imported, with the module's results", str(sum(r.is_right for r in results))),
        ("scheduled by cpu.mlir, with the same results", str(len(scheduled))),
    ]
    for name, what in ((PLAIN, "unscheduled"), (EAGER, "PyTorch"), (COMPILED, "torch.compile")):
        known = [r.speeds[name] for r in scheduled if name in r.speeds]
        if known:
            ahead = sum(speed > 1 for speed in known)
            mean = f"{statistics.geometric_mean(known):.2f}"
            found.append((f"of these faster than {what}", f"{ahead} of {len(known)} (mean {mean})"))
    return tuple(found)


def kernelbench_page(results: Sequence[SuiteResult], table: Path) -> str:
    """Return the page as Markdown, from the runs that measured these problems."""
    names = {number: name for number, name, *_ in tomllib.loads(table.read_text("utf-8"))["problems"]}
    lines = [
        "# KernelBench",
        "",
        "Levels 1 and 2 of KernelBench are 200 operators and short chains of them as PyTorch modules. Here",
        "their modules are written anew from a table (`benchmarks/kernelbench.toml`), with extents reduced",
        "to what one core computes in milliseconds. Each is imported by `lhkit.from_torch`, with its",
        "weights as constants, scheduled by `cpu.mlir` as it comes, verified against the module, and",
        "measured on one thread in the same rounds as the payload without a schedule, PyTorch, and",
        "`torch.compile` in its default mode with freezing. `lhkit bench --suite kernelbench --processes 1",
        "--json data/suite` measures them anew, in 40 minutes; rows whose schedules changed may have been",
        "measured after the others. `python -m benchmarks.beside_unscheduled` compares with the unscheduled",
        "payload alone, what comes out slower three times more. `python docs/pictures.py` writes this",
        "page.",
    ]
    for result in results:
        rows = [problem_result(row) for row in result.rows if row.family == FAMILY]
        if rows:
            lines += ["", f"## {cpu_of(result)}, {result.target}", "", *_markdown(("", ""), counts(rows))]
            header = ("", "problem", "time", "× unscheduled", "× PyTorch", "× torch.compile", "")
            lines += ["", *_markdown(header, [_cells(row, names.get(row.number, "")) for row in rows])]
    return "\n".join(lines) + "\n"


def _cells(row: ProblemResult, name: str) -> tuple[str, ...]:
    speeds = (row.speeds.get(each) for each in (PLAIN, EAGER, COMPILED))
    failed = "; ".join(
        f"{whose}: {why}" for whose, why in row.failures.items() if whose in (OURS, PLAIN, EAGER, COMPILED)
    )
    return (
        row.number,
        name,
        "" if row.ns is None else format_ns(row.ns),
        *("" if speed is None else f"{speed:.2f}" for speed in speeds),
        failed.replace("|", "\\|"),
    )


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
