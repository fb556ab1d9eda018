"""Op counts a step: what is counted when, in one figure."""

import dataclasses
import itertools
import re

import pytest
from test_trace_text import TRACE, failed_trace

import lhkit
from lhkit.draw.figures import figure_html, figure_pdf, figure_svg
from lhkit.model.errors import UsageError
from lhkit.model.trace_record import PayloadOp, TraceStep
from lhkit.traces.diff.op_diff import ir_diff
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.report.op_counts import draw_op_counts, op_counts
from lhkit.traces.report.schedule_html import steps_html
from lhkit.traces.report.trace_text import delta_text


def op(number, name, born=-1, died=None):
    return PayloadOp(f"o{number}", name, None, (), born, died, None)


OPS = (
    op(0, "linalg.add", -1, 2),
    op(1, "linalg.max"),
    op(2, "scf.for", 2, 3),
    op(3, "scf.yield", 2, 3),
    op(4, "vector.add", 3),
)
COUNTED = dataclasses.replace(TRACE, op_records=OPS)


def test_ops_count_from_the_step_that_made_them_to_the_one_that_erased_them():
    counts = op_counts(COUNTED)
    assert counts.steps == (-1, 0, 1, 2, 3, 4) and counts.failed_step is None
    assert dict(counts.lines) == {
        "linalg": (2, 2, 2, 1, 1, 1),
        "scf": (0, 0, 0, 2, 0, 0),
        "vector": (0, 0, 0, 0, 1, 1),
    }
    by_name = dict(op_counts(COUNTED, by="name").lines)
    assert by_name["scf.yield"] == (0, 0, 0, 1, 0, 0) and len(by_name) == 5


def test_the_rarest_kinds_share_a_line():
    counts = op_counts(COUNTED, by="name", most=2)
    assert [kind for kind, _ in counts.lines] == ["linalg.add", "all others"]
    assert counts.lines[1][1] == (1, 1, 1, 3, 2, 2)


def test_what_is_inside_of_a_step_ends_before_it():
    steps = (TraceStep(0, "transform.include", None), TraceStep(1, "a.b", None, 1, 0))
    counts = op_counts(dataclasses.replace(TRACE, step_records=steps, op_records=(op(0, "scf.for", 1),)))
    assert counts.steps == (-1, 1, 0) and counts.lines == (("scf", (0, 1, 1)),)


def test_steps_that_never_ran_are_left_out():
    assert op_counts(failed_trace()).steps == (-1, 0, 1, 2, 3, 4, 5)
    assert op_counts(failed_trace()).failed_step == 5


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(UsageError, match="by dialect or by name, not by 'kind'"):
        op_counts(TRACE, by="kind")
    with pytest.raises(UsageError, match="7 lines cannot be told apart"):
        op_counts(TRACE, most=7)


