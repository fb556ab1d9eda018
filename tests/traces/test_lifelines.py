"""Lifelines: moments in the order of nesting, and what happens to handles at each."""

import pytest

from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    PayloadOp,
    ScheduleRecord,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
)
from lhkit.traces.timeline.lifelines import lifelines


def trace_of(handles, steps):
    op = PayloadOp("o1", "scf.for", None, (), -1, None, None)
    return Trace(
        payload=SourceRecord("p.mlir", "0"),
        schedule=ScheduleRecord("s.mlir", "1", "__transform_main"),
        toolchain=Toolchain("torch_mlir", "1", "cpu"),
        outcome=Outcome(),
        handle_records=tuple(handles),
        step_records=tuple(steps),
        elided=(),
        op_records=(op,),
        snapshots=(),
    )


def handle(number, defined_by, path=()):
    return HandleRecord(f"h{number}", f"%h{number}", "op", "@__transform_main", path, defined_by)


def live(number):
    return HandleChange(f"h{number}", "live", ("o1",))


# An include that is given %h0 and consumes it: its sequence gets %h1, makes %h2, and consumes %h1.
INCLUDE = trace_of(
    [handle(0, -1), handle(1, 0, (0,)), handle(2, 1, (0,)), handle(3, 0)],
    [
        TraceStep(
            0,
            "transform.include",
            None,
            operands=(Operand("h0", "consume"),),
            results=("h3",),
            changes=(live(0), HandleChange("h0", "invalid"), live(3)),
            invalidated=(Invalidation("h0", "direct", "h0", "o1", "o1"),),
        ),
        TraceStep(
            1, "a.b", None, 1, 0, operands=(Operand("h1", "read"),), results=("h2",), changes=(live(1), live(2))
        ),
        TraceStep(
            2,
            "a.c",
            None,
            1,
            0,
            operands=(Operand("h1", "consume"),),
            changes=(HandleChange("h1", "invalid"), HandleChange("h2", "invalid")),
            invalidated=(
                Invalidation("h1", "direct", "h1", "o1", "o1"),
                Invalidation("h2", "alias", "h1", "o1", "o1"),
            ),
        ),
    ],
)


def test_what_a_step_with_others_inside_consumes_and_gives_happens_at_its_end():
    lives = lifelines(INCLUDE)
    assert [(m.kind, m.step) for m in lives.moments] == [
        ("start", -1),
        ("step", 0),
        ("step", 1),
        ("step", 2),
        ("end", 0),
    ]
    events = [[(e.moment, e.kind) for e in line.events] for line in lives.lines]
    assert events == [
        [(0, "made"), (4, "consumed"), (4, "dead")],
        [(1, "made"), (2, "read"), (3, "consumed"), (3, "dead")],
        [(2, "made"), (3, "dead")],
        [(4, "made")],
    ]
    spans = [[(s.first, s.last, s.state) for s in line.spans] for line in lives.lines]
    assert spans == [
        [(0, 4, "live"), (4, 4, "invalid")],
        [(1, 3, "live"), (3, 3, "invalid")],
        [(2, 3, "live"), (3, 3, "invalid")],
        [(4, 4, "live")],
    ]
    (bracket,) = lives.brackets
    assert (bracket.step, bracket.first, bracket.last, bracket.depth) == (0, 1, 4, 0)


@pytest.mark.parametrize("turns", [(0, 0, 1, 1), (0, 1, 0, 1)])
def test_steps_that_never_ran_stand_where_they_would_have(turns):
    """Steps that never ran follow at the end of a trace; here they are in the alternative that they belong to."""
    inside = [TraceStep(i + 1, "a.b", None, 1, 0, alternative=turn) for i, turn in enumerate(turns)]
    lives = lifelines(trace_of([], [TraceStep(0, "transform.alternatives", None), *inside]))
    order = [(m.kind, turns[m.step - 1] if m.kind == "step" else m.turn[1]) for m in lives.moments[1:]]
    assert order == [("turn", 0), ("step", 0), ("step", 0), ("turn", 1), ("step", 1), ("step", 1)]
    assert lives.brackets[0].turns == ((1, 3), (4, 6))


def test_a_result_that_was_not_made_has_no_life():
    failed = TraceStep(0, "a.b", None, status="failed")
    (line,) = lifelines(trace_of([handle(0, 0)], [failed])).lines
    assert line.events == () and line.spans == ()
