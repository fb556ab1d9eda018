"""Kernels on several threads: the same bits as on one, and refused where they would be in one another's way."""

import numpy as np
import pytest

import lhkit
from lhkit.kernels.verification import verify
from lhkit.load.loader import load_schedule
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.errors import UsageError
from lhkit.model.target import available_cores
from lhkit.worker.client import Worker

# The rows of a matmul, cut into as many parts as there are threads, or into parts of four.
BY_ROWS = """
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.consumed}}) {{
    %threads = transform.tune.knob<"threads"> = 1 : i64 from options = [1, 2, {}] -> !transform.param<i64>
    %matmul = transform.structured.match ops{{["linalg.matmul"]}} in %root : (!transform.any_op) -> !transform.any_op
    %part, %parts = transform.structured.tile_using_forall %matmul {}
    transform.yield
  }}
}}
"""
SHARES = "num_threads [%threads] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)"
FOURS = "tile_sizes [4, 3] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)"
TOO_MANY = available_cores() + 1


@pytest.fixture(scope="module")
def family(worker):
    return load_schedule("conv2d.mlir", worker=worker, target="avx512")


def by_rows(form, worker):
    return load_schedule(BY_ROWS.format(TOO_MANY, form), worker=worker)


def on_one_and_two(payload, schedule, worker):
    return [lhkit.compile(payload, schedule, {"threads": n}, worker=worker) for n in (1, 2)]


@pytest.mark.parametrize(
    "shape",
    [
        (1, 28, 7, 6, 20, 3, 1),
        (2, 29, 3, 5, 16, 1, 2),
        (1, 3, 5, 4, 64, 2, 1),
        (1, 2, 4, 3, 37, 3, 1),
        (1,) * 7,
    ],
    ids=["rows", "an odd number of rows", "filters", "an odd number of filters", "one filter for two"],
)
def test_convolutions_have_the_same_bits_on_two_threads(shape, family, worker):
    *extents, stride = shape
    payload = lhkit.payloads.conv2d_nhwc(*extents, stride=stride)
    one, two = on_one_and_two(payload, family, worker)
    assert verify(two).ok
    assert "omp.parallel" in two.ir("llvm") and "omp.parallel" not in one.ir("llvm")
    arguments = generate_arguments(one.function, 3)
    expected = one(*arguments).tobytes()
    assert all(two(*arguments).tobytes() == expected for _ in range(5))


@pytest.mark.parametrize("form", [SHARES, FOURS], ids=["as many parts as threads", "more parts than threads"])
def test_parts_that_are_not_equal(form, worker):
    one, two = on_one_and_two(lhkit.payloads.matmul(13, 7, 5), by_rows(form, worker), worker)
    arguments = generate_arguments(one.function, 0)
    assert verify(two).ok and np.array_equal(one(*arguments), two(*arguments))


def test_more_threads_than_cores_are_refused(worker):
    schedule = by_rows(SHARES, worker)
    with pytest.raises(UsageError, match=f"a kernel on {TOO_MANY} threads, with {available_cores()} core"):
        lhkit.compile(lhkit.payloads.matmul(13, 7, 5), schedule, {"threads": TOO_MANY}, worker=worker)


def test_threads_beside_those_of_numpy_are_refused():
    worker = Worker(threads=2)
    try:
        with pytest.raises(UsageError, match="beside numerical libraries on 2"):
            schedule = by_rows(SHARES, worker)
            lhkit.compile(lhkit.payloads.matmul(13, 7, 5), schedule, {"threads": 2}, worker=worker)
    finally:
        worker.close()


def test_threads_are_not_held_on_one_core(worker):
    one, two = on_one_and_two(lhkit.payloads.matmul(40, 30, 20), by_rows(SHARES, worker), worker)
    compared = lhkit.measure({"one": one, "two": two}, rounds=3)
    assert compared.core is None
    assert {m.name: dict(m.knobs) for m in compared.measurements if m.knobs} == {
        "one": {"threads": 1},
        "two": {"threads": 2},
    }


def test_a_sweep_over_threads(worker, tmp_path):
    result = lhkit.sweep(
        lhkit.payloads.matmul(24, 16, 8),
        by_rows(FOURS, worker),
        knobs={"threads": [1, 2, TOO_MANY]},
        store=tmp_path / "threads.jsonl",
        confirm=False,
    ).result()
    found = {dict(record.knobs)["threads"]: record for record in result.records}
    # The schedule does the same for all of them, yet the kernels differ.
    assert found[1].status == "ok" and found[2].status in ("ok", "stopped-early")
    assert found[TOO_MANY].status == "invalid-config"
    assert f"a kernel on {TOO_MANY} threads" in found[TOO_MANY].message


def test_memory_and_code_of_a_kernel_on_threads(family, worker):
    _, two = on_one_and_two(lhkit.payloads.conv2d_nhwc(1, 28, 7, 16, 32, 3), family, worker)
    footprint = two.footprint()
    assert footprint.counted.allocations == footprint.counted.frees == 2  # a panel a thread
    assert max(loop.fmas for loop in two.hot_loops().loops) >= 14 * 4
