"""What a trace says of steps that contain steps: loops, calls, choices, and the failures inside of each."""

import pytest

import lhkit
from lhkit.checks.schedule_check import check_schedule
from lhkit.model.trace_record import ArgumentReference, ParamReference, ResultReference
from lhkit.traces.explain.handle_explanation import explain
from lhkit.traces.record.handle_history import display_names, rolled_back, states_at_end
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.trace_text import plain_text, trace_lines

ANY = "!transform.any_op"
TO_ANY = f"({ANY}) -> {ANY}"
TWO = f"({ANY}) -> ({ANY}, {ANY})"
PAYLOAD = """
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i] : memref<8xf32>
    memref.store %x, %a[%i] : memref<8xf32>
  }
  return
}
"""
HEAD = "module attributes {transform.with_named_sequence} {\n"
LOOPS = f'%loops = transform.structured.match ops{{["scf.for"]}} in %root : {TO_ANY}\n'
FUNC = f'%func = transform.structured.match ops{{["func.func"]}} in %root : {TO_ANY}\n'
UNROLL = f"transform.loop.unroll %in {{factor = 2}} : {ANY}\n"
# What no loop of the payload can do, and no function.
NEVER = f"%one, %two, %three = transform.split_handle %in : ({ANY}) -> ({ANY}, {ANY}, {ANY})\n"
MARK = f'transform.annotate %in "mark" : {ANY}\n'
BLOCK = f"^bb0(%in: {ANY}):\n"


def entry(body, others=""):
    main = f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n"
    return f"{HEAD}{main}{body}transform.yield\n}}\n{others}}}\n"


def called(name, body, effect="readonly", results=""):
    head = f"transform.named_sequence private @{name}(%in: {ANY} {{transform.{effect}}}){results} {{\n"
    return head + body + ("" if results else "transform.yield\n") + "}\n"


def traced(worker, schedule, payload=PAYLOAD, **options):
    loaded = lhkit.load_payload(payload, worker=worker)
    trace = trace_schedule(loaded, lhkit.load_schedule(schedule, worker=worker, **options), worker=worker)
    assert not [w for s in trace.step_records for w in s.warnings if w.kind == "defect"]
    return trace


def story(trace):
    """The steps as lines: depth, op, iteration or alternative, status."""
    lines = []
    for step in trace.step_records:
        turn = "" if step.iteration is None else f" {step.iteration}"
        way = "" if step.alternative is None else f" |{step.alternative}"
        name = step.op.removeprefix("transform.").removeprefix("structured.").removeprefix("loop.")
        lines.append(f"{'  ' * step.depth}{name}{turn}{way} {step.status}")
    return lines


def states(trace, step):
    """Handles that a step changed, by name, with the last of their states."""
    return {trace.handle(c.handle).name: c.state for c in trace.step_records[step].changes}


def payload_names(trace, step, name):
    """Names of the ops that a handle of this name points to where the step says so."""
    changes = [c for c in trace.step_records[step].changes if trace.handle(c.handle).name == name]
    return [trace.op(i).name for c in changes if c.state == "live" for i in c.payload]


def test_foreach_is_a_step_an_iteration(worker):
    trace = traced(worker, entry(f"{LOOPS}transform.foreach %loops : {ANY} {{\n{BLOCK}{MARK}{UNROLL}}}\n"))
    assert story(trace) == [
        "match ok",
        "foreach ok",
        "  annotate 0 ok",
        "  unroll 0 ok",
        "  annotate 1 ok",
        "  unroll 1 ok",
    ]
    first, second = (h for h in trace.handle_records if h.name == "%in")
    assert first.id != second.id and first.path == second.path == (1,) and first.defined_by == 1
    pointed = {c.handle: c.payload for s in trace.step_records for c in s.changes if c.state == "live"}
    assert pointed[first.id] != pointed[second.id]
    assert (*pointed[first.id], *pointed[second.id]) == pointed[trace.step_records[0].results[0]]
    assert [(d.cause, trace.handle(d.by).name) for d in trace.step_records[1].invalidated] == [
        ("direct", "%loops")
    ]
    assert states(trace, 3) == {"%in": "invalid"} and states(trace, 1)["%loops"] == "invalid"


