"""Transform ops of one's own: in every use of a schedule, with their mistakes as typed failures at their places."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import lhkit
from lhkit.load import user_code as own_ops
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import CrashError, ScheduleError, TimeLimitError, UsageError
from lhkit.model.op_catalogue import Catalogue
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

EXAMPLE = shipped_folder("schedules") / "ops" / "my_ops.py"
ANY = "!transform.any_op"
PAYLOAD = """func.func @f(%a: f32, %b: f32) -> f32 {
  %0 = arith.subf %a, %b : f32
  %1 = arith.subf %0, %b : f32
  return %1 : f32
}"""
MATCH = f'%m = transform.structured.match ops{{["arith.subf"]}} in %root : ({ANY}) -> {ANY}'
# What the tests load besides the example: ops that do what they should not.
BAD = """from lhkit.own_ops import DefiniteError, Ops, Params, Rewriter, SilenceableError, Values, ir, transform_op

@transform_op("bad.raises")
def raises(target: Ops) -> None:
    return {}["key"]

@transform_op("bad.silenceable", consumes="target")
def silenceable(target: Ops) -> Ops:
    raise SilenceableError("not today", at=target[0])

@transform_op("bad.definite")
def definite(target: Ops) -> Ops:
    raise DefiniteError("never", at=target[0])

@transform_op("bad.exits")
def exits(target: Ops) -> None:
    raise SystemExit(3)

@transform_op("bad.returns_text")
def returns_text(target: Ops) -> Ops:
    return ["text"]

@transform_op("bad.returns_one")
def returns_one(target: Ops) -> tuple[Ops, Params]:
    return target

@transform_op("bad.erases_used", consumes="target")
def erases_used(target: Ops, *, rewriter: Rewriter) -> None:
    rewriter.erase(target[0])

@transform_op("bad.returns_erased", consumes="target")
def returns_erased(target: Ops, *, rewriter: Rewriter) -> Ops:
    rewriter.replace(target[1], [target[1].operands[0]])
    return target

@transform_op("bad.replaces_by_other", consumes="target")
def replaces_by_other(target: Ops, *, rewriter: Rewriter) -> None:
    rewriter.replace(target[0], [])

@transform_op("bad.breaks_payload")
def breaks_payload(target: Ops) -> None:
    target[0].attributes["fastmath"] = ir.UnitAttr.get()
    del target[0].operation.parent.attributes["function_type"]

@transform_op("bad.dies")
def dies(target: Ops) -> None:
    import os
    os.abort()

@transform_op("bad.never_ends")
def never_ends(target: Ops) -> None:
    while True:
        pass

@transform_op("bad.values")
def values(target: Ops) -> tuple[Values, Params]:
    return list(target[0].operands), [1, 2.5, "text"]

@transform_op("bad.uses", reads_only=True)
def uses(target: Values, size: Params, *, sizes: list[int], names: list[str] = []) -> Params:
    return [len(target), *size, *sizes, *names]
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    bad = tmp_path_factory.mktemp("ops") / "bad.py"
    bad.write_text(BAD)
    return EXAMPLE, bad


@pytest.fixture(scope="module")
def loaded(files):
    """A worker that has the ops of both files."""
    own = Worker(Limits(seconds=60))
    for file in files:
        lhkit.load_ops(file, worker=own)
    yield own
    own.close()


@pytest.fixture
def schedule(loaded):
    def load(*steps, worker=loaded):
        lines = "\n    ".join(steps)
        text = (
            "module attributes {transform.with_named_sequence} {\n"
            f"  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n"
            f"    {MATCH}\n    {lines}\n    transform.yield\n  }}\n}}\n"
        )
        return lhkit.load_schedule(text, worker=worker)

    return load


def step(op, operands="%m", attributes="", types=None, results="()"):
    types = types or f"({ANY})"
    return f'"{op}"({operands}) {attributes} : {types} -> {results}'


SUBTRACT = "%sums = " + step("my.subtract_by_adding", "%r", results=ANY)
STEPS = (
    "%r = " + step("my.reverse", results=ANY),
    "%count = " + step("my.count", "%r", results="!transform.param<i64>"),
    SUBTRACT,
    step("my.mark", "%sums", "{number = 3 : i64}"),
)


