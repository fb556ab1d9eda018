"""One trace and one kernel for all drawings."""

import pytest

import lhkit


@pytest.fixture(scope="session")
def fc_relu_trace():
    schedule = lhkit.load_schedule("fc_relu_handles.mlir")
    return lhkit.trace(lhkit.payloads.fc_relu(16, 32, 8), schedule, {"tile": 8})


@pytest.fixture(scope="session")
def fc_relu_kernel():
    return lhkit.compile(lhkit.payloads.fc_relu(16, 32, 8))