def test_foreach_yields_what_its_iterations_gave(worker):
    body = f"%up = transform.get_parent_op %in : {TO_ANY}\ntransform.yield %up : {ANY}\n"
    trace = traced(
        worker, entry(f"{LOOPS}%all = transform.foreach %loops : {ANY} -> {ANY} {{\n{BLOCK}{body}}}\n")
    )
    assert payload_names(trace, 1, "%all") == ["func.func", "func.func"]


def test_foreach_over_the_shortest(worker):
    head = f"transform.foreach %loops, %func with_zip_shortest : {ANY}, {ANY} {{\n"
    body = f"{LOOPS}{FUNC}{head}^bb0(%in: {ANY}, %other: {ANY}):\n{MARK}}}\n"
    trace = traced(worker, entry(body))
    assert story(trace)[2:] == ["foreach ok", "  annotate 0 ok"]
    assert payload_names(trace, 3, "%in") == ["scf.for"] and payload_names(trace, 3, "%other") == ["func.func"]
    unequal = traced(worker, entry(body.replace(" with_zip_shortest", "")))
    assert story(unequal)[2:] == ["foreach failed"] and unequal.outcome.failed_step == 2


def test_a_failure_in_an_iteration(worker):
    up = f"%up = transform.get_parent_op %in {{nth_parent = 2}} : {TO_ANY}\n"
    body = f"{BLOCK}{MARK}{up}{UNROLL.replace('%in', '%up')}"
    trace = traced(worker, entry(f"{LOOPS}transform.foreach %loops : {ANY} {{\n{body}}}\n{FUNC}"))
    assert story(trace) == [
        "match ok",
        "foreach failed",
        "  annotate 0 ok",
        "  get_parent_op 0 ok",
        "  unroll 0 failed",
        "match not-run",
    ]
    assert trace.outcome.failed_step == 4 and "failed to unroll" in trace.outcome.message


def test_an_iteration_over_an_op_that_one_before_erased(worker):
    """The interpreter hands out an op that is no more; asking for it kills the process."""
    payload = """func.func @f() -> (tensor<8xf32>, tensor<8xf32>) {
  %a = tensor.empty() : tensor<8xf32>
  %b = tensor.empty() : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}"""
    empties = LOOPS.replace("scf.for", "tensor.empty")
    merge = f"transform.foreach %loops : {ANY} {{\n{BLOCK}transform.apply_cse to %func : {ANY}\n}}\n"
    trace = traced(worker, entry(FUNC + empties + merge), payload)
    assert story(trace)[2:] == ["foreach ok", "  apply_cse 0 ok", "  apply_cse 1 ok"]
    assert [states(trace, i)["%in"] for i in (3, 4)] == ["live", "empty"]


def in_sequence(mode, body, target="%loops"):
    return f"transform.sequence {target} : {ANY} failures({mode}) {{\n{BLOCK}{body}}}\n"


def test_a_nested_sequence_that_propagates(worker):
    trace = traced(worker, entry(LOOPS + in_sequence("propagate", MARK + NEVER + UNROLL) + FUNC))
    assert story(trace) == [
        "match ok",
        "sequence failed",
        "  annotate ok",
        "  split_handle failed",
        "  unroll not-run",
        "match not-run",
    ]
    assert (trace.outcome.kind, trace.outcome.failed_step) == ("silenceable", 3)


