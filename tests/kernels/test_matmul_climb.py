"""schedules/climb/matmul_climb.mlir: each entry does what notebook 06 says of it."""

import pytest

import lhkit

SIZE = (64, 64, 64)
# Operands that wait on the stack, at most: only without FMAs, whose products need a register of their own.
MOST_SPILLS = 8


def climbed(entry, worker):
    schedule = lhkit.load_schedule("climb/matmul_climb.mlir", entry=entry, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.matmul(*SIZE), schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    return kernel.hot_loops().loops[0]


def multiply_adds(loop):
    """Return how many there are; a target without FMAs has a product and a sum for each."""
    return loop.fmas or loop.arithmetic // 2


def test_tiles_alone_stay_scalar(worker):
    assert climbed("tiled", worker).vector_bits == 0


def test_vectors_alone_store_as_much_as_they_compute(worker):
    loop = climbed("vectorized", worker)
    assert loop.stores == multiply_adds(loop) > 0


@pytest.mark.parametrize("entry", ["in_registers", "__transform_main"])
def test_a_hoisted_tile_is_never_stored_in_the_loop(entry, worker):
    loop = climbed(entry, worker)
    assert multiply_adds(loop) > 0 and loop.stores == 0
    assert loop.spills <= MOST_SPILLS if loop.fmas == 0 else loop.arithmetic == loop.spills == 0


def test_unrolling_takes_four_steps_at_once(worker):
    in_registers, unrolled = (climbed(entry, worker) for entry in ("in_registers", "__transform_main"))
    assert multiply_adds(unrolled) == 4 * multiply_adds(in_registers)


def test_the_trap_is_right_slow_and_warned_of(worker):
    loop = climbed("canonicalized_early", worker)
    assert loop.fmas == 0 and loop.arithmetic > 0
    schedule = lhkit.load_schedule("climb/matmul_climb.mlir", entry="canonicalized_early", worker=worker)
    trace = lhkit.trace(lhkit.payloads.matmul(*SIZE), schedule, worker=worker)
    # 64 columns are one tile where vectors are wide.
    kinds = [w.kind for step in trace.step_records for w in step.warnings if w.kind != "tile-size-whole"]
    assert kinds == ["lost-contraction"]
