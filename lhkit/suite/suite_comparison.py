"""Two runs of the suite against each other: the speed of each kernel, relative to NumPy's in the same run."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.bench.run_comparison import RunRatio, compare_runs
from lhkit.model.errors import UsageError, usage_error
from lhkit.suite.suite import OURS, SuiteResult


@dataclass(frozen=True, slots=True)
class SuiteComparison:
    """What two runs of the suite have in common.

    Attributes:
        ratios: The kernel of each common row, named by the row.
        only_first: Rows that were measured in the first run only.
        only_second: Rows that were measured in the second run only.
        not_compared: Rows of both that cannot be compared, with the reason.
        differences: In what the environments differ, as (name, in the first, in the second).
    """

    ratios: tuple[RunRatio, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    not_compared: tuple[tuple[str, str], ...]
    differences: tuple[tuple[str, str, str], ...]


def compare_suites(
    first: SuiteResult, second: SuiteResult, *, across_environments: bool = False
) -> SuiteComparison:
    """Return how much faster the kernels of a second run are than those of a first, relative to NumPy.

    Raises:
        UsageError: They have no row in common that can be compared.
    """
    rows = [{r.name: r.comparison for r in run.rows if r.comparison is not None} for run in (first, second)]
    common = [name for name in rows[0] if name in rows[1]]
    ratios, refused = [], []
    differences: dict[tuple[str, str, str], None] = {}
    for name in common:
        try:
            found = compare_runs(rows[0][name], rows[1][name], across_environments=across_environments)
        except UsageError as error:
            refused.append((name, error.failure.message))
            continue
        ours = next(r for r in found.ratios if r.name == OURS)
        ratios.append(RunRatio(name, ours.speed, ours.note))
        differences |= dict.fromkeys(found.differences)
    if not ratios:
        why = refused[0][1] if refused else "they have no row in common"
        raise usage_error(f"the runs of the suite cannot be compared: {why}")
    return SuiteComparison(
        ratios=tuple(ratios),
        only_first=tuple(n for n in rows[0] if n not in rows[1]),
        only_second=tuple(n for n in rows[1] if n not in rows[0]),
        not_compared=tuple(refused),
        differences=tuple(differences),
    )