def test_a_nested_sequence_that_suppresses_goes_on(worker):
    trace = traced(worker, entry(LOOPS + in_sequence("suppress", MARK + NEVER + UNROLL) + FUNC))
    assert story(trace) == [
        "match ok",
        "sequence ok",
        "  annotate ok",
        "  split_handle suppressed",
        "  unroll ok",
        "match ok",
    ]
    suppressed = trace.step_records[3]
    assert states(trace, 3) == {"%one": "empty", "%two": "empty", "%three": "empty"}
    (said,) = suppressed.diagnostics
    assert "expected to contain 3 payloads but it contains 2 payloads" in said.message
    assert (said.span.line, suppressed.source.line) == (7, 7)
    assert [w.kind for w in suppressed.warnings] == ["suppressed-failure"]


def test_what_a_suppressed_step_did_and_gave_before_it_failed(worker):
    """An op that is applied to one payload op after the other has results for those that went well."""
    both = f"%both = transform.merge_handles %loops, %func : {ANY}\n"
    body = in_sequence("suppress", f"transform.loop.unroll %in {{factor = 2}} : {ANY}\n", "%both")
    trace = traced(worker, entry(FUNC + LOOPS + both + body))
    assert story(trace)[-1] == "  unroll suppressed"
    assert trace.step_records[-1].payload_delta.created  # the loops were unrolled all the same
    assert states(trace, 4) == {"%in": "invalid"} and states(trace, 3)["%loops"] == "invalid"


def test_an_op_listed_twice_is_suppressed_and_its_handle_is_dead(worker):
    twice = f"%twice = transform.merge_handles %loops, %loops : {ANY}\n"
    peel = f"%new = transform.loop.coalesce %in : {TO_ANY}\n{MARK.replace('%in', '%loops')}"
    trace = traced(worker, entry(LOOPS + twice + in_sequence("suppress", peel, "%twice")))
    assert story(trace)[2:] == ["sequence failed"]
    read = (
        f"%same = transform.merge_handles %in, %in : {ANY}\n%new = transform.loop.coalesce %same : {TO_ANY}\n"
    )
    inner = traced(worker, entry(LOOPS + in_sequence("suppress", read)))
    assert story(inner)[1:] == ["sequence ok", "  merge_handles ok", "  coalesce suppressed"]
    assert states(inner, 3) == {"%same": "invalid", "%in": "invalid", "%loops": "invalid", "%new": "empty"}
    assert "more than once" in inner.step_records[3].diagnostics[0].message


def test_rehearsing_leaves_no_trace(worker):
    """To see what fails, each op of a suppressing sequence is applied to a copy first, which must have no visible effect."""
    body = in_sequence("suppress", MARK + f"transform.apply_cse to %func : {ANY}\n{UNROLL}")
    plain = traced(worker, entry(FUNC + LOOPS + body.replace("suppress", "propagate")))
    trace = traced(worker, entry(FUNC + LOOPS + body))
    assert story(trace) == story(plain)
    assert trace.last_snapshot_text() == plain.last_snapshot_text()
    assert [s.changes for s in trace.step_records] == [s.changes for s in plain.step_records]
    assert trace.op_records == plain.op_records and trace.handle_records == plain.handle_records
    assert "lhkit" not in trace.last_snapshot_text()


def alternatives(*bodies, target="%func"):
    regions = ", ".join(f"{{\n{BLOCK}{body}}}" for body in bodies)
    return f"transform.alternatives {target} : {ANY} {regions}\n"


def test_alternatives_leave_the_region_that_fails(worker):
    trace = traced(worker, entry(FUNC + alternatives(MARK + NEVER + MARK, MARK, NEVER)))
    assert story(trace) == [
        "match ok",
        "alternatives ok",
        "  annotate |0 ok",
        "  split_handle |0 suppressed",
        "  annotate |1 ok",
        "  annotate |0 not-run",
    ]
    # Each region works on a copy of its own; the first one's is gone, the second one's has replaced the op.
    first, second = (
        payload_id for s in (2, 4) for c in trace.step_records[s].changes for payload_id in c.payload
    )
    assert first != second and trace.op(first).died is not None and trace.op(second).died is None
    assert "mark" in trace.last_snapshot_text() and states(trace, 1)["%func"] == "invalid"


