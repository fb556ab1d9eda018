"""The interference probe: machines that share cores are found, in few rounds, whoever they are."""

import asyncio
import random

import pytest

from lhkit.sweeps.core_sharing import find_core_sets, is_slower


def probe_of(owners):
    """Return a probe of machines with these owners of their cores, and the list of its rounds."""
    rounds = []

    async def disturbed(timing, busy):
        assert not set(timing) & set(busy)
        rounds.append((len(timing), len(busy)))
        loud = {owners[i] for i in busy}
        return {i for i in timing if owners[i] in loud}

    return disturbed, rounds


def sets_of(owners, found):
    return sorted(sorted(i for i in range(len(owners)) if found[i] == own) for own in set(found))


@pytest.mark.parametrize(
    "owners",
    [[], [1], [1, 1], [1, 2], [1, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1, 3], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]],
)
def test_machines_with_the_same_cores_are_one_set(owners):
    disturbed, _ = probe_of(owners)
    found = asyncio.run(find_core_sets(len(owners), disturbed))
    assert sets_of(owners, found) == sorted(
        sorted(i for i, o in enumerate(owners) if o == own) for own in set(owners)
    )


def test_two_hundred_alone_take_sixteen_rounds_and_drawn_ones_are_found():
    disturbed, rounds = probe_of(range(200))
    assert asyncio.run(find_core_sets(200, disturbed)) == list(range(200)) and len(rounds) == 16
    drawn = random.Random(1)
    for _ in range(20):
        owners = [drawn.randrange(30) for _ in range(drawn.randrange(2, 60))]
        disturbed, _ = probe_of(owners)
        found = asyncio.run(find_core_sets(len(owners), disturbed))
        assert all(
            (found[i] == found[j]) == (owners[i] == owners[j]) for i in range(len(owners)) for j in range(i)
        )


def test_one_disturbed_sample_is_no_sharing():
    assert not is_slower([10.0, 11.0, 30.0], [10.5, 40.0, 11.0])
    assert is_slower([10.0, 11.0, 30.0], [19.0, 21.0, 20.0])
