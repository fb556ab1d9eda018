"""Expectations of a schedule: read with places, met and unmet in traces, checked, and kept as comments."""

import pytest

import lhkit
from lhkit.checks.schedule_check import check_schedule
from lhkit.kernels.kernel import compile_kernel
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.explain.handle_explanation import failure_of

ANY = "!transform.any_op"
TWO = f"({ANY}) -> ({ANY}, {ANY})"
T = "tensor<64x64xf32>"
PAYLOAD = f"""func.func @f(%a: {T}, %b: {T}, %c: {T}, %d: {T}) -> {T} {{
  %m = linalg.matmul ins(%a, %b : {T}, {T}) outs(%c : {T}) -> {T}
  %s = linalg.add ins(%m, %d : {T}, {T}) outs(%c : {T}) -> {T}
  %r = linalg.max ins(%s, %d : {T}, {T}) outs(%c : {T}) -> {T}
  return %r : {T}
}}
"""
STEPS = (
    f'%mm = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}',
    f'%add = transform.structured.match ops{{["linalg.add"]}} in %root : ({ANY}) -> {ANY}',
    f"%t, %l = transform.structured.tile_using_forall %add tile_sizes [16, 32] : {TWO}",
    f"%in, %new = transform.structured.fuse_into_containing_op %mm into %l : ({ANY}, {ANY}) -> ({ANY}, {ANY})",
    f"%tile, %for = transform.structured.tile_using_for %in tile_sizes [0, 0, 8] : {TWO}",
    f"transform.structured.vectorize %tile : {ANY}",
)
KNOB = '%k = transform.tune.knob<"tile_k"> = 8 : i64 from options = [4, 8, 16] -> !transform.param<i64>'
TUNED = (
    *STEPS[:4],
    KNOB,
    f"%tile, %for = transform.structured.tile_using_for %in tile_sizes [0, 0, %k] : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})",
)


def text_of(expectations, steps=STEPS):
    said = "".join(f"// lhkit: expect {e}\n" for e in expectations)
    body = "\n".join(f"    {line}" for line in steps)
    return (
        f"{said}module attributes {{transform.with_named_sequence}} {{\n"
        f"  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n{body}\n"
        "    transform.yield\n  }\n}\n"
    )


@pytest.fixture
def traced(worker):
    payload = lhkit.load_payload(PAYLOAD, name="p.mlir", worker=worker)

    def trace(*expectations, steps=STEPS, **knobs):
        schedule = lhkit.load_schedule(
            text_of(expectations, steps), name="s.mlir", knobs=knobs or None, worker=worker
        )
        return lhkit.trace(payload, schedule, worker=worker)

    return trace


MET = [
    "loops(linalg.matmul) == [forall 16x32, for 8]",
    "loops(%tile) == [forall, for ?]",
    "loops(%t) == [ forall 16x? ]",
    "loops(linalg.max) == []",
    "vectorized %tile",
    "vectorized linalg.matmul",
    "inside(%tile, %new)",
    "inside(linalg.add, scf.forall)",
    "inside(%mm, %for)",
    "none linalg.matmul",
    "none linalg.generic",
]


def test_expectations_that_are_met(traced):
    trace = traced(*MET)
    assert trace.unmet == () and failure_of(trace) is None and trace.outcome.status == "ok"


UNMET = {
    "loops(linalg.matmul) == [forall 16x16, for 8]": "[forall 16x32, for 8] around the vector.multi_reduction",
    "loops(linalg.add) == [for 16]": "[forall 16x32] around the linalg.add of p.mlir:3:8",
    "loops(linalg.max) == [forall]": "[] around the linalg.max of p.mlir:4:8",
    "vectorized %t": "linalg.add of p.mlir:3:8, not vectorized",
    "vectorized %l": "linalg.add of p.mlir:3:8, not vectorized",
    "inside(linalg.max, %new)": "the linalg.max of p.mlir:4:8 in no loop",
    "inside(%t, scf.for)": "the linalg.add of p.mlir:3:8 inside another scf.forall",
    "none linalg.add": "linalg.add of p.mlir:3:8",
    "vectorized linalg.exp": "the payload never had a linalg.exp",
    "vectorized %elsewhere": "no step that ran defines %elsewhere",
}


@pytest.mark.parametrize("expected", UNMET)
def test_an_expectation_that_is_not_met_says_what_there_is(expected, traced):
    trace = traced(MET[0], expected)
    (unmet,) = trace.unmet
    assert (unmet.expected, unmet.source.line, unmet.source.column) == (expected, 2, 18)
    assert unmet.found.startswith(UNMET[expected])
    assert f"✗ line 2: expected {expected}; found {unmet.found}" in str(trace)
    failure = failure_of(trace)
    assert failure.kind == "unmet-expectation" and unmet.message in failure.message
    assert failure.span == unmet.source and failure.exit_code == 1


def test_all_that_are_not_met_are_told_with_what_to_do(traced, golden):
    golden(str(traced(*UNMET).why()) + "\n")


