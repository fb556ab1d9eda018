"""Programs about memory, run: exact where numbers are known, bounded where they are not."""

import itertools
import random

import pytest

from lhkit.memory.footprint_estimate import predict_footprint
from lhkit.model.codec import from_json, to_json
from lhkit.model.memory_footprint import (
    UNKNOWN,
    Instruction,
    MemoryProgram,
    Number,
    Origin,
    Range,
    Region,
    compare,
    compute,
    known,
)

ARITHMETIC = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: int(a / b),
    "divui": lambda a, b: a // b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - int(a / b) * b,
    "minsi": min,
    "maxsi": max,
    "minui": min,
    "maxui": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a < b,
    "uge": lambda a, b: a >= b,
}


def intervals(seed, count):
    draw = random.Random(seed)
    for _ in range(count):
        low = draw.randint(-6, 6)
        yield low, low + draw.choice((0, 0, 1, 4)), draw.random() < 0.15, draw.random() < 0.15


def holds(number, value):
    return (number.low is None or number.low <= value) and (number.high is None or value <= number.high)


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
def test_bounds_hold_every_value_and_known_numbers_stay_known(name):
    op = {**ARITHMETIC, **COMPARISONS}[name]
    run = compute if name in ARITHMETIC else compare
    is_unsigned = name.endswith("ui") or name.startswith("u")
    exact = 0
    for first, second in zip(intervals(1, 300), intervals(2, 300), strict=True):
        sides = [
            Number(None if no_low else a, None if no_high else b) for a, b, no_low, no_high in (first, second)
        ]
        result = run(name, sides) if name in ARITHMETIC else run(name, *sides)
        values = itertools.product(range(first[0], first[1] + 1), range(second[0], second[1] + 1))
        for a, b in values:
            if (b == 0 and ("div" in name or "rem" in name)) or (is_unsigned and min(a, b) < 0):
                continue
            assert holds(result, int(op(a, b))), (sides, a, b, result)
        exact += result.value is not None
    assert exact > 10


def program(*body, yields=(), arguments=(), functions=()):
    entry = ("f", Region(tuple(arguments), body, tuple(yields)))
    return MemoryProgram("f", (entry, *functions), (Origin("%x", "tensor.empty", "p.mlir", 3),))


def constant(result, number):
    return Instruction("constant", (), (result,), number=number)


def alloc(result, size, *extents):
    return Instruction("alloc", extents, (result,), number=size, alignment=64, origin=0)


def free(buffer):
    return Instruction("free", (buffer,), origin=0)


def touch(*buffers):
    return Instruction("touch", buffers, origin=0)


def loop(trips, *body, carried=(), results=(), yields=(), index=90):
    """A loop from 0 by 1; the values 80 and 81 hold the bounds, ``trips`` is a number or a value's name."""
    bounds = [constant(80, 0), constant(81, 1)]
    if isinstance(trips, int):
        bounds.append(constant(82, trips))
        trips = "82"
    operands = (80, int(trips), 81, *(c for c, _ in carried))
    region = Region((index, *(a for _, a in carried)), body, tuple(yields))
    return [*bounds, Instruction("loop", operands, tuple(results), (region,), origin=0)]


def branch(condition, otherwise, then, results=(), yields=((), ())):
    regions = (Region((), otherwise, yields[0]), Region((), then, yields[1]))
    return Instruction("branch", (condition,), results, regions, origin=0)


def numbers(predicted):
    ranges = (predicted.allocations, predicted.total_bytes, predicted.peak_bytes, predicted.left_bytes)
    return tuple(r.low if r.is_exact else (r.low, r.high) for r in ranges)


def test_sizes_are_rounded_and_the_peak_is_what_lives_at_once():
    made = program(alloc(1, 65), alloc(2, 10), free(1), alloc(3, 64), free(2), yields=(3,))
    predicted = predict_footprint(made, ())
    assert numbers(predicted) == (3, 256, 192, 64)
    assert [(s.first, s.last, s.is_returned) for s in predicted.sites] == [
        (0, 2, False),
        (1, 4, False),
        (3, 4, True),
    ]
    assert [s.name for s in predicted.sites] == ["%x (1)", "%x (2)", "%x (3)"]
    assert [p.live_bytes.low for p in predicted.points] == [128, 192, 64, 128, 64]


def test_a_loop_of_equal_iterations_is_not_run_to_its_end():
    predicted = predict_footprint(program(*loop(10**12, alloc(1, 64), touch(1), free(1))), ())
    assert numbers(predicted) == (10**12, 64 * 10**12, 64, 0)
    assert predicted.loops[0].trips == Range(10**12, 10**12)


def test_iterations_that_differ_are_run_and_sizes_follow_the_index():
    partial = Instruction("compute", (83, 90), (84,), name="subi")
    capped = Instruction("compute", (84, 85), (86,), name="minsi")
    body = (partial, capped, alloc(1, 64, 86), free(1))
    predicted = predict_footprint(program(constant(83, 10), constant(85, 4), *loop(10, *body)), ())
    # 4 seven times, then 3, 2, 1.
    assert numbers(predicted) == (10, 64 * (7 * 4 + 6), 256, 0)
    assert predicted.sites[0].size_bytes == Range(64, 256)


