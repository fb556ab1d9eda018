"""Repairs of planted failures: each defect is put into a schedule that works, and the first repair undoes it.

A repair is right if it gives the text as it was, names of handles apart, or the same payload in the end.
"""

import re
from typing import get_args

import pytest
from planted_failures import (
    ADD,
    ANY,
    HEAD,
    MATMULS,
    MAX,
    PAYLOAD,
    PLANTED,
    THREE,
    TILE_M,
    TWO,
    match,
    text_of,
    tile,
    unroll,
    vectorize,
)
from tutorial_cases import CHAPTER_1, PAYLOADS, last_line_marked, schedule_text

import lhkit
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.explanation import RepairKind, Repairs
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.repairs.repair_trials import find_repairs, find_text_repairs
from lhkit.traces.record.trace_run import trace_schedule


@pytest.fixture(scope="module")
def payload(worker):
    return lhkit.load_payload(PAYLOAD, worker=worker)


def traced(text, payload, worker, bind=()):
    return trace_schedule(payload, lhkit.load_schedule(text, bind=bind, worker=worker), worker=worker)


def repairs_of(text, payload, worker, **options):
    """Return the repairs of a schedule, whether it loads or not."""
    try:
        schedule = lhkit.load_schedule(text, worker=worker)
    except ScheduleError as error:
        return find_text_repairs(payload, error, worker=worker, **options)
    return find_repairs(payload, schedule, worker=worker, **options)


def without_names(text):
    """Return a text with handles numbered in the order in which they appear."""
    seen = {}
    return re.sub(r"%[\w-]+", lambda m: seen.setdefault(m[0], f"%{len(seen)}"), " ".join(text.split()))


def problems(trace):
    return [w for s in trace.step_records for w in s.warnings if w.kind in ("zero-match", "defect")]


@pytest.mark.parametrize("name", PLANTED)
def test_the_first_repair_of_a_planted_failure_is_right(name, payload, worker):
    case = PLANTED[name]
    intended = traced(case.right_text, payload, worker)
    assert intended.outcome.status == "ok" and not problems(intended)
    found = repairs_of(case.wrong_text, payload, worker, limit=2)
    assert found and len({r.text for r in found}) == len(found)
    for repair in found:
        again = traced(repair.text, payload, worker)
        assert repair.passes_whole and again.outcome.status == "ok" and not problems(again)
        assert repair.kind in get_args(RepairKind) and repair.diff.startswith("--- ") and repair.note is None
        if repair is found[0]:
            is_same = again.last_snapshot_text() == intended.last_snapshot_text()
            assert is_same or without_names(repair.text) == without_names(case.right_text), repair.describe()


def test_planted_failures_are_many_of_many_kinds_and_fail(payload, worker):
    assert len(PLANTED) >= 40 and len({c.kind for c in PLANTED.values()}) >= 10
    for case in PLANTED.values():
        try:
            trace = traced(case.wrong_text, payload, worker)
        except ScheduleError:
            continue
        assert trace.outcome.status == "failed" or problems(trace), case


CHAPTER_1_DEATHS = {name: case for name, case in CHAPTER_1.items() if case.kind == "invalidated-handle"}


@pytest.mark.parametrize("name", CHAPTER_1_DEATHS)
def test_every_invalidation_of_chapter_1_has_a_repair_that_works(name, worker):
    case = CHAPTER_1_DEATHS[name]
    payload = lhkit.load_payload(PAYLOADS[case.payload], worker=worker)
    schedule = lhkit.load_schedule(schedule_text(case), bind=case.bind, worker=worker)
    best = find_repairs(payload, schedule, limit=1, worker=worker)[0]
    trace = traced(best.text, payload, worker, bind=case.bind)
    assert best.passes_whole and trace.outcome.status == "ok" and not problems(trace)
    # The remark at the end says where it was given: once for what the repaired handle points to.
    (remark,) = [s for s in trace.step_records if s.op == "transform.debug.emit_remark_at"]
    (used,) = remark.operands
    pointed = trace.states_after(remark.index)[used.handle].payload
    wanted = {"the outlined loop is gone": "scf.forall", "and so is what lies in it": "linalg.elementwise"}
    assert [trace.op(o).name for o in pointed] == [wanted.get(name, "linalg.matmul")]
    changed = [
        i
        for i, (a, b) in enumerate(zip(schedule.text.splitlines(), best.text.splitlines(), strict=False), 1)
        if a != b
    ]
    assert changed[0] == last_line_marked(case, "fails")