def test_what_is_not_met_stays_in_a_saved_trace(traced):
    trace = traced("none linalg.add", "inside(linalg.max, %new)")
    again = trace_from_json(trace_to_json(trace))
    assert again.unmet == trace.unmet and again == trace
    assert "unmet" not in trace_to_json(traced(MET[0]))


def test_a_schedule_that_fails_has_its_failure_only(traced):
    trace = traced("none linalg.add", steps=(*STEPS, STEPS[5]))
    assert trace.outcome.kind == "invalidated-handle" and trace.unmet == ()


def test_a_step_may_be_the_value_of_a_knob(traced):
    expected = "loops(linalg.matmul) == [forall 16x32, for tile_k]"
    for value in (4, 8, 16):
        assert traced(expected, steps=TUNED, tile_k=value).unmet == ()
    (unmet,) = traced("loops(linalg.matmul) == [forall 16x32, for 8]", steps=TUNED, tile_k=16).unmet
    assert "[forall 16x32, for 16]" in unmet.found


@pytest.mark.parametrize(
    ("written", "at", "said"),
    [
        ("loops(matmul) == [for 8]", "matmul", "a handle (%x) or the full name of an op (linalg.matmul) is expected"),
        ("loops(linalg.matmul) = [for 8]", "=", "== is expected here, and '=' is written"),
        ("loops(linalg.matmul) == [fro 8]", "fro", "a loop: for, forall, parallel, while is expected"),
        ("loops(linalg.matmul) == [for 8", None, ", or ] is expected here, and the end of the line is written"),
        ("loops(linalg.matmul) == [for 8, for tiles]", "tiles", "a step: a number, ? for any is expected"),
        ("vectorised %tile", "vectorised", "loops, vectorized, inside or none is expected"),
        ("inside(%mm %l)", "%l", ", is expected here, and '%l' is written"),
        ("none generic", "generic", "the full name of an op (linalg.generic) is expected"),
        ("vectorized %tile please", "please", "the end of the line is expected"),
        ("", None, "loops, vectorized, inside or none is expected here, and the end of the line is written"),
    ],
)  # fmt: skip
def test_one_that_cannot_be_read_is_shown_at_its_place(written, at, said, worker):
    with pytest.raises(UsageError) as caught:
        lhkit.load_schedule(text_of([written]), name="s.mlir", worker=worker)
    span = caught.value.failure.span
    line = f"// lhkit: expect {written}".rstrip()
    column = (len(line) if at is None else line.index(at, len("// lhkit: expect "))) + 1
    assert said in str(caught.value) and "It reads: expect loops(OP) ==" in str(caught.value)
    assert (span.file, span.line) == ("s.mlir", 1) and abs(span.column - column) <= (written == "")


def test_the_check_knows_the_names_of_handles(worker):
    schedule = lhkit.load_schedule(
        text_of(["vectorized %tiel", "vectorized %tile"]), name="s.mlir", worker=worker
    )
    report = check_schedule(schedule, worker=worker)
    (found,) = report.fatal
    assert (found.use.source.line, found.message) == (
        1,
        "the expectation names %tiel, which nothing defines; did you mean %tile?",
    )
    assert "s.mlir:1:18: error: lhkit: expect: the expectation names %tiel" in str(report)


def test_a_kernel_that_is_not_what_its_schedule_says_is_refused(worker):
    payload = lhkit.load_payload(PAYLOAD, name="p.mlir", worker=worker)
    steps = STEPS[:5]
    good = lhkit.load_schedule(text_of([MET[0]], steps), name="s.mlir", worker=worker)
    assert compile_kernel(payload, good, worker=worker).schedule is good
    bad = lhkit.load_schedule(text_of(["none linalg.add"], steps), name="s.mlir", worker=worker)
    with pytest.raises(ScheduleError, match=r"expected none linalg\.add") as caught:
        compile_kernel(payload, bad, worker=worker)
    assert caught.value.failure.kind == "unmet-expectation"


def test_an_export_keeps_them_as_comments(worker):
    schedule = lhkit.load_schedule(text_of(MET[:2]), name="s.mlir", worker=worker)
    exported = schedule.portable_text()
    assert [line for line in exported.splitlines() if "expect" in line] == [
        f"// lhkit: expect {e}" for e in MET[:2]
    ]


def test_the_command_line_says_what_is_not_met(lhkit_here, tmp_path):
    (tmp_path / "p.mlir").write_text(PAYLOAD)
    (tmp_path / "s.mlir").write_text(text_of(["none linalg.add"]))
    done = lhkit_here("trace", "p.mlir", "s.mlir")
    assert done.returncode == 1 and "ok: 6 steps\n✗ line 1: expected none linalg.add" in done.stdout
    assert "s.mlir:1:18: error: expected none linalg.add; found linalg.add of p.mlir:3:8" in done.stderr
    (tmp_path / "s.mlir").write_text(text_of(["none linalg.exp"]))
    assert lhkit_here("trace", "p.mlir", "s.mlir").returncode == 0