def test_a_buffer_that_is_carried_lives_to_the_end_of_the_loop():
    body = (alloc(2, 64), touch(1, 2), free(1))
    made = program(alloc(0, 64), *loop(5, *body, carried=((0, 1),), results=(3,), yields=(2,)), free(3))
    predicted = predict_footprint(made, ())
    assert numbers(predicted) == (6, 6 * 64, 128, 0)
    assert [(s.first, s.last) for s in predicted.sites] == [(0, 3), (1, 4)]


def test_what_leaks_adds_up():
    assert numbers(predict_footprint(program(*loop(7, alloc(1, 64))), ())) == (7, 448, 448, 448)


@pytest.mark.parametrize(("condition", "expected"), [(0, (1, 64, 64, 0)), (1, (1, 128, 128, 0))])
def test_a_condition_that_is_known_takes_one_branch(condition, expected):
    made = program(constant(9, condition), branch(9, (alloc(1, 64), free(1)), (alloc(2, 128), free(2))))
    assert numbers(predict_footprint(made, ())) == expected


def test_a_condition_that_is_not_known_is_bounded_by_both():
    made = program(branch(9, (), (alloc(2, 128), free(2))))
    assert numbers(predict_footprint(made, ())) == ((0, 1), (0, 128), (0, 128), 0)
    # One buffer or the other comes out, and is freed: nothing is left for certain.
    chosen = branch(9, (alloc(1, 64),), (alloc(2, 128),), results=(3,), yields=((1,), (2,)))
    predicted = predict_footprint(program(chosen, touch(3), free(3)), ())
    assert numbers(predicted) == (1, (64, 128), (64, 128), 0)
    assert [(s.last_use, s.last) for s in predicted.sites] == [(2, 3), (2, 3)]


def test_the_caller_decides_extents_trips_and_conditions():
    extent = Instruction("extent", (0,), (5,), number=1)
    made = program(extent, *loop("1", alloc(2, 64, 5), free(2)), arguments=(0, 1))
    assert numbers(predict_footprint(made, ((7, 3), 4))) == (4, 4 * 192, 192, 0)
    assert numbers(predict_footprint(made, ((7, 3), 0))) == (0, 0, 0, 0)
    assert numbers(predict_footprint(made, ((7, 3),))) == ((0, None), (0, None), (0, 192), 0)
    assert numbers(predict_footprint(made, ())) == ((0, None), (0, None), (0, None), 0)


def test_a_while_loop_runs_while_its_condition_is_known():
    zero, one, five = constant(1, 0), constant(2, 1), constant(3, 5)
    less = Instruction("compare", (4, 3), (5,), name="slt")
    before = Region((4,), (less,), (5, 4))
    after = Region((6,), (alloc(7, 64), free(7), Instruction("compute", (6, 2), (8,), name="addi")), (8,))
    count = Instruction("while", (1,), (9,), (before, after), origin=0)
    predicted = predict_footprint(program(zero, one, five, count, *loop("9", alloc(10, 128), free(10))), ())
    assert numbers(predicted) == (10, 5 * 64 + 5 * 128, 128, 0)
    assert [loop.trips for loop in predicted.loops] == [Range(5, 5)] * 2


def test_recursion_whose_end_is_not_known_has_no_upper_bound():
    again = Instruction("call", (), (), name="g")
    body = branch(9, (), (alloc(1, 64), again, free(1)))
    made = program(Instruction("call", (), (), name="g"), functions=(("g", Region((), (body,), ())),))
    assert numbers(predict_footprint(made, ()))[:3] == ((0, None), (0, None), (0, None))


def test_the_same_buffer_is_told_by_its_address():
    view = Instruction("alias", (1,), (2,), name="view", extents=(4,))
    addresses = [Instruction("address", (v,), (v + 10,)) for v in (0, 1, 2)]
    same = Instruction("compare", (11, 12), (20,), name="ne")
    other = Instruction("compare", (10, 12), (21,), name="ne")
    made = program(
        alloc(0, 64), alloc(1, 64), view, *addresses, same, other,
        branch(20, (), (free(1),)), branch(21, (), (free(0),)), yields=(2,),
    )  # fmt: skip
    assert numbers(predict_footprint(made, ())) == (2, 128, 128, 64)


def test_a_copy_counts_its_bytes_and_the_stack_is_apart():
    stack = Instruction("stack", (), (1,), number=32, origin=0)
    copy = Instruction("copy", (0, 1, 5), number=8, origin=0)
    predicted = predict_footprint(program(constant(5, 4), stack, copy, arguments=(0,)), ((4,),))
    assert (predicted.copies, predicted.copied_bytes) == (Range(1, 1), Range(32, 32))
    assert predicted.stack_bytes == Range(32, 32) and numbers(predicted) == (0, 0, 0, 0)
    assert predicted.sites[0].on_stack


def test_a_program_travels_as_json():
    made = program(*loop(3, alloc(1, 64), branch(9, (), (free(1),))), yields=(1,))
    assert from_json(MemoryProgram, to_json(made)) == made


def test_numbers_of_which_nothing_is_known_decide_nothing():
    assert compute("addi", (UNKNOWN, known(1))) == UNKNOWN
    assert compute("minui", (Number(0, None), known(5))) == Number(0, 5)
    assert compare("slt", UNKNOWN, known(1)) == Number(0, 1)