def test_a_title_says_what_was_done_and_the_diff_shows_it(payload, worker):
    first, second = repairs_of(PLANTED["alias: a cast of the tiled op"].wrong_text, payload, worker, limit=2)
    assert first.title == "Use %t, which step 2 returned, instead of %same"
    removed, added = [
        line for line in first.diff.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert removed.startswith("-    transform.structured.vectorize %same") and "vectorize %t :" in added
    assert second.title.startswith("Match linalg.add again after step 2, in %")
    assert first.describe().startswith(first.title + ".\n  --- ")


def test_one_repair_after_the_other_is_put_together(payload, worker):
    wrong = (
        match("%ms", "linalg.matmull")
        + "%m, %n = transform.split_handle %ms : "
        + TWO
        + "\n"
        + TILE_M
        + vectorize("%m")
    )
    (best, *_) = repairs_of(text_of(wrong), payload, worker)
    assert best.passes_whole and best.kind == "several"
    assert (
        best.title
        == "Match linalg.matmul, which is there, instead of linalg.matmull; then use %t, which step 2 returned, instead of %m"
    )
    right = text_of(MATMULS + TILE_M + vectorize("%t"))
    assert without_names(best.text) == without_names(right)


def test_a_repair_after_which_a_later_step_fails_says_so(payload, worker):
    # What the last step wants cannot be had: nothing is left to be repaired there.
    hopeless = f"transform.structured.pack_transpose %t with_compute_op(%t) outer_perm = [0] : ({ANY}, {ANY}) -> ({ANY}, {ANY}, {ANY})\n"
    found = repairs_of(
        text_of(ADD + tile("%t, %l", "%add", "[8]", TWO) + unroll("%t") + "%p, %q, %r = " + hopeless),
        payload,
        worker,
    )
    assert found and not any(r.passes_whole for r in found)
    assert re.fullmatch(r"Then step 3 \(transform\.structured\.pack_transpose\) fails: [\w-]+\.", found[0].note)
    trace = traced(found[0].text, payload, worker)
    assert trace.outcome.failed_step == 3 and trace.step_records[2].status == "ok"


def test_a_match_of_nothing_is_repaired_in_a_schedule_that_passes(payload, worker):
    schedule = lhkit.load_schedule(PLANTED["zero match: a letter too many"].wrong_text, worker=worker)
    trace = trace_schedule(payload, schedule, worker=worker)
    assert trace.outcome.status == "ok"
    assert find_repairs(payload, schedule, trace, limit=1, worker=worker)[0].kind == "other-name"


def test_nothing_to_repair_and_nothing_that_can_be(payload, worker):
    fine = lhkit.load_schedule(PLANTED["sizes: a negative one"].right_text, worker=worker)
    assert find_repairs(payload, fine, worker=worker) == ()
    nothing = lhkit.load_schedule(text_of(match("%x", "shape.of_nobody")), worker=worker)
    assert find_repairs(payload, nothing, worker=worker) == ()
    with pytest.raises(ScheduleError) as error:
        lhkit.load_schedule(HEAD + "this is not a step\n", worker=worker)
    assert find_text_repairs(payload, error.value, worker=worker) == ()


def test_a_defect_in_a_library_is_left_alone(payload, worker, tmp_path):
    case = PLANTED["direct: the tiled op is in the loop"]
    inner = case.wrong_text.replace("@__transform_main", "@theirs")
    (tmp_path / "library.mlir").write_text(inner)
    call = text_of(f"transform.include @theirs failures(propagate) (%root) : ({ANY}) -> ()\n")
    declared = (
        call.removesuffix("}\n")
        + f"  transform.named_sequence private @theirs({ANY} {{transform.consumed}})\n}}\n"
    )
    schedule = lhkit.load_schedule(declared, libraries=[tmp_path / "library.mlir"], worker=worker)
    assert trace_schedule(payload, schedule, worker=worker).outcome.kind == "invalidated-handle"
    assert find_repairs(payload, schedule, worker=worker) == ()


def test_a_trace_has_its_repairs_and_they_show_themselves(payload):
    # Without a worker of the test's own: it is the session's, as in a notebook.
    trace = lhkit.trace(payload, lhkit.load_schedule(PLANTED["direct: the tiled op is in the loop"].wrong_text))
    repairs = trace.repairs(limit=2)
    assert len(repairs) == 2 and repairs[:1] == Repairs((repairs[0],)) and list(repairs) == list(repairs.found)
    first, second = (r._repr_mimebundle_()["text/plain"] for r in repairs)
    assert first == str(repairs[0]) and first.startswith(f"{repairs[0].title}.\n  --- ")
    assert repairs._repr_mimebundle_() == {"text/plain": f"1. {first}\n\n2. {second}"}
    assert lhkit.trace(payload, lhkit.load_schedule(repairs[0].text)).outcome.status == "ok"
    none = lhkit.trace(payload, lhkit.load_schedule(PLANTED["sizes: a negative one"].right_text)).repairs()
    assert not none and str(none) == "no repair was found."
    with pytest.raises(UsageError, match="Trace again"):
        trace_from_json(trace_to_json(trace)).repairs()


def test_of_repairs_that_do_the_same_one_is_returned(worker):
    layer = lhkit.payloads.fc_relu(64, 64, 64)
    body = match("%m", "linalg.matmul") + TILE_M + unroll("%l#2") + vectorize("%t")
    found = repairs_of(text_of(body), layer, worker)
    # The second is the better one of the two with a repair of the warning that it leaves.
    assert [r.kind for r in found] == ["move-before", "several", "match-again"]
    assert [r.warnings for r in found] == [("lost-contraction",), (), ("lost-contraction",)]


def test_the_search_can_be_ended(payload, worker):
    schedule = lhkit.load_schedule(PLANTED["direct: the tiled op is in the loop"].wrong_text, worker=worker)
    asked = []

    def stop():
        asked.append(True)
        return len(asked) > 1

    (only,) = find_repairs(payload, schedule, stop=stop, worker=worker)
    assert only.kind == "use-result" and len(asked) == 2
    assert find_repairs(payload, schedule, seconds=0.0, worker=worker) == ()


def test_what_crashes_the_compiler_is_no_repair(payload, own_worker):
    body = MAX + tile("%t, %l:2", "%max", "[8, -4]", f"({ANY}) -> ({ANY}, {ANY}, {ANY})")
    count = "!transform.param<i64>"
    crash = f"%n = transform.param.constant -2 : i64 -> {count}\n%a, %b = transform.structured.tile_using_forall %t num_threads [%n]"
    text = text_of(body + crash + f" : ({ANY}, {count}) -> ({ANY}, {ANY})\n")
    schedule = lhkit.load_schedule(text, worker=own_worker)
    assert trace_schedule(payload, schedule, worker=own_worker).outcome.kind == "invalid-payload"
    assert find_repairs(payload, schedule, worker=own_worker) == ()


def test_what_else_is_wrong_with_a_step_is_said_where_a_live_handle_does_not_help(payload, worker):
    """The tile has 4x16 elements, and vectors of 2x2 cannot hold it."""
    small = f"transform.structured.vectorize %add vector_sizes [2, 2] : {ANY}\n"
    text = text_of(ADD + tile("%t, %l:2", "%add", "[4, 16]", THREE) + small)
    (first, *_) = repairs_of(text, payload, worker)
    assert (first.kind, first.passes_whole) == ("use-result", False)
    assert "vectorize %t vector_sizes" in first.text
    assert "fails for another reason" in first.note
    assert "has vector size 2 for loop 0 of this linalg.add, which runs over 4" in first.note