@pytest.fixture(scope="module")
def payload(loaded):
    return lhkit.load_payload(PAYLOAD, worker=loaded)


def test_the_example_is_short_and_says_what_it_defines(own_worker):
    assert len(EXAMPLE.read_text().splitlines()) < 40
    reverse, count, subtract, mark = lhkit.load_ops(EXAMPLE, worker=own_worker)
    assert (reverse.name, reverse.results, reverse.reads_only) == ("my.reverse", ("op",), True)
    assert [(o.name, o.kind, o.is_consumed) for o in subtract.operands] == [("target", "op", True)]
    assert count.results == ("param",) and count.doc == "Return how many payload ops a handle points to."
    assert [(a.name, a.type, a.default) for a in mark.attributes] == [
        ("name", "str", "'my.mark'"),
        ("number", "int", None),
    ]
    assert mark.file == str(EXAMPLE) and EXAMPLE.read_text().splitlines()[mark.line - 1].startswith("@")


def test_own_ops_are_in_the_catalogue(own_worker, monkeypatch):
    lhkit.load_ops(EXAMPLE, worker=own_worker)
    monkeypatch.setattr(own_ops, "shared_worker", lambda: own_worker)
    monkeypatch.setattr(own_ops, "load_catalogue", lambda _: Catalogue((), ()))
    ours = lhkit.ops.find("lhkit.replace_with_call")
    assert [(a.name, a.kind, a.is_required) for a in ours.attributes] == [
        ("microkernel", "string", True),
        ("signature", "any", False),
    ]
    (best, *_) = lhkit.ops.search("attribute payload")
    assert best.name == "my.mark" and best.sentence == "Put an attribute on each payload op."
    assert [(a.name, a.default) for a in best.attributes] == [("name", "my.mark"), ("number", None)]
    subtract = lhkit.ops.find("my.subtract_by_adding")
    assert (subtract.operands[0].is_consumed, subtract.results[0].kinds) == (True, ("op",))


def test_own_ops_change_what_is_compiled(payload, schedule, loaded):
    kernel = lhkit.compile(payload, schedule(*STEPS), worker=loaded)
    assert kernel.ir().count("arith.addf") == kernel.ir().count("my.mark = 3") == 2
    assert "subf" not in kernel.ir() and kernel(np.float32(7), np.float32(2)) == 3


def test_a_trace_follows_own_ops(payload, schedule, loaded):
    trace = lhkit.trace(payload, schedule(*STEPS), worker=loaded)
    assert trace.outcome.status == "ok"
    match, reverse, count, subtract, _mark = trace.step_records
    before = {c.handle: c.payload for c in match.changes}[match.results[0]]
    after = {c.handle: c.payload for c in reverse.changes}[reverse.results[0]]
    assert after == before[::-1] and len(after) == 2
    assert reverse.operands[0].effect == "consume" and reverse.invalidated[0].cause == "direct"
    assert str(count.changes[-1].payload[0].param) == "2 : i64"
    assert len(subtract.payload_delta.created) == 4 and len(subtract.payload_delta.erased) == 2
    # New ops have the location of the op that they were built before.
    derived = {o.id: o.derived_from for o in trace.op_records}
    assert all(derived[o] and derived[o][0] in before for o in subtract.payload_delta.created)


def test_a_check_knows_their_effects(schedule, loaded):
    dead = schedule(*STEPS[:1], step("my.mark", "%m", "{number = 3 : i64}"))
    (finding,) = lhkit.check(dead, worker=loaded).findings
    assert (finding.severity, finding.handle, finding.use.op) == ("error", "%m", "my.mark")
    assert finding.invalidated_at.op == "my.reverse"


def test_using_what_they_consumed_fails_as_for_any_op(payload, schedule, loaded):
    dead = schedule(*STEPS[:1], step("my.mark", "%m", "{number = 3 : i64}"))
    with pytest.raises(lhkit.LhkitError) as caught:
        lhkit.compile(payload, dead, worker=loaded)
    assert caught.value.failure.kind == "invalidated-handle"


