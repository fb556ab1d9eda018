"""Timelines of what really was traced: nothing overlaps, every handle has a row, bars agree with the trace."""

import pytest
import test_trace_regions as regions
from drawing_boxes import out_of_bounds, overlaps
from schedule_generator import Generator, module
from schedule_payloads import PAYLOADS
from tutorial_cases import CASES, traced

import lhkit
from lhkit.model.errors import LhkitError
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_html, timeline_svg, timeline_text
from lhkit.traces.timeline.timeline_svg import TimelineLayout

LOOP = "scf.for %i = %c0 to %c8 step %c1 {\n%x = memref.load %a[%i] : memref<8xf32>\n}\n"


def many_loops(count):
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 8))
    return f"func.func @f(%a: memref<8xf32>) {{\n{constants}{LOOP * count}return\n}}\n"


def drawings_of(drawing):
    """Return a drawing and all that it folds away."""
    parts = [sheet for fold in drawing.folds for sheet in fold.sheets]
    return [drawing, *parts, *(drawings_of(drawing.overview) if drawing.overview else ())]


def check_states(trace, drawing):
    """After every step that has a column, a handle's bar says what the trace says that it is."""
    for index, column in enumerate(drawing.columns):
        is_leaf = column.kind == "step" and not any(g.step == column.step for g in drawing.groups)
        if column.kind != "end" and not is_leaf:
            continue
        states = trace.states_after(column.step)
        for row in drawing.rows:
            bars = [
                b for b in row.bars if b.first <= index and (index < b.last or (b.runs_on and index <= b.last))
            ]
            if row.is_folded or not bars:
                continue
            known = states.get(row.handles[0])
            assert bars[-1].state == (known.state if known else "live"), (column, row)


def crossed_notes(drawing):
    """Return the words at the ends of rows that an arc runs through."""
    at = TimelineLayout(drawing)
    return [
        at.notes[index].text
        for arc in drawing.arcs
        for index in range(min(arc.from_row, *arc.to_rows), max(arc.from_row, *arc.to_rows) + 1)
        if at.notes[index].x < at.middle(arc.column) < at.notes[index].end
    ]


def check(trace, **most):
    drawing = timeline_drawing(trace, **most)
    handles = [h for row in drawing.rows for h in row.handles]
    assert sorted(handles) == sorted(h.id for h in trace.handle_records)
    died = [h for s in trace.step_records for h in s.invalidated]
    assert sum(m.count for row in drawing.rows for m in row.marks if m.kind == "dead") == len(died)
    for row in drawing.rows:
        its = sum(m.count for m in row.marks if m.kind == "dead")
        assert its == sum(d.handle in row.handles for d in died)
    assert sum(c.steps for c in drawing.columns) == len(trace.step_records)
    check_states(trace, drawing)
    for each in drawings_of(drawing):
        picture = timeline_svg(each)
        assert not overlaps(picture)
        assert not out_of_bounds(picture)
        assert not crossed_notes(each)
    return drawing


@pytest.mark.parametrize("case", CASES)
def test_the_tutorial(case, worker):
    trace = traced(case, worker)
    drawing = check(trace)
    if trace.outcome.status != "ok":
        (failed,) = (c for c in drawing.columns if c.step == trace.outcome.failed_step and c.kind == "step")
        assert (failed.mark, failed.note) == ("failed", "✗ FAILED")
        assert drawing.verdict.startswith(f"failed at step {failed.step}: ")


def test_generated_schedules(worker):
    payloads = {n: lhkit.load_payload(t, name=n, worker=worker) for n, (t, _) in PAYLOADS.items()}
    drawn, deaths, folded = 0, 0, 0
    for seed in range(40):
        generator = Generator(seed)
        lines, _ = generator.schedule()
        try:
            schedule = lhkit.load_schedule(module(lines), name=f"seed {seed}", worker=worker)
        except LhkitError:
            continue
        trace = lhkit.trace(payloads[generator.payload], schedule, worker=worker)
        drawing = check(trace)
        small = check(trace, most_columns=6, most_rows=6)
        drawn += 1
        deaths += sum(len(s.invalidated) for s in trace.step_records)
        folded += bool(small.folds)
        assert timeline_html(drawing) == timeline_html(timeline_drawing(trace))
    assert drawn > 30 and deaths > 30 and folded > 5


def test_the_tutorial_layer_and_a_thousand_ops(worker, golden):
    schedule = lhkit.load_schedule("fc_relu_handles.mlir", worker=worker)
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir", worker=worker), schedule, worker=worker)
    golden(timeline_text(check(trace)).partition("\n")[2])
    chain = lhkit.load_payload("op_chain.mlir", worker=worker)
    schedule = lhkit.load_schedule("op_chain_tile_fuse.mlir", worker=worker)
    drawing = check(lhkit.trace(chain, schedule, worker=worker))
    ends = {row.name: row.note for row in drawing.rows}
    assert (ends["%last_tile"], ends["%generics"]) == (
        "✕ step 5: alias of %named",
        "✕ step 7: inside %function",
    )
    assert len(timeline_html(drawing)) < 100_000