def test_lines_differ_by_mark_and_dash_and_files_repeat():
    axes = draw_op_counts(COUNTED, by="name").axes[0]
    looks = {(line.get_marker(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == len(axes.lines) == 5
    assert [t.get_text() for t in axes.get_xticklabels()] == ["before", "0", "1", "2", "3", "4"]
    failed = draw_op_counts(failed_trace())
    assert [t.get_text().strip() for t in failed.axes[0].texts] == ["step 5 failed"]
    assert figure_svg(draw_op_counts(COUNTED)) == figure_svg(draw_op_counts(COUNTED))
    assert figure_pdf(draw_op_counts(COUNTED)).startswith(b"%PDF")


def test_a_line_that_others_lie_on_is_seen_around_them_and_the_legend_has_the_counts():
    axes = draw_op_counts(COUNTED, by="name").axes[0]
    widths = [line.get_linewidth() for line in axes.lines]
    assert all(a > b + 0.3 for a, b in itertools.pairwise(widths))
    assert [t.get_text() for t in axes.get_legend().get_texts()][:1] == ["linalg.add: 0"]


def test_an_empty_trace_and_a_long_one_are_drawn():
    empty = dataclasses.replace(TRACE, step_records=(), op_records=())
    assert figure_svg(draw_op_counts(empty)).startswith("<svg")
    long = dataclasses.replace(COUNTED, step_records=tuple(TraceStep(i, "a.b", None) for i in range(300)))
    axes = draw_op_counts(long).axes[0]
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert len(labels) < 20
    # The legend counts the ops at the end, and so the last mark is there.
    assert {line.get_markevery()[-1] for line in axes.lines} == {300}


def test_in_a_narrow_column_the_legend_is_below_the_axes():
    narrow = figure_html(draw_op_counts(COUNTED, by="name")).partition('class="lh-narrow"')[2]
    places = re.findall(r' y="([\d.]+)"[^>]*>(linalg\.add: 0|after step)<', narrow)
    below = {said: float(y) for y, said in places}
    assert below["linalg.add: 0"] > below["after step"]


@pytest.fixture(scope="module")
def fused():
    return lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")


def test_ops_are_counted_that_the_text_shows(fused):
    plot = op_counts(fused)
    counts = dict(plot.lines)
    assert counts["linalg"][0] == 5
    for at, step in enumerate(plot.steps):
        shown = re.findall(r"\blinalg\.(?!yield)\w+ ", fused.snapshot_text(step))
        assert counts["linalg"][at] == len(shown), step
    assert "linalg.yield" not in dict(op_counts(fused, by="name", most=6).lines)


def test_a_step_has_one_count_in_rows_headers_frames_and_graphs(fused):
    tiling = next(s for s in fused.step_records if s.op.endswith("tile_using_forall"))
    lines = ir_diff(fused, tiling.index).lines
    said = {sign: len({n.op for n in lines if n.sign == sign and n.op is not None}) for sign in "+−~"}
    assert said == {"+": 9, "−": 1, "~": 1}
    words = " ".join(f"{sign}{count}" for sign, count in said.items())
    assert delta_text(shown_delta(fused, tiling.index)) == words
    assert ir_diff(fused, tiling.index).counts == tuple(said.items())
    row = fused.steps_frame.loc[tiling.index]
    assert (row["created"], row["erased"], row["changed"], row["moved"]) == (9, 1, 1, 0)
    node = next(n for n in schedule_flow(fused).nodes if n.step == tiling.index)
    assert words in node.detail and words in steps_html(fused) and words in str(fused)


def test_a_body_counts_from_where_it_is_written():
    schedule = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %max = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %max : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
    trace = lhkit.trace("fc_relu.mlir", lhkit.load_schedule(schedule, name="generalize"))
    names = dict(op_counts(trace, by="name", most=6).lines)
    assert names["linalg.fill"] == (2, 2, 2)
    assert dict(op_counts(trace).lines)["arith"] == (1, 1, 2) and dict(op_counts(trace).lines)["linalg"] == (
        5,
        5,
        6,
    )
    assert delta_text(shown_delta(trace, 1)) == "+1 −1 ~1 ↕2"


def test_many_ops_of_one_kind_leave_the_others_to_be_seen():
    many = tuple(op(100 + n, "vector.fma", 3) for n in range(1000))
    axes = draw_op_counts(dataclasses.replace(COUNTED, op_records=(*OPS, *many))).axes[0]
    up = axes.transData.transform([(0, 0), (0, 2), (0, 1001)])[:, 1]
    assert up[1] - up[0] > 0.05 * (up[2] - up[0])
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "0", "5", "10", "20", "50", "100", "200", "500", "1,000",
    ]  # fmt: skip
    assert draw_op_counts(COUNTED).axes[0].get_yscale() == "linear"


def test_a_logarithmic_axis_is_said_to_be():
    unrolled = lhkit.trace("matmul.mlir", "matmul_tile_fuse_vectorize.mlir", {"tile_m": 16})
    axes = draw_op_counts(unrolled).axes[0]
    assert axes.get_yscale() == "symlog" and "logarithmic above 10" in axes.get_ylabel()
    few = draw_op_counts(COUNTED).axes[0]
    assert few.get_yscale() == "linear" and "logarithmic" not in few.get_ylabel()
