"""The static check: planted defects are found with cause and place, valid schedules give no alarm."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from check_cases import ANY, DEFECTS, VALID
from check_payloads import PAYLOADS
from tutorial_cases import CASES, last_line_marked, schedule_text

import lhkit
from lhkit.checks import points_to, schedule_check, transfer_functions
from lhkit.checks.schedule_check import check_lines, check_schedule, outline_of
from lhkit.load.shipped_files import shipped_folder
from lhkit.model import span
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.span import Span, excerpt
from lhkit.traces.record.handle_history import rolled_back
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.trace_text import plain_text
from lhkit.workbench import pane_text as text_marks

SHIPPED = sorted(shipped_folder("schedules").glob("*.mlir"))
NOTEBOOKS = sorted(shipped_folder("notebooks").glob("*.ipynb"))
TUTORIAL = [pytest.param(p.values[0], id=p.id) for p in CASES]


@pytest.fixture(scope="module")
def payloads(worker):
    return {n: lhkit.load_payload(t, name=n, worker=worker) for n, t in PAYLOADS.items()}


def cases(table):
    return [pytest.param(case, id=name) for name, case in table.items()]


@pytest.mark.parametrize("case", cases(VALID))
def test_a_valid_schedule_gives_no_alarm(case, payloads, worker):
    schedule = lhkit.load_schedule(case.text, bind=case.bind, worker=worker)
    trace = trace_schedule(payloads[case.payload], schedule, worker=worker)
    assert trace.outcome.kind is None, trace.outcome.message
    gone = rolled_back(trace)
    emptied = [c.handle for s in trace.step_records for c in s.changes if c.state == "empty"]
    empty = {trace.handle(h).name for h in emptied if h not in gone}
    assert empty <= {"%none"}, "what happens to nothing proves nothing"
    report = check_schedule(schedule, worker=worker)
    assert report.findings == () and report.uses > 0 and report.is_complete


# Their parts go on with handles to ops apart from those consumed, which depends on the payload: findings say may.
APART = {"conv2d", "cpu", "fc_relu", "matmul", "mlp"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_schedules_give_no_alarm(path, worker):
    report = check_schedule(lhkit.load_schedule(path, worker=worker), worker=worker)
    assert report.errors == () and report.uses > 0
    assert bool(report.findings) == (path.stem in APART)


# Notebooks whose schedules are wrong on purpose.
@pytest.mark.parametrize(
    "path", [p for p in NOTEBOOKS if "invalidated_handles" not in p.stem], ids=lambda p: p.stem
)
def test_schedules_in_notebooks_give_no_alarm(path, worker):
    sets = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
    texts = ["".join(c["source"]) for c in sets if c["cell_type"] == "code"]
    found = [t.split('"""')[1] for t in texts if "transform.named_sequence" in t and '"""' in t]
    for text in found:
        schedule = lhkit.load_schedule(text, any_entry=True, worker=worker)
        assert check_schedule(schedule, worker=worker).findings == ()


@pytest.mark.parametrize("case", TUTORIAL)
def test_the_tutorial_gives_an_alarm_where_it_fails_of_a_dead_handle(case, worker):
    schedule = lhkit.load_schedule(schedule_text(case), bind=case.bind, worker=worker)
    report = check_schedule(schedule, worker=worker)
    if case.kind != "invalidated-handle":
        assert report.findings == ()
        return
    (finding,) = report.findings
    assert (finding.severity, finding.cause) == ("error", case.cause)
    assert finding.use.source.line == last_line_marked(case, "fails")
    assert finding.invalidated_at.source.line == last_line_marked(case, "kills")


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(name, payloads, worker):
    case = DEFECTS[name]
    schedule = lhkit.load_schedule(case.text, bind=case.bind, worker=worker)
    (finding,) = check_schedule(schedule, worker=worker).findings
    assert (finding.severity, finding.handle, finding.cause) == (case.severity, case.handle, case.cause)
    assert finding.use.source.line == case.line_marked("fails")
    assert finding.invalidated_at.source.line == case.line_marked("kills")
    word = "is invalidated" if case.severity == "error" else "may be invalidated"
    assert finding.message.startswith(f"{case.handle} {word}: ")
    trace = trace_schedule(payloads[case.payload], schedule, worker=worker)
    assert trace.outcome.kind == "invalidated-handle", trace.outcome.message
    failed = trace.step_records[trace.outcome.failed_step]
    assert failed.source.line == finding.use.source.line


def test_there_are_enough_of_each():
    tutorial_valid = [p for p in TUTORIAL if p.values[0].kind is None]
    assert len(VALID) + len(SHIPPED) + len(tutorial_valid) >= 80
    assert len(DEFECTS) >= 50
    assert {c.cause for c in DEFECTS.values()} == {"direct", "alias", "nested"}


def test_a_message_says_who_what_and_why(worker):
    case = DEFECTS["inside an unrolled loop"]
    (finding,) = check_schedule(lhkit.load_schedule(case.text, worker=worker), worker=worker).findings
    assert finding.message == (
        "%t is invalidated: transform.loop.unroll at line 5 consumed %l, and what %t points to lies inside"
    )
    assert finding.by == "%l" and finding.use.op == "transform.annotate"


SEQUENCES = f"""module attributes {{transform.with_named_sequence}} {{
transform.named_sequence @first(%x: {ANY} {{transform.consumed}}) {{
%g = transform.structured.generalize %x : ({ANY}) -> {ANY}
transform.annotate %x "x" : {ANY}
transform.yield
}}
transform.named_sequence @second(%x: {ANY} {{transform.consumed}}) {{
%g = transform.structured.generalize %x : ({ANY}) -> {ANY}
transform.annotate %x "x" : {ANY}
transform.yield
}}
}}"""


def test_all_sequences_are_checked_or_the_entry_alone(worker):
    both = check_schedule(lhkit.load_schedule(SEQUENCES, any_entry=True, worker=worker), worker=worker)
    assert [f.use.source.line for f in both.findings] == [4, 9] and both.sequences == 2
    entry = lhkit.load_schedule(SEQUENCES, entry="second", worker=worker)
    (one,) = check_schedule(entry, only_entry=True, worker=worker).findings
    assert one.use.source.line == 9


def test_knobs_decide_which_alternative_is_checked(worker):
    body = """%m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
