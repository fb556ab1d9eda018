"""Handle timelines: what is drawn, marks that the selection finds, text that stays text, bytes that repeat."""

import dataclasses
import re
import xml.etree.ElementTree as ET

from drawing_boxes import out_of_bounds, overlaps
from test_trace_text import OPS, STEPS, TRACE, at, consume, failed_trace, handle, live, read

import lhkit
from lhkit.draw.svg import svg_png
from lhkit.model.trace_record import (
    Elision,
    HandleChange,
    Invalidation,
    Outcome,
    ParamReference,
    ScheduleRecord,
    TraceStep,
    TraceWarning,
)
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_html, timeline_svg, timeline_text

HOSTILE = '"><script>alert(1)</script>&'


def rows_of(drawing):
    return {row.name: row for row in drawing.rows}


def hostile_trace():
    """A trace in which every text of a user holds markup."""
    records = tuple(dataclasses.replace(h, name=f"%{i}{HOSTILE}") for i, h in enumerate(TRACE.handle_records))
    steps = tuple(
        dataclasses.replace(
            s, op=f"transform.a.{HOSTILE}", source=None, warnings=(TraceWarning(HOSTILE, HOSTILE),)
        )
        for s in STEPS
    )
    return dataclasses.replace(
        TRACE,
        schedule=ScheduleRecord(HOSTILE, "1" * 64, HOSTILE),
        handle_records=records,
        step_records=steps,
        op_records=tuple(dataclasses.replace(o, name=HOSTILE) for o in OPS),
        outcome=Outcome("failed", 2, "definite", HOSTILE),
    )


def test_what_happens_to_each_handle():
    rows = rows_of(timeline_drawing(TRACE))
    assert {name: [(m.column, m.kind) for m in row.marks] for name, row in rows.items()} == {
        "%root": [(0, "made"), (1, "read"), (5, "read")],
        "%matmul": [(1, "made"), (2, "read"), (3, "consumed"), (3, "dead")],
        "%same": [(2, "made"), (3, "dead")],
        "%tiled": [(3, "made"), (4, "dead")],
        "%loop": [(3, "made"), (4, "consumed"), (4, "dead")],
        "%nothing": [(5, "made")],
    }
    assert {name: row.note for name, row in rows.items()} == {
        "%root": "live",
        "%matmul": "✕ step 2: consumed",
        "%same": "✕ step 2: alias of %matmul",
        "%tiled": "✕ step 3: inside %loop",
        "%loop": "✕ step 3: consumed",
        "%nothing": "empty",
    }
    states = [(b.first, b.last, b.runs_on, b.state) for b in rows["%same"].bars]
    assert states == [(2, 3, False, "live"), (3, 5, True, "invalid")]


def test_arcs_lead_from_what_was_consumed_to_what_died_with_it():
    drawing = timeline_drawing(TRACE)
    named = [
        (a.step, drawing.rows[a.from_row].name, [drawing.rows[i].name for i in a.to_rows]) for a in drawing.arcs
    ]
    assert named == [(2, "%matmul", ["%same"]), (3, "%loop", ["%tiled"])]
    assert drawing.arcs[1].title == (
        "%tiled was invalidated: step 3 consumed %loop, and the linalg.matmul that %tiled points to lies inside that scf.for"
    )


def test_a_timeline_as_text(golden):
    golden(timeline_text(timeline_drawing(TRACE)))


def test_a_timeline_of_a_failure_as_text(golden):
    golden(timeline_text(timeline_drawing(failed_trace())))


def test_a_timeline_as_svg(golden):
    golden(timeline_svg(timeline_drawing(failed_trace()), themed=False).replace("><", ">\n<") + "\n")


def test_the_use_after_death_stands_out():
    drawing = timeline_drawing(failed_trace())
    (late,) = (m for row in drawing.rows for m in row.marks if m.is_late)
    assert late.title == "step 5 (transform.print) reads %matmul, which is invalidated"
    assert timeline_svg(drawing).count('stroke-width="2.2"') == 2  # struck through, and in the legend
    assert "used when invalidated" in timeline_svg(drawing)
    assert "used when invalidated" not in timeline_svg(timeline_drawing(TRACE))
    failed, after = drawing.columns[-2:]
    assert (failed.mark, failed.note, after.note) == ("failed", "✗ FAILED", "– not run")
    assert drawing.verdict.startswith("failed at step 5: %matmul is invalidated: step 2 consumed it")
    assert drawing.columns[5].note == "! zero-match" and "linalg.nothing" in drawing.columns[5].title


