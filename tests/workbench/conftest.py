"""Workbenches without a screen."""

import pytest
from benches import Bench
from fused_schedule import FUSED

import lhkit
from lhkit.compose.session import Session
from lhkit.workbench.controller import Workbench
from lhkit.worker.client import Worker
from lhkit.worker.requests import name_of


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


@pytest.fixture
def asked(monkeypatch):
    """Return the names of the requests that any worker got."""
    names, ask = [], Worker.ask

    def recorded(self, request, **how):
        names.append(name_of(request))
        return ask(self, request, **how)

    monkeypatch.setattr(Worker, "ask", recorded)
    return names