def test_alternatives_that_all_fail(worker):
    trace = traced(worker, entry(FUNC + alternatives(NEVER, NEVER) + LOOPS))
    assert story(trace) == [
        "match ok",
        "alternatives failed",
        "  split_handle |0 suppressed",
        "  split_handle |1 suppressed",
        "match not-run",
    ]
    assert trace.outcome.failed_step == 1 and "all alternatives failed" in trace.outcome.message


def reason(number):
    return f"expected to contain 3 payloads but it contains {number} payloads"


def test_a_trace_tells_which_alternative_was_taken_and_why_others_failed(worker):
    schedule = entry(FUNC + alternatives(MARK + NEVER + MARK, in_call("split"), MARK), called("split", NEVER))
    trace = traced(worker, schedule)
    assert story(trace)[2:7] == [
        "  annotate |0 ok",
        "  split_handle |0 suppressed",
        "  include |1 suppressed",
        "    split_handle suppressed",
        "  annotate |2 ok",
    ]
    (taken,) = trace.step_records[1].diagnostics
    assert taken.severity == "note" and taken.span == trace.step_records[1].source
    first, second, third = taken.message.split("; ")
    assert first == "alternative 2 was taken"
    line = trace.step_records[3].source.line
    assert second.startswith(f"alternative 0 failed at step 3 (transform.split_handle, <schedule>:{line}:")
    assert third.startswith("alternative 1 failed at step 4 (transform.include, <schedule>:")
    assert reason(1) in second and reason(1) in third
    assert reason(1) in trace.step_records[3].diagnostics[0].message
    assert taken.message in plain_text(trace_lines(trace))


def in_call(name):
    return f"transform.include @{name} failures(propagate) (%in) : ({ANY}) -> ()\n"


def test_an_empty_alternative_is_said_to_be_taken(worker):
    body = alternatives(f"{LOOPS.replace('%root', '%in')}{UNROLL.replace('%in', '%loops')}{NEVER}", "", MARK)
    trace = traced(worker, entry(FUNC + body))
    (taken,) = trace.step_records[1].diagnostics
    assert taken.message.startswith(
        "alternative 1 was taken, which is empty and leaves the payload as it was; "
    )
    # What the failed alternative consumed is neither live nor invalidated: it went with the copy.
    names, gone = display_names(trace), rolled_back(trace)
    assert [names[h] for h in gone] == ["%in (step 1, alternative 0)", "%loops"]
    assert names[trace.handle_records[-1].id] == "%in (step 1)"
    ending = plain_text(trace_lines(trace)).split("ok: ")[1].splitlines()[1:-1]
    assert ending == [
        "● 1 live: %root",
        "✗ 1 invalidated: %func",
        "– 2 of alternatives that were rolled back: %in (step 1, alternative 0), %loops",
    ]
    for handle, failed in gone.items():
        why = explain(trace, handle)
        assert why.step == failed.index == 4 and "was lost with alternative 0 of step 1" in why.sentence
        assert reason(1) in why.places[-1].message
    assert "step 3 (transform.loop.unroll) had consumed %loops" in why.places[1].message
    assert "no step ran" in explain(trace, trace.handle_records[-1].id).sentence
    assert {c.state for h, c in trace.states_after(4).items() if h in gone} == {"empty", "invalid"}


def test_alternatives_that_all_fail_give_their_reasons(worker):
    trace = traced(worker, entry(FUNC + alternatives(NEVER, MARK + NEVER)))
    (error,) = trace.step_records[1].diagnostics
    assert [n.message.partition(":")[0] for n in error.notes] == [
        "alternative 0 failed at step 2 (transform.split_handle, <schedule>",
        "alternative 1 failed at step 4 (transform.split_handle, <schedule>",
    ]
    assert all(reason(1) in n.message and n.span.line for n in error.notes)
    assert all(n.message in trace.outcome.message for n in error.notes)
    assert "all alternatives" not in trace.step_records[4].diagnostics[0].message


