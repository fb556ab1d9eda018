"""Every family of the suite reaches what it must, on this machine.

Run by hand on a quiet one with ``pytest -m heavy -s tests/heavy/test_suite_goals.py``; it prints what
``lhkit bench --suite`` prints. Goals against programs that are not installed are not judged.
"""

import pytest

from benchmarks.suite import OURS, SuiteResult
from benchmarks.suite_results import judge_goals
from benchmarks.suite_run import SuiteOptions, SuiteRun
from benchmarks.suite_table import load_table
from benchmarks.suite_tables import family_table, goal_table, left_out_lines
from lhkit.draw.tables import table_text
from lhkit.load.target_choice import find_target

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

TABLE = load_table()
# The schedule for any payload looks for everything.
MOST_COMPILE_NS = {"cpu.mlir": 2_000_000_000}


@pytest.mark.parametrize("family", TABLE.families, ids=lambda family: family.name)
def test_a_family_reaches_what_it_must(family):
    target = find_target(None).name
    run = SuiteRun(TABLE, SuiteOptions(processes=3))
    rows = tuple({row.name: row for row in run.rows([family])}.values())
    judged = judge_goals(SuiteResult(False, True, 1, target, run.versions, rows), [family])
    print(f"\n{family.title}\n{table_text(family_table(rows))}\n{table_text(goal_table(judged))}")
    print("\n".join(line for row in rows for line in left_out_lines(row)))
    assert all(row.comparison is not None for row in rows)
    assert [j for j in judged if j.verdict == "MISSES"] == []
    assert max(row.comparison.measurement(OURS).compile_ns for row in rows) < MOST_COMPILE_NS.get(
        family.schedule, 500_000_000
    )
