"""Traces as values: JSON both ways, texts from keyframes and edits."""

import json
import threading

import pytest

from lhkit.model.errors import Diagnostic
from lhkit.model.span import Span
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.model.trace_record import (
    ArgumentReference,
    Edit,
    Elision,
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    ParamReference,
    PayloadDelta,
    PayloadOp,
    ResultReference,
    ScheduleRecord,
    Snapshot,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
    TraceWarning,
)
from lhkit.traces.record import trace_run

PLACE = Span("s.mlir", 3, 5)
STEP = TraceStep(
    index=0,
    op="transform.structured.vectorize",
    source=PLACE,
    status="failed",
    operands=(Operand("h1", "consume"),),
    results=("h2",),
    changes=(
        HandleChange("h0", "invalid"),
        HandleChange("h1", "live", ("o1", ResultReference("o1", 0), ArgumentReference("o0", 0, 0, 1))),
        HandleChange("h2", "live", (ParamReference("16 : i64"),)),
    ),
    invalidated=(
        Invalidation("h0", "nested", "h1", "o1", "o0"),
        Invalidation("h2", "direct", "h2", None, None),
    ),
    payload_delta=PayloadDelta(created=("o1",), moved=("o0",)),
    warnings=(TraceWarning("zero-match", "matches nothing"),),
    diagnostics=(Diagnostic("error", "no", PLACE, (Diagnostic("note", "because"),)),),
    time_ns=12,
)
TRACE = Trace(
    payload=SourceRecord("p.mlir", "00"),
    schedule=ScheduleRecord("s.mlir", "11", "__transform_main", (("tile", 4), ("fast", True))),
    toolchain=Toolchain("torch_mlir", "1", "cpu"),
    outcome=Outcome("failed", 0, "silenceable", "no"),
    handle_records=(HandleRecord("h0", "%loops#1", "op", "@main", (2, 3), -1),),
    step_records=(STEP,),
    elided=(Elision(0, 32, 95),),
    op_records=(PayloadOp("o1", "linalg.add", "o0", ("o0",), 0, None, PLACE),),
    snapshots=(
        Snapshot(-1, "a\nb\nc\n"),
        Snapshot(0, None, -1, (Edit(1, 1, ("A", "A2")), Edit(3, 0, ("x",)))),
        Snapshot(1, None, 0, ()),
    ),
)


def test_json_both_ways():
    text = json.dumps(trace_to_json(TRACE))
    assert trace_from_json(json.loads(text)) == TRACE


def test_json_has_the_shape_of_the_contract():
    data = trace_to_json(TRACE)
    assert data["schema"] == "lhkit.trace/1"
    assert data["handles"]["h0"]["name"] == "%loops#1" and data["ops"]["o1"]["derived_from"] == ["o0"]
    assert data["elided"] == [{"parent": 0, "iterations": [32, 95]}]
    assert data["snapshots"][1] == {"step": 0, "base": -1, "edits": [[1, 1, ["A", "A2"]], [3, 0, ["x"]]]}
    assert data["steps"][0]["changes"][1]["payload"][1] == {"op": "o1", "result": 0}
    assert data["schedule"]["knobs"] == {"tile": 4, "fast": True}


def test_snapshots_are_rebuilt_from_keyframe_and_edits():
    assert TRACE.snapshot_text(-1) == "a\nb\nc\n"
    assert TRACE.snapshot_text(0) == "A\nA2\nb\nx\nc\n" == TRACE.snapshot_text(1) == TRACE.last_snapshot_text()
    assert TRACE.snapshot_text(7) is None


def test_handles_ops_and_states_are_found():
    assert TRACE.handle("h0").name == "%loops#1" and TRACE.op("o1").name == "linalg.add"
    assert TRACE.states_after(0)["h0"].state == "invalid" and TRACE.states_after(-1) == {}


@pytest.mark.parametrize("change", [{"schema": "x"}, {"steps": [{}]}, {"outcome": {"huh": 1}}, {"ops": []}])
def test_what_is_no_trace_is_refused(change):
    with pytest.raises(ValueError, match="not a trace"):
        trace_from_json({**trace_to_json(TRACE), **change})


def test_a_journal_is_read_while_it_is_written(tmp_path, monkeypatch):
    path, seen = tmp_path / "journal", []
    chunks = [
        b'["toolchain","mlir","1"]\n["sco',
        b'pe",3,"func"]\n["toolchain","mlir","2"]\n',
        b'["scope",4,"func"]\n["sc',
    ]
    take = trace_run._Journal.take
    monkeypatch.setattr(trace_run._Journal, "take", lambda *parts: seen.append(parts[1]) or take(*parts))

    class Ended(threading.Event):
        """Ended when all is written; each wait but the first writes more."""

        def wait(self, timeout=None):
            seen.append("wait")
            if len(seen) > 1:
                with path.open("ab") as journal:
                    journal.write(chunks.pop(0))
            return not chunks

    records = trace_run._follow(path, Ended())
    assert seen == ["wait", "wait", "toolchain", "wait", "scope", "toolchain", "wait", "scope"]
    # Of the run that began last, without the line that was cut.
    assert records.toolchain == ("mlir", "2") and records.scopes == {4: "func"}