def test_the_legend_has_what_is_drawn_and_no_more():
    drawing = timeline_drawing(TRACE)
    alone = dataclasses.replace(drawing, rows=drawing.rows[:1], arcs=())
    kinds, states = {m.kind for m in alone.rows[0].marks}, {b.state for b in alone.rows[0].bars}
    said = set(
        re.findall(
            r"[^>]>(made|read|consumed|invalidated here|live|empty|invalidated|with what is consumed)</text>",
            timeline_svg(alone),
        )
    )
    words = {"dead": "invalidated here", "invalid": "invalidated"}
    assert said == {words.get(each, each) for each in kinds | states}


def test_steps_and_handles_are_found_and_reached_by_keyboard():
    root = ET.fromstring(timeline_svg(timeline_drawing(TRACE)))
    reached = [e for e in root.iter() if e.get("tabindex") == "0"]
    assert all(e.get("aria-label") and e.get("role") == "button" for e in reached)
    texts = [e for e in reached if e.tag.endswith("text")]
    assert [e.get("data-step") for e in texts if e.get("data-step")] == ["0", "1", "2", "3", "4"]
    handles = [e.get("data-handle") for e in texts if e.get("data-handle")]
    assert handles == ["h0", "h1", "h2", "h3", "h4", "h5"]
    dead = [(e.get("data-step"), e.get("data-handle")) for e in reached if "lh-dead" in e.get("class", "")]
    assert sorted(dead) == [("2", "h1"), ("2", "h2"), ("3", "h3"), ("3", "h4")]
    (arc, _) = (e for e in root.iter() if "lh-arc" in e.get("class", ""))
    assert arc.get("data-handle") == "h1 h2" and arc.get("data-step") == "2"


def test_texts_of_users_stay_text():
    drawing = timeline_drawing(hostile_trace())
    page = timeline_html(drawing)
    assert "<script" not in page and "<script" not in timeline_svg(drawing)
    root = ET.fromstring(timeline_svg(drawing))
    texts = ["".join(e.itertext()) for e in root.iter() if e.tag.endswith(("title", "text"))]
    assert any(HOSTILE in text for text in texts)
    assert not overlaps(timeline_svg(drawing)) and not out_of_bounds(timeline_svg(drawing))
    assert "alert(1)" in timeline_text(drawing)


def test_long_names_are_cut_and_told_in_full():
    long = "%" + "a_very_long_name" * 20
    records = tuple(dataclasses.replace(h, name=f"{long}{i}") for i, h in enumerate(TRACE.handle_records))
    steps = tuple(dataclasses.replace(s, op="transform." + "o" * 300) for s in STEPS)
    drawing = timeline_drawing(dataclasses.replace(TRACE, handle_records=records, step_records=steps))
    picture = timeline_svg(drawing)
    assert not overlaps(picture) and not out_of_bounds(picture)
    assert ">%a_very" in picture and f"{long}0, a handle to payload ops" in picture
    assert float(ET.fromstring(picture).get("width")) < 900
    assert max(map(len, timeline_text(drawing).splitlines()[2:10])) < 400


def test_the_same_trace_gives_the_same_bytes():
    one, two = (timeline_drawing(failed_trace()) for _ in range(2))
    assert one == two and timeline_html(one) == timeline_html(two)
    assert svg_png(timeline_svg(one, themed=False)) == svg_png(timeline_svg(two, themed=False))
    assert "<style" not in timeline_svg(one, themed=False)