def test_iterations_have_handles_of_different_names(worker):
    trace = traced(worker, entry(f"{LOOPS}transform.foreach %loops : {ANY} {{\n{BLOCK}{MARK}{UNROLL}}}\n"))
    names = display_names(trace)
    assert [n for n in names.values() if n.startswith("%in")] == [
        "%in (step 1, iteration 0)",
        "%in (step 1, iteration 1)",
    ]


@pytest.mark.parametrize("scope", ["%in", "%same"])
def test_alternatives_on_the_copy_of_others_are_refused(worker, scope):
    same = FUNC.replace("%root", "%in").replace("%func", "%same")
    inner = alternatives(MARK.replace("%in", "%inner"), target=scope).replace("%in:", "%inner:")
    schedule = entry(FUNC + alternatives(same + inner))
    trace = traced(worker, schedule)
    assert (trace.outcome.status, trace.outcome.failed_step) == ("failed", 3)
    assert "the copy that the alternatives around it work on" in trace.outcome.message
    fatal = check_schedule(lhkit.load_schedule(schedule, worker=worker), worker=worker).fatal
    assert len(fatal) == (scope == "%in")


def test_a_copy_is_followed_after_its_handle_is_consumed(worker):
    new = f'%new = transform.apply_registered_pass "cse" to %in : {TO_ANY}\n'
    use = MARK.replace("%in", "%new")
    trace = traced(worker, entry(FUNC + alternatives(new + use + NEVER.replace("%in", "%new"), MARK)))
    assert payload_names(trace, 2, "%new") == ["func.func"]
    assert len(trace.step_records[3].payload_delta.changed) == 1
    assert reason(1) in trace.step_records[4].diagnostics[0].message


NESTED = f"module {{ module @a {{ {PAYLOAD} }} module @b {{ {PAYLOAD.replace('@f', '@g')} }} }}"
PARTS = f"""
%a = transform.structured.match ops{{["builtin.module"]}} attributes {{sym_name = "a"}} in %root : {TO_ANY}
%b = transform.structured.match ops{{["builtin.module"]}} attributes {{sym_name = "b"}} in %root : {TO_ANY}
%func = transform.structured.match ops{{["func.func"]}} in %a : {TO_ANY}
%other = transform.structured.match ops{{["func.func"]}} in %b : {TO_ANY}
%loops = transform.structured.match ops{{["scf.for"]}} in %a : {TO_ANY}
%others = transform.structured.match ops{{["scf.for"]}} in %b : {TO_ANY}
%load = transform.structured.match ops{{["memref.load"]}} in %other : {TO_ANY}
%copy = transform.merge_handles %func : {ANY}
%both = transform.merge_handles %func, %other : {ANY}
%up = transform.get_parent_op %loops : {TO_ANY}
"""
CHOSEN = {
    "the second": (MARK + NEVER, MARK),
    "the second, after a consuming one": (
        f'%new = transform.apply_registered_pass "cse" to %in : {TO_ANY}\n{NEVER.replace("%in", "%new")}',
        MARK,
    ),
    "an empty one": (MARK + NEVER, ""),
    "the first, and it is empty": ("", MARK + NEVER),
    "none, and it is suppressed": (NEVER, NEVER),
}


