"""How long the guide of the workbench takes to its first answer, alone and beside running trials; by hand: ``make heavy``.

The trials are those of the search for repairs: the schedule has warnings or a failure that it looks for repairs of.
"""

import statistics
import threading
import time

import pytest

import lhkit
from lhkit.compose.session import Session
from lhkit.compose.trial_steps import trying_worker
from lhkit.show.trace_view import trace_key
from lhkit.workbench.controller import Workbench
from lhkit.workbench.jobs import ThreadJobs
from lhkit.worker.requests import Ping

pytestmark = pytest.mark.heavy
_TIMES = 5
_DEATH = "    %other = transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op\n"


class Opened:
    """A workbench with its threads, whose panes can be waited for."""

    def __init__(self):
        self.failures, self.told = [], threading.Condition()
        self.jobs = ThreadJobs(self.failures.append)
        schedule = lhkit.load_schedule("fc_relu_handles.mlir")
        session = Session(lhkit.load_payload("fc_relu.mlir"), schedule, autosaves=False)
        self.bench = Workbench(session, jobs=self.jobs)
        self.bench.changed = self.tell
        self.given = session.text

    def tell(self, _=None):
        with self.told:
            self.told.notify_all()

    def wait(self, is_there):
        with self.told:
            assert self.told.wait_for(is_there, 120)

    def do(self, name, **fields):
        self.jobs.post(lambda: self.bench.do({"do": name, **fields}))

    def handle(self, name):
        return next(h.id for h in self.bench.trace.handle_records if h.name == name)

    def begin_trials(self, turn):
        """Break the schedule in a way that is new, so that repairs are looked for."""
        line = next(line for line in self.given.splitlines(keepends=True) if "%sum = " in line)
        broken = self.given.replace(line, f"{line}{_DEATH}    // {turn}\n")
        self.do("set_text", text=broken)
        self.wait(lambda: self.bench.repairs.is_looking and self.bench.trace.outcome.status == "failed")

    def facts(self):
        def ask():
            about = {"key": trace_key(self.bench.trace), "step": self.bench.screen.step}
            return self.bench.ask({"ask": "facts", **about, "kind": "handle", "ids": self.handle("%sum")})

        self.jobs.run(ask)

    def first_tried(self):
        self.do("try_handle", handle=self.handle("%sum"))
        self.wait(lambda: self.bench.tryouts.found and self.bench.tryouts.handle == "%sum")

    def fusion(self):
        self.do("why_not_fused", producer="linalg.add", consumer="linalg.max")
        self.wait(lambda: self.bench.fusion.answer is not None)

    def forget(self):
        """Drop the answers of the turn before."""
        tryouts = self.bench.tryouts
        tryouts.found, tryouts.predicted, self.bench.fusion.answer = (), (), None

    def close(self):
        self.bench.close()
        self.jobs.close()


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside trials"])
@pytest.mark.parametrize("question", ["facts", "first_tried", "fusion"])
def test_the_first_answer_comes_within_a_second(question, beside):
    opened, taken = Opened(), []
    trying_worker().ask(Ping())  # it was made ready when the handle was selected
    for turn in range(_TIMES):
        if beside:
            opened.begin_trials(turn)
        else:
            opened.do("set_text", text=f"// {turn}\n{opened.given}")
            opened.wait(lambda turn=turn: opened.bench.session.text.startswith(f"// {turn}"))
        opened.jobs.run(opened.forget)
        started = time.perf_counter()
        getattr(opened, question)()
        taken.append(time.perf_counter() - started)
        opened.jobs.stop("trying")
    still = opened.bench.repairs.is_looking
    opened.close()
    assert not opened.failures
    name = f"{question}, {'beside trials' if beside else 'alone'}"
    print(
        f"\n{name}: median {1e3 * statistics.median(taken):.0f} ms, longest {1e3 * max(taken):.0f} ms, {still}"
    )
    assert statistics.median(taken) < 1
