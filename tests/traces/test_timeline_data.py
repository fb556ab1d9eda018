"""The timeline as data for its script: all steps and handles, with their groups, effects and causes."""

import json

from test_timeline import TRACE, failed_trace, loop_trace

from lhkit.traces.timeline.timeline_data import timeline_data


def data_of(trace):
    return json.loads(timeline_data(trace))


def test_nothing_is_folded_and_nested_steps_have_columns_and_rows():
    trace = loop_trace(60)
    data = data_of(trace)
    assert len(data["steps"]) == len(trace.step_records) == 123
    assert data["moments"].count("s") == 123 and data["moments"].count("t") == 60
    assert len(data["rows"]) == len(trace.handle_records)
    outer, *turns = data["groups"]
    assert outer[2:] == [0, 1, "foreach"] and len(turns) == 60
    assert [turn[4] for turn in turns[:2]] == ["iteration 0", "iteration 1"]
    # An iteration is inside of its loop, and nothing of it outside.
    assert all(outer[0] < first <= last <= outer[1] for first, last, *_ in turns)


def test_what_was_not_recorded_is_a_column_that_says_so():
    data = data_of(loop_trace(20, unrecorded=7))
    (lost,) = (i for i, kind in enumerate(data["moments"]) if kind == "x")
    assert data["labels"][str(lost)] == "iterations 10 to 16 not recorded"


def test_steps_with_an_effect_are_marked_and_causes_are_told():
    trace = failed_trace()
    data = data_of(trace)
    effects = {i for i, step in enumerate(data["steps"]) if step[2]}
    assert {s.index for s in trace.step_records if s.invalidated} <= effects
    assert trace.outcome.failed_step in effects
    dead = {row[1]: (row[3], row[6]) for row in data["rows"] if row[6]}
    assert dead and all(note.startswith("✕ ") for note, _ in dead.values())
    assert all("was invalidated: step" in said for _, sentences in dead.values() for said in sentences)


def test_a_run_without_nested_steps_has_no_groups():
    assert data_of(TRACE)["groups"] == []
