"""Generated payloads through cpu.mlir, run by hand: ``pytest -m heavy``; none fails, and none has a wrong number."""

import pytest
from generic_generator import generate_generic

import lhkit
from lhkit.model.errors import LhkitError

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("target", ["host", "avx2"])
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_generated_payloads_are_right(first, target, worker):
    schedule = lhkit.load_schedule("cpu.mlir", target=None if target == "host" else target, worker=worker)
    wrong = {}
    for seed in range(first, first + 20):
        payload = lhkit.load_payload(generate_generic(seed).text, worker=worker)
        try:
            found = lhkit.verify(lhkit.compile(payload, schedule, target=target, worker=worker))
        except LhkitError as error:
            wrong[seed] = error.failure.message
        else:
            if not found.ok:
                wrong[seed] = found.difference
    assert not wrong