@pytest.mark.parametrize("scope", ["%a", "%both"])
@pytest.mark.parametrize("chosen", CHOSEN)
def test_handles_after_alternatives_are_what_the_interpreter_takes_them_for(worker, chosen, scope):
    body = alternatives(*CHOSEN[chosen], target=scope).replace('"mark"', '"test.mark"')
    if chosen.startswith("none") or scope == "%both":
        body = f"transform.sequence %root : {ANY} failures(suppress) {{\n^bb0(%r: {ANY}):\n{body}}}\n"
    trace = traced(worker, entry(PARTS + body), NESTED)
    at_end = states_at_end(trace)
    told = {h.name: at_end[h.id].state for h in trace.handle_records if not h.path}
    taken = {}
    for name in told:
        use = entry(f'{PARTS}{body}transform.annotate {name} "test.used" : {ANY}\n')
        outcome = traced(worker, use, NESTED).outcome
        taken[name] = "live" if outcome.kind is None else "invalid"
        assert outcome.kind in (None, "invalidated-handle"), outcome.message
        found = check_schedule(lhkit.load_schedule(use, worker=worker), worker=worker).findings
        severities = {f.severity for f in found}
        assert "error" not in severities if taken[name] == "live" else severities, (name, found)
    assert told == taken and set(told.values()) == {"live", "invalid"}


TUNE = f"""transform.tune.alternatives<"way"> selected_region = 1 {{
transform.yield
}}, {{
{MARK}{NEVER}{MARK}transform.yield
}}
"""


def test_tune_alternatives_take_the_selected_region(worker):
    trace = traced(worker, entry(FUNC + in_sequence("propagate", TUNE.replace(NEVER, ""), "%func")))
    assert story(trace)[2:] == ["  tune.alternatives ok", "    annotate |1 ok", "    annotate |1 ok"]


@pytest.mark.parametrize(
    ("mode", "story_inside"),
    [
        (
            "propagate",
            [
                "sequence failed",
                "  tune.alternatives failed",
                "    annotate |1 ok",
                "    split_handle |1 failed",
            ],
        ),
        (
            "suppress",
            [
                "sequence ok",
                "  tune.alternatives suppressed",
                "    annotate |1 ok",
                "    split_handle |1 suppressed",
            ],
        ),
    ],
)
def test_a_failure_in_the_selected_region(worker, mode, story_inside):
    trace = traced(worker, entry(FUNC + in_sequence(mode, TUNE + MARK, "%func")))
    assert story(trace)[1:5] == story_inside
    after = {"propagate": "  annotate not-run", "suppress": "  annotate ok"}[mode]
    assert after in story(trace)[5:] and "    annotate |1 not-run" in story(trace)[5:]


def include(name, handle, mode):
    return f"transform.include @{name} failures({mode}) ({handle}) : ({ANY}) -> ()\n"


def test_the_same_sequence_included_twice(worker):
    calls = include("mark", "%func", "propagate") + include("mark", "%loops", "propagate")
    trace = traced(worker, entry(FUNC + LOOPS + calls, called("mark", MARK + MARK)))
    inside = ["include ok", "  annotate ok", "  annotate ok"]
    assert story(trace)[2:] == inside * 2
    first, second = (h for h in trace.handle_records if h.sequence == "@mark")
    assert (first.name, first.path, second.path) == ("%in", (2,), (5,)) and first.id != second.id
    assert payload_names(trace, 3, "%in") == ["func.func"]
    assert payload_names(trace, 6, "%in") == ["scf.for", "scf.for"]


def test_a_failure_in_an_include(worker):
    others = called("mark", MARK + NEVER + MARK)
    failing = traced(worker, entry(FUNC + include("mark", "%func", "propagate") + LOOPS, others))
    assert story(failing) == [
        "match ok",
        "include failed",
        "  annotate ok",
        "  split_handle failed",
        "  annotate not-run",
        "match not-run",
    ]
    silent = traced(worker, entry(FUNC + include("mark", "%func", "suppress") + LOOPS, others))
    assert story(silent) == [
        "match ok",
        "include ok",
        "  annotate ok",
        "  split_handle suppressed",
        "  annotate ok",
        "match ok",
    ]


