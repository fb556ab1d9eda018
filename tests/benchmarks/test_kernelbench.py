"""The problems of KernelBench: the table, its modules, and the page of their results."""

import dataclasses
import os
import tomllib

import pytest
from suite_samples import RESULT
from suite_samples import row as result_row

from benchmarks.kernelbench_page import FAMILY, kernelbench_page, problem_result
from benchmarks.suite import OURS, PLAIN, LeftOut
from benchmarks.suite_run import SuiteOptions, SuiteRun
from benchmarks.suite_table import FOLDER, choose_families, choose_rivals, load_table, with_rivals_of

if os.environ.get("LHKIT_TESTS_NEED_TORCH"):
    import torch
else:
    torch = pytest.importorskip("torch")

from benchmarks import kernelbench_models

torch.set_num_threads(1)  # the processes of a run share the cores
TABLE = FOLDER / "kernelbench.toml"
NUMBERS = [row[0] for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["problems"]]
# Two in every run: softmax, and a product with what follows it; three more by hand.
SOME = ("1.23", "2.75")
MORE = ("1.14", "1.95", "2.20")


def test_there_are_a_hundred_problems_of_each_level():
    assert [f"{level}.{n}" for level in (1, 2) for n in range(1, 101)] == NUMBERS
    names = [row[1] for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["problems"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_problem_runs_and_depends_on_its_inputs(number):
    with torch.no_grad():
        first, second = (kernelbench_models.example(number, seed) for seed in (0, 1))
        result = first.module(*first.inputs)
        assert result.numel() and result.double().isfinite().all()
        weights = second.module.state_dict()
        assert all(torch.equal(t, weights[n]) for n, t in first.module.state_dict().items())
        assert not torch.equal(first.inputs[0], second.inputs[0])


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("keep; * 2.0; + kept", [3.0, -6.0]),
        ("clamp 0.0 1.0", [1.0, 0.0]),
        ("* x1; max dim=0 keepdim", [10.0]),
        ("gate relu", [1.0, 0.0]),
        ("less_mean dim=0", [1.5, -1.5]),
    ],
)
def test_words_of_steps(steps, expected):
    chain = kernelbench_models.Chain([step.split() for step in steps.split("; ")])
    assert chain(torch.tensor([1.0, -2.0]), torch.tensor([10.0, 20.0])).tolist() == expected


def test_a_word_that_is_not_known():
    with pytest.raises(ValueError, match="no step 'conjure'"):
        kernelbench_models.Chain([["conjure"]])


def test_it_is_measured_only_where_it_is_named():
    table = load_table()
    assert FAMILY not in {family.name for family in choose_families(table, [])}
    assert choose_families(table, [FAMILY])[0].shapes == tuple((n,) for n in NUMBERS)


@pytest.mark.parametrize("numbers", [SOME, pytest.param(MORE, marks=pytest.mark.heavy)])
def test_problems_are_measured_beside_the_unscheduled_payload_and_pytorch(numbers):
    table = choose_rivals(load_table(), ["torch"])
    families = [
        dataclasses.replace(f, quick=tuple((n,) for n in numbers)) for f in choose_families(table, [FAMILY])
    ]
    run = SuiteRun(with_rivals_of(table, families), SuiteOptions(is_quick=True, rounds=3, seconds=0.2))
    rows = list(run.rows(families))
    assert [row.left_out for row in rows] == [()] * len(numbers)
    for row in rows:
        names = [m.name for m in row.comparison.measurements]
        assert names[0] == OURS and {PLAIN, "torch"} <= set(names)
        assert all(m.verification.ok for m in row.comparison.measurements)
        assert row.comparison.measurement(OURS).verification.against == "the PyTorch module"


def test_results_of_problems():
    measured = result_row(("1.1",), FAMILY, **{OURS: 50.0, PLAIN: 500.0, "torch": 40.0})
    found = problem_result(measured)
    assert found.is_right and found.is_scheduled and found.speeds == {PLAIN: 10.0, "torch": 0.8}
    stuck = result_row(("1.2",), FAMILY, left_out=[LeftOut(OURS, "schedule-step", "no match")])
    assert (problem_result(stuck).is_right, problem_result(stuck).is_scheduled) == (True, False)
    refused = result_row(("1.3",), FAMILY, left_out=[LeftOut(OURS, "payload-parse", "cannot be exported")])
    assert not problem_result(refused).is_right
    wrong = result_row(("1.4",), FAMILY, left_out=[LeftOut(PLAIN, "wrong-result", "differs")])
    assert not problem_result(wrong).is_right


def test_the_page_counts_and_says_what_failed():
    rows = (
        result_row(("1.1",), FAMILY, **{OURS: 50.0, PLAIN: 500.0, "torch": 40.0}),
        result_row(("1.2",), FAMILY, left_out=[LeftOut(OURS, "payload-parse", "no op | x")]),
    )
    page = kernelbench_page([dataclasses.replace(RESULT, rows=rows)], TABLE)
    assert "| imported, with the module's results | 1 |" in page
    assert "| of these faster than unscheduled | 1 of 1 (mean 10.00) |" in page
    assert "| 1.1 | square product | 50.2 ns | 10.00 | 0.80 |  |  |" in page
    assert r"lhkit: payload-parse: no op \| x" in page
