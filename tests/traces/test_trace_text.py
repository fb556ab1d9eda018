"""Traces as text: rows, deaths in words, folding, failures; marks that need no colour."""

import dataclasses

import pytest
from small_trace import small_trace

from lhkit.model.errors import Diagnostic
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.trace_record import (
    Elision,
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    ParamReference,
    PayloadDelta,
    PayloadOp,
    Provenance,
    ScheduleRecord,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
    TraceWarning,
)
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.record.handle_history import death_in_words, deaths, display_names
from lhkit.traces.report.trace_text import plain_text, trace_lines

TEXT = "\n".join(f"// line {i}" for i in range(1, 30))


def at(line, column=5):
    return Span("s.mlir", line, column)


def handle(number, name, defined_by, kind="op", path=()):
    return HandleRecord(f"h{number}", name, kind, "@__transform_main", path, defined_by)


def live(number, *ops):
    return HandleChange(f"h{number}", "live", ops)


def read(*numbers):
    return tuple(Operand(f"h{n}", "read") for n in numbers)


def consume(*numbers):
    return tuple(Operand(f"h{n}", "consume") for n in numbers)


STEPS = (
    TraceStep(
        0, "transform.structured.match", at(2), operands=read(0), results=("h1",), changes=(live(1, "o1"),)
    ),
    TraceStep(
        1, "transform.cast", at(3), operands=read(1), results=("h2",), changes=(live(2, "o1"),), time_ns=900
    ),
    TraceStep(
        2,
        "transform.structured.tile_using_for",
        at(4, 16),
        operands=consume(1),
        results=("h3", "h4"),
        changes=(HandleChange("h1", "invalid"), HandleChange("h2", "invalid"), live(3, "o3"), live(4, "o2")),
        invalidated=(
            Invalidation("h1", "direct", "h1", "o1", "o1"),
            Invalidation("h2", "alias", "h1", "o1", "o1"),
        ),
        payload_delta=PayloadDelta(("o2", "o3"), ("o1",), ("o4",), ("o5",)),
        time_ns=1_250_000,
    ),
    TraceStep(
        3,
        "transform.loop.unroll",
        at(5),
        operands=consume(4),
        changes=(HandleChange("h3", "invalid"), HandleChange("h4", "invalid")),
        invalidated=(
            Invalidation("h4", "direct", "h4", "o2", "o2"),
            Invalidation("h3", "nested", "h4", "o3", "o2"),
        ),
        time_ns=40_000,
    ),
    TraceStep(
        4,
        "transform.structured.match",
        at(6),
        operands=read(0),
        results=("h5",),
        changes=(HandleChange("h5", "empty"),),
        warnings=(TraceWarning("zero-match", "no payload op is called linalg.nothing"),),
        time_ns=30_000,
    ),
)
OPS = tuple(
    PayloadOp(f"o{i}", name, None, (), -1, None, None)
    for i, name in enumerate(("builtin.module", "linalg.matmul", "scf.for", "linalg.matmul", "a.b", "c.d"))
)
TRACE = Trace(
    payload=SourceRecord("p.mlir", "0" * 64),
    schedule=ScheduleRecord("s.mlir", "1" * 64, "__transform_main", (("tile", 4), ("order", "mn"))),
    toolchain=Toolchain("torch_mlir", "1", "cpu"),
    outcome=Outcome(),
    handle_records=(
        handle(0, "%root", -1),
        handle(1, "%matmul", 0),
        handle(2, "%same", 1),
        handle(3, "%tiled", 2),
        handle(4, "%loop", 2),
        handle(5, "%nothing", 4),
    ),
    step_records=STEPS,
    elided=(),
    op_records=OPS,
    snapshots=(),
)


def failed_trace(*, diagnostics=(), kind="invalidated-handle", message="%matmul was used after its death"):
    step = TraceStep(
        5, "transform.print", at(7, 3), status="failed", operands=read(1), diagnostics=diagnostics, time_ns=5
    )
    after = TraceStep(6, "transform.yield", at(8), status="not-run")
    return dataclasses.replace(
        TRACE, step_records=(*STEPS, step, after), outcome=Outcome("failed", 5, kind, message)
    )


def test_a_trace_that_went_well(golden):
    golden(plain_text(trace_lines(TRACE)))


def test_a_trace_that_failed(golden):
    golden(plain_text(trace_lines(failed_trace())))


def test_one_step_is_not_called_steps():
    one = dataclasses.replace(TRACE, step_records=STEPS[:1])
    failed = dataclasses.replace(one, outcome=Outcome("failed", 0, "definite", "no"))
    assert (
        "ok: 1 step\n"
        in plain_text(trace_lines(dataclasses.replace(one, outcome=Outcome("ok", None, None, None)))) + "\n"
    )
    assert "1 of 1 step ran" in plain_text(trace_lines(failed))