def test_an_include_that_consumes(worker):
    others = called("unroll", UNROLL, "consumed")
    trace = traced(worker, entry(LOOPS + include("unroll", "%loops", "propagate"), others))
    assert trace.step_records[1].operands[0].effect == "consume"
    assert states(trace, 1) == {"%loops": "invalid"} and states(trace, 2) == {"%in": "invalid"}


def matcher(name, op):
    text = f'transform.match.operation_name %in ["{op}"] : {ANY}\ntransform.yield %in : {ANY}\n'
    return called(name, text, results=f" -> {ANY}")


MATCHERS = matcher("is_loop", "scf.for") + matcher("is_load", "memref.load")


def test_foreach_match_says_what_matched(worker):
    actions = called("of_loop", MARK) + called("of_load", MARK.replace("mark", "load"))
    pairs = "@is_loop -> @of_loop, @is_load -> @of_load"
    body = f"{FUNC}%new = transform.foreach_match in %func {pairs} : {TO_ANY}\n"
    trace = traced(worker, entry(body, MATCHERS + actions))
    assert story(trace)[1:] == ["foreach_match ok", *(f"  annotate {i} ok" for i in range(4))]
    matched = [payload_names(trace, i, "%in") for i in range(2, 6)]
    assert matched == [["memref.load"], ["scf.for"]] * 2
    assert [h.sequence for h in trace.handle_records if h.path] == ["@of_load", "@of_loop"] * 2
    assert states(trace, 1) == {"%func": "invalid", "%new": "live"}


def test_a_failing_action_goes_on_and_makes_foreach_match_fail_at_its_end(worker):
    one = f"%new = transform.foreach_match in %func @is_loop -> @try : {TO_ANY}\n"
    others = MATCHERS + called("try", NEVER + MARK)
    inside = [
        f"  {op} {i} {end}"
        for i in range(2)
        for op, end in (("split_handle", "suppressed"), ("annotate", "ok"))
    ]
    trace = traced(worker, entry(FUNC + one + LOOPS, others))
    assert story(trace) == ["match ok", "foreach_match failed", *inside, "match not-run"]
    assert (
        trace.outcome.failed_step == 1
        and "expected to contain 3" in trace.step_records[2].diagnostics[0].message
    )
    silent = traced(worker, entry(FUNC + in_sequence("suppress", one.replace("%func", "%in"), "%func"), others))
    assert story(silent)[1:] == ["sequence ok", "  foreach_match suppressed", *(f"  {line}" for line in inside)]


def test_collect_matching_is_one_step(worker):
    body = f"{FUNC}%found = transform.collect_matching @is_load in %func : {TO_ANY}\n"
    trace = traced(worker, entry(body, MATCHERS))
    assert story(trace) == ["match ok", "collect_matching ok"]
    assert payload_names(trace, 1, "%found") == ["memref.load"] * 2


def test_patterns_are_one_step(worker):
    patterns = (
        "transform.apply_patterns.canonicalization\ntransform.apply_patterns.memref.fold_memref_alias_ops\n"
    )
    trace = traced(worker, entry(f"{FUNC}transform.apply_patterns to %func {{\n{patterns}}} : {ANY}\n"))
    assert story(trace) == ["match ok", "apply_patterns ok"]
    assert states(trace, 1) == {}


def test_parameters(worker):
    number = "!transform.param<i64>"
    body = f"""{LOOPS}%size = transform.tune.knob<"size"> = 4 from options = [2, 4] -> {number}
%two = transform.param.constant 2 : i64 -> {number}
%all = transform.merge_handles %size, %two : {number}
%count = transform.num_associations %loops : ({ANY}) -> {number}
transform.annotate %loops "size" = %size : {ANY}, {number}
"""
    trace = traced(worker, entry(body))
    held = {trace.handle(c.handle).name: c.payload for s in trace.step_records[1:] for c in s.changes}
    assert held["%size"] == (ParamReference("4 : i64"),) and held["%count"] == (ParamReference("2 : i64"),)
    assert held["%all"] == (ParamReference("4 : i64"), ParamReference("2 : i64"))
    assert {h.kind for h in trace.handle_records if h.name in held} == {"param"}
    assert "size = 4 : i64" in trace.last_snapshot_text()


