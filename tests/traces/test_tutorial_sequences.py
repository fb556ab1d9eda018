"""The sequences and errors of the transform dialect's tutorial are traced as it says."""

import pytest
from tutorial_cases import (
    ANY,
    CASES,
    CHAPTER_1,
    Case,
    last_line_marked,
    match,
    remark,
    traced,
)

from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.record.handle_history import deaths, states_at_end


@pytest.mark.parametrize("case", CASES)
def test_a_sequence_of_the_tutorial(case, worker):
    trace = traced(case, worker)
    assert trace.outcome.kind == case.kind, trace.outcome
    assert not [w for s in trace.step_records for w in s.warnings if w.kind == "defect"]
    if case.kind is None:
        assert trace.outcome.status == "ok" and trace.outcome.failed_step is None
        return
    failed = trace.step_records[trace.outcome.failed_step]
    assert (trace.outcome.status, failed.status) == ("failed", "failed")
    assert failed.source.line == last_line_marked(case, "fails")
    if case.cause is not None:
        found = deaths(trace)
        (death,) = {found[o.handle] for o in failed.operands if o.handle in found}
        assert death.invalidation.cause == case.cause
        assert trace.step_records[death.step].source.line == last_line_marked(case, "kills")
        assert death.invalidation.by in {o.handle for o in trace.step_records[death.step].operands}


@pytest.mark.parametrize(
    "name", ["use after consumption", "a cast is another name for the same op", "and so is what lies in it"]
)
def test_an_invalidation_error_of_chapter_1_in_words(name, worker, golden):
    golden(failure_of(traced(CHAPTER_1[name], worker)).describe() + "\n")


def test_every_cause_of_death_occurs_in_the_tutorial():
    assert {p.values[0].cause for p in CASES} == {None, "direct", "alias", "nested"}


def test_an_erased_op_leaves_an_empty_handle_that_may_be_used(worker):
    body = match("unused", "linalg.abs") + match("f", "func.func")
    body += f"transform.apply_dce to %f : {ANY}\n" + remark("%unused")
    trace = traced(Case("primer", body), worker)
    assert trace.outcome.status == "ok"
    states = {trace.handle(h).name: c.state for h, c in states_at_end(trace).items()}
    assert states["%unused"] == "empty" and states["%f"] == "live"


def test_results_of_a_suppressed_failure_are_empty_and_its_reason_is_known(worker):
    trace = traced(CHAPTER_1["a failure that is suppressed"], worker)
    (split,) = [s for s in trace.step_records if s.op == "transform.split_handle"]
    states = {c.handle: c.state for c in split.changes}
    assert [states[r] for r in split.results] == ["empty", "empty"]
    assert split.status == "suppressed" and "expected to contain 2 payloads" in split.diagnostics[0].message