def test_nested_steps_iterations_and_repeated_names(golden):
    loop = TraceStep(0, "transform.foreach", at(2), operands=read(0), time_ns=9000)
    bodies = [
        TraceStep(
            i,
            "transform.param.constant",
            at(3),
            depth=1,
            parent=0,
            iteration=i - 1,
            results=(f"h{i}",),
            changes=(HandleChange(f"h{i}", "live", (ParamReference(f"{i} : i64"),)),),
            time_ns=10,
        )
        for i in (1, 2)
    ]
    last = TraceStep(3, "transform.alternatives", at(9), alternative=1, status="suppressed")
    trace = dataclasses.replace(
        TRACE,
        handle_records=(handle(0, "%root", -1), *(handle(i, "%c", i, "param", (0,)) for i in (1, 2))),
        step_records=(loop, *bodies, last),
        elided=(Elision(0, 2, 97),),
    )
    golden(plain_text(trace_lines(trace)))


def test_a_long_trace_is_folded_and_its_failure_is_not(golden):
    steps = [TraceStep(i, "transform.debug.emit", at(i % 20 + 1), time_ns=1000) for i in range(200)]
    steps[120] = dataclasses.replace(steps[120], status="failed")
    trace = dataclasses.replace(
        TRACE, step_records=tuple(steps), outcome=Outcome("failed", 120, "definite", "no")
    )
    golden(plain_text(trace_lines(trace, most_steps=10)))


def test_many_deaths_are_counted():
    many = tuple(Invalidation(f"h{i}", "nested", "h4", "o3", "o2") for i in (1, 2, 3))
    steps = (*STEPS[:3], dataclasses.replace(STEPS[3], invalidated=many * 10))
    text = plain_text(trace_lines(dataclasses.replace(TRACE, step_records=steps), most_deaths=2))
    assert text.count("lies inside that scf.for") == 2 and "… and 28 more handles were invalidated" in text


def test_states_differ_by_mark_and_word_and_role():
    last = trace_lines(TRACE)[-5:-1]
    roles = {piece.role: piece.text for line in last for piece in line}
    assert roles["empty"].startswith("○ 1 empty: %nothing")
    assert roles["invalid"].startswith("✗ 4 invalidated: %matmul, %same, %tiled, %loop")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("h1", "%matmul was invalidated: step 2 consumed it"),
        ("h2", "%same was invalidated: step 2 consumed %matmul, and both point to the same linalg.matmul"),
        (
            "h3",
            "%tiled was invalidated: step 3 consumed %loop, and the linalg.matmul that %tiled points to"
            " lies inside that scf.for",
        ),
    ],
)
def test_the_cause_of_a_death_in_words(name, words):
    death = deaths(TRACE)[name]
    assert death_in_words(TRACE, death.step, death.invalidation, display_names(TRACE)) == words


def with_text(trace):
    schedule = Schedule("s.mlir", TEXT, (), (), "__transform_main")
    return dataclasses.replace(trace, provenance=Provenance(Payload("p.mlir", "", ()), schedule))


def test_a_failure_shows_the_cause_and_the_places_of_use_definition_and_consumption():
    failure = failure_of(with_text(failed_trace()))
    assert failure.exit_code == 1
    assert failure.describe().splitlines() == [
        "step 5 (transform.print): %matmul is invalidated: step 2 consumed it",
        "s.mlir:7:3: error: step 5 (transform.print) uses %matmul here",
        "     7 | // line 7",
        "           ^",
        "s.mlir:2:5: note: %matmul is defined here, by step 0",
        "     2 | // line 2",
        "             ^",
        "s.mlir:4:16: note: step 2 (transform.structured.tile_using_for) consumes %matmul here",
        "     4 | // line 4",
        "                  ^",
        "Match again after step 2, or move step 5 before it.",
    ]


def test_what_the_compiler_said_is_shown_where_no_handle_is_at_fault():
    note = Diagnostic("note", "containing op", at(2))
    said = (Diagnostic("error", "could not fuse", at(7, 3), (note,)),)
    failed = failed_trace(diagnostics=said, kind="silenceable", message="s.mlir does not apply to p.mlir\nmore")
    assert f"      ✗ {said[0].message.splitlines()[0]}\n" in plain_text(trace_lines(failed))
    assert failure_of(with_text(failed)).describe().splitlines() == [
        "step 5 (transform.print):",
        "s.mlir:7:3: error: could not fuse",
        "     7 | // line 7",
        "           ^",
        "s.mlir:2:5: note: containing op",
        "     2 | // line 2",
        "             ^",
    ]


def test_a_silent_failure_names_the_operands():
    failure = failure_of(failed_trace(kind="definite", message="failed"))
    assert (
        "s.mlir:7:3: error: the compiler gave no reason; the step reads %matmul (invalid)" in failure.describe()
    )
    assert failure_of(TRACE) is None


def test_what_the_compiler_said_stands_under_its_step():
    said = tuple(Diagnostic("remark", f"number {i}\n  more", at(i)) for i in range(1, 9))
    steps = (dataclasses.replace(STEPS[0], diagnostics=said), *STEPS[1:])
    text = plain_text(trace_lines(dataclasses.replace(TRACE, step_records=steps)))
    assert "      » remark: number 1 … (s.mlir:1:5)\n" in text
    assert "      » … and 2 more messages\n" in text and "number 7" not in text


def test_a_printed_trace_is_what_a_notebook_shows_as_text():
    trace = small_trace()
    assert str(trace) == plain_text(trace_lines(trace))
