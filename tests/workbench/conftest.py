"""Workbenches without a screen."""

import pytest
from fused_schedule import FUSED

import lhkit
from lhkit.session.composing import Session
from lhkit.workbench.workbench import Workbench


class Bench:
    """A workbench, with the names of the parts that changed since it was last asked."""

    def __init__(self, workbench):
        self.workbench, self.names = workbench, []
        workbench.changed = self.names.extend

    def do(self, command_, **fields):
        self.names.clear()
        self.workbench.do({"do": command_, **fields})
        return set(self.names)

    def ask(self, name, **fields):
        return self.workbench.ask({"ask": name, **fields})

    def part(self, name):
        return self.workbench.parts[name]

    @property
    def notice(self):
        return self.workbench.notice

    @property
    def session(self):
        return self.workbench.session


@pytest.fixture(scope="session")
def payload(worker):
    return lhkit.load_payload(lhkit.payloads.fc_relu(32, 32, 32).text, name="fc_relu.mlir", worker=worker)


@pytest.fixture
def open_bench(payload, worker):
    """Return a function that opens a schedule."""

    def opened(text=FUSED):
        schedule = lhkit.load_schedule(text, name="fused.mlir", worker=worker)
        return Bench(Workbench(Session(payload, schedule, worker=worker, autosaves=False)))

    return opened


@pytest.fixture
def bench(open_bench):
    return open_bench()