def test_a_loop_of_a_hundred_iterations(worker, golden):
    up = f"%up = transform.get_parent_op %in : {regions.TO_ANY}\n"
    body = f"transform.foreach %loops : {regions.ANY} {{\n{regions.BLOCK}{regions.MARK}{up}{regions.UNROLL}}}\n"
    text = regions.entry(f"{regions.LOOPS}{body}{regions.LOOPS.replace('%loops', '%rest')}")
    drawing = check(regions.traced(worker, text, payload=many_loops(100)))
    assert [c.name for c in drawing.columns if c.kind == "fold"] == ["⋯ 98 more iterations"]
    assert [row.name for row in drawing.rows if row.is_folded] == ["⋯ 124 more handles"]
    (fold,) = drawing.folds
    assert fold.label.startswith("⋯ 98 more iterations, 36 not recorded")
    assert {c.step for s in fold.sheets for c in s.columns if c.kind == "step"} == set(range(5, 191))
    assert any(c.kind == "elided" for s in fold.sheets for c in s.columns)
    golden(timeline_text(drawing))


def test_hundreds_of_handles(worker):
    split = f"%h:300 = transform.split_handle %loops : ({regions.ANY}) -> ({', '.join([regions.ANY] * 300)})\n"
    kill = f'transform.loop.unroll %loops {{factor = 2}} : {regions.ANY}\ntransform.annotate %h#5 "x" : {regions.ANY}\n'
    trace = regions.traced(worker, regions.entry(f"{regions.LOOPS}{split}{kill}"), payload=many_loops(300))
    drawing = check(trace)
    assert len(drawing.rows) < 20
    # The one that the failed step uses has a row of its own, and its use is one after death.
    (row,) = (r for r in drawing.rows if r.name == "%h#5")
    assert [m.column for m in row.marks if m.is_late] == [4] and "which is invalidated" in row.marks[-1].title
    (arc,) = drawing.arcs
    assert drawing.rows[arc.from_row].name == "%loops"
    with_it = {h for i in arc.to_rows for h in drawing.rows[i].handles}
    assert with_it == {h.id for h in trace.handle_records if h.name.startswith("%h#")}


def test_hundreds_of_steps(worker):
    body = "".join(
        f'%m{i} = transform.structured.match ops{{["scf.for"]}} in %root : {regions.TO_ANY}\n'
        for i in range(200)
    )
    text = regions.entry(f"{body}transform.loop.unroll %m77 {{factor = 2}} : {regions.ANY}\n")
    drawing = check(regions.traced(worker, text))
    assert len(drawing.columns) <= 41 and len(drawing.rows) <= 49
    assert "⋯ " in timeline_text(drawing)
    shown = {c.step for d in drawings_of(drawing) for c in d.columns if c.kind == "step"}
    assert shown == set(range(201))


def test_alternatives_includes_and_suppressed_failures(worker):
    mark, never = regions.MARK, regions.NEVER
    alternatives = regions.alternatives(mark + never + mark, mark, never)
    drawing = check(regions.traced(worker, regions.entry(regions.FUNC + alternatives)))
    assert [(c.name, c.note) for c in drawing.columns[3:]] == [
        ("alternative 0", ""),
        ("annotate", ""),
        ("split_handle", "✗ failed, suppressed"),
        ("annotate", "– not run"),
        ("alternative 1", ""),
        ("annotate", ""),
        ("end of alternatives", ""),
    ]
    (group,) = drawing.groups
    assert (group.name, group.first, group.last) == ("1 alternatives", 2, 9)
    # Folded, a group is its step, one counted column, and its end.
    assert [c.kind for c in drawing.overview.columns[2:]] == ["step", "fold", "end"]
    assert drawing.overview.columns[3].note == "! 1 suppressed"
    calls = regions.include("unroll", "%loops", "propagate")
    trace = regions.traced(
        worker,
        regions.entry(
            regions.LOOPS + calls, regions.called("unroll", regions.MARK + regions.UNROLL, "consumed")
        ),
    )
    drawing = check(trace)
    loops = next(row for row in drawing.rows if row.name == "%loops")
    # What an include consumes is alive inside of it, and dies when it ends.
    assert [drawing.columns[m.column].kind for m in loops.marks if m.kind in ("consumed", "dead")] == [
        "end",
        "end",
    ]
    assert drawing.overview.columns != drawing.columns
