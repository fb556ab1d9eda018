"""Candidates that are left out before they are traced: what is offered stays the same, with fewer traces."""

import pytest
from planted_failures import PAYLOAD, PLANTED, text_of

from lhkit.load.loader import application_of, load_payload, load_schedule, payload_source
from lhkit.model.errors import ScheduleError
from lhkit.repairs import candidate_filter, repair_trials
from lhkit.repairs.repair_trials import find_repairs
from lhkit.worker.requests import FindFailures

TILE = "%tiled, %loop = transform.structured.tile_using_for %x tile_sizes [8] : (!transform.any_op)"
TILE += " -> (!transform.any_op, !transform.any_op)\n"
MATCH = (
    '%x = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op\n'
)
VECTORIZE = "transform.structured.vectorize %x : !transform.any_op\n"
SPLIT = "%a = transform.structured.split %x after 0 {dimension = 0} : !transform.any_op\n"


@pytest.fixture(scope="module")
def payload(worker):
    return load_payload(PAYLOAD, worker=worker)


@pytest.fixture(scope="module")
def failing(payload, worker):
    """The schedules with a defect that load and fail."""
    found = []
    for planted in PLANTED.values():
        try:
            found.append(load_schedule(planted.wrong_text, worker=worker))
        except ScheduleError:
            continue
    return found


def failures(payload, worker, *steps):
    application = application_of(load_schedule(text_of(MATCH), worker=worker))
    texts = tuple(text_of(step).encode() for step in steps)
    return worker.ask(FindFailures(payload_source(payload), application, texts)).value


def test_a_failure_is_told_by_its_place(payload, worker):
    fine, twice, broken = failures(payload, worker, MATCH + TILE, MATCH + TILE + VECTORIZE, MATCH + "%")
    assert fine is None
    text = text_of(MATCH + TILE + VECTORIZE)
    at = text.index("transform.structured.vectorize")
    assert (twice.place.line, twice.place.column) == (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    assert broken.place is None


def test_a_step_that_would_end_the_process_is_not_applied(payload, worker):
    # With it applied the process would be gone, and the request would raise.
    assert failures(payload, worker, MATCH + SPLIT, MATCH + TILE) == (None, None)


def test_the_same_repairs_are_offered_with_fewer_traces(failing, payload, worker, monkeypatch):
    counts = []
    trace = repair_trials.trace_schedule

    def counted(*arguments, **options):
        counts[-1] += 1
        return trace(*arguments, **options)

    def offered():
        counts.append(0)
        return [find_repairs(payload, schedule, worker=worker) for schedule in failing]

    monkeypatch.setattr(repair_trials, "trace_schedule", counted)
    filtered = offered()
    monkeypatch.setattr(candidate_filter, "_failures", lambda _p, _s, several, *_: [None] * len(several))
    assert [[r.text for r in each] for each in filtered] == [[r.text for r in each] for each in offered()]
    assert len(failing) > 10
    assert counts[0] < 0.85 * counts[1], counts
