"""Timing: batches are calibrated, written arguments are put back, places are as asked, cores are given back."""

import gc
import os

import numpy as np
import pytest

from lhkit.compiler.machine.timing_runs import (
    TimedCall,
    clock_resolution_ns,
    python_batches,
    without_garbage_collector,
)
from lhkit.worker.shared_arrays import placed_empty
from lhkit.worker.timing_conditions import Eviction, last_level_cache_bytes, pinned_to, quietest_core


def timed(function, restore=lambda: None):
    call, batches = python_batches(function, ())
    return TimedCall(call, batches, restore)


def test_a_batch_lasts_as_long_as_asked_however_short_a_call_is():
    short, long = timed(lambda: None), timed(lambda: sum(range(20_000)))
    few, many = long.warm_up(1_000_000)[0], short.warm_up(1_000_000)[0]
    assert many > 50 * few >= 50
    assert 0 < short.sample_warm_ns() < long.sample_warm_ns()


def test_what_calls_write_is_put_back_before_every_sample():
    state = {"value": 0, "largest": 0}

    def call():
        state["value"] += 1
        state["largest"] = max(state["largest"], state["value"])

    entry = timed(call, lambda: state.update(value=0))
    calls = entry.warm_up(100_000)[0]
    state["largest"] = 0
    for _ in range(5):
        entry.sample_warm_ns()
    assert state["largest"] == calls + 1  # the batch, and the call that leads in


def test_a_cold_sample_is_of_one_call():
    count = []
    entry = timed(lambda: count.append(1))
    assert entry.sample_cold_ns(Eviction(), lambda: None) > 0
    assert len(count) == 1


def test_a_call_adopts_the_batch_of_its_like():
    first, second = timed(lambda: None), timed(lambda: None)
    answer = first.warm_up(200_000)
    second.adopt(first)
    count = []
    third = timed(lambda: count.append(1))
    third.adopt(second)
    count.clear()
    third.sample_warm_ns()
    assert len(count) == answer[0] + 1


@pytest.mark.parametrize(("once_ns", "calls"), [(1_000_000, 1), (200_000_000, 0)])
def test_only_a_short_call_warms_up_once_more_where_its_arguments_lie_elsewhere(once_ns, calls):
    first, count = timed(lambda: None), []
    first._once_ns = once_ns
    timed(lambda: count.append(1)).adopt(first)
    assert len(count) == calls


def test_the_garbage_collector_rests_and_goes_on():
    assert gc.isenabled()
    with without_garbage_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_clock_ticks():
    assert 0 < clock_resolution_ns() < 1_000_000


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin")
def test_a_thread_stays_on_one_core_and_gets_all_back_after_an_error():
    before = os.sched_getaffinity(0)
    core = quietest_core()
    assert core in before
    with pytest.raises(ZeroDivisionError), pinned_to(core):
        assert os.sched_getaffinity(0) == {core}
        _ = 1 / 0
    assert os.sched_getaffinity(0) == before
    with pinned_to(None):
        assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("alignment", [4, 16, 64, 4096, 1 << 16])
def test_arrays_start_at_odd_multiples_of_the_alignment(alignment):
    shapes = [((3, 5), "float32"), ((7,), np.dtype("float64")), ((0, 4), "int8"), ((), "float32")]
    shapes = [s for s in shapes if np.dtype(s[1]).itemsize <= alignment]
    arrays = placed_empty(shapes, alignment)
    for array, (shape, dtype) in zip(arrays, shapes, strict=True):
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
        if array.size:
            assert array.ctypes.data % (2 * alignment) == alignment
            array[...] = 1


def test_arrays_do_not_start_at_the_same_place_of_a_page():
    arrays = placed_empty([((1024,), "float32")] * 4, 64)
    assert len({a.ctypes.data % 4096 for a in arrays}) == 4


def test_the_last_level_cache_has_a_size():
    assert (1 << 18) <= last_level_cache_bytes() <= (256 << 20)
