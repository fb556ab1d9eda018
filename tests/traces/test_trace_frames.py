"""Frames of a trace: rows, dtypes, and nothing where there is nothing."""

import dataclasses

from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    PayloadDelta,
    PayloadOp,
    ScheduleRecord,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
)

MATCH = TraceStep(
    0,
    "transform.structured.match",
    Span("s.mlir", 4, 15),
    operands=(Operand("h0", "read"),),
    results=("h1",),
    changes=(HandleChange("h1", "live", ("o1", "o2")),),
    time_ns=70,
)
TILE = TraceStep(
    1,
    "transform.structured.tile_using_for",
    None,
    operands=(Operand("h1", "consume"), Operand("h1", "consume")),
    results=("h2",),
    changes=(HandleChange("h1", "invalid"), HandleChange("h2", "empty")),
    invalidated=(Invalidation("h1", "direct", "h1", "o1", "o1"),),
    payload_delta=PayloadDelta(created=("o3",), erased=("o1", "o2")),
)
TRACE = Trace(
    payload=SourceRecord("p.mlir", ""),
    schedule=ScheduleRecord("s.mlir", "", "main"),
    toolchain=Toolchain("", "", ""),
    outcome=Outcome(),
    handle_records=(
        HandleRecord("h0", "%root", "op", "@main", (), -1),
        HandleRecord("h1", "%mm", "op", "@main", (), 0),
        HandleRecord("h2", "%t", "op", "@main", (), 1),
    ),
    step_records=(MATCH, TILE),
    elided=(),
    op_records=(
        PayloadOp("o1", "linalg.add", None, (), -1, 1, None),
        PayloadOp("o3", "scf.for", "o0", ("o1",), 1, None, None),
    ),
    snapshots=(),
)


def test_a_row_a_step():
    frame = TRACE.steps_frame
    assert list(frame.index) == [0, 1] and frame.index.name == "step"
    assert frame.line[0] == 4 and frame.line.isna()[1] and frame.parent.isna().all()
    assert list(frame.consumes) == [(), ("%mm",)] and list(frame.results) == [("%mm",), ("%t",)]
    assert list(frame.created) == [0, 1] and list(frame.erased) == [0, 2] and list(frame.invalidated) == [0, 1]


def test_a_row_a_handle():
    frame = TRACE.handles_frame
    assert list(frame.name) == ["%root", "%mm", "%t"] and list(frame.uses) == [1, 2, 0]
    matched = frame.loc["h1"]
    assert (matched.state, matched.invalidated_at, matched.cause, matched.invalidated_by) == (
        "invalidated",
        1,
        "direct",
        "%mm",
    )
    assert (matched.payload_at_birth, matched.payload_at_end) == (2, 0)
    assert frame.invalidated_at.isna().tolist() == [True, False, True] and frame.state.isna()["h0"]


def test_a_row_an_op():
    frame = TRACE.ops_frame
    assert list(frame.name) == ["linalg.add", "scf.for"] and frame.derived_from["o3"] == ("o1",)
    assert frame.died["o1"] == 1 and frame.died.isna()["o3"]


def test_what_is_missing_is_written_in_one_way():
    for frame in (TRACE.steps_frame, TRACE.handles_frame, TRACE.ops_frame):
        written = frame.to_string()
        assert "<NA>" in written and "NaN" not in written and "None" not in written


def test_frames_of_nothing_have_their_columns():
    empty = dataclasses.replace(TRACE, handle_records=(), step_records=(), op_records=())
    for name in ("steps", "handles", "ops"):
        frame, full = getattr(empty, f"{name}_frame"), getattr(TRACE, f"{name}_frame")
        assert len(frame) == 0 and list(frame.columns) == list(full.columns)