def loop_trace(iterations, unrecorded=0):
    """A foreach whose iterations make a parameter and kill their argument, and a step after it."""
    steps = [STEPS[0]]
    handles = [handle(0, "%root", -1), handle(1, "%matmul", 0)]
    foreach = TraceStep(
        1, "transform.foreach", at(2), operands=read(1), results=("h2",), changes=(live(2, "o1"),)
    )
    steps.append(foreach)
    handles.append(handle(2, "%all", 1))
    for i in range(iterations):
        turn = {"depth": 1, "parent": 1, "iteration": i if i < iterations // 2 else i + unrecorded}
        argument, param = len(handles), len(handles) + 1
        handles += [handle(argument, "%in", 1, path=(1,)), handle(param, "%c", len(steps), "param", (1,))]
        value = HandleChange(f"h{param}", "live", (ParamReference("4 : i64"),))
        steps.append(
            TraceStep(
                len(steps), "transform.param.constant", at(3), **turn, results=(f"h{param}",),
                changes=(live(argument, "o1"), value),
            )
        )  # fmt: skip
        death = Invalidation(f"h{argument}", "direct", f"h{argument}", "o1", "o1")
        steps.append(
            TraceStep(
                len(steps), "transform.loop.unroll", at(4), **turn, operands=consume(argument),
                changes=(HandleChange(f"h{argument}", "invalid"),), invalidated=(death,),
            )
        )  # fmt: skip
    steps.append(TraceStep(len(steps), "transform.print", at(5), operands=read(2)))
    lost = (Elision(1, iterations // 2, iterations // 2 + unrecorded - 1),) if unrecorded else ()
    return dataclasses.replace(TRACE, handle_records=tuple(handles), step_records=tuple(steps), elided=lost)


def test_iterations_are_brackets_and_what_a_loop_gives_is_made_at_its_end():
    drawing = timeline_drawing(loop_trace(2))
    assert [(c.kind, c.name) for c in drawing.columns[2:]] == [
        ("step", "foreach"),
        ("turn", "iteration 0"),
        ("step", "constant"),
        ("step", "unroll"),
        ("turn", "iteration 1"),
        ("step", "constant"),
        ("step", "unroll"),
        ("end", "end of foreach"),
        ("step", "print"),
    ]
    (group,) = drawing.groups
    assert (group.first, group.last, group.name) == (2, 9, "1 foreach")
    made = {row.handles: row.marks[0].column for row in drawing.rows}
    assert made["h2",] == 9 and made["h3",] == 3 and made["h5",] == 6
    # An iteration's handles end with it, and parameters come last.
    (bar,) = rows_of(drawing)["%c (step 2)"].bars
    assert (bar.first, bar.last, bar.runs_on) == (4, 5, True)
    assert [row.kind for row in drawing.rows] == ["op"] * 5 + ["param"] * 2
    assert rows_of(drawing)["%c (step 2)"].note == "4"


def test_iterations_fold_and_say_how_many_and_what_was_not_recorded():
    trace = loop_trace(20, unrecorded=7)
    drawing = timeline_drawing(trace, most_columns=12)
    (fold,) = (c for c in drawing.columns if c.kind == "fold")
    assert fold.name == "⋯ 25 more iterations" and fold.steps == 36
    assert [(r.name, r.note) for r in drawing.rows if r.is_folded] == [
        ("⋯ 18 more handles", "18 ✕ invalidated"),
        ("⋯ 18 more parameters", "18 live"),
    ]
    (detail,) = drawing.folds
    assert detail.label == "⋯ 25 more iterations, 7 not recorded: steps 4 to 39"
    names = [c.name for s in detail.sheets for c in s.columns]
    assert "⋯ 7 iterations not recorded" in names and "iteration 24" in names
    shown = {h for s in detail.sheets for r in s.rows for h in r.handles}
    assert len(shown) == 36
    page = timeline_html(drawing)
    assert page.count("<details") == 1 and "<summary>⋯ 25 more iterations" in page


def test_groups_can_be_folded_without_a_script():
    drawing = timeline_drawing(loop_trace(2))
    assert [c.kind for c in drawing.overview.columns] == ["start", "step", "step", "fold", "end", "step"]
    page = timeline_html(drawing)
    assert 'type="checkbox"' in page and "<script" not in page
    assert "checkbox" not in timeline_html(timeline_drawing(TRACE))


def test_handles_that_look_alike_share_a_row():
    handles = (handle(0, "%root", -1), *(handle(i, f"%h#{i - 1}", 0) for i in range(1, 101)))
    step = dataclasses.replace(
        STEPS[0], results=tuple(h.id for h in handles[1:]), changes=tuple(live(i, "o1") for i in range(1, 101))
    )
    trace = dataclasses.replace(TRACE, handle_records=handles, step_records=(step,))
    drawing = timeline_drawing(trace)
    assert [row.name for row in drawing.rows] == ["%root", "%h#0", "⋯ 99 more handles"]
    assert drawing.rows[2].marks[0].count == 99 and drawing.rows[2].bars
    (fold,) = drawing.folds
    assert fold.label == "⋯ 99 more handles, from %h#1 on" and len(fold.sheets[0].rows) == 99


def test_a_failure_in_the_middle_of_a_long_schedule_is_not_folded():
    steps = [TraceStep(i, "transform.debug.emit", at(2)) for i in range(200)]
    steps[120] = dataclasses.replace(steps[120], status="failed")
    steps[121:] = [dataclasses.replace(s, status="not-run") for s in steps[121:]]
    outcome = Outcome("failed", 120, "definite", "no")
    drawing = timeline_drawing(dataclasses.replace(TRACE, step_records=tuple(steps), outcome=outcome))
    shown = {c.step for c in drawing.columns if c.kind == "step"}
    assert {0, 117, 119, 120, 121, 199} <= shown and len(drawing.columns) < 50
    assert [c.name for c in drawing.columns if c.kind == "fold"][-1] == "⋯ 77 steps not run"


def test_a_trace_without_steps_and_one_without_handles():
    empty = dataclasses.replace(TRACE, step_records=(), outcome=Outcome())
    drawing = timeline_drawing(empty)
    assert rows_of(drawing)["%root"].bars[0].state == "live" and rows_of(drawing)["%loop"].note == "never made"
    nothing = dataclasses.replace(empty, handle_records=())
    for trace in (empty, nothing):
        assert timeline_svg(timeline_drawing(trace)) and timeline_text(timeline_drawing(trace))
    assert not timeline_drawing(nothing).columns


def test_an_overlap_would_be_noticed():
    """The tests above would not be worth much if nothing were ever found."""
    picture = timeline_svg(timeline_drawing(TRACE), themed=False)
    closer = re.sub(r'(<text[^>]*)y="[\d.]+"', r'\1y="100"', picture)
    assert not overlaps(picture) and overlaps(closer)
    assert out_of_bounds(re.sub(r'viewBox="0 0 \d+', 'viewBox="0 0 100', picture))


def test_of_handles_inside_of_a_crash_nothing_is_known():
    steps = [TraceStep(0, "transform.foreach", at(2), status="crashed"), TraceStep(1, "a.b", at(3), 1, 0, 0)]
    steps[1] = dataclasses.replace(steps[1], status="crashed", operands=read(1))
    handles = (handle(0, "%root", -1), handle(1, "%in", 0, path=(0,)), handle(2, "%out", 0))
    outcome = Outcome("crashed", 1, "crash", "the compiler's worker died")
    trace = dataclasses.replace(TRACE, step_records=tuple(steps), handle_records=handles, outcome=outcome)
    drawing = timeline_drawing(trace)
    assert [row.note for row in drawing.rows] == ["live", "not known", "not known"]
    assert drawing.columns[-1].note == "✗ CRASHED" and drawing.verdict.startswith("crashed at step 1: ")
    assert not overlaps(timeline_svg(drawing))


def test_no_stub_of_an_invalidated_bar_looks_like_letters_of_its_cause():
    for trace in (TRACE, failed_trace(), lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")):
        drawn = ET.fromstring(timeline_svg(timeline_drawing(trace), themed=False))
        hatched = [e for e in drawn.iter() if e.get("stroke-dasharray") == "1.5 3.5" and e.get("data-handle")]
        assert all(float(e.get("x2")) - float(e.get("x1")) >= 12 for e in hatched)
    assert "invalidated" in timeline_svg(timeline_drawing(trace))
