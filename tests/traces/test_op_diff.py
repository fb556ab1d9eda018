"""Payloads against one another, op by op."""

import dataclasses

import pytest
from small_trace import AFTER, BEFORE, small_trace
from texts import new_side, old_side

from lhkit.model.errors import UsageError
from lhkit.model.trace_record import HandleChange, Operand
from lhkit.traces.diff.ir_html import ir_html, ir_text
from lhkit.traces.diff.op_diff import BY_STRUCTURE, ir_at, ir_diff, text_diff


def rows(diff):
    return [(line.sign, line.old, line.new, line.op) for line in diff.lines]


def test_ops_are_followed_by_identity():
    assert rows(ir_diff(small_trace(), 1)) == [
        ("", 1, 1, "o0"),
        ("", 2, 2, "o1"),
        ("+", None, 3, "o7"),
        ("", 3, 4, "o2"),
        ("~", 4, 5, "o3"),
        ("+", None, 6, "o8"),
        ("↕", 5, 7, "o4"),
        ("−", 6, None, "o5"),
        ("+", None, 8, "o9"),
        ("+", None, 9, "o8"),
        ("~", 7, 10, "o6"),
        ("", 8, 11, "o1"),
        ("", 9, 12, "o0"),
    ]


def test_what_changed_in_a_line_is_marked_and_renumbering_is_not():
    lines = {line.op: line for line in ir_diff(small_trace(), 1).lines if line.new}
    assert lines["o2"].old_text == "    %0 = my.a %arg0" and not lines["o2"].parts
    assert [(lines["o4"].text[p.start : p.end], p.was, p.kind) for p in lines["o4"].parts] == [
        ("2", "1", "attribute")
    ]
    assert [(p.was, p.kind) for p in lines["o3"].parts] == [("%0", "operand")]


def test_both_sides_are_the_snapshots():
    for diff in (ir_diff(small_trace(), 1), text_diff(BEFORE, AFTER), text_diff(AFTER, BEFORE)):
        assert sorted((old_side(diff), new_side(diff))) == sorted((BEFORE, AFTER))
    assert old_side(ir_diff(small_trace(), -1, against=1)) == AFTER
    assert ir_diff(small_trace(), -1, against=1).counts == (("+", 1), ("−", 3), ("~", 3), ("↕", 1))


def test_handles_and_origins_are_told():
    lines = {line.op: line for line in reversed(ir_diff(small_trace(), 1).lines)}
    assert [(h.id, h.name, h.is_new) for h in lines["o4"].handles] == [("h0", "%c", False)]
    assert [(h.name, h.is_new) for h in lines["o8"].handles] == [("%v", True)]
    assert lines["o8"].remark == (
        "scf.execute_region, made by step 1 (my.step) from my.d of p.mlir:6:3 and my.c of p.mlir:5:3 and 1 more"
    )
    assert lines["o5"].remark == "my.d of p.mlir:6:3; erased by step 1 (my.step)"
    found = [line for line in ir_diff(small_trace(), 0).lines if line.is_context]
    assert [line.op for line in found] == ["o0", "o1", "o4"], (
        "what a new handle points to, and what that lies in"
    )


def test_a_step_that_left_no_payload_shows_the_last_one():
    diff = ir_diff(small_trace(), 2)
    assert old_side(diff) == new_side(diff) == AFTER
    assert diff.title == "step 2, transform.my.other; the payload is that of step 1"


def test_an_op_of_the_operands_of_a_step_that_failed_is_marked_and_says_which_handle_is_invalidated():
    trace = small_trace()
    died = HandleChange("h0", "invalid")
    middle = dataclasses.replace(trace.step_records[1], changes=(*trace.step_records[1].changes, died))
    failed = dataclasses.replace(
        trace.step_records[2], operands=(Operand("h0", "consume"), Operand("h1", "read"))
    )
    steps = (trace.step_records[0], middle, failed)
    diff = ir_diff(dataclasses.replace(trace, step_records=steps), 2)
    marked = {line.op: [h.name for h in line.handles] for line in diff.lines if line.is_operand}
    assert marked == {"o4": ["%c, invalidated"], "o8": ["%v"]}
    assert diff.note.endswith("▸ ops of its operands")
    assert [line[0] for line in ir_text(diff).splitlines()[2:] if "my.c" in line] == ["▸"]
    assert 'class="l r"' in ir_html(diff)


@pytest.mark.parametrize("step", [-2, 3])
def test_other_steps_are_refused(step):
    with pytest.raises(UsageError, match=r"no payload after step .*\n?.*Steps: -1 to 2"):
        ir_diff(small_trace(), step)


def test_without_the_order_of_ops_the_structure_decides_and_that_is_said():
    bare = dataclasses.replace(
        small_trace(), snapshots=tuple(dataclasses.replace(s, ops=None) for s in small_trace().snapshots)
    )
    diff = ir_diff(bare, 1)
    assert diff.note == BY_STRUCTURE and (old_side(diff), new_side(diff)) == (BEFORE, AFTER)
    assert dict(diff.counts)["−"] >= 1
    assert text_diff(AFTER, AFTER).counts == ()


def test_structure_sees_what_was_wrapped_and_what_was_renumbered():
    old = "module {\n  %0 = my.a\n  %1 = my.b %0 {y}\n  my.c %1\n}\n"
    new = "module {\n  %0 = my.z\n  %1 = my.a\n  my.loop {\n    %2 = my.b %1 {y}\n    my.c %2\n  }\n}\n"
    assert [(line.sign, line.text.strip()) for line in text_diff(old, new).lines] == [
        ("", "module {"), ("+", "%0 = my.z"), ("", "%1 = my.a"), ("+", "my.loop {"), ("↕", "%2 = my.b %1 {y}"),
        ("↕", "my.c %2"), ("+", "}"), ("", "}"),
    ]  # fmt: skip


def test_the_payload_at_a_step_has_no_signs():
    shown = ir_at(small_trace(), 1)
    assert new_side(shown) == AFTER and not any(line.sign for line in shown.lines)
    assert [h.name for line in shown.lines for h in line.handles] == ["%v", "%c"]