def test_values_parameters_and_lists_travel_both_ways(payload, schedule, loaded):
    steps = (
        "%v, %p = " + step("bad.values", results="(!transform.any_value, !transform.any_param)"),
        "%q = "
        + step(
            "bad.uses",
            "%v, %p",
            '{sizes = [4, 5], names = ["a"]}',
            "(!transform.any_value, !transform.any_param)",
            "!transform.any_param",
        ),
    )
    trace = lhkit.trace(payload, schedule(*steps), worker=loaded)
    assert trace.outcome.status == "ok", trace.outcome.message
    shown = [r.param for r in trace.step_records[2].changes[-1].payload]
    assert shown == ["2 : i64", "1 : i64", "2.500000e+00 : f64", '"text"', "4 : i64", "5 : i64", '"a"']


@pytest.mark.parametrize(
    "op, results, kind, message, line",
    [
        ("bad.raises", "()", "definite", "bad.raises: raised KeyError: 'key'", 5),
        ("bad.silenceable", ANY, "silenceable", "bad.silenceable: not today", 9),
        ("bad.definite", ANY, "definite", "bad.definite: never", 13),
        ("bad.exits", "()", "definite", "bad.exits: raised SystemExit: 3", 17),
        (
            "bad.returns_text",
            ANY,
            "definite",
            "to return a list for a handle of kind op, not a list of str",
            None,
        ),
        ("bad.returns_one", f"({ANY}, !transform.any_param)", "definite", "to return a tuple of 2, not", None),
        ("bad.erases_used", "()", "definite", "arith.subf cannot be erased: something uses", 29),
        ("bad.returns_erased", ANY, "definite", "returns an operation that it has erased or replaced", None),
        ("bad.replaces_by_other", "()", "definite", "computes f32 and cannot be replaced by .* nothing", 38),
    ],
)
def test_what_they_raise_is_a_failure_at_their_place(
    payload, schedule, loaded, files, op, results, kind, message, line
):
    given = ("%x = " if results == ANY else "%x:2 = " if results != "()" else "") + step(op, results=results)
    failing = schedule(given)
    with pytest.raises(ScheduleError, match=message) as caught:
        lhkit.compile(payload, failing, worker=loaded)
    failure = caught.value.failure
    assert failure.kind == kind and (failure.span.file, failure.span.line) == ("<schedule>", 4)
    notes = [n.span for n in failure.diagnostics[0].notes if n.span and n.span.file == str(files[1])]
    assert [n.line for n in notes] == ([] if line is None else [line])
    assert "Traceback" not in str(caught.value)
    if line is not None:
        assert BAD.splitlines()[line - 1].strip() in str(caught.value)  # with a caret below
    traced = lhkit.trace(payload, failing, worker=loaded)
    assert (traced.outcome.kind, traced.outcome.failed_step) == (kind, 1)
    (diagnostic,) = traced.step_records[1].diagnostics
    assert diagnostic.message == failure.diagnostics[0].message


def test_the_payload_op_that_a_failure_is_about_is_named(payload, schedule, loaded):
    with pytest.raises(ScheduleError) as caught:
        lhkit.compile(payload, schedule("%x = " + step("bad.definite", results=ANY)), worker=loaded)
    about = caught.value.failure.diagnostics[0].notes[0]
    assert about.message == "for this payload op: arith.subf" and (about.span.line, about.span.column) == (2, 8)


def test_a_silenceable_failure_can_be_silenced_and_a_definite_one_cannot(payload, schedule, loaded):
    def alternatives(op):
        return (
            f'%f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}',
            f"transform.alternatives %f : {ANY} {{",
            f"^bb0(%c: {ANY}):",
            "%x = " + step(op, "%c", results=ANY),
            "}, {",
            f"^bb0(%c: {ANY}):",
            "}",
        )

    quiet = lhkit.trace(payload, schedule(*alternatives("bad.silenceable")), worker=loaded)
    assert quiet.outcome.status == "ok"
    assert "suppressed" in [s.status for s in quiet.step_records if s.op == "bad.silenceable"]
    loud = lhkit.trace(payload, schedule(*alternatives("bad.definite")), worker=loaded)
    assert loud.outcome.kind == "definite" and "never" in loud.outcome.message
    # What was silenced is not blamed for what fails later, and does not move its place.
    again = MATCH.replace("%m", "%again")
    later = schedule(
        *alternatives("bad.silenceable"), again, "%y = " + step("bad.definite", "%again", results=ANY)
    )
    message = lhkit.trace(payload, later, worker=loaded).outcome.message
    assert message is not None and "bad.definite: never" in message and "not today" not in message
    parent = f'%y = transform.get_parent_op %again {{op_name = "no"}} : ({ANY}) -> {ANY}'
    with pytest.raises(ScheduleError, match="could not find a parent op") as caught:
        lhkit.compile(payload, schedule(*alternatives("bad.silenceable"), again, parent), worker=loaded)
    failure = caught.value.failure
    assert failure.kind == "silenceable" and (failure.span.line, len(failure.diagnostics)) == (12, 1)


