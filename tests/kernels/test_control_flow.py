from lhkit.kernels.hot_loops import find_loops, split_blocks
from lhkit.model.instructions import Instruction


def program(*lines):
    """Instructions of one byte from (flow, target) or None."""
    return [Instruction(a, 1, "x", "", *(line or ("next",))) for a, line in enumerate(lines)]


def loops_of(*lines):
    return [(x.head, x.blocks, x.depth, x.is_innermost) for x in find_loops(split_blocks(program(*lines)))]


RETURN = ("return",)


def test_code_without_branches_is_one_block_and_no_loop():
    instructions = program(None, ("call", 77), None, RETURN)
    assert split_blocks(instructions) == {0: tuple(instructions)}
    assert loops_of(None, ("call", 77), None, RETURN) == []


def test_no_code():
    assert find_loops(split_blocks([])) == ()


def test_a_block_that_branches_to_itself():
    assert loops_of(None, None, ("branch", 1), RETURN) == [(1, (1,), 1, True)]


def test_a_function_that_begins_with_its_loop():
    assert loops_of(None, ("branch", 0), RETURN) == [(0, (0,), 1, True)]


def test_nested_loops():
    found = loops_of(None, None, None, ("branch", 2), None, ("branch", 1), None, RETURN)
    assert found == [(1, (1, 2, 4), 1, False), (2, (2,), 2, True)]


def test_a_loop_that_tests_at_its_head():
    # 1: leave to 4; 2: body; 3: back to 1
    assert loops_of(None, ("branch", 4), None, ("jump", 1), RETURN) == [(1, (1, 2), 1, True)]


def test_a_rotated_loop_entered_at_its_test():
    # 0: jump to the test at 3; 1: body; 3: test, back to 1
    assert loops_of(("jump", 3), None, None, ("branch", 1), RETURN) == [(3, (1, 3), 1, True)]


def test_two_back_edges_to_one_head_make_one_loop():
    # 1: head; 2: back to 1; 3: back to 1
    assert loops_of(None, None, ("branch", 1), ("branch", 1), RETURN) == [(1, (1, 3), 1, True)]


def test_two_loops_in_one():
    lines = (None, None, ("branch", 2), None, ("branch", 3), ("branch", 1), RETURN)
    found = loops_of(*lines)
    assert [(head, depth, inner) for head, _, depth, inner in found] == [
        (1, 1, False),
        (2, 2, True),
        (3, 2, True),
    ]


def test_a_backward_branch_into_the_middle_of_a_cycle_is_no_natural_loop():
    # 0: to 2 or on to 1; 1 and 2 go to one another: neither comes first
    assert loops_of(("branch", 2), None, ("branch", 1), RETURN) == []


def test_blocks_that_nothing_reaches_are_left_out():
    assert loops_of(("jump", 3), None, ("branch", 1), RETURN) == []


def test_jumps_out_of_the_function_end_it():
    assert loops_of(None, ("branch", 1), ("jump", 4096)) == [(1, (1,), 1, True)]
