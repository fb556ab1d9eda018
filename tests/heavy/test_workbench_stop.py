"""How long the workbench takes to stop what runs; run by hand: ``make heavy``."""

import statistics
import threading
import time

import pytest

import lhkit
from lhkit.compose.session import Session
from lhkit.workbench.controller import Workbench
from lhkit.workbench.jobs import ThreadJobs

pytestmark = pytest.mark.heavy
_TIMES = 5


@pytest.mark.parametrize("kind", ["measure", "sweep"])
def test_it_stops_within_half_a_second(kind):
    failures = []
    jobs = ThreadJobs(failures.append)
    schedule = lhkit.load_schedule("fc_relu_handles.mlir")
    bench = Workbench(Session(lhkit.load_payload("fc_relu.mlir"), schedule, autosaves=False), jobs=jobs)
    told = threading.Condition()

    def changed(_):
        with told:
            told.notify_all()

    bench.changed = changed
    taken = []
    for _ in range(_TIMES):
        jobs.post(lambda: bench.do({"do": kind}))
        with told:
            assert told.wait_for(lambda: bench.runs.progress.said not in ("", "getting ready"), 120)
            started = time.perf_counter()
            bench.runs.stop()
            assert told.wait_for(lambda: not bench.runs.progress.kind, 120)
        taken.append(time.perf_counter() - started)
    bench.close()
    jobs.close()
    assert not failures
    print(
        f"\n{kind}: stopped {_TIMES} times, median {1e3 * statistics.median(taken):.0f} ms, longest {1e3 * max(taken):.0f} ms"
    )
    assert max(taken) < 0.5
