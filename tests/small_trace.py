"""A small trace by hand, in which ops are made, erased, changed and moved."""

import dataclasses

from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Outcome,
    PayloadDelta,
    PayloadOp,
    ResultReference,
    ScheduleRecord,
    Snapshot,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
)

BEFORE = """\
module {
  func.func @f(%arg0: f32) -> f32 {
    %0 = my.a %arg0
    %1 = my.b %0
    %2 = my.c %1 {x = 1}
    %3 = my.d %2
    return %3 : f32
  }
}
"""
# o2 (a) stands below o3 (b) now, o4 (c) has another attribute, o5 (d) is gone, o7 and o8 are new.
AFTER = """\
module {
  func.func @f(%arg0: f32) -> f32 {
    %0 = my.new %arg0
    %1 = my.a %arg0
    %2 = my.b %0
    %3 = scf.execute_region -> f32 {
      %4 = my.c %2 {x = 2}
      scf.yield %4 : f32
    }
    return %3 : f32
  }
}
"""


def op(number, name, parent, born=-1, died=None, derived=()):
    source = Span("p.mlir", number + 1, 3) if born < 0 else None
    return PayloadOp(f"o{number}", name, parent, derived, born, died, source)


def small_trace():
    """Return a trace of three steps: one that changes nothing, one that does all there is, one that fails."""
    names = ("builtin.module", "func.func", "my.a", "my.b", "my.c", "my.d", "func.return")
    parents = (None, "o0", "o1", "o1", "o1", "o1", "o1")
    ops = [op(i, n, p) for i, (n, p) in enumerate(zip(names, parents, strict=True))]
    ops[5] = dataclasses.replace(ops[5], died=1)
    ops += [
        op(7, "my.new", "o1", 1, None, ("o5",)),
        op(8, "scf.execute_region", "o1", 1, None, ("o5", "o4", "o3")),
        op(9, "scf.yield", "o8", 1),
    ]
    delta = PayloadDelta(("o7", "o8", "o9"), ("o5",), ("o3", "o4", "o6"), ("o4",))
    steps = (
        TraceStep(0, "transform.structured.match", Span("s.mlir", 1, 1), results=("h0",),
                  changes=(HandleChange("h0", "live", ("o4",)),)),
        TraceStep(1, "transform.my.step", Span("s.mlir", 2, 1), payload_delta=delta,
                  changes=(HandleChange("h1", "live", (ResultReference("o8", 0),)),), results=("h1",)),
        TraceStep(2, "transform.my.other", Span("s.mlir", 3, 1), status="failed"),
    )  # fmt: skip
    handles = (
        HandleRecord("h0", "%c", "op", "@main", (), 0),
        HandleRecord("h1", "%v", "value", "@main", (), 1),
    )
    return Trace(
        SourceRecord("p.mlir", ""), ScheduleRecord("s.mlir", "", "main"), Toolchain("", "", ""),
        Outcome("failed", 2, "silenceable", "no"), handles, steps, (), tuple(ops),
        (
            Snapshot(-1, BEFORE, ops="o0-o6"),
            Snapshot(0, None, -1, ()),
            Snapshot(1, AFTER, ops="o0-o1 o7 o2-o3 o8 o4 o9 o6"),
        ),
    )  # fmt: skip