transform.tune.alternatives<"way"> {
  %g = transform.structured.generalize %m : (!transform.any_op) -> !transform.any_op
}, {
  transform.annotate %m "x" : !transform.any_op
}
transform.annotate %m "y" : !transform.any_op
transform.yield"""
    text = f"module attributes {{transform.with_named_sequence}} {{\ntransform.named_sequence @__transform_main(%root: {ANY}) {{\n{body}\n}}\n}}"
    schedule = lhkit.load_schedule(text, worker=worker)
    severities = {
        knob: [f.severity for f in check_schedule(schedule, knobs, worker=worker).findings]
        for knob, knobs in ((None, None), (0, {"way": 0}), (1, {"way": 1}))
    }
    assert severities == {None: ["warning"], 0: ["error"], 1: []}


def test_a_library_has_places_of_its_own(tmp_path, worker):
    library = tmp_path / "library.mlir"
    case = DEFECTS["within a callee"]
    head, _, rest = case.text.partition("transform.named_sequence private @twice")
    library.write_text(
        "module attributes {transform.with_named_sequence} {\ntransform.named_sequence private @twice" + rest
    )
    declaration = f"transform.named_sequence private @twice(%x: {ANY} {{transform.readonly}})\n}}"
    schedule = lhkit.load_schedule(head + declaration, libraries=[library], worker=worker)
    (finding,) = check_schedule(schedule, worker=worker).findings
    assert finding.use.source.file == str(library) and finding.use.source.line == 5


def test_names_to_bind_must_be_as_many_as_arguments(worker):
    schedule = lhkit.load_schedule(VALID["consume a cast"].text, bind=("linalg.matmul",), worker=worker)
    with pytest.raises(UsageError, match="takes 0 arguments after the root, and 1 are bound"):
        check_schedule(schedule, worker=worker)


def test_an_entry_with_arguments_can_be_checked_without_binding(worker):
    case = VALID["arguments that are bound"]
    assert check_schedule(lhkit.load_schedule(case.text, worker=worker), worker=worker).findings == ()


MAIN = f"""module attributes {{transform.with_named_sequence}} {{
transform.named_sequence private @tile_all(%x: {ANY} {{transform.readonly}}) {{
  transform.yield
}}
DECLARATION
transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
  transform.include @NAME failures(propagate) (%root) : ({ANY}) -> ()
  transform.yield
}}
}}"""
DECLARATION = f"transform.named_sequence private @NAME(%x: {ANY} {{transform.readonly}})"


def including(name, declaration=DECLARATION):
    return MAIN.replace("DECLARATION", declaration).replace("NAME", name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tile_al", "did you mean @tile_all?"),
        ("clean_up", "parts/cpu.mlir of lhkit does: name it in a comment, // lhkit: library parts/cpu.mlir"),
        ("clean_upp", "did you mean @clean_up?"),
        ("qqqq", "nothing defines @qqqq: it has no body in this file or its libraries"),
    ],
)
def test_a_sequence_that_nothing_defines_is_an_error(name, said, payloads, worker):
    schedule = lhkit.load_schedule(including(name), worker=worker)
    report = check_schedule(schedule, worker=worker)
    (found,) = report.fatal
    assert found.message.startswith(f"nothing defines @{name}: ") and found.message.endswith(said)
    assert (found.use.op, found.use.source.line, found.use.source.column) == ("transform.include", 7, 3)
    text = plain_text(check_lines(report))
    assert "     7 |   transform.include" in text and "\n           ^" in text
    assert "unresolved external" in trace_schedule(payloads["tensors"], schedule, worker=worker).outcome.message


def test_a_matcher_and_an_action_that_nothing_defines(worker):
    declared = "\n".join(
        f"transform.named_sequence private @{name}(%x: {ANY} {{transform.readonly}}){result}"
        for name, result in (("is_it", f" -> {ANY}"), ("do_it", ""))
    )
    text = including("tile_all", declared).replace(
        "transform.include @tile_all failures(propagate) (%root)",
        "%r = transform.foreach_match in %root @is_it -> @do_it",
    )
    text = text.replace(f": ({ANY}) -> ()", f": ({ANY}) -> {ANY}")
    text = text.replace(
        "(%root: !transform.any_op {transform.readonly})", f"(%root: {ANY} {{transform.consumed}})"
    )
    report = check_schedule(lhkit.load_schedule(text, worker=worker), worker=worker)
    assert [f.message.split(":")[0] for f in report.fatal] == [
        "nothing defines @do_it",
        "nothing defines @is_it",
    ]


@pytest.mark.parametrize("given", ["comment", "library"])
def test_a_sequence_of_a_library_is_defined(given, tmp_path, worker):
    library = tmp_path / "own.mlir"
    head, body, _ = MAIN.replace("private @tile_all", "@of_mine").partition("transform.yield\n}\n")
    library.write_text(f"{head}{body}}}")
    name = "clean_up" if given == "comment" else "of_mine"
    text = f"// lhkit: library parts/cpu.mlir\n{including(name)}" if given == "comment" else including(name)
    libraries = [] if given == "comment" else [library]
    schedule = lhkit.load_schedule(text, libraries=libraries, worker=worker)
    assert check_schedule(schedule, worker=worker).fatal == ()


def test_a_name_that_is_not_even_declared(worker):
    with pytest.raises(ScheduleError, match=r"Nothing defines @tile_al; did you mean @tile_all\?") as caught:
        lhkit.load_schedule(including("tile_al", ""), worker=worker)
    assert caught.value.failure.span.line == 7


def test_a_schedule_of_very_many_handles_is_not_followed_to_its_end(monkeypatch, worker):
    body = "\n".join(
        f'%m{i} = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}\n'
        f"%g{i} = transform.structured.generalize %m{i} : ({ANY}) -> {ANY}\n"
        f'transform.annotate %m{i} "x" : {ANY}'
        for i in range(40)
    )
    main = f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{\n{body}\n"
    text = f"module attributes {{transform.with_named_sequence}} {{\n{main}transform.yield\n}}\n}}"
    outline = outline_of(lhkit.load_schedule(text, worker=worker), worker=worker)
    overlaps = []
    find_overlap = transfer_functions.find_overlap
    monkeypatch.setattr(
        transfer_functions, "find_overlap", lambda *given: overlaps.append(1) or find_overlap(*given)
    )
    whole = schedule_check.check_outline(outline, "__transform_main")
    assert whole.is_complete and len(whole.findings) == 40
    counted = len(overlaps)
    monkeypatch.setattr(schedule_check, "MOST_COMPARED", 2000)
    overlaps.clear()
    part = schedule_check.check_outline(outline, "__transform_main")
    assert not part.is_complete and part.findings == whole.findings[: len(part.findings)] and part.findings
    assert len(overlaps) <= 2000 < counted * 3
    report = check_schedule(lhkit.load_schedule(text, worker=worker), worker=worker)
    assert "it is too long" in plain_text(check_lines(report))


def test_many_searches_of_one_scope_are_not_held_against_all_that_was_found(worker, monkeypatch):
    """Each is told from the scope that it was found in; walking over all others takes minutes for 200 of them."""
    search = '%m{0} = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({1}) -> {1}\n'
    search += 'transform.annotate %m{0} "seen" : {1}\n'
    text = f"""module attributes {{transform.with_named_sequence}} {{
      transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
        {"".join(search.format(i, ANY) for i in range(40))} transform.yield }} }}"""
    schedule = lhkit.load_schedule(text, worker=worker)
    walks = []
    monkeypatch.setattr(points_to, "defaultdict", lambda kind: walks.append(1) or defaultdict(kind))
    assert check_schedule(schedule, worker=worker).is_complete and walks == []


def test_a_text_is_split_once_for_all_places_that_are_shown_of_it():
    text = "// a text of its own\n" * 100
    before = span._lines_of.cache_info().misses
    shown = {excerpt(Span("a.mlir", line, 1), {"a.mlir": text}) for line in range(1, 101)}
    assert len(shown) == 100 and span._lines_of.cache_info().misses == before + 1
    before = text_marks._lines_of.cache_info().misses
    for line in range(1, 101):
        text_marks._mark(text, Span("a.mlir", line, 1), "error", "said", "check")
    assert text_marks._lines_of.cache_info().misses == before + 1