def test_a_payload_that_no_longer_verifies_is_found(payload, schedule, loaded):
    trace = lhkit.trace(payload, schedule(step("bad.breaks_payload")), worker=loaded)
    assert (trace.outcome.kind, trace.outcome.failed_step) == ("invalid-payload", 1)


@pytest.mark.parametrize(
    "written, message",
    [
        (step("my.mark", attributes="{nuber = 3 : i64}"), "there is no attribute nuber; is number meant"),
        (step("my.mark"), r"the attribute number \(int\) is missing"),
        (step("my.mark", attributes='{number = "3"}'), 'number is to be of type int, and "3" is not'),
        (step("my.mark", attributes="{number = true}"), "number is to be of type int, and true is not"),
        (
            step("my.count", results=ANY).join(["%x = ", ""]),
            "result 0 is a parameter, and !transform.any_op is a handle to ops",
        ),
        (
            "%v, %p = "
            + step("bad.values", results="(!transform.any_value, !transform.any_param)")
            + "\n"
            + step("my.mark", "%p", "{number = 3 : i64}", "(!transform.any_param)"),
            "target is to be a handle to ops, and !transform.any_param is a parameter",
        ),
        (step("my.mark", "%m, %m", types=f"({ANY}, {ANY})"), "expects exactly 1 operands"),
        (step("my.mrk"), "No loaded dialect defines this op"),
    ],
)
def test_a_wrong_use_is_refused_before_anything_runs(schedule, written, message):
    with pytest.raises(ScheduleError, match=message) as caught:
        schedule(written)
    assert caught.value.failure.kind == "schedule-verify" and caught.value.failure.span.line >= 4


@pytest.mark.parametrize(
    "text, message, place",
    [
        ("x = (\n", "does not parse: '\\(' was never closed", (1, 5)),
        ("import lhkit\n\nx = 1 / 0\n", "does not load: ZeroDivisionError: division by zero", (3, 5)),
        ("raise SystemExit\n", "does not load: SystemExit", (1, 1)),
        ("x = 1\n", "defines no transform op", None),
        (
            "@transform_op('my.a')\ndef a(t: Ops): pass\n\n@transform_op('my.a')\ndef b(t: Ops): pass\n",
            "line 2",
            (5, 1),
        ),
        ("@transform_op('transform.a')\ndef a(t: Ops): pass\n", "is one of MLIR's", (2, 1)),
        ("@transform_op('lhkit.a')\ndef a(t: Ops): pass\n", "is one of lhkit's", (2, 1)),
        ("@transform_op('mine')\ndef a(t: Ops): pass\n", "'mine' is not an op name", (2, 2)),
        ("@transform_op('my.a')\ndef a(t): pass\n", "the operand 't' of my.a is annotated with none", (2, 2)),
        ("@transform_op('my.a', consumes='u')\ndef a(t: Ops): pass\n", "consumes 'u'", (2, 2)),
        ("@transform_op('my.a')\ndef a(*t: Ops): pass\n", "takes \\*t", (2, 2)),
        ("@transform_op('my.a')\ndef a(t: Ops, *, n: dict): pass\n", "'n' of my.a has no type", (2, 2)),
        ("@transform_op('my.a')\ndef a(t: Ops) -> int: pass\n", "what my.a returns is annotated", (2, 2)),
    ],
)
def test_a_file_that_does_not_load_changes_nothing(loaded, schedule, payload, tmp_path, text, message, place):
    if "transform_op" in text:
        text = "from lhkit.own_ops import Ops, transform_op\n" + text
    (tmp_path / "ops.py").write_text(text)
    generation = loaded.generation
    with pytest.raises(UsageError, match=message) as caught:
        lhkit.load_ops(tmp_path / "ops.py", worker=loaded)
    span = caught.value.failure.span
    assert (span and (span.line, span.column)) == place
    assert loaded.generation == generation and len(loaded.preparation) == 2


