"""Neighbouring values of knobs are traced while nothing else is asked, cancelled at once, and waited for if wanted."""

import threading

import pytest
from benches import Bench

import lhkit
from lhkit.compose.session import Session
from lhkit.model.errors import LhkitError, usage_error
from lhkit.traces.record import trace_run
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.workbench import neighbor_traces
from lhkit.workbench.controller import Workbench
from lhkit.workbench.jobs import ThreadJobs
from lhkit.workbench.neighbor_traces import NeighborTraces, neighbors
from lhkit.worker.limits import Limits

TWO_KNOBS = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %m = transform.tune.knob<"m"> = 8 : i64 from options = [2, 4, 8, 16] -> !transform.param<i64>
    %n = transform.tune.knob<"n"> = 4 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [%m, %n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


@pytest.fixture
def schedule(worker):
    return lhkit.load_schedule(TWO_KNOBS, name="two.mlir", worker=worker)


@pytest.fixture
def threaded(payload, schedule, worker, monkeypatch):
    """Return a workbench whose jobs have threads, and the errors that they reported."""
    monkeypatch.setattr(neighbor_traces, "_REST_S", 0.0)
    monkeypatch.setattr(neighbor_traces, "trying_worker", lambda: worker)
    errors = []
    jobs = ThreadJobs(errors.append)
    bench = Bench(Workbench(Session(payload, schedule, worker=worker, autosaves=False), jobs=jobs))
    yield bench
    bench.workbench.close()
    jobs.close()
    assert not errors


def joined():
    for thread in threading.enumerate():
        if thread.name == "lhkit-neighbors":
            thread.join(60)


def test_the_nearest_values_of_the_knob_in_hand_come_first(schedule):
    def values(moved):
        return [(s.values["m"], s.values["n"]) for s in neighbors(schedule, moved)]

    assert values("m") == [(16, 4), (4, 4), (2, 4), (8, 8), (8, 16)]
    assert values("n") == [(8, 8), (8, 16), (16, 4), (4, 4)]
    # From another value its own neighbours, not those of the default.
    assert next(neighbors(schedule.with_knobs({"m": 2}), "m")).values["m"] == 4


def test_a_value_that_was_never_chosen_is_shown_without_a_trace(threaded):
    threaded.do("set_knobs", knobs={"m": 4})
    joined()
    session = threaded.session
    ahead = session.schedule.with_knobs({"m": 2})
    assert session.traces.has(ahead)
    kept = session.traces.trace(ahead)
    assert {"timeline", "payload"} <= threaded.do("set_knobs", knobs={"m": 2})
    assert session.trace is kept and not session.is_stale


def test_jobs_that_trace_the_same_value_at_a_time_end_in_any_order(threaded, schedule, monkeypatch):
    begun, first_may_end, second_may_end = threading.Semaphore(0), threading.Event(), threading.Event()
    ends = iter([first_may_end, second_may_end])

    def trace(_payload, _schedule, **_):
        may_end = next(ends)
        begun.release()
        assert may_end.wait(60)
        raise usage_error("cancelled")

    monkeypatch.setattr(neighbor_traces, "trace_schedule", trace)
    traces = NeighborTraces(threaded.session, threaded.workbench.jobs, lambda trace: None)
    jobs = [threading.Thread(target=traces._take, args=(schedule, lambda: False)) for _ in range(2)]
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    for job in jobs:
        job.start()
        assert begun.acquire(timeout=60)
    first_may_end.set()
    jobs[0].join(60)
    waiting = threading.Thread(target=traces.pause, args=(schedule,))
    waiting.start()  # what the second traces is wanted
    second_may_end.set()
    jobs[1].join(60)
    waiting.join(60)
    assert not raised and not traces._running


def test_looking_on_traces_nothing(threaded, asked):
    threaded.do("set_knobs", knobs={"m": 4})
    joined()
    asked.clear()
    threaded.do("select", step=0, kind="", ids="")
    joined()
    assert "trace" not in asked


def test_a_bench_without_threads_traces_what_it_is_asked_for(bench, asked):
    bench.do("set_knobs", knobs={"tile": 4})
    assert asked.count("trace") == 1


def test_a_cancelled_trace_leaves_its_worker_alive(payload, schedule, worker, monkeypatch):
    trace_schedule(payload, schedule, worker=worker)
    before = worker.pid
    # The stop is asked for before the first step, and no limit on how long the worker takes to see it.
    monkeypatch.setattr(trace_run, "_GRACE_S", 60.0)
    with pytest.raises(LhkitError) as raised:
        trace_schedule(payload, schedule, worker=worker, limits=Limits(stopped=lambda: True))
    assert raised.value.failure.kind == "cancelled"
    assert worker.pid == before
    assert trace_schedule(payload, schedule, worker=worker).outcome.status == "ok"
