"""How long a profile samples, and how its times add up, on a machine whose speed is simulated."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from lhkit.parts import part_profile

PARTS_NS = (120_000, 60_000, 20_000)


class Machine:
    """Calls of a kernel with three parts, each as slow as the machine happens to be then."""

    def __init__(self, most_slowdown):
        self.random, self.most_slowdown = random.Random(0), most_slowdown
        self.seconds, self.calls = 0.0, 0
        self.clocked = self.Call(self, lambda ns: (np.cumsum([0, *ns]) * 1e-9,))
        self.kernel = self.Call(self, lambda ns: ())

    class Call(SimpleNamespace):
        def __init__(self, machine, results):
            super().__init__(machine=machine, results=results, last_call_ns=0, calls_before=0)

        def __call__(self):
            machine = self.machine
            times = [ns * machine.random.uniform(1, machine.most_slowdown) for ns in PARTS_NS]
            self.last_call_ns = int(sum(times))
            machine.seconds += sum(times) * 1e-9 * (1 + self.calls_before)
            machine.calls += 1
            return self.results(times)


@pytest.fixture
def sample(monkeypatch):
    def run(machine, seconds):
        monkeypatch.setattr(part_profile.time, "perf_counter", lambda: machine.seconds)
        return part_profile._sampled(machine.clocked, machine.kernel, (), seconds)

    return run


def test_a_quiet_machine_is_sampled_for_as_long_as_was_asked(sample):
    machine = Machine(1.02)
    sample(machine, 0.5)
    assert 0.5 <= machine.seconds < 0.6


def test_a_noisy_machine_is_sampled_longer_but_not_for_ever(sample):
    noisy, hopeless = Machine(3), Machine(30)
    sample(noisy, 0.5)
    sample(hopeless, 0.1)
    assert 0.6 < noisy.seconds < 2.6 and 0.5 <= hopeless.seconds < 0.8


def test_times_of_parts_add_up_to_those_of_their_calls(sample):
    parts, whole = sample(Machine(3), 2.0)
    middle = part_profile._middle_half(parts.sum(axis=1))
    assert len(middle) >= len(parts) // 2
    times = parts[middle].mean(axis=0)
    assert sum(times) == pytest.approx(whole[part_profile._middle_half(whole)].mean(), rel=0.03)
    # Each is slowed down by 2 in the mean.
    assert times == pytest.approx([2 * ns for ns in PARTS_NS], rel=0.1)