def test_value_handles_die_with_the_ops_that_have_the_values(worker):
    value = "!transform.any_value"
    body = f"""{LOOPS}%loads = transform.structured.match ops{{["memref.load"]}} in %root : {TO_ANY}
%loaded = transform.get_result %loads[0] : ({ANY}) -> {value}
%indices = transform.get_operand %loads[1] : ({ANY}) -> {value}
%buffers = transform.get_operand %loads[0] : ({ANY}) -> {value}
transform.loop.unroll %loops {{factor = 2}} : {ANY}
"""
    trace = traced(worker, entry(body))
    held = {trace.handle(c.handle).name: c.payload for s in trace.step_records[:-1] for c in s.changes}
    assert [(type(r), trace.op(r.op).name) for r in held["%loaded"]] == [(ResultReference, "memref.load")] * 2
    assert [(type(r), trace.op(r.op).name, r.argument) for r in held["%indices"]] == [
        (ArgumentReference, "scf.for", 0)
    ] * 2
    assert [trace.op(r.op).name for r in held["%buffers"]] == ["func.func"] * 2
    deaths = {trace.handle(d.handle).name: d for d in trace.step_records[-1].invalidated}
    assert {n: d.cause for n, d in deaths.items()} == {
        "%loops": "direct",
        "%loads": "nested",
        "%loaded": "nested",
        "%indices": "alias",
    }
    died = deaths["%loaded"]
    assert (trace.op(died.payload_op).name, trace.op(died.ancestor).name) == ("memref.load", "scf.for")


def test_bound_arguments_are_arguments(worker):
    text = entry(f"transform.loop.unroll %loops {{factor = 2}} : {ANY}\n")
    text = text.replace(
        ".consumed}) {", f'.consumed}}, %loops: {ANY}, %loads: !transform.op<"memref.load">) {{', 1
    )
    trace = traced(worker, text, bind=("scf.for", "memref.load"))
    assert story(trace) == ["unroll ok"]
    assert [(h.name, h.defined_by) for h in trace.handle_records] == [
        ("%root", -1),
        ("%loops", -1),
        ("%loads", -1),
    ]
    assert payload_names(trace, 0, "%loads") == ["memref.load"] * 2
    assert states(trace, 0) == {"%root": "live", "%loops": "invalid", "%loads": "invalid"}
    assert {d.cause for d in trace.step_records[0].invalidated} == {"direct", "nested"}


def test_schedule_and_payload_in_one_module(worker):
    both = PAYLOAD + entry(LOOPS + UNROLL.replace("%in", "%loops"))
    trace = traced(worker, both, payload=both)
    assert story(trace) == ["match ok", "unroll ok"]
    place = trace.step_records[1].source
    assert both.splitlines()[place.line - 1][place.column - 1 :].startswith("transform.loop.unroll")
    assert "transform." not in trace.last_snapshot_text()
    assert [h.name for h in trace.handle_records] == ["%root", "%loops"]


def test_rehearsing_in_an_inner_module(worker):
    """What fails is found where symbols mean something else than at the top."""
    mark = called("mark", MARK + NEVER + MARK)
    inner = f"module @inner attributes {{transform.with_named_sequence}} {{\n{mark}"
    inner += called("all", include("mark", "%in", "suppress") * 2).replace("private ", "") + "}\n"
    text = entry(FUNC + include("inner::@all", "%func", "suppress"), inner)
    once = ["    annotate ok", "    split_handle suppressed", "    annotate ok"]
    assert story(traced(worker, text))[1:] == ["include ok", *["  include ok", *once] * 2]