def test_files_that_are_no_text_or_take_too_long_change_nothing(loaded, tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
    (tmp_path / "hangs.py").write_text("while True:\n    pass\n")
    for name, error in (("binary.py", UsageError), ("nowhere.py", UsageError), ("hangs.py", TimeLimitError)):
        with pytest.raises(error):
            lhkit.load_ops(tmp_path / name, worker=loaded, limits=Limits(seconds=0.5))
    assert len(loaded.preparation) == 2


def test_two_files_cannot_define_one_op(loaded, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(EXAMPLE.read_text())
    with pytest.raises(UsageError, match=rf"my.reverse is defined by {EXAMPLE}:\d+ already"):
        lhkit.load_ops(other, worker=loaded)


def test_an_edited_file_is_loaded_again_and_kernels_live_on(own_worker, tmp_path, schedule):
    file = tmp_path / "ops.py"
    source = (
        "from lhkit.own_ops import Ops, ir, transform_op\n\n@transform_op('my.mark')\ndef mark(t: Ops): {}\n"
    )
    body = "[op.attributes.__setitem__('VERSION', ir.UnitAttr.get()) for op in t]"
    file.write_text(source.format("t[0].attributes['one'] = ir.UnitAttr.get()"))
    lhkit.load_ops(file, worker=own_worker)
    payload = lhkit.load_payload(PAYLOAD, worker=own_worker)
    kernel = lhkit.compile(payload, schedule(step("my.mark"), worker=own_worker), worker=own_worker)
    assert "{one}" in kernel.ir()
    file.write_text(source.format(body.replace("VERSION", "two")))
    assert "{one}" in kernel.ir()  # an edit alone changes nothing
    lhkit.load_ops(file, worker=own_worker)
    assert kernel(np.float32(5), np.float32(1)) == 3 and kernel.ir().count("{two}") == 2
    own_worker.kill()
    assert kernel.ir().count("{two}") == 2  # every later process has the ops too


@pytest.mark.parametrize("op, error", [("bad.dies", CrashError), ("bad.never_ends", TimeLimitError)])
def test_a_death_is_typed_and_its_file_repeats_it(loaded, payload, schedule, op, error, crash_folder):

    deadly = schedule(step(op))
    with pytest.raises(error) as caught:
        lhkit.compile(payload, deadly, worker=loaded, limits=Limits(seconds=1.5))
    requests = json.loads(Path(caught.value.failure.reproducer).read_text())["requests"]
    assert [r["request"] for r in requests] == ["load_ops", "load_ops", "compile"]
    assert lhkit.trace(payload, schedule(*STEPS), worker=loaded).outcome.status == "ok"


def test_a_folder_that_repeats_a_trace_has_the_file(payload, schedule, loaded, tmp_path, lhkit_command):
    trace = lhkit.trace(payload, schedule("%x = " + step("bad.definite", results=ANY)), worker=loaded)
    folder = trace.save_reproducer(tmp_path / "again")
    assert (folder / "ops2.py").read_text() == BAD
    command = (folder / "commands.txt").read_text().splitlines()
    assert command[0] == "lhkit trace payload.mlir schedule.mlir --ops ops1.py --ops ops2.py"
    assert "not with mlir-opt alone" in command[1]
    done = lhkit_command(*command[0].split()[1:], cwd=folder)
    assert done.returncode == 1 and "bad.definite: never" in done.stderr


def test_an_op_in_a_loop_is_applied_once_an_iteration(payload, schedule, loaded):
    looped = schedule(
        f"transform.foreach %m : {ANY} {{",
        f"^bb0(%one: {ANY}):",
        step("my.mark", "%one", "{number = 1 : i64}"),
        "}",
    )
    trace = lhkit.trace(payload, looped, worker=loaded)
    marks = [s for s in trace.step_records if s.op == "my.mark"]
    assert [s.iteration for s in marks] == [0, 1]
    changed = list(itertools.chain.from_iterable(s.payload_delta.changed for s in marks))
    assert len(set(changed)) == 2
